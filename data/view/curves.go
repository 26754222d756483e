package view

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
)

// Curve is how a column bends: a natural cubic spline, which is straight outside of its
// knots,
//
//	f_l(x) = sum_k c_lk |x - knot_k|^3 + c_l,K x + c_l,K+1
//
// with sum_k c_lk = sum_k c_lk knot_k = 0. The bends f_l are the bends of cubic smoothing
// splines: a penalty on their weights is one on the square of the second derivative. Over
// the rows they were fitted on they are without a linear part, and have the variance of the
// column together.
type Curve struct {
	// Knots ascend. A column without any stays straight.
	Knots []float64 `json:"knots,omitempty"`
	// Bends has the K + 2 numbers c_l of each of the K - 2 bends.
	Bends [][]float64 `json:"bends,omitempty"`
}

const (
	// knots is the number of a curve's knots. Of ten tables 5 are as good as 6 or more.
	knots = 5
	// fewestValues is how many values a column needs to bend.
	fewestValues = 4
	// outside is the share of the values below the first knot, and above the last one.
	tail = 0.02
)

// fitCurve fits the curve of a column.
func fitCurve(x []float64) Curve {
	if len(data.Distinct(x)) < fewestValues {
		return Curve{}
	}
	sorted := slices.Sorted(slices.Values(x))
	c := Curve{}
	for i := range knots {
		share := tail + (1-2*tail)*float64(i)/(knots-1)
		c.Knots = append(c.Knots,
			stat.Quantile(share, stat.LinInterp, sorted, nil))
	}
	c.Knots = slices.Compact(c.Knots)
	if len(c.Knots) < 3 {
		return Curve{}
	}
	c.Bends = smooth(c.Knots)
	total := 0.0
	for _, bend := range c.Bends {
		f := make([]float64, len(x))
		for i, v := range x {
			f[i] = c.at(bend, v)
		}
		k := len(c.Knots)
		level, slope := stat.LinearRegression(x, f, nil, false)
		bend[k] = -slope
		bend[k+1] = -level
		floats.AddScaled(f, bend[k], x)
		total += stat.PopVariance(f, nil)
	}
	for _, bend := range c.Bends {
		floats.Scale(math.Sqrt(stat.PopVariance(x, nil)/total), bend)
	}
	return c
}

// smooth returns bends whose second derivatives are orthonormal. Their integrals are the
// quadratic form of |knot_k - knot_l|^3, up to a factor.
func smooth(knots []float64) (bends [][]float64) {
	k := len(knots)
	ends := mat.NewDense(k, 2, nil)
	cubes := mat.NewSymDense(k, nil)
	for i, a := range knots {
		ends.SetRow(i, []float64{1, a})
		for j, b := range knots[:i+1] {
			cubes.SetSym(i, j, math.Pow(math.Abs(a-b), 3))
		}
	}
	var qr mat.QR
	qr.Factorize(ends)
	var q, form, c mat.Dense
	qr.QTo(&q)
	free := q.Slice(0, k, 2, k) // sum c = sum c knot = 0
	form.Product(free.T(), cubes, free)
	var e mat.EigenSym
	e.Factorize(mat.NewSymDense(k-2, form.RawMatrix().Data), true) // different knots let it succeed
	var v mat.Dense
	e.VectorsTo(&v)
	c.Mul(free, &v)
	for l, value := range e.Values(nil) {
		bend := append(mat.Col(nil, l, &c), 0, 0)
		floats.Scale(1/math.Sqrt(value), bend)
		bends = append(bends, bend)
	}
	return bends
}

// at is the value of a bend. Outside of the knots it goes on straight from the next one, since
// cubes of far numbers would be rounding errors.
func (c Curve) at(bend []float64, x float64) float64 {
	k := len(c.Knots)
	nearest := min(max(x, c.Knots[0]), c.Knots[k-1])
	f := bend[k]*nearest + bend[k+1]
	slope := bend[k]
	for i, knot := range c.Knots {
		d := nearest - knot
		f += bend[i] * d * d * math.Abs(d)
		slope += 3 * bend[i] * d * math.Abs(d)
	}
	return f + slope*(x-nearest)
}

// reach is how far outside of its values a column goes on, over their range. A value that is
// further out is oftener a typing error than a row of the future.
const reach = 1

// curvesRow makes the columns of a row: each within reach, and then its bends.
func (s Step) curvesRow(dst []float32, r data.Row) {
	for j, value := range r.Value {
		c := s.Curves[j]
		low := float64(s.Low[j])
		high := float64(s.High[j])
		margin := reach * (high - low)
		v := min(max(float64(value), low-margin), high+margin)
		dst[0] = float32(v)
		for l, bend := range c.Bends {
			f := c.at(bend, v)
			dst[1+l] = float32(min(max(f, -math.MaxFloat32), math.MaxFloat32))
		}
		dst = dst[1+len(c.Bends):]
	}
}

// Straight is the step of curves that do not bend.
func Straight(x data.Matrix) Step {
	s := Step{
		Kind: Curves,
		Cols: x.Cols(),
	}
	s.Curves = make([]Curve, s.Cols)
	s.Low, s.High = extremes(x)
	return s
}

// FitCurves fits the curves of the columns of dense rows.
func FitCurves(x data.Matrix) Step {
	s := Straight(x)
	column := make([]float64, x.Rows())
	for j := range s.Cols {
		for i := range column {
			column[i] = float64(x.Row(i).Value[j])
		}
		s.Curves[j] = fitCurve(column)
	}
	return s
}
