package train

import (
	"fmt"
	"math"

	"l2mt/data/files"
)

// Metrics are the results of an epoch. They depend on the data and the configuration alone, not on
// the machine; times are kept separately.
type Metrics struct {
	// Epoch counts from 1; 0 is the start.
	Epoch int `json:"epoch"`
	// Loss and Residual are means over the steps of the epoch: the objective,
	// and |f - v(o)|. At the start nothing is learned from the steps.
	Loss     float64 `json:"loss"`
	Residual float64 `json:"residual"`
	// Found is the mean o, over the held-out problems, of the covariances that the network finds,
	// with the Lambda1 of the best tuple of each problem. Tuple is the mean o of these best tuples,
	// which test rows chose. Single-task learning has 1, with a Lambda1 of its own. Both are NaN
	// where nothing can be measured; else Found chooses the epoch.
	Found files.Float `json:"found"`
	Tuple files.Float `json:"tuple"`
	// Deviation is the standard deviation of v(o) over the training tuples.
	Deviation float64 `json:"deviation"`
	// Scalars are the parameters above the embeddings, such as alpha and gamma.
	Scalars map[string][]float64 `json:"scalars"`
}

// String is one line about the epoch.
func (m Metrics) String() string {
	s := fmt.Sprintf("loss %.4f", m.Loss)
	if !math.IsNaN(float64(m.Found)) {
		s += fmt.Sprintf(", finds %.3f", m.Found)
	}
	return s
}

// Best is the index of the epoch that is kept: the epoch with the least Found, or the last epoch
// where nothing is measured.
func Best(metrics []Metrics) (best int) {
	for i, m := range metrics {
		if !(m.Found >= metrics[best].Found) {
			best = i
		}
	}
	return best
}
