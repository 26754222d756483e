package model

import (
	"encoding/json"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/safetensors"
	"l2mt/data/view"
	"l2mt/layers"
)

// Sigma is what the rows of the experience have taught of their columns and classes: how rows
// scatter about the mean of their class, and where these means are.
type Sigma struct {
	*view.Metric
	Taught
	Classes []data.TaskData `json:"-"` // rows of the experience, a task a class
	inner   []data.Matrix   // the same rows in the metric
	means   [][]float64     // of the classes in the metric
	spread  float64         // mean squared distance of a row from the mean of its class
}

// Taught are the numbers of a Sigma beside its rows.
type Taught struct {
	// Ridge is the ridge of the metric.
	Ridge float64 `json:"ridge"`
	// Far bounds how far the mean of rows is from the mean of a class that is recognised
	// (Nearest), and Few is the number of rows that it was learned with.
	Far float64 `json:"far"`
	Few int     `json:"few"`
	// Columns says which columns rows have, as NamesOf has it.
	Columns string `json:"columns"`
}

// NewSigma returns what the rows of some classes teach, beside t.
func NewSigma(classes []data.TaskData, t Taught) *Sigma {
	metric := view.ScatterOf(classes).Metric(t.Ridge)
	s := &Sigma{
		Metric:  metric,
		Taught:  t,
		Classes: classes,
	}
	rows := -len(classes)
	for _, c := range classes {
		x := metric.Apply(c.TrainSet.X)
		mean := meanOf(x)
		s.inner = append(s.inner, x)
		s.means = append(s.means, mean)
		rows += x.Rows()
		for i := range x.Rows() {
			s.spread += distance(mean, meanOf(x.Take([]int{i})))
		}
	}
	s.spread /= float64(max(1, rows))
	return s
}

// ClassOf has the rows of a class as a task.
func ClassOf(name string, x data.Matrix) data.TaskData {
	t := data.TaskData{Task: &data.Task{
		Name: name,
		Kind: data.Regression,
	}}
	t.TrainSet.X = x
	t.TrainSet.Y = make([]float64, x.Rows())
	return t
}

// Fits reports whether a problem has the columns of the experience.
func (s *Sigma) Fits(p *data.ProblemData) bool {
	return s != nil && s.inner[0].Cols() == p.Cols() && s.Columns == NamesOf(p)
}

// Nearest is the class whose mean is nearest to the mean of some rows, and their squared distance
// over its expectation for rows of that class.
func (s *Sigma) Nearest(x data.Matrix) (class int, gap float64) {
	mean := meanOf(s.Apply(x))
	k := float64(max(s.Few,
		x.Rows())) // means of fewer rows lie nearer to each other
	gap = math.Inf(1)
	for c, m := range s.means {
		n := float64(s.inner[c].Rows())
		d := distance(mean, m) / (s.spread * (1/k + 1/n))
		if d < gap {
			class = c
			gap = d
		}
	}
	return class, gap
}

// pairRidge is the ridge of the metric of two classes, inside the metric of all.
const pairRidge = 0.1

// Between returns the weights and the intercept of the linear discriminant of two classes, to which
// labelled rows are added.
func (s *Sigma) Between(
	classes [2]int, labelled [2]data.Matrix,
) (w *mat.Dense, b float64) {
	var pair []data.TaskData
	for side, c := range classes {
		x := data.Stack([]data.Matrix{s.inner[c], s.Apply(labelled[side])})
		pair = append(pair, ClassOf("", x))
	}
	metric := view.ScatterOf(pair).Metric(pairRidge)
	sum := meanOf(metric.Apply(pair[0].TrainSet.X))
	second := meanOf(metric.Apply(pair[1].TrainSet.X))
	gap := floats.SubTo(make([]float64, len(sum)), sum, second)
	floats.Add(sum, second)
	b = -floats.Dot(gap, sum) / 2
	return s.Pull(metric.Pull(mat.NewDense(len(gap), 1, gap))), b
}

// meanOf is the mean of rows.
func meanOf(x data.Matrix) []float64 {
	mean := make([]float64, x.Cols())
	for i := range x.Rows() {
		x.Row(i).AddTo(mean, 1/float64(x.Rows()))
	}
	return mean
}

// distance is squared.
func distance(a, b []float64) float64 {
	d := floats.Distance(a, b, 2)
	return d * d
}

// sigmaKey begins the names of the classes' rows in a file, and is the key of Taught in its metadata.
const sigmaKey = "experience"

// save adds the Sigma, if there is one, to the parts of a file.
func (s *Sigma) save(tensors []Tensor, metadata map[string]string) ([]Tensor, error) {
	if s == nil {
		return tensors, nil
	}
	for _, t := range s.Classes {
		x := t.TrainSet.X
		rows := layers.DenseRows(layers.PointsOf(x))
		tensors = append(tensors,
			Tensor{Name: sigmaKey + t.Name, DType: safetensors.F32,
				Shape: []int{rows.Rows, rows.Cols}, Value: rows.Data})
	}
	text, err := json.Marshal(s.Taught)
	metadata[sigmaKey] = string(text)
	return tensors, err
}

// takeSigma takes the Sigma from the arrays and the text of a file, or returns nil.
func takeSigma(tensors []Tensor, text string) (s *Sigma, rest []Tensor, err error) {
	if text == "" {
		return nil, tensors, nil
	}
	var taught Taught
	if err := files.DecodeJSON([]byte(text), &taught); err != nil {
		return nil, nil, ErrMismatch.Errorf("metadata %q: %w", sigmaKey, err)
	}
	var classes []data.TaskData
	for _, t := range tensors {
		name, ok := strings.CutPrefix(t.Name, sigmaKey)
		if !ok {
			rest = append(rest, t)
			continue
		}
		if len(t.Shape) != 2 ||
			layers.NotFinite(t.Value) >= 0 || len(t.Value) == 0 ||
			classes != nil && t.Shape[1] != classes[0].TrainSet.X.Cols() {
			return nil, nil, ErrMismatch.Errorf("tensor %q: it must be a matrix of finite numbers, and have the columns of every class", t.Name)
		}
		values := make([]float32, len(t.Value))
		for i, v := range t.Value {
			values[i] = float32(v)
		}
		x, _ := data.NewDense(t.Shape[0], t.Shape[1], values) // has as many
		classes = append(classes, ClassOf(name, x))
	}
	if classes == nil {
		return nil, nil, ErrMismatch.Errorf("metadata %q: there are no rows of classes", sigmaKey)
	}
	return NewSigma(classes, taught), rest, nil
}
