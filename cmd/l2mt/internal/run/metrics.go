package run

import (
	"errors"
	"fmt"

	"l2mt/train"
)

// MetricsFile has the metrics of a training run, beside its network.
const MetricsFile = "metrics.json"

// Metrics are those of the start and of all epochs, which have the same parameters.
type Metrics []train.Metrics

// Check finds what no run writes.
func (all Metrics) Check() error {
	if len(all) == 0 {
		return errors.New("it is empty")
	}
	for i, m := range all {
		if (m.Found == nil) != (all[0].Found == nil) || (m.Found == nil) != (m.Tuple == nil) {
			return fmt.Errorf("entry %d: found and tuple must be in all entries, or in none", i+1)
		}
		for name, v := range all[0].Scalars {
			if len(m.Scalars[name]) != len(v) {
				return fmt.Errorf("entry %d: %d numbers of %s; the first has %d", i+1, len(m.Scalars[name]), name, len(v))
			}
		}
	}
	return nil
}
