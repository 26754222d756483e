package saved

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/view"
	"l2mt/layers/linalg"
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
	common := lengths(d.Common, rows, 1)
	specific := lengths(d.Own, rows, 1)
	for i := range x {
		t := d.Tasks[task+i]
		n := x[i].Rows()
		v := common[:n]
		floats.Scale(t.Loading*t.Loading, v)
		floats.Add(v, specific[:n])
		floats.Scale(t.Left, v)
		floats.AddConst(d.Noise, v)
		floats.Scale(t.Scale*t.Scale, v)
		variances[i] = v
		common = common[n:]
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
	centre, err := view.Fit(view.Standardise, x)
	if err != nil {
		return nil, err
	}
	centre.Deviation = slices.Repeat([]float64{1}, x.Cols())
	if x, err = centre.Apply(x); err != nil {
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
	floats.Scale(loading*loading, v)
	floats.AddScaled(v, left, lengths(d.Own, x, 0))
	for i := range v {
		v[i] = d.Tasks[m].Scale * math.Sqrt(v[i])
	}
	return v, nil
}

// slab is how many rows are multiplied at a time, by so many rows of a root as band says.
const (
	slab = 256
	band = 64
)

// lengths are the squared lengths of M (level, x) of rows. Roots are nearly triangular: zeros that
// end all rows of a band are left out.
func lengths(m []float64, x data.Matrix, level float64) []float64 {
	wide := x.Cols() + 1
	k := len(m) / wide
	var ends []int
	for rows := range slices.Chunk(m, band*wide) {
		end := 0
		for row := range slices.Chunk(rows, wide) {
			last := wide
			for last > end && row[last-1] == 0 {
				last--
			}
			end = last
		}
		ends = append(ends, end)
	}
	v := make([]float64, x.Rows())
	height := min(slab, len(v))
	rows := make([]float64, height*wide)
	products := make([]float64, height*k)
	for from := 0; from < len(v) && k > 0; from += slab {
		n := min(slab, len(v)-from)
		clear(rows)
		for r := range n {
			rows[r*wide] = level
			row := x.Row(from + r)
			for p, e := range row.Value {
				rows[r*wide+1+row.Column(p)] = float64(e)
			}
		}
		for b, end := range ends {
			top := b * band
			linalg.Gemm(linalg.Default(), linalg.NoTrans, linalg.Trans,
				n, min(band, k-top), end,
				1, rows, wide, m[top*wide:], wide,
				0, products[top:], k)
		}
		for r := range n {
			product := products[r*k:][:k]
			v[from+r] = floats.Dot(product, product)
		}
	}
	return v
}
