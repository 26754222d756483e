package model

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
)

// The readout beside the paper's.
func init() {
	RegisterReadout("signed", signedReadout)
}

// signedReadout is the mean of the +1 rows minus the mean of the -1 rows; for
// regression the mean of h_j (y_j - mean y)/sd y. Flipping the labels flips
// the embedding.
func signedReadout(kind data.Kind, y []float64) ([]float64, error) {
	w := make([]float64, len(y))
	n := float64(len(y))
	if kind == data.Regression {
		mean, sd := stat.PopMeanStdDev(y, nil)
		if !(sd > 0) {
			return nil, data.Invalid("all training targets are %v; the signed readout needs different ones", mean)
		}
		for i, v := range y {
			w[i] = (v - mean) / (sd * n)
		}
		return w, nil
	}
	positive := 0.0
	for _, v := range y {
		if v > 0 {
			positive++
		}
	}
	if positive == 0 || positive == n {
		return nil, data.Invalid("all training rows have the same label; the signed readout needs both")
	}
	for i, v := range y {
		w[i] = 1 / positive
		if v <= 0 {
			w[i] = -1 / (n - positive)
		}
	}
	return w, nil
}

// Means is the readout of the training rows themselves: row t of A (tasks x d) is the sum of
// w_i x_i over the rows of task t.
func Means(c Config, p *data.ProblemData) (*mat.Dense, error) {
	a := mat.NewDense(len(p.Tasks), p.Cols(), nil)
	for i, t := range p.Tasks {
		w, err := readouts[c.Readout](t.Kind, t.TrainSet.Y)
		if err != nil {
			return nil, fmt.Errorf("problem %q, task %q: %w", p.Name, t.Name, err)
		}
		t.TrainSet.X.AddMulT(a.RawRowView(i), w, 1)
	}
	return a, nil
}
