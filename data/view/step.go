package view

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// The kinds of steps. Fit makes the first three; FitCurves, FitKernel, Beside and
// multitask.SelectByRidge make the others.
const (
	// TFIDF replaces a count t > 0 of column j by (1 + ln t) idf_j, with
	// idf_j = 1 + ln((1 + n) / (1 + n_j)), n_j being how many of the n fit rows
	// have the column. The ones added keep it finite in a column that none has.
	TFIDF = "tfidf"
	// Unit divides every row by its Euclidean length; zero rows stay zero.
	Unit = "unit"
	// Standardise subtracts the column's mean over the fit rows and divides
	// by its standard deviation there (over n, not n-1). Columns
	// that are constant in the fit rows become 0. A sparse matrix is divided
	// only, because subtracting would fill it.
	Standardise = "standardise"
	// Select keeps some of the columns.
	Select = "select"
	// Curves puts the bends of its Curve beside every column.
	Curves = "curves"
	// Laplace makes the values of a kernel with Landmarks.
	Laplace = "laplace"
	// Views puts what its Parts make of the same columns side by side.
	Views = "views"
)

// Step is one transformation of the features, with what was fitted on the
// rows it was fitted on, so that new rows can be treated alike. It is the
// same after a round trip through JSON.
type Step struct {
	// Kind is one of the kinds above.
	Kind string `json:"kind"`
	// Cols is the number of columns that the step was fitted on, and the only
	// number it applies to.
	Cols int `json:"cols"`
	// Documents is the number of fit rows, and Frequency the number of fit rows that
	// have a column; TFIDF.
	Documents int   `json:"documents,omitempty"`
	Frequency []int `json:"frequency,omitempty"`
	// Mean and Deviation belong to Standardise; a deviation of 0 marks a
	// constant column.
	Mean      []float64 `json:"mean,omitempty"`
	Deviation []float64 `json:"deviation,omitempty"`
	// Columns are the columns that Select keeps, ascending.
	Columns []int `json:"columns,omitempty"`
	// Curves has the curve of every column, after Curves.
	Curves []Curve `json:"curves,omitempty"`
	// Width multiplies the distance of a row from each of the Landmarks; Laplace.
	Width     float64     `json:"width,omitempty"`
	Landmarks [][]float32 `json:"landmarks,omitempty"`
	// Low and High are the least and largest values that Curves and Laplace were
	// fitted on, column by column.
	Low  []float32 `json:"low,omitempty"`
	High []float32 `json:"high,omitempty"`
	// Parts are the steps of Views.
	Parts Steps `json:"parts,omitempty"`
}

// Beside puts what steps make of the same columns side by side.
func Beside(parts ...Step) Step {
	first := parts[0]
	return Step{
		Kind:  Views,
		Cols:  first.Cols,
		Low:   first.Low,
		High:  first.High,
		Parts: parts,
	}
}

// Makes is the number of columns that the step makes.
func (s Step) Makes() int {
	return len(s.Names(make([]string, s.Cols)))
}

// Names are the names of the columns that the step makes of columns with names.
func (s Step) Names(names []string) (columns []string) {
	switch s.Kind {
	case Select:
		return data.Picked(names, s.Columns)
	case Curves:
		for j, c := range s.Curves {
			columns = append(columns, names[j])
			for l := range c.Bends {
				columns = append(columns, names[j]+" bend "+strconv.Itoa(l+1))
			}
		}
	case Laplace:
		for i := range s.Landmarks {
			columns = append(columns, "landmark "+strconv.Itoa(i+1))
		}
	case Views:
		for _, part := range s.Parts {
			columns = append(columns, part.Names(names)...)
		}
	default:
		return names
	}
	return columns
}

// largest bounds numbers that are subtracted from features, or divide them.
const largest = 1e100

// Validate tells why a step of a fitted model, as a file has it, cannot be applied to so many
// columns.
func (s Step) Validate(cols int) error {
	const around = Curves + Laplace + Views
	kinds := []string{Unit, TFIDF, Standardise, Curves, Laplace, Views}
	if !slices.Contains(kinds, s.Kind) {
		return data.Invalid("there is no step %q", s.Kind)
	}
	var err error
	check := func(n int, kinds string) { // a list that the kind does not need may be absent
		if n != cols && (n > 0 || strings.Contains(kinds, s.Kind)) {
			err = data.Invalid("step %q: it has numbers for %d columns; there are %d",
				s.Kind, n, cols)
		}
	}
	check(s.Cols, s.Kind)
	check(len(s.Frequency), TFIDF)
	check(len(s.Mean), Standardise)
	check(len(s.Deviation), Standardise)
	check(len(s.Curves), Curves)
	check(len(s.Low), around)
	check(len(s.High), around)
	for _, z := range s.Landmarks {
		check(len(z), s.Kind)
	}
	for _, c := range s.Curves {
		for _, bend := range c.Bends {
			n := len(c.Knots)
			if n == 0 || len(bend) != n+2 {
				return data.Invalid("step %q: a bend has %d numbers for %d knots; it needs 2 more",
					s.Kind, len(bend), n)
			}
		}
	}
	for _, part := range s.Parts {
		if part.Kind == Views {
			return data.Invalid("step %q: one of its parts has parts itself", s.Kind)
		}
		err = cmp.Or(err, part.Validate(cols))
	}
	for _, v := range slices.Concat(s.Mean, s.Deviation) {
		if !(math.Abs(v) <= largest) {
			return data.Invalid("step %q: a mean or deviation is %v; they lie within %v", s.Kind, v, largest)
		}
	}
	return err
}

// Fit fits a step of the given kind on the rows of x.
func Fit(kind string, x data.Matrix) (Step, error) {
	if x.Rows() == 0 {
		return Step{}, data.Invalid("fit %s: there are no rows to fit on", kind)
	}
	s := Step{
		Kind: kind,
		Cols: x.Cols(),
	}
	switch kind {
	case Unit:
	case TFIDF:
		s.Documents = x.Rows()
		s.Frequency = frequency(x)
	case Standardise:
		s.Mean, s.Deviation = moments(x)
	default:
		return Step{}, data.Invalid("there is no step %q to fit; there are %s, %s and %s",
			kind, TFIDF, Unit, Standardise)
	}
	return s, nil
}

// entries yields the entries of all rows, each with its column.
func entries(x data.Matrix) iter.Seq2[int, float32] {
	return func(yield func(int, float32) bool) {
		for i := range x.Rows() {
			r := x.Row(i)
			for p, v := range r.Value {
				if !yield(r.Column(p), v) {
					return
				}
			}
		}
	}
}

// frequency counts the rows in which every column is not zero.
func frequency(x data.Matrix) []int {
	n := make([]int, x.Cols())
	for j, v := range entries(x) {
		if v != 0 {
			n[j]++
		}
	}
	return n
}

// moments returns every column's mean and standard deviation. Absent entries
// count as zeros. Deviations are summed around the mean, in a second pass. The
// sums of equal float32 numbers are exact in float64, so constant columns have a
// deviation of exactly 0.
func moments(x data.Matrix) (mean, deviation []float64) {
	d := x.Cols()
	n := float64(x.Rows())
	mean = make([]float64, d)
	deviation = make([]float64, d)
	stored := make([]int, d)
	for j, v := range entries(x) {
		mean[j] += float64(v)
		stored[j]++
	}
	for j := range mean {
		mean[j] /= n
	}
	for j, v := range entries(x) {
		e := float64(v) - mean[j]
		deviation[j] += e * e
	}
	for j, sum := range deviation {
		absent := float64(x.Rows() - stored[j])
		deviation[j] = math.Sqrt((sum + absent*mean[j]*mean[j]) / n)
	}
	return mean, deviation
}

// Outside counts the entries of each column below Low and above High.
func (s Step) Outside(x data.Matrix) []int {
	cells := make([]int, x.Cols())
	for j, v := range entries(x) {
		if v < s.Low[j] || v > s.High[j] {
			cells[j]++
		}
	}
	return cells
}

// extremes are the least and largest values of dense columns.
func extremes(x data.Matrix) (low, high []float32) {
	low = slices.Clone(x.Row(0).Value)
	high = slices.Clone(x.Row(0).Value)
	for j, v := range entries(x) {
		low[j] = min(low[j], v)
		high[j] = max(high[j], v)
	}
	return low, high
}

// Apply returns the transformed matrix; x is not changed. Dense matrices stay
// dense and sparse ones sparse.
func (s Step) Apply(x data.Matrix) (data.Matrix, error) {
	if x.Cols() != s.Cols {
		return nil, data.Mismatch("step %q: it was fitted on %d columns and the matrix has %d",
			s.Kind, s.Cols, x.Cols())
	}
	if s.Kind == Select {
		return selectColumns(x, s.Columns), nil
	}
	if data.IsSparse(x) && s.Low != nil {
		return nil, data.Invalid("step %q: the rows are sparse; it takes dense ones", s.Kind)
	}
	y, err := mapRows(x, s.Makes(), s.rowMap())
	if err != nil {
		return nil, fmt.Errorf("step %q: %w", s.Kind, err)
	}
	return y, nil
}

// rowMap returns the function that writes the transformed entries of a row.
func (s Step) rowMap() func(dst []float32, r data.Row) {
	switch s.Kind {
	case TFIDF:
		idf := make([]float64, s.Cols)
		for j, f := range s.Frequency {
			idf[j] = 1 + math.Log(float64(1+s.Documents)/float64(1+f))
		}
		return func(dst []float32, r data.Row) {
			for p, v := range r.Value {
				dst[p] = float32(logCount(v) * idf[r.Column(p)])
			}
		}
	case Unit:
		return func(dst []float32, r data.Row) {
			length := math.Sqrt(r.Square())
			for p, v := range r.Value {
				if v != 0 {
					dst[p] = float32(float64(v) / length)
				}
			}
		}
	case Curves:
		return s.curvesRow
	case Laplace:
		return s.kernelRow
	case Views:
		return s.viewsRow()
	}
	return s.standardiseRow
}

// viewsRow writes what the parts make of a row, one part behind the other.
func (s Step) viewsRow() func(dst []float32, r data.Row) {
	widths := make([]int, len(s.Parts))
	maps := make([]func([]float32, data.Row), len(s.Parts))
	for k, part := range s.Parts {
		widths[k] = part.Makes()
		maps[k] = part.rowMap()
	}
	return func(dst []float32, r data.Row) {
		for k, write := range maps {
			write(dst[:widths[k]], r)
			dst = dst[widths[k]:]
		}
	}
}

// logCount is 1 + ln t, and 0 for 0. Numbers that are no counts give NaN, which
// mapRows reports with its row and column.
func logCount(t float32) float64 {
	switch {
	case t == 0:
		return 0
	case t < 1:
		return math.NaN()
	}
	return 1 + math.Log(float64(t))
}

func (s Step) standardiseRow(dst []float32, r data.Row) {
	for p, v := range r.Value {
		j := r.Column(p)
		e := float64(v)
		if r.Index == nil {
			e -= s.Mean[j]
		}
		if s.Deviation[j] > 0 {
			dst[p] = float32(e / s.Deviation[j])
		}
	}
}

// Pull makes weights of the columns before standardising of weights of the columns after it:
//
//	w'(x - mean)/deviation + b = (w/deviation)'x + b - (w/deviation)'mean
//
// W is d x m and b has m entries; of several classes W has one such block under the other, and b the
// classes of each task.
func (s Step) Pull(weights *mat.Dense, b []float64) {
	rows, m := weights.Dims()
	k := len(b) / m
	for j := range rows {
		w := weights.RawRowView(j)
		deviation := s.Deviation[j%s.Cols]
		for i := range w {
			if deviation == 0 {
				w[i] = 0
				continue
			}
			w[i] /= deviation
			b[i*k+j/s.Cols] -= w[i] * s.Mean[j%s.Cols]
		}
	}
}

// mapRows returns x with the entries of every row as f writes them into dst,
// which starts as zeros: as many as there were or, of dense rows, d. An entry that is not
// finite is an error.
func mapRows(
	x data.Matrix, d int, f func(dst []float32, r data.Row),
) (data.Matrix, error) {
	y := data.NewBuilder(x, d)
	for i := range x.Rows() {
		r := x.Row(i)
		n := d
		if r.Index != nil {
			n = len(r.Value)
		}
		dst := y.Row(r.Index, n)
		f(dst, r)
		for p, v := range dst {
			if !(math.Abs(float64(v)) <= math.MaxFloat32) {
				cause := "the row"
				if n == len(r.Value) {
					cause = fmt.Sprint("the value ", r.Value[p])
				}
				return nil, data.Invalid("row %d, column %d: %s has no finite result (counts must be 0 or at least 1)",
					i, r.Column(p), cause)
			}
		}
	}
	return y.Matrix(), nil
}

// selectColumns returns the given columns of x, which ascend.
func selectColumns(x data.Matrix, columns []int) data.Matrix {
	y := data.NewBuilder(x, len(columns))
	for i := range x.Rows() {
		var index []int32
		var value []float32
		r := x.Row(i)
		for p, v := range r.Value {
			to, kept := slices.BinarySearch(columns, r.Column(p))
			if kept {
				index = append(index, int32(to))
				value = append(value, v)
			}
		}
		copy(y.Row(index, len(value)), value)
	}
	return y.Matrix()
}
