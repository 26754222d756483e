package pairwise

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/layers"
	"l2mt/model"
)

// Relations of tasks from their training rows, in inner products alone. With y
// centred, task i is its signed mean
//
//	d_i = sum_a c_a x_a,  c_a = y_a / sum y^2 * (2 for classification, sd(y) for regression)
//
// which for classification is the difference of the class means. Of K > 2 classes
// it is one vector for each, their mean less the mean of all K means; inner products
// are summed over the classes that tasks share, and of two classes they come out
// as half of the above. With e_a the residual of
// row x_a after 1 and y, and h_a its leverage, ||d_i||^2 exceeds its expectation by
//
//	s_i = sum_a c_a^2 ||e_a||^2 / (1 - h_a)
//
// on average: tr(cov+)/n+ + tr(cov-)/n- for classification (of K classes 1 - 1/K
// times the sum of all). Cosines of signed means
// come out too small by it, so debiased ones take ||d_i||^2 - s_i for the square of
// a length. Whitened ones take inner products by the inverse of
//
//	S = E'E / N + tau I,  tau = tr((E'E)^2) / (N tr(E'E))
//
// over the N rows of all tasks. The noise of whitened rows has the same size in
// all tasks, dof = tr(S^-1 E'E / N).

const (
	cosines    = 4  // raw, debiased, whitened, whitened and debiased
	invariants = 17 // of a pair, beside the sizes of its cosines
	// pairColumns are the cosines, 1/m, 1/m on the diagonal, the sizes of the
	// cosines, and the invariants.
	pairColumns = 2*cosines + 2 + invariants

	minSignal = 0.1 // of ||d||^2, that debiasing leaves
	maxRatio  = 3   // of signals, as ln
)

// related are the tasks of a problem in one inner product.
type related struct {
	products *mat.SymDense // <d_i, d_j>
	noise    []float64     // s_i / ||d_i||^2
}

// newRelated takes the variances s of the tasks; nil, where there is one row a
// class, means that half of every length is noise.
func newRelated(products *mat.SymDense, s []float64) *related {
	r := &related{products, make([]float64, products.SymmetricDim())}
	for i := range r.noise {
		switch d := products.At(i, i); {
		case s == nil:
			r.noise[i] = 0.5
		case d > 0:
			r.noise[i] = min(s[i]/d, 1-minSignal)
		}
	}
	return r
}

// cosine is the cosine of two signed means, and debiased.
func (r *related) cosine(i, j int) (raw, debiased float64) {
	length := math.Sqrt(r.products.At(i, i))
	length *= math.Sqrt(r.products.At(j, j))
	if i == j || !(length > 0) {
		return 0, 0
	}
	raw = r.products.At(i, j) / length
	signal := (1 - r.noise[i]) * (1 - r.noise[j])
	return clip(raw, 1), clip(raw/math.Sqrt(signal), 1)
}

// size is the root of the mean square of the debiased cosines.
func (r *related) size() float64 {
	m := len(r.noise)
	sum := 0.0
	for i := range m {
		for j := range i {
			_, c := r.cosine(i, j)
			sum += c * c
		}
	}
	return math.Sqrt(sum / max(1, float64(m*(m-1)/2)))
}

// strengths are the logarithms of the signals ||d_i||^2 - s_i over their mean.
func (r *related) strengths() []float64 {
	signal := make([]float64, len(r.noise))
	for i, v := range r.noise {
		signal[i] = r.products.At(i, i) * (1 - v)
	}
	mean := floats.Sum(signal) / float64(len(signal))
	for i, v := range signal {
		signal[i] = 0
		if mean > 0 {
			signal[i] = clip(math.Log(v/mean), maxRatio)
		}
	}
	return signal
}

func clip(v, bound float64) float64 {
	return max(-bound, min(bound, v))
}

// pairStatistics has a row of pairColumns for every pair of tasks.
func pairStatistics(p *data.ProblemData) (model.Rows, error) {
	r, err := relate(p)
	if err != nil {
		return nil, err
	}
	m := len(p.Tasks)
	share := 1 / float64(m)
	raw := r.raw.strengths()
	white := r.white.strengths()
	regression := 0.0
	if p.Tasks[0].Kind == data.Regression {
		regression = 1
	}
	problem := []float64{
		math.Log(float64(m)) - 1.8,
		(math.Log(r.dimension) - 3) / 2,
		r.dimension / float64(r.rows), r.dof / float64(r.rows),
		r.raw.size(), r.white.size(),
		1 - floats.Sum(r.raw.noise)*share, 1 - floats.Sum(r.white.noise)*share,
		regression,
	}
	return func(out []float64, row int) []float64 {
		i := row / m
		j := row % m
		self := 0.0
		if i == j {
			self = share
		}
		c1, c2 := r.raw.cosine(i, j)
		c3, c4 := r.white.cosine(i, j)
		mean := func(v []float64) float64 {
			return (v[i] + v[j]) / 2
		}
		gap := func(v []float64) float64 {
			return math.Abs(v[i] - v[j])
		}
		out = append(out, c1, c2, c3, c4, share, self)
		for _, c := range []float64{c1, c2, c3, c4} {
			out = append(out, math.Abs(c))
		}
		out = append(out, mean(r.size), gap(r.size), mean(r.balance))
		out = append(out, 1-mean(r.raw.noise), 1-mean(r.white.noise))
		out = append(out, mean(raw), mean(white), gap(white))
		return append(out, problem...)
	}, nil
}

// relations are the tasks of a problem in both inner products, and further numbers
// that do not depend on the basis, the scale or the order of features and rows, nor
// on which class is called positive.
type relations struct {
	raw, white    *related
	size, balance []float64 // of the tasks: ln sum y^2 and |ln(n+/n-)|, centred and scaled
	rows          int
	dimension     float64 // tr(E'E)^2 / tr((E'E)^2)
	dof           float64
}

func relate(p *data.ProblemData) (*relations, error) {
	m := len(p.Tasks)
	r := &relations{dimension: 1}
	for _, t := range p.Tasks {
		size, balance := sizes(p.Several(), t)
		r.size = append(r.size, (math.Log(size)-3)/2)
		r.balance = append(r.balance, balance/2)
	}
	e := newResiduals(p)
	r.rows = len(e.rows)
	noise := make([]float64, m)
	squares := make([]float64, m)
	singles := make([]float64, m)
	left := 0.0
	free := 0.0 // tr(E'E) and the sum of 1 - h
	for _, row := range e.rows {
		i := row.task
		unexplained := 1 - row.leverage
		left += row.square
		squares[i] += row.c2
		if unexplained > 1e-9 {
			free += unexplained
			noise[i] += row.c2 * row.square / unexplained
		} else { // the only row of its class
			singles[i] += row.c2
		}
	}
	products := e.acrossTasks(e.products, m)
	if !(left > 0 && free > 0) { // the noise is unknown: every row is the only one of its class
		r.raw = newRelated(products, nil)
		r.white = r.raw
		return r, nil
	}
	floats.AddScaled(noise, left/free, singles)
	r.raw = newRelated(products, noise)
	return r, r.whiten(e, squares, free)
}

// sizes are sum y^2, with y scaled to a sample of n balanced labels, and ln of the
// largest over the smallest class: for classes twice the harmonic mean of their rows.
// Of two classes a missing one counts as half a row; of more it is left out.
func sizes(several int, t data.TaskData) (size, balance float64) {
	total := float64(len(t.TrainSet.Y))
	if t.Kind == data.Regression {
		return total, 0
	}
	n, k := rowsOfClasses(max(2, several), t)
	inverse := 0.0
	low := math.Inf(1)
	high := 0.0
	for _, rows := range n {
		if several == 0 {
			rows = max(0.5, min(rows, total-0.5))
			k = 2
		}
		if rows > 0 {
			inverse += 1 / rows
			low = min(low, rows)
			high = max(high, rows)
		}
	}
	return 2 * k / inverse, math.Log(high / low)
}

// whiten fills in the numbers that take the inverse of S, in the span of the rows where
// they are fewer than the features: with A = EE' + N tau I,
//
//	S^-1 = (I - E' A^-1 E) / tau,  and A = E'E + N tau I, S^-1 = N A^-1 otherwise.
func (r *relations) whiten(e *residuals, squares []float64, free float64) error {
	n := float64(r.rows)
	m := len(squares)
	a := e.gram
	k := a.Rows
	total := trace(a)
	square := 0.0
	for i := range k {
		row := a.Row(i)[:i+1]
		square += (2*floats.Dot(row, row) - row[i]*row[i]) / total
	}
	r.dimension = total / square
	tau := square / n // times N it is added
	for i := range k {
		a.Row(i)[i] += square
	}
	inner, inverse, err := layers.InverseProducts(a, e.right)
	if err != nil {
		return fmt.Errorf("the features cannot be whitened; scale them: %w", err)
	}
	products := e.acrossTasks(inner, m)
	if e.thin {
		products.ScaleSym(-1, products)
		products.AddSym(products, e.acrossTasks(e.products, m))
		products.ScaleSym(1/tau, products)
	} else {
		products.ScaleSym(n, products)
	}
	r.dof = float64(k) - square*inverse
	for i, v := range squares {
		squares[i] = v * r.dof * n / free
	}
	r.white = newRelated(products, squares)
	return nil
}
