package view

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// column is a matrix of one column.
func column(t *testing.T, values []float64) data.Matrix {
	t.Helper()
	x := make([]float32, len(values))
	for i, v := range values {
		x[i] = float32(v)
	}
	return datatest.Must(data.NewDense(len(x), 1, x))(t)
}

// at are the bends of a curve at x, by its formula without what is straight outside.
func at(c Curve, x float64) []float64 {
	var f []float64
	for _, bend := range c.Bends {
		k := len(c.Knots)
		v := bend[k]*x + bend[k+1]
		for i, knot := range c.Knots {
			v += bend[i] * math.Pow(math.Abs(x-knot), 3)
		}
		f = append(f, v)
	}
	return f
}

// The bends of a column are cubic splines that are straight outside of the knots. Their
// second derivatives are orthogonal and of equal size; over the rows they are without a
// linear part and have the variance of the column together.
func TestCurvesAreNaturalSplines(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		values := make([]float64, 30+r.IntN(50))
		for i := range values {
			values[i] = float64(float32(math.Exp(r.NormFloat64()) * math.Pow(10, float64(seed%7)-3)))
		}
		step := FitCurves(column(t, values))
		made := datatest.Must(step.Apply(column(t, values)))(t)
		c, x := step.Curves[0], denseOf(made)
		datatest.Need(t, len(c.Knots) == 5 && len(c.Bends) == 3 && made.Cols() == 4 && step.Makes() == 4,
			"seed %d: %d knots, %d bends, %d columns", seed, len(c.Knots), len(c.Bends), made.Cols())
		low, high := c.Knots[0], c.Knots[4]
		for _, v := range []float64{low - (high - low), high + (high - low)} {
			h := (high - low) / 10
			for l := range c.Bends {
				left, middle, right := at(c, v-h)[l], at(c, v)[l], at(c, v+h)[l]
				datatest.Near(t, left-2*middle+right, 0, 1e-8*(math.Abs(left)+math.Abs(right)), "seed %d: bend %d is not straight at %v", seed, l, v)
			}
		}
		variance, straight := 0.0, mat.Col(nil, 0, x)
		for l := range c.Bends {
			f := mat.Col(nil, 1+l, x)
			for i, v := range values {
				if v >= low && v <= high && math.Abs(f[i]-at(c, v)[l]) > 1e-4*math.Abs(f[i])+1e-6*stat.StdDev(straight, nil) {
					t.Errorf("seed %d: bend %d of %v is %v, by the formula %v", seed, l, v, f[i], at(c, v)[l])
				}
			}
			cor := stat.Correlation(f, straight, nil)
			datatest.Holds(t, math.Abs(cor) <= 1e-4, "seed %d: bend %d correlates with the column by %v", seed, l, cor)
			variance += stat.PopVariance(f, nil)
		}
		want := stat.PopVariance(straight, nil)
		datatest.Near(t, variance, want, 1e-4*want, "seed %d: the variance of the bends", seed)
		// Second derivatives are straight between knots, so that Simpson's rule is exact.
		second := func(l int, v float64) (s float64) {
			for i, knot := range c.Knots {
				s += 6 * c.Bends[l][i] * math.Abs(v-knot)
			}
			return s
		}
		product := func(l, k int) (s float64) {
			for i := 1; i < len(c.Knots); i++ {
				a, b := c.Knots[i-1], c.Knots[i]
				m := (a + b) / 2
				s += (b - a) / 6 * (second(l, a)*second(k, a) + 4*second(l, m)*second(k, m) + second(l, b)*second(k, b))
			}
			return s
		}
		for l := range c.Bends {
			for k := range c.Bends {
				want := 0.0
				if l == k {
					want = product(0, 0)
				}
				datatest.Near(t, product(l, k), want, 1e-6*product(0, 0), "seed %d: the second derivatives of bends %d and %d have the product", seed, l, k)
			}
		}
	}
}

// A column of few values stays as it is, and one whose quantiles are tied has fewer knots.
func TestCurvesOfFewValues(t *testing.T) {
	for _, c := range []struct {
		values []float64
		bends  int
	}{
		{[]float64{0, 1, 0, 1, 1, 2, 2, 0}, 0},
		{[]float64{5, 5, 5}, 0},
		{append(slices.Repeat([]float64{0}, 90), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 0},
		{append(slices.Repeat([]float64{0}, 55), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25), 1},
	} {
		step := FitCurves(column(t, c.values))
		datatest.Equal(t, len(step.Curves[0].Bends), c.bends, "%v: bends", c.values)
	}
}

// Outside of its values a column and its bends go on straight, as far again, and no further.
func TestCurvesFarAway(t *testing.T) {
	step := FitCurves(column(t, []float64{1, 2, 3, 4, 5, 6, 7, 8}))
	far := column(t, []float64{9, 11, 15, 1e6, math.MaxFloat32})
	x := datatest.Must(step.Apply(far))(t)
	datatest.Equal(t, step.Outside(far)[0], 5, "far values are outside")
	datatest.Equal(t, step.Outside(column(t, []float64{1, 8, 0.9, 8.1}))[0], 2, "values are outside of 1 to 8")
	for l := range step.Makes() {
		var y []float64
		for i := range x.Rows() {
			y = append(y, float64(x.Row(i).Value[l]))
		}
		straight := math.Abs(y[2]-y[1]-2*(y[1]-y[0])) < 1e-5*math.Abs(y[2])
		datatest.Holds(t, straight && y[1] != y[0] && y[3] == y[2] && y[4] == y[2],
			"feature %d is %v at 9, 11, 15, 1e6 and further", l, y)
	}
}
