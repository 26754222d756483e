package view

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/layers/linalg"
)

const (
	// sparse is the share of entries that are not zero below which there is no
	// metric: most pairs of columns have never met, and lengths in the metric of
	// so few say nothing.
	sparse = 0.1
	// metricRows is the number of rows beyond which more are not asked, and of those
	// that are brought into the metric at a time.
	metricRows = 2000
	// least is the scatter, relative to the mean square of a row, that is rounding.
	smallest = 1e-12
)

// Metric tells how the rows of a class scatter, which tasks have in common beside Omega. In it W is fitted as
//
//	sum_i 1/n_i sum_j loss + Lambda1/2 tr(W' (S + tau I) W Omega^-1)
//
// with S (d x d) the scatter of rows about the mean of their task and class, and
// tau the mean of its eigenvalues that can be positive, times a ridge: networks see 1. So the columns of W and its rows each have a covariance, Omega and
// (S + tau I)^-1, and directions in which rows scatter without their class cost more than
// those in which they do not. It is (1) with rows X A and W = A V, for any A A' that is
// (S + tau I)^-1 up to a factor, which keeps the mean square of the rows:
//
//	n >= d   A = L^-T                                  L L' = S + tau I
//	n < d    A = I - C'F,  F = L^-T (L + sqrt(tau) I)^-1 C,  L L' = C C' + tau I
//
// with S = C'C, C n x d; the second is Andrews' square root of what Woodbury's
// formula gives.
//
// Of regression S holds the scatter of all rows of a task.
type Metric struct {
	scale float64
	a     *mat.Dense // A without the scale,
	f, c  *mat.Dense // or F and C, where n < d
}

// Scatter is the scatter of training rows. It makes metrics of any ridge.
type Scatter struct {
	c        *mat.Dense
	x        *mat.Dense // the rows, or C X' where n < d
	size     float64    // ||X||
	products *mat.Dense // C'C, or C C' where n < d
}

// NewScatter returns the scatter of the training rows of a problem. It is nil, as its metrics
// then are, for a single task, for sparse rows, and where rows do not scatter.
func NewScatter(p *data.ProblemData) *Scatter {
	if !HasMetric(p) {
		return nil
	}
	return ScatterOf(p.Tasks)
}

// ScatterOf is NewScatter for the tasks of a problem, however sparse their rows are.
func ScatterOf(tasks []data.TaskData) *Scatter {
	x, c := scatter(tasks)
	s := &Scatter{
		c:    c,
		x:    x,
		size: mat.Norm(x, 2),
	}
	norm := mat.Norm(c, 2)
	if !(norm*norm > smallest*s.size*s.size) {
		return nil
	}
	n, d := c.Dims()
	if n < d {
		s.products = product(c, c.T())
		s.x = product(c, x.T())
	} else {
		s.products = product(c.T(), c)
	}
	return s
}

// Metric returns the metric of a ridge. A nil one leaves everything unchanged.
func (s *Scatter) Metric(ridge float64) *Metric {
	if s == nil {
		return nil
	}
	n, d := s.c.Dims()
	norm := mat.Norm(s.c, 2)
	tau := ridge * norm * norm / float64(min(n, columns(s.c)))
	if math.IsInf(tau, 1) {
		return nil
	}
	l := cholesky(mat.DenseCopyOf(s.products), tau)
	inverse := inverted(l, 0)
	if n >= d {
		a := mat.DenseCopyOf(inverse.T())
		return &Metric{
			a:     a,
			scale: s.size / mat.Norm(product(s.x, a), 2),
		}
	}
	shifted := inverted(l, math.Sqrt(tau))
	f := product(inverse.T(), product(shifted, s.c))
	// ||X A||^2 = ||X||^2 - ||L^-1 C X'||^2, for A A' = I - C'(C C' + tau I)^-1 C.
	remainder := mat.Norm(product(inverse, s.x), 2) / s.size
	return &Metric{f: f, c: s.c,
		scale: 1 / math.Sqrt((1-remainder)*(1+remainder))}
}

// cholesky overwrites G, positive semidefinite, with L, where L L' = G + t I.
func cholesky(g *mat.Dense, t float64) *mat.Dense {
	n := g.RawMatrix().Rows
	for i := range n {
		g.Set(i, i, g.At(i, i)+t)
	}
	linalg.Cholesky(linalg.Default(), n, g.RawMatrix().Data) // positive definite by t
	return g
}

// inverted returns the inverse of L + t I, of a matrix whose lower triangle is L.
func inverted(l *mat.Dense, t float64) *mat.Dense {
	inverse := mat.DenseCopyOf(l)
	n := l.RawMatrix().Rows
	for i := range n {
		inverse.Set(i, i, l.At(i, i)+t)
	}
	linalg.Invert(linalg.Default(), n, inverse.RawMatrix().Data)
	return inverse
}

// product is A B, by the kernels.
func product(a, b mat.Matrix) *mat.Dense {
	rows, inner := a.Dims()
	_, cols := b.Dims()
	tA, x := operand(a)
	tB, y := operand(b)
	z := mat.NewDense(rows, cols, nil)
	linalg.Gemm(linalg.Default(), tA, tB, rows, cols, inner, 1, x.Data,
		x.Stride, y.Data, y.Stride, 0, z.RawMatrix().Data, cols)
	return z
}

// operand is a matrix as it is stored, and whether it is transposed.
func operand(a mat.Matrix) (linalg.Transpose, blas64.General) {
	t, ok := a.(mat.Transpose)
	if ok {
		return linalg.Trans, t.Matrix.(*mat.Dense).RawMatrix()
	}
	return linalg.NoTrans, a.(*mat.Dense).RawMatrix()
}

// HasMetric reports whether there are several tasks, and rows with more than few entries
// that are not zero.
func HasMetric(p *data.ProblemData) bool {
	if len(p.Tasks) < 2 {
		return false
	}
	sample := 0
	total := 0
	for _, t := range p.Tasks {
		x := t.TrainSet.X
		total += x.Rows() * x.Cols()
		for _, n := range frequency(x) {
			sample += n
		}
	}
	return float64(sample) >= sparse*float64(total)
}

// classes are the training rows of each class of each task, the first class first, of
// regression all of a task.
func classes(tasks []data.TaskData) (groups [][]data.Row) {
	for _, t := range tasks {
		group := map[float64]int{} // a label to its group
		for j, y := range t.TrainSet.Y {
			if t.Kind == data.Regression {
				y = 0
			}
			g, known := group[y]
			if !known {
				g = len(groups)
				group[y] = g
				groups = append(groups, nil)
			}
			groups[g] = append(groups[g], t.TrainSet.X.Row(j))
		}
	}
	return groups
}

// scatter returns the rows over the root of their number, of many evenly some, and C
// (n x d), the same without the mean of their task and class.
func scatter(tasks []data.TaskData) (x, c *mat.Dense) {
	groups := classes(tasks)
	cols := tasks[0].TrainSet.X.Cols()
	n := 0
	for _, rows := range groups {
		n += len(rows)
	}
	every := max(1, (n+metricRows-1)/metricRows)
	x = mat.NewDense((n+every-1)/every, cols, nil)
	c = mat.DenseCopyOf(x)
	row := 0
	scale := 1 / math.Sqrt(float64(x.RawMatrix().Rows))
	mean := make([]float64, cols)
	for _, rows := range groups {
		clear(mean)
		for _, r := range rows {
			r.AddTo(mean, scale/float64(len(rows)))
		}
		for _, r := range rows {
			k := row / every
			if row%every == 0 {
				r.AddTo(x.RawRowView(k), scale)
				floats.SubTo(c.RawRowView(k), x.RawRowView(k), mean)
			}
			row++
		}
	}
	return x, c
}

// columns counts the columns that are not zero.
func columns(c *mat.Dense) (count int) {
	for j := range c.RawMatrix().Cols {
		if mat.Norm(c.ColView(j), 1) > 0 {
			count++
		}
	}
	return count
}

// InMetric returns a problem in the metric of its training rows, with a ridge of 1.
func InMetric(p *data.ProblemData) *data.ProblemData {
	return NewScatter(p).Metric(1).Problem(p)
}

// Problem returns a problem with rows X A.
func (m *Metric) Problem(p *data.ProblemData) *data.ProblemData {
	if m == nil {
		return p
	}
	apply := func(x data.Matrix) (data.Matrix, error) {
		return m.Apply(x), nil
	}
	q, _ := p.Mapped(apply) // no row fails
	return q
}

// Apply returns X A, made a block of rows at a time.
func (m *Metric) Apply(x data.Matrix) data.Matrix {
	if m == nil {
		return x
	}
	values := make([]float32, 0, x.Rows()*x.Cols())
	for from := 0; from < x.Rows(); from += metricRows {
		z := mat.NewDense(min(metricRows, x.Rows()-from), x.Cols(), nil)
		for i := range z.RawMatrix().Rows {
			x.Row(from+i).AddTo(z.RawRowView(i), 1)
		}
		if m.a != nil {
			z = product(z, m.a)
		} else {
			z.Sub(z, product(product(z, m.c.T()), m.f))
		}
		for _, v := range z.RawMatrix().Data {
			values = append(values, float32(m.scale*v))
		}
	}
	rows, _ := data.NewDense(x.Rows(), x.Cols(), values) // has as many
	return rows
}

// Pull returns W = A V for V, which has a block of rows for each of several classes.
func (m *Metric) Pull(v *mat.Dense) *mat.Dense {
	if m == nil {
		return v
	}
	_, d := cmp.Or(m.a, m.f).Dims()
	rows, tasks := v.Dims()
	w := mat.NewDense(rows, tasks, nil)
	for i := 0; i < rows; i += d {
		from := v.Slice(i, i+d, 0, tasks)
		to := w.Slice(i, i+d, 0, tasks).(*mat.Dense)
		if m.a != nil {
			to.Mul(m.a, from)
			continue
		}
		var part mat.Dense
		part.Mul(m.f, from)
		to.Sub(from, product(m.c.T(), &part))
	}
	w.Scale(m.scale, w)
	return w
}
