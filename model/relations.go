package model

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// What training rows say of how tasks relate, in inner products alone. With y
// centred, task i is its signed mean
//
//	d_i = sum_a c_a x_a,  c_a = y_a / sum y^2 * (2 for classification, sd(y) for regression)
//
// which for classification is the difference of the class means. Of K > 2 classes
// it is one vector for each, their mean less the mean of all K means; inner products
// are summed over the classes that tasks share, and of two classes they come out
// as half of the above. With e_a what 1
// and y leave of row x_a, and h_a its leverage in that, ||d_i||^2 exceeds its
// expectation by
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

	leastSignal = 0.1 // of ||d||^2, that debiasing leaves
	mostRatio   = 3   // most ln of a ratio of signals
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
			r.noise[i] = min(s[i]/d, 1-leastSignal)
		}
	}
	return r
}

// cosine is that of two signed means, and debiased.
func (r *related) cosine(i, j int) (raw, debiased float64) {
	length := math.Sqrt(r.products.At(i, i)) * math.Sqrt(r.products.At(j, j))
	if i == j || !(length > 0) {
		return 0, 0
	}
	raw = r.products.At(i, j) / length
	return clip(raw, 1), clip(raw/math.Sqrt((1-r.noise[i])*(1-r.noise[j])), 1)
}

// size is the root of the mean square of the debiased cosines.
func (r *related) size() float64 {
	m, sum := len(r.noise), 0.0
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
		if signal[i] = 0; mean > 0 {
			signal[i] = clip(math.Log(v/mean), mostRatio)
		}
	}
	return signal
}

func clip(v, most float64) float64 { return max(-most, min(most, v)) }

// pairStatistics has a row of pairColumns for every pair of tasks.
func pairStatistics(p *data.ProblemData) ([]float64, error) {
	r, err := relate(p)
	if err != nil {
		return nil, err
	}
	m := len(p.Tasks)
	share := 1 / float64(m)
	raw, white := r.raw.strengths(), r.white.strengths()
	regression := 0.0
	if p.Tasks[0].Kind == data.Regression {
		regression = 1
	}
	problem := []float64{
		math.Log(float64(m)) - 1.8, (math.Log(r.dimension) - 3) / 2, r.dimension / float64(r.rows), r.dof / float64(r.rows),
		r.raw.size(), r.white.size(), 1 - floats.Sum(r.raw.noise)*share, 1 - floats.Sum(r.white.noise)*share, regression,
	}
	var out []float64
	for i := range m {
		for j := range m {
			self := 0.0
			if i == j {
				self = share
			}
			c1, c2 := r.raw.cosine(i, j)
			c3, c4 := r.white.cosine(i, j)
			mean := func(v []float64) float64 { return (v[i] + v[j]) / 2 }
			gap := func(v []float64) float64 { return math.Abs(v[i] - v[j]) }
			out = append(out, c1, c2, c3, c4, share, self, math.Abs(c1), math.Abs(c2), math.Abs(c3), math.Abs(c4),
				mean(r.size), gap(r.size), mean(r.balance), 1-mean(r.raw.noise), 1-mean(r.white.noise), mean(raw), mean(white), gap(white))
			out = append(out, problem...)
		}
	}
	return out, nil
}

// relations are the tasks of a problem in both inner products, and what else does
// not depend on the basis, the scale or the order of features and rows, nor on
// which class is called positive.
type relations struct {
	raw, white    *related
	size, balance []float64 // of the tasks: ln sum y^2 and |ln(n+/n-)|, centred and scaled
	rows          int
	dimension     float64 // tr(E'E)^2 / tr((E'E)^2)
	dof           float64
}

func relate(p *data.ProblemData) (*relations, error) {
	m, d, r := len(p.Tasks), p.Cols(), &relations{dimension: 1}
	for _, t := range p.Tasks {
		r.rows += len(t.TrainSet.Y)
	}
	classes := max(1, p.Several())
	rest, signed := mat.NewDense(r.rows, d, nil), mat.NewDense(m, classes*d, nil) // E, d_i
	noise, squares, alone := make([]float64, m), make([]float64, m), make([]float64, m)
	left, free := 0.0, 0.0 // tr(E'E) and the sum of 1 - h
	for i, first := 0, 0; i < m; i++ {
		t := p.Tasks[i]
		n := len(t.TrainSet.Y)
		if t.TrainSet.X.Cols() != d {
			return nil, fmt.Errorf("%w: task %q has %d features, but task %q %d", data.ErrMismatch, t.Name, t.TrainSet.X.Cols(), p.Tasks[0].Name, d)
		}
		e := rest.Slice(first, first+n, 0, d).(*mat.Dense)
		var c, leverage []float64
		var size, balance float64
		if classes > 1 {
			c, leverage, size, balance = explainClasses(e, signed.RawRowView(i), t)
		} else {
			c, leverage = explain(e, signed.RawRowView(i), t)
			size, balance = sizes(t)
		}
		for a := range n {
			square, unexplained := floats.Dot(e.RawRowView(a), e.RawRowView(a)), 1-leverage[a]
			left += square
			squares[i] += c[a] * c[a]
			if unexplained > 1e-9 {
				free += unexplained
				noise[i] += c[a] * c[a] * square / unexplained
			} else { // the only row of its class
				alone[i] += c[a] * c[a]
			}
		}
		r.size, r.balance = append(r.size, (math.Log(size)-3)/2), append(r.balance, balance/2)
		first += n
	}
	products := mat.NewSymDense(m, nil)
	products.SymOuterK(1, signed)
	if !(left > 0) { // nothing is known of the noise
		r.raw, r.white = newRelated(products, nil), newRelated(products, nil)
		return r, nil
	}
	floats.AddScaled(noise, left/free, alone)
	r.raw = newRelated(products, noise)
	return r, r.whiten(rest, signed, squares, free)
}

// explain puts a task's rows less their mean and their part along y into e, and
// the signed mean into d. It returns the weights of the rows in d, which are zero
// where all targets are equal, and their leverages.
func explain(e *mat.Dense, d []float64, t data.TaskData) (c, leverage []float64) {
	n, mean := len(t.TrainSet.Y), make([]float64, len(d))
	copyRows(e, t.TrainSet.X)
	for a := range n {
		floats.AddScaled(mean, 1/float64(n), e.RawRowView(a))
	}
	c, leverage = make([]float64, n), make([]float64, n)
	average, deviation := meanDeviation(t.TrainSet.Y)
	scale := deviation
	if t.Kind == data.Classification {
		scale = 2
	}
	total := float64(n) * deviation * deviation // sum of y^2
	for a, y := range t.TrainSet.Y {
		leverage[a] = 1 / float64(n)
		floats.Sub(e.RawRowView(a), mean)
		if total > 0 {
			c[a] = (y - average) / total * scale
			leverage[a] += (y - average) * (y - average) / total
			floats.AddScaled(d, c[a], e.RawRowView(a))
		}
	}
	for a, y := range t.TrainSet.Y {
		if total > 0 {
			floats.AddScaled(e.RawRowView(a), -(y-average)/scale, d)
		}
	}
	return c, leverage
}

func copyRows(to *mat.Dense, from data.Matrix) {
	for a := range from.Rows() {
		row, x := from.Row(a), to.RawRowView(a)
		for q, v := range row.Value {
			k := q
			if row.Index != nil {
				k = int(row.Index[q])
			}
			x[k] = float64(v)
		}
	}
}

// explainClasses is explain and sizes for more than two classes: e has the rows
// less the means of their classes, and d, class by class, these less their mean.
// Squares of c are summed over the classes. The sizes are twice the harmonic mean
// of the rows of a class, and ln of the largest over the smallest class.
func explainClasses(e *mat.Dense, d []float64, t data.TaskData) (c, leverage []float64, size, balance float64) {
	cols := t.TrainSet.X.Cols()
	copyRows(e, t.TrainSet.X)
	n := make([]float64, len(d)/cols)
	for a, y := range t.TrainSet.Y {
		n[int(y)]++
		floats.Add(d[int(y)*cols:][:cols], e.RawRowView(a))
	}
	k, mean, inverse := 0.0, make([]float64, cols), 0.0
	least, most := math.Inf(1), 0.0
	for y, rows := range n {
		if rows > 0 {
			k++
			least, most, inverse = min(least, rows), max(most, rows), inverse+1/rows
			floats.Scale(1/rows, d[y*cols:][:cols])
			floats.Add(mean, d[y*cols:][:cols])
		}
	}
	c, leverage = make([]float64, len(t.TrainSet.Y)), make([]float64, len(t.TrainSet.Y))
	for a, y := range t.TrainSet.Y {
		rows := n[int(y)]
		floats.Sub(e.RawRowView(a), d[int(y)*cols:][:cols])
		c[a], leverage[a] = math.Sqrt(1-1/k)/rows, 1/rows
	}
	for y, rows := range n {
		if rows > 0 {
			floats.AddScaled(d[y*cols:][:cols], -1/k, mean)
		}
	}
	return c, leverage, 2 * k / inverse, math.Log(most / least)
}

// sizes are sum y^2, with y scaled to what a sample of n balanced labels has, and
// |ln(n+/n-)|, both without an end where a class is missing.
func sizes(t data.TaskData) (size, balance float64) {
	n := float64(len(t.TrainSet.Y))
	if t.Kind == data.Regression {
		return n, 0
	}
	positive := 0.0
	for _, y := range t.TrainSet.Y {
		if y > 0 {
			positive++
		}
	}
	positive = max(0.5, min(positive, n-0.5))
	return 4 * positive * (n - positive) / n, math.Abs(math.Log(positive / (n - positive)))
}

// whiten fills in what takes the inverse of S, in the span of the rows where they
// are fewer than the features: with A = EE' + N tau I,
//
//	S^-1 = (I - E' A^-1 E) / tau,  and A = E'E + N tau I, S^-1 = N A^-1 otherwise.
func (r *relations) whiten(rest, signed *mat.Dense, squares []float64, free float64) error {
	n, d := rest.Dims()
	k, thin := d, n <= d
	a := new(mat.SymDense)
	if thin {
		k = n
		a.SymOuterK(1, rest) // n x n
	} else {
		a.SymOuterK(1, rest.T()) // d x d
	}
	trace, square := mat.Trace(a), 0.0
	for i := range k {
		for j := range k {
			square += a.At(i, j) / trace * a.At(i, j)
		}
	}
	r.dimension = trace / square
	tau := square / float64(n) // times N it is added
	for i := range k {
		a.SetSym(i, i, a.At(i, i)+square)
	}
	var chol mat.Cholesky
	if !chol.Factorize(a) {
		return fmt.Errorf("%w: the features cannot be whitened: their covariance is not positive definite in float64; scale them", data.ErrInvalid)
	}
	m := len(squares)
	products := mat.NewSymDense(m, nil)
	_, blocks := signed.Dims()
	for first := 0; first < blocks; first += d { // class by class
		of := signed.Slice(0, m, first, first+d).(*mat.Dense)
		right := mat.DenseCopyOf(of.T()) // d x m
		if thin {
			right.Reset()
			right.Mul(rest, of.T()) // n x m
		}
		var solved, part mat.Dense
		if err := chol.SolveTo(&solved, right); err != nil {
			return fmt.Errorf("whitening: %w", err)
		}
		part.Mul(right.T(), &solved) // m x m
		for i := range m {
			for j := i; j < m; j++ {
				v := (part.At(i, j) + part.At(j, i)) / 2
				if thin {
					v = (mat.Dot(of.RowView(i), of.RowView(j)) - v) / tau
				} else {
					v *= float64(n)
				}
				products.SetSym(i, j, products.At(i, j)+v)
			}
		}
	}
	if err := chol.InverseTo(a); err != nil {
		return fmt.Errorf("whitening: %w", err)
	}
	r.dof = float64(k) - square*mat.Trace(a)
	for i, v := range squares {
		squares[i] = v * r.dof * float64(n) / free
	}
	r.white = newRelated(products, squares)
	return nil
}
