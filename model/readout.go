package model

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
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
	mean, sd := stat.PopMeanStdDev(y, nil)
	if !(sd > 0) {
		return nil, data.Invalid("all training targets are %v; the signed readout needs different ones", mean)
	}
	size := sd * float64(len(y))
	if kind == data.Classification {
		size *= sd / 2 // of y = 1 and y = -1 comes 1/n+ and -1/n-
	}
	w := slices.Clone(y)
	floats.AddConst(-mean, w)
	floats.Scale(1/size, w)
	return w, nil
}

// Means is the readout of the training rows themselves: row t of A (tasks x d) is the sum of
// w_i x_i over the rows of task t.
func Means(c Config, p *data.ProblemData) (*mat.Dense, error) {
	a := mat.NewDense(len(p.Tasks), p.Cols(), nil)
	for i, t := range p.Tasks {
		w, err := readouts[c.Readout](t.Kind, t.TrainSet.Y)
		if err != nil {
			return nil, fmt.Errorf("problem %q, task %q: %w",
				p.Name, t.Name, err)
		}
		t.TrainSet.X.AddMulT(a.RawRowView(i), w)
	}
	return a, nil
}
