package saved

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/safetensors"
	"l2mt/data/view"
)

// Doubt says how sure a mixed model is of the score of a row. For a task t the variance of a
// target is
//
//	s_t^2 (noise + left_t (l_t^2 |C (1, x)|^2 + |O (1, x)|^2))
//
// with x the row as the recipe makes it, C a root of the covariance of the weights in common, and
// O a root of the variances of tasks' own weights. Rows of the task leave a share of what f
// varies in a new task, which has the last entry of Tasks.
type Doubt struct {
	Noise float64     `json:"noise"`
	Tasks []TaskDoubt `json:"tasks"`
	// Common and Own hold C and O, row by row.
	Common []float64 `json:"-"`
	Own    []float64 `json:"-"`
}

// TaskDoubt has the numbers of a task: left_t, l_t and s_t.
type TaskDoubt struct {
	Left    float64 `json:"left"`
	Loading float64 `json:"loading"`
	Scale   float64 `json:"scale"`
}

// Variances has the variance of the target of every row of a task and, in further matrices, of the
// tasks after it, or of the Average; nil without doubt.
func (d *Doubt) Variances(task int, x ...data.Matrix) [][]float64 {
	variances := make([][]float64, len(x))
	if d == nil {
		return variances
	}
	if task == Average {
		task = len(d.Tasks) - 1
	}
	rows := data.Stack(x)
	v := lengths(d.Common, rows, 1)
	specific := lengths(d.Own, rows, 1)
	for i := range x {
		t := d.Tasks[task+i]
		n := x[i].Rows()
		for j, common := range v[:n] {
			f := t.Loading*t.Loading*common + specific[j]
			v[j] = t.Scale * t.Scale * (d.Noise + t.Left*f)
		}
		variances[i] = v[:n]
		v = v[n:]
		specific = specific[n:]
	}
	return variances
}

// Moderate draws scores of two classes to 0 so that their probabilities are the means over the
// distribution of the scores (MacKay 1992, "The evidence framework applied to classification
// networks").
func Moderate(scores, variances []float64) {
	for i, v := range variances {
		scores[i] /= math.Sqrt(1 + math.Pi*v/8)
	}
}

// Band has the standard errors of the mean of all tasks at rows, less its mean over the rows, in
// the Scale of a new task; nil without doubt.
func (d *Doubt) Band(x data.Matrix) ([]float64, error) {
	if d == nil {
		return nil, nil
	}
	fitted, err := view.Fit(view.Standardise, x)
	if err != nil {
		return nil, err
	}
	x, err = less(x, fitted.Mean)
	if err != nil {
		return nil, err
	}
	m := len(d.Tasks) - 1
	left := 0.0
	loading := 0.0
	for _, t := range d.Tasks[:m] {
		left += t.Left / float64(m*m)
		loading += t.Loading / float64(m)
	}
	v := lengths(d.Common, x, 0)
	specific := lengths(d.Own, x, 0)
	for i, common := range v {
		variance := loading*loading*common + left*specific[i]
		v[i] = d.Tasks[m].Scale * math.Sqrt(variance)
	}
	return v, nil
}

// slab is how many rows are multiplied at a time.
const slab = 256

// lengths are the squared lengths of M (level, x) of rows.
func lengths(m []float64, x data.Matrix, level float64) []float64 {
	wide := x.Cols() + 1
	k := len(m) / wide
	v := make([]float64, x.Rows())
	if k == 0 {
		return v
	}
	root := safetensors.Transposed(m, k, wide)
	var rows []int
	for i := range v {
		rows = append(rows, i)
	}
	products := make([]float64, slab*k)
	for part := range slices.Chunk(rows, slab) {
		x.Take(part).Mul(products, root[k:], k)
		for r, i := range part {
			product := products[r*k:][:k]
			floats.AddScaled(product, level, root[:k])
			v[i] = floats.Dot(product, product)
		}
	}
	return v
}
