package data

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

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
	least = 1e-12
)

// Metric is what the tasks have in common apart from Omega: how the rows of a
// class scatter. In it W is fitted as
//
//	sum_i 1/n_i sum_j loss + Lambda1/2 tr(W' (S + tau I) W Omega^-1)
//
// with S (d x d) the scatter of rows about the mean of their task and class, and
// tau the mean of those of its eigenvalues that can be positive, times a ridge: 1 is
// what networks see. So the columns of W and its rows each have a covariance, Omega and (S + tau I)^-1, and directions in which rows scatter
// without their class cost more than those in which they do not. It is (1) with
// rows X A and W = A V, for any A A' = (S + tau I)^-1:
//
//	n >= d   A = L^-T                           L L' = S + tau I
//	n < d    A = (I - C' L^-T (L + sqrt(tau) I)^-1 C) / sqrt(tau)
//	                                            L L' = C C' + tau I
//
// with S = C'C, C n x d; the second is Andrews' square root of what Woodbury's
// formula gives. A is scaled to keep the mean square of the rows that are asked.
//
// Of regression S holds the scatter of all rows of a task. Along adds what is known of
// W from elsewhere.
type Metric struct {
	scale   float64
	inverse *mat.Dense // L^-1; nil for rows as they are
	c, f    *mat.Dense // C and L^-T (L + sqrt(tau) I)^-1 C, where n < d
	along   *mat.Dense // M (d x r), or nil
}

// NewMetric returns the metric of the training rows of a problem. It is nil, which
// leaves everything as it is, for a single task, for sparse rows, where rows do not
// scatter, and with a ridge that is infinite.
func NewMetric(p *ProblemData, ridge float64) *Metric {
	if math.IsInf(ridge, 1) || !HasMetric(p) {
		return nil
	}
	c := scatter(p)
	n, d := c.Dims()
	size := min(n, d)
	norm, side := mat.Norm(c, 2), mat.NewDense(size, size, nil)
	tau := ridge * norm * norm / float64(min(n, columns(c)))
	asked, count := thinned(p)
	before := squares(asked)
	if !(norm*norm > least*before/float64(count)) || math.IsInf(tau, 1) {
		return nil
	}
	if n < d {
		gemm(linalg.NoTrans, linalg.Trans, 1, c, c, side)
	} else {
		gemm(linalg.Trans, linalg.NoTrans, 1, c, c, side)
	}
	for i := range size {
		side.Set(i, i, side.At(i, i)+tau)
	}
	if !linalg.Cholesky(linalg.Default(), size, side.RawMatrix().Data, size) {
		return nil // which tau I keeps from happening
	}
	m := &Metric{scale: 1, inverse: inverted(side, 0)}
	if n < d {
		part := mat.NewDense(n, d, nil)
		m.c, m.f, m.scale = c, mat.NewDense(n, d, nil), 1/math.Sqrt(tau)
		gemm(linalg.NoTrans, linalg.NoTrans, 1, inverted(side, math.Sqrt(tau)), c, part)
		gemm(linalg.Trans, linalg.NoTrans, 1, m.inverse, part, m.f)
	}
	m.scale *= math.Sqrt(before / squares(m.rows(asked)))
	return m
}

// taught is the share of the scatter within classes that directions get.
const taught = 0.5

// Along returns the metric of the same problem in which the columns of W are also
// expected along directions M (d x r) that tasks before it had:
//
//	rows [sqrt(1 - a) X A, sqrt(a) s X M],  W = sqrt(1 - a) A V_1 + sqrt(a) s M V_2
//
// so that their covariance is (1 - a) A A' + a s^2 M M' instead of A A', with s such that
// rows scatter as much along M as before, and a the share of this. M may be nil, which
// changes nothing, and the metric too, for rows as they are.
func (m *Metric) Along(p *ProblemData, directions *mat.Dense) *Metric {
	if directions == nil {
		return m
	}
	n := &Metric{scale: 1}
	if m != nil {
		*n = *m
	}
	n.along = directions
	own, more := n.parts(p)
	if !(own > 0 && more > 0) {
		return m
	}
	n.along = mat.DenseCopyOf(directions)
	n.along.Scale(math.Sqrt(taught*own/more), n.along)
	n.scale *= math.Sqrt(1 - taught)
	return n
}

// parts says how much the training rows scatter within their classes, and along M.
func (m *Metric) parts(p *ProblemData) (own, more float64) {
	d, r := m.dims()
	for _, t := range m.Problem(p.TrainingOnly()).Tasks {
		for _, c := range clouds(t.TrainSet.X, labels(t), d, r) {
			own += c.own
			more += c.along
		}
	}
	return own, more
}

// thinned returns the training rows, of many as many as are asked, and their number.
func thinned(p *ProblemData) (asked []Matrix, count int) {
	every, at := stride(p), 0
	for _, t := range p.Tasks {
		var rows []int
		for i := range t.TrainSet.X.Rows() {
			if at++; (at-1)%every == 0 {
				rows = append(rows, i)
			}
		}
		asked, count = append(asked, t.TrainSet.X.Take(rows)), count+len(rows)
	}
	return asked, count
}

// stride is how many rows there are for one that is asked.
func stride(p *ProblemData) int {
	n := 0
	for _, t := range p.Tasks {
		n += t.TrainSet.X.Rows()
	}
	return max(1, (n+metricRows-1)/metricRows)
}

func squares(all []Matrix) (sum float64) {
	for _, x := range all {
		sum += floats.Sum(x.SquaredNorms())
	}
	return sum
}

// inverted returns the inverse of L + t I, of a matrix whose lower triangle is L.
func inverted(l *mat.Dense, t float64) *mat.Dense {
	n, _ := l.Dims()
	inverse := mat.DenseCopyOf(l)
	for i := range n {
		inverse.Set(i, i, l.At(i, i)+t)
	}
	linalg.Invert(linalg.Default(), n, inverse.RawMatrix().Data, n)
	return inverse
}

// HasMetric reports whether there are several tasks, and rows with more than few entries
// that are not zero.
func HasMetric(p *ProblemData) bool {
	if len(p.Tasks) < 2 {
		return false
	}
	entries, all := 0, 0
	for _, t := range p.Tasks {
		x := t.TrainSet.X
		all += x.Rows() * x.Cols()
		for i := range x.Rows() {
			for _, v := range x.Row(i).Value {
				if v != 0 {
					entries++
				}
			}
		}
	}
	return float64(entries) >= sparse*float64(all)
}

// classes are the training rows of each class of each task, of regression all of a task.
func classes(p *ProblemData) (groups [][]Row) {
	for _, t := range p.Tasks {
		groups = append(groups, byLabel(t.TrainSet.X, labels(t))...)
	}
	return groups
}

// labels are those of the training rows of a task, of regression all the same.
func labels(t TaskData) []float64 {
	if t.Kind == Regression {
		return make([]float64, len(t.TrainSet.Y))
	}
	return t.TrainSet.Y
}

// byLabel are the rows of each label, the first label first.
func byLabel(x Matrix, labels []float64) (groups [][]Row) {
	of := map[float64]int{} // a label to its group
	for j, y := range labels {
		g, seen := of[y]
		if !seen {
			g = len(groups)
			of[y], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], x.Row(j))
	}
	return groups
}

// scatter returns C (n x d), the rows without the mean of their task and class
// over the root of their number.
func scatter(p *ProblemData) *mat.Dense {
	d, groups, n := p.Cols(), classes(p), 0
	for _, rows := range groups {
		n += len(rows)
	}
	every := stride(p)
	c, k, at := mat.NewDense((n+every-1)/every, d, nil), 0, 0
	mean := make([]float64, d)
	for _, rows := range groups {
		clear(mean)
		for _, r := range rows {
			addRow(mean, 1/float64(len(rows)), r)
		}
		for _, r := range rows {
			if at++; (at-1)%every != 0 {
				continue
			}
			row := c.RawRowView(k)
			k++
			addRow(row, 1, r)
			floats.Sub(row, mean)
		}
	}
	c.Scale(1/math.Sqrt(float64(k)), c)
	return c
}

// columns counts those that are not zero.
func columns(c *mat.Dense) (count int) {
	n, d := c.Dims()
	for j := range d {
		for i := range n {
			if c.At(i, j) != 0 {
				count++
				break
			}
		}
	}
	return count
}

// addRow adds a r to x.
func addRow(x []float64, a float64, r Row) {
	if r.Index == nil {
		linalg.AxpyMixed(linalg.Default(), a, r.Value, x)
	} else {
		addSparse(x, a, r)
	}
}

// InMetric returns a problem in the metric of its training rows, with a ridge of 1.
func InMetric(p *ProblemData) *ProblemData { return NewMetric(p, 1).Problem(p) }

// Problem returns a problem with rows X A.
func (m *Metric) Problem(p *ProblemData) *ProblemData {
	if m == nil {
		return p
	}
	q := &ProblemData{Problem: p.Problem, Tasks: slices.Clone(p.Tasks)}
	var sets []*Samples
	var rows []Matrix
	at := map[Matrix]int{} // of rows that tasks share
	for i := range q.Tasks {
		t := &q.Tasks[i]
		for _, set := range []*Samples{&t.TrainSet, &t.ValidationSet, &t.TestSet} {
			if _, seen := at[set.X]; set.X != nil && !seen {
				at[set.X], rows = len(rows), append(rows, set.X)
			}
			if set.X != nil {
				sets = append(sets, set)
			}
		}
	}
	made := m.rows(rows)
	for _, set := range sets {
		set.X = made[at[set.X]]
	}
	return q
}

// rows returns what becomes of several X.
func (m *Metric) rows(all []Matrix) []Matrix {
	made := all
	if m.inverse != nil {
		made = m.dense(all)
	}
	if m.along == nil {
		return made
	}
	made = slices.Clone(made)
	for i, x := range all {
		made[i] = m.extended(made[i], x)
	}
	return made
}

// extended puts X M beside X A.
func (m *Metric) extended(own, x Matrix) Matrix {
	d, r := m.dims()
	more := make([]float64, x.Rows()*r)
	x.Mul(more, m.along.RawMatrix().Data, r)
	scale := float32(1)
	if m.inverse == nil { // else it is in X A
		scale = float32(m.scale)
	}
	b := newBuilder(own, d+r)
	var beyond []int32 // the columns of X M
	for j := range r {
		beyond = append(beyond, int32(d+j))
	}
	for i := range own.Rows() {
		row := own.Row(i)
		index := row.Index
		if b.sparse {
			index = slices.Concat(index, beyond)
		}
		dst := b.row(index, len(row.Value)+r)
		for j, v := range row.Value {
			dst[j] = scale * v
		}
		for j, v := range more[i*r:][:r] {
			dst[len(row.Value)+j] = float32(v)
		}
	}
	return b.matrix()
}

// dense returns X A of several X, made a block of rows at a time.
func (m *Metric) dense(all []Matrix) (made []Matrix) {
	d, _ := m.dims()
	left := 0
	for _, x := range all {
		left += x.Rows()
	}
	values := make([]float32, 0, left*d)
	var z *mat.Dense
	filled := 0
	for _, x := range all {
		for i := range x.Rows() {
			if filled == 0 {
				z = mat.NewDense(min(metricRows, left), d, nil)
			}
			addRow(z.RawRowView(filled), m.scale, x.Row(i))
			if filled++; filled == z.RawMatrix().Rows {
				for _, v := range m.times(z).RawMatrix().Data {
					values = append(values, float32(v))
				}
				left -= filled
				filled = 0
			}
		}
	}
	for _, x := range all {
		n := x.Rows()
		dense, err := NewDense(n, d, values[:n*d:n*d])
		if err != nil {
			panic(err) // the sizes are right
		}
		made, values = append(made, dense), values[n*d:]
	}
	return made
}

// times returns Z A but for the scale, and overwrites Z.
func (m *Metric) times(z *mat.Dense) *mat.Dense {
	rows, d := z.Dims()
	if m.c == nil {
		made := mat.NewDense(rows, d, nil)
		gemm(linalg.NoTrans, linalg.Trans, 1, z, m.inverse, made)
		return made
	}
	n, _ := m.c.Dims()
	part := mat.NewDense(rows, n, nil)
	gemm(linalg.NoTrans, linalg.Trans, 1, z, m.c, part)
	gemm(linalg.NoTrans, linalg.NoTrans, -1, part, m.f, z)
	return z
}

// gemm adds alpha A B, with A or B transposed, to C.
func gemm(tA, tB linalg.Transpose, alpha float64, a, b, c *mat.Dense) {
	x, y, z := a.RawMatrix(), b.RawMatrix(), c.RawMatrix()
	k := x.Cols
	if tA == linalg.Trans {
		k = x.Rows
	}
	linalg.Gemm(linalg.Default(), tA, tB, z.Rows, z.Cols, k, alpha, x.Data, x.Stride, y.Data, y.Stride, 1, z.Data, z.Stride)
}

// Restore returns W = A V for V, which has a block of rows for each of several classes.
func (m *Metric) Restore(v *mat.Dense) *mat.Dense {
	if m == nil {
		return v
	}
	rows, tasks := v.Dims()
	d, r := m.dims()
	w := mat.NewDense(rows/(d+r)*d, tasks, nil)
	for i := range rows / (d + r) {
		from, to := v.Slice(i*(d+r), i*(d+r)+d, 0, tasks).(*mat.Dense), w.Slice(i*d, (i+1)*d, 0, tasks).(*mat.Dense)
		m.restore(to, from)
		to.Scale(m.scale, to)
		if r > 0 {
			var part mat.Dense
			part.Mul(m.along, v.Slice(i*(d+r)+d, (i+1)*(d+r), 0, tasks))
			to.Add(to, &part)
		}
	}
	return w
}

// restore sets W to A V but for the scale.
func (m *Metric) restore(w, v *mat.Dense) {
	switch {
	case m.inverse == nil:
		w.Copy(v)
	case m.c == nil:
		w.Mul(m.inverse.T(), v)
	default:
		var part mat.Dense
		part.Mul(m.f, v)
		w.Mul(m.c.T(), &part)
		w.Sub(v, w)
	}
}

// dims are d and r.
func (m *Metric) dims() (d, r int) {
	if m.along != nil {
		return m.along.Dims()
	}
	of := m.inverse
	if m.c != nil {
		of = m.c
	}
	_, d = of.Dims()
	return d, 0
}
