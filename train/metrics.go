package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Metrics are what an epoch came to. They depend on the data and the
// configuration alone, not on the machine; times are kept separately.
type Metrics struct {
	// Epoch counts from 1; 0 is the start.
	Epoch int `json:"epoch"`
	// Loss and Residual are means over the steps of the epoch: the objective,
	// and |f - v(o)|. At the start nothing is learned from the steps.
	Loss     float64 `json:"loss"`
	Residual float64 `json:"residual"`
	// Training and HeldOut say how well f orders the covariances, after the epoch.
	Training Agreement `json:"training"`
	HeldOut  Agreement `json:"held_out"`
	// Found is the mean relative error, over the held-out problems, of the covariances
	// that the network finds, measured as that of the tuples was, and Tuple that of the
	// best tuples, which their test rows chose. I/m has 1. Both are nil where nothing
	// can be measured; else Found chooses the epoch.
	Found *float64 `json:"found,omitempty"`
	Tuple *float64 `json:"tuple,omitempty"`
	// Deviation is the standard deviation of v(o) over the training tuples.
	Deviation float64 `json:"deviation"`
	// Scalars are the parameters above the embeddings, such as alpha and gamma.
	Scalars map[string][]float64 `json:"scalars"`
	// Warnings are remarks in plain words.
	Warnings []string `json:"warnings,omitempty"`
}

// String is one line about the epoch.
func (m Metrics) String() string {
	s := fmt.Sprintf("loss %.4f", m.Loss)
	if m.Found != nil {
		s += fmt.Sprintf(", finds %.3f of the error of single-task learning on held-out problems (best tuple %.3f)", *m.Found, *m.Tuple)
	}
	s += fmt.Sprintf(", rank correlation %.3f (held out %.3f)", m.Training.Within, m.HeldOut.Within)
	return s
}

// better says whether an epoch is to be kept instead of another: by the error of
// what the network finds where that is measured, else by the order that it gives.
func (m Metrics) better(than Metrics) bool {
	if m.Found != nil && than.Found != nil {
		return *m.Found < *than.Found
	}
	return m.HeldOut.Within > than.HeldOut.Within
}

// Best is the index of the epoch that is kept.
func Best(metrics []Metrics) (best int) {
	for i, m := range metrics {
		if m.better(metrics[best]) {
			best = i
		}
	}
	return best
}

// Agreement is the rank correlation (Spearman's) of direction * f with o.
type Agreement struct {
	// Within is the mean over problems of the correlation over a problem's
	// tuples: whether f tells good covariances from bad ones.
	Within float64 `json:"within"`
	// Overall is the correlation over all tuples together.
	Overall float64 `json:"overall"`
}

// spearman is the rank correlation of x and y, with equal values sharing the
// mean of their ranks. It is 0 where all values of either are equal.
func spearman(x, y []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	if r := stat.Correlation(ranks(x), ranks(y), nil); !math.IsNaN(r) {
		return r
	}
	return 0
}

func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	rank := make([]float64, len(x))
	for lo := 0; lo < len(order); {
		hi := lo + 1
		for hi < len(order) && x[order[hi]] == x[order[lo]] {
			hi++
		}
		for _, i := range order[lo:hi] {
			rank[i] = float64(lo+hi-1) / 2
		}
		lo = hi
	}
	return rank
}
