package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

const (
	// sparse is the share of entries that are not zero below which there is no
	// metric: most pairs of columns have never met, and lengths in the metric of
	// so few say nothing.
	sparse = 0.1
	// metricRows is the number of rows beyond which more are not asked.
	metricRows = 2000
)

// Metric is what the tasks have in common apart from Omega: how the rows of a
// class scatter. In it W is fitted as
//
//	sum_i 1/n_i sum_j loss + Lambda1/2 tr(W' (S + tau I) W Omega^-1)
//
// with S (d x d) the scatter of rows about the mean of their task and class, and
// tau its mean eigenvalue. So the columns of W and its rows each have a
// covariance, Omega and (S + tau I)^-1, and directions in which rows scatter
// without their class cost more than those in which they do not. It is (1) with
// rows X A and W = A V, for any A A' = (S + tau I)^-1:
//
//	n >= d   A = L^-T                           L L' = S + tau I
//	n < d    A = (I - C' L^-T (L + sqrt(tau) I)^-1 C) / sqrt(tau)
//	                                            L L' = C C' + tau I
//
// with S = C'C, C n x d; the second is Andrews' square root of what Woodbury's
// formula gives. A is scaled to keep the mean square of the rows.
//
// Of regression S holds the scatter of all rows of a task.
type Metric struct {
	scale float64
	lower *mat.TriDense // L, where n >= d
	c, f  *mat.Dense    // C and L^-T (L + sqrt(tau) I)^-1 C, where n < d
}

// NewMetric returns the metric of the training rows of a problem. It is nil, which
// leaves everything as it is, for a single task, for sparse rows, and where rows
// do not scatter.
func NewMetric(p *data.ProblemData) *Metric {
	if len(p.Tasks) < 2 || !filled(p) {
		return nil
	}
	c := scatter(p)
	n, d := c.Dims()
	norm, side := mat.Norm(c, 2), mat.NewSymDense(min(n, d), nil)
	tau := norm * norm / float64(min(n, d))
	if !(tau > 0) || math.IsInf(tau, 1) {
		return nil
	}
	if n < d {
		side.SymOuterK(1, c)
	} else {
		side.SymOuterK(1, c.T())
	}
	for i := range min(n, d) {
		side.SetSym(i, i, side.At(i, i)+tau)
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(side) {
		return nil // which tau I keeps from happening
	}
	m, lower := &Metric{scale: 1}, &mat.TriDense{}
	if cholesky.LTo(lower); n >= d {
		m.lower = lower
	} else {
		root := mat.NewTriDense(n, mat.Lower, nil)
		root.Copy(lower)
		for i := range n {
			root.SetTri(i, i, root.At(i, i)+math.Sqrt(tau))
		}
		m.c, m.f, m.scale = c, &mat.Dense{}, 1/math.Sqrt(tau)
		solve(m.f, root, false, c)
		solve(m.f, lower, true, m.f)
	}
	before, after := 0.0, 0.0
	for _, t := range p.Tasks {
		before += floats.Sum(t.TrainSet.X.SquaredNorms())
		after += floats.Sum(m.rows(t.TrainSet.X).SquaredNorms())
	}
	m.scale *= math.Sqrt(before / after)
	return m
}

// solve sets dst to L^-1 B, or to L^-T B. The diagonal of L is positive; that it
// may be ill conditioned is no error here.
func solve(dst *mat.Dense, l *mat.TriDense, transposed bool, b mat.Matrix) {
	_ = l.SolveTo(dst, transposed, b)
}

// filled reports whether the rows have more than few entries that are not zero.
func filled(p *data.ProblemData) bool {
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

// scatter returns C (n x d), the rows without the mean of their task and class
// over the root of their number.
func scatter(p *data.ProblemData) *mat.Dense {
	d, groups, n := p.Cols(), [][]data.Row{}, 0
	for _, t := range p.Tasks {
		of := map[float64]int{} // a class to its group
		for j, y := range t.TrainSet.Y {
			if t.Kind == data.Regression {
				y = 0
			}
			g, seen := of[y]
			if !seen {
				g = len(groups)
				of[y], groups = g, append(groups, nil)
			}
			groups[g] = append(groups[g], t.TrainSet.X.Row(j))
			n++
		}
	}
	every := max(1, (n+metricRows-1)/metricRows)
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

// addRow adds a r to x.
func addRow(x []float64, a float64, r data.Row) {
	for p, v := range r.Value {
		j := p
		if r.Index != nil {
			j = int(r.Index[p])
		}
		x[j] += a * float64(v)
	}
}

// Problem returns a problem with rows X A, those to train on and to validate. It
// has no test rows: Restore brings W back to the features of these.
func (m *Metric) Problem(p *data.ProblemData) *data.ProblemData {
	if m == nil {
		return p
	}
	q := &data.ProblemData{Problem: p.Problem, Tasks: slices.Clone(p.Tasks)}
	for i := range q.Tasks {
		t := &q.Tasks[i]
		t.TrainSet.X, t.TestSet = m.rows(t.TrainSet.X), data.Samples{}
		if t.ValidationSet.X != nil {
			t.ValidationSet.X = m.rows(t.ValidationSet.X)
		}
	}
	return q
}

// rows returns X A.
func (m *Metric) rows(x data.Matrix) data.Matrix {
	n, d := x.Rows(), x.Cols()
	z := mat.NewDense(max(n, 1), d, nil)
	for i := range n {
		addRow(z.RawRowView(i), m.scale, x.Row(i))
	}
	var made mat.Dense
	if m.lower != nil {
		solve(&made, m.lower, false, z.T())
		made.CloneFrom(made.T())
	} else {
		var part mat.Dense
		part.Mul(z, m.c.T())
		made.Mul(&part, m.f)
		made.Sub(z, &made)
	}
	values := make([]float32, n*d)
	for i := range n {
		for j, v := range made.RawRowView(i) {
			values[i*d+j] = float32(v)
		}
	}
	dense, err := data.NewDense(n, d, values)
	if err != nil {
		panic(err) // the sizes are right
	}
	return dense
}

// Restore returns a fit of Problem(p) as one of p, with W = A V.
func (m *Metric) Restore(fit *Result) *Result {
	if m == nil {
		return fit
	}
	var w mat.Dense
	if m.lower != nil {
		solve(&w, m.lower, true, fit.W)
	} else {
		var part mat.Dense
		part.Mul(m.f, fit.W)
		w.Mul(m.c.T(), &part)
		w.Sub(fit.W, &w)
	}
	w.Scale(m.scale, &w)
	r := *fit
	r.W = &w
	return &r
}

// Report returns what Refit found on Problem(p) as if it had been found on p.
func (m *Metric) Report(t *Tuned, p *data.ProblemData) (*Tuned, error) {
	r := *t
	r.Result = m.Restore(t.Result)
	return &r, r.report(p, nil)
}
