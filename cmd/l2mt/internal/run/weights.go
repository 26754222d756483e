package run

import (
	"cmp"
	"math"
	"slices"

	"l2mt/model/saved"
)

// Weight is how much a feature counts in predictions, in the unit of the table.
type Weight struct {
	Feature string `json:"feature"`
	// Shared is that of the mean of all tasks, and Tasks are those of each.
	Shared float64   `json:"shared"`
	Tasks  []float64 `json:"tasks"`
	// Deviation is a standard deviation of the feature where the fit was standardised, else 1.
	Deviation float64 `json:"deviation"`
}

// Weights are those of the features against the rest of a class, which is 0 where there are
// not more than two. Those come first that count most in a task, or in the saved.Average, by
// their deviations.
func Weights(m *saved.Fit, class, task int) []Weight {
	all := make([]Weight, len(m.Features))
	for j, name := range m.Features {
		all[j].Feature, all[j].Deviation = name, 1
		if m.Scale != nil {
			all[j].Deviation = m.Scale.Deviation[j]
		}
	}
	for i := saved.Average; i < len(m.Tasks); i++ {
		l := m.Linear(i)
		for j := range all {
			if v := l.W[j*len(l.B)+class]; i == saved.Average {
				all[j].Shared = v
			} else {
				all[j].Tasks = append(all[j].Tasks, v)
			}
		}
	}
	counts := func(w Weight) float64 { return math.Abs(w.Scaled(w.Of(task))) }
	slices.SortStableFunc(all, func(a, b Weight) int { return cmp.Compare(counts(b), counts(a)) })
	return all
}

// Of is that of a task, or of the saved.Average.
func (w Weight) Of(task int) float64 {
	if task == saved.Average {
		return w.Shared
	}
	return w.Tasks[task]
}

// Scaled is a weight for a standard deviation of the feature.
func (w Weight) Scaled(v float64) float64 { return v * w.Deviation }
