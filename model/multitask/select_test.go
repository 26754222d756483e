package multitask

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// unrelated draws rows and classes that have nothing to do with each other, or targets.
func unrelated(t *testing.T, r *rand.Rand, n, d, classes int) *data.Dataset {
	values := make([]float32, n*d)
	for i := range values {
		values[i] = float32(r.IntN(3))
	}
	values[0] = 50 // some variances are far from others
	set := &data.Dataset{Name: "made", X: datatest.Must(data.NewDense(n, d, values))(t)}
	for i := range n {
		if classes == 0 {
			set.Target = append(set.Target, 5+r.NormFloat64())
		} else {
			set.Label = append(set.Label, int32(i%classes))
		}
	}
	for c := range classes {
		set.Classes = append(set.Classes, fmt.Sprint(c))
	}
	return set
}

// choleskyScores solves the ridge problems by their normal equations.
func choleskyScores(t *testing.T, set *data.Dataset, alpha float64) []float64 {
	n, d := set.X.Rows(), set.X.Cols()
	x := mat.NewDense(n, d, nil)
	variance := make([]float64, d)
	for i := range n {
		set.X.Row(i).AddTo(x.RawRowView(i), 1)
	}
	for j := range d {
		column := mat.Col(nil, j, x)
		floats.AddConst(-stat.Mean(column, nil), column)
		variance[j] = floats.Dot(column, column) / float64(n)
		x.SetCol(j, column)
	}
	var gram mat.SymDense
	gram.SymOuterK(1, x.T())
	for j := range d {
		gram.SetSym(j, j, gram.At(j, j)+alpha)
	}
	var chol mat.Cholesky
	datatest.Need(t, chol.Factorize(&gram), "the normal equations are not positive definite")
	score := make([]float64, d)
	for c := range max(1, len(set.Classes)) {
		y := mat.NewVecDense(n, slices.Clone(set.Target))
		for i, class := range set.Label {
			if int(class) == c {
				y.SetVec(i, 1)
			}
		}
		floats.AddConst(-stat.Mean(y.RawVector().Data, nil), y.RawVector().Data)
		var right, w mat.VecDense
		right.MulVec(x.T(), y)
		datatest.Check(t, chol.SolveVecTo(&w, &right))
		for j := range score {
			score[j] += w.AtVec(j) * w.AtVec(j) * variance[j]
		}
	}
	return score
}

// What is kept has the best scores of the normal equations, beyond the tolerance: of more features
// than rows and fewer, of two classes and more, and of targets.
func TestSelectionKeepsTheBest(t *testing.T) {
	for seed := range uint64(20) {
		r := data.Stream(seed, "ridge")
		classes := r.IntN(6)
		if classes == 1 {
			classes = 0
		}
		alpha := math.Exp(2 * r.NormFloat64())
		set := unrelated(t, r, 10+r.IntN(50), 2+r.IntN(60), classes)
		want := choleskyScores(t, set, alpha)
		k := 1 + r.IntN(set.X.Cols())
		s := datatest.Must(SelectByRidge(t.Context(), set, k, alpha, 2))(t)
		datatest.Need(t, len(s.Columns) == k && s.Cols == set.X.Cols() && slices.IsSorted(s.Columns),
			"seed %d: %d of %d columns %v", seed, k, s.Cols, s.Columns)
		for _, in := range s.Columns {
			for out := range want {
				datatest.Holds(t, slices.Contains(s.Columns, out) || want[out] <= want[in]+0.02*slices.Max(want),
					"seed %d: k = %d keeps column %d (%v) and drops %d (%v)", seed, k, in, want[in], out, want[out])
			}
		}
	}
}

// Of equal columns the lower one is kept, by any number of workers.
func TestSelectionBreaksTiesByColumn(t *testing.T) {
	set := unrelated(t, data.Stream(7, "ridge ties"), 30, 6, 3)
	values := make([]float32, 0, 30*12)
	for i := range 30 {
		row := set.X.Row(i).Value
		values = append(append(values, row...), row...)
	}
	set.X = datatest.Must(data.NewDense(30, 12, values))(t)
	for k := 1; k <= 12; k++ {
		s := datatest.Must(SelectByRidge(t.Context(), set, k, 1, 1))(t)
		for _, j := range s.Columns {
			datatest.Holds(t, j < 6 || slices.Contains(s.Columns, j-6),
				"k = %d keeps column %d and drops the equal column %d", k, j, j-6)
		}
		datatest.Equal(t, datatest.Must(SelectByRidge(t.Context(), set, k, 1, 3))(t).Columns, s.Columns, "columns by three workers")
	}
}

func TestSelectionRefuses(t *testing.T) {
	set := unrelated(t, data.Stream(10, "ridge refuse"), 60, 40, 3)
	single := unrelated(t, data.Stream(11, "ridge refuse"), 5, 3, 1)
	flat := unrelated(t, data.Stream(12, "ridge refuse"), 5, 3, 0)
	clear(flat.Target)
	for _, c := range []struct {
		set   *data.Dataset
		k     int
		alpha float64
		want  string
	}{
		{set, 0, 1, "0 features are to be kept of 40"},
		{set, 41, 1, "41 features are to be kept of 40"},
		{set, 1, -1, "the ridge is -1"},
		{set, 1, 0, "the ridge is 0"},
		{set, 1, math.NaN(), "the ridge is NaN"},
		{single, 1, 1, "one class"},
		{flat, 1, 1, "one target"},
	} {
		datatest.Refused(SelectByRidge(t.Context(), c.set, c.k, c.alpha, 1))(t, data.ErrInvalid, c.want)
	}
}
