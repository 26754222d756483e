package model

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/safetensors"
	"l2mt/layers"
)

// Sigma is the metric that the rows of the experience have taught: how they scatter about the
// means of their classes.
type Sigma struct {
	*data.Metric
	// Names says which columns it is for, as NamesOf has it.
	Names string
}

// Fits reports whether a problem has the columns of the metric.
func (s *Sigma) Fits(p *data.ProblemData) bool {
	return s != nil && s.Cols() == p.Cols() && s.Names == NamesOf(p)
}

// sigmaKey begins the names of the metric's arrays, and has the names of the columns.
const sigmaKey = "sigma"

// tensors are the arrays of the metric in a file.
func (s *Sigma) tensors() (tensors []Tensor) {
	if s == nil {
		return nil
	}
	for i, m := range s.Factors() {
		rows, cols := m.Dims()
		t := Tensor{Name: sigmaNames[i], DType: safetensors.F32, Shape: []int{rows, cols}}
		t.Value = m.RawMatrix().Data
		tensors = append(tensors, t)
	}
	return tensors
}

var sigmaNames = []string{sigmaKey + ".scale", sigmaKey + ".right", sigmaKey + ".left"}

// takeSigma takes the metric from the arrays of a file, or returns nil.
func takeSigma(tensors []Tensor, names string) (s *Sigma, rest []Tensor, err error) {
	var factors []*mat.Dense
	for _, name := range sigmaNames {
		i := slices.IndexFunc(tensors, func(t Tensor) bool { return t.Name == name })
		if i < 0 {
			continue
		}
		t := tensors[i]
		tensors = slices.Delete(tensors, i, i+1)
		if len(t.Shape) != 2 || len(t.Value) == 0 || layers.NotFinite(t.Value) >= 0 {
			return nil, nil, ErrMismatch.Errorf("tensor %q: it must be a matrix of finite numbers", name)
		}
		factors = append(factors, mat.NewDense(t.Shape[0], t.Shape[1], t.Value))
	}
	if factors == nil {
		return nil, tensors, nil
	}
	m, err := data.MetricOf(factors)
	return &Sigma{m, names}, tensors, err
}
