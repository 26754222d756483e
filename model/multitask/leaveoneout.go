package multitask

// Leave-one-out without refitting. With the rows of all tasks as one list, r and
// h the first and second derivatives of their losses (over n_i) at the
// predictions f, D = diag(1/h), Z the indicators of the tasks, and
//
//	K_ab = Omega[t,t'] <x_a, x_b> / Lambda1    for rows a of task t and b of t'
//	M    = P - P Z (Z'PZ)^-1 Z'P,  P = (K + D)^-1
//
// a Newton step from f solves ridge regression of z = f - r/h with the weights h:
// then r = -M z, and the prediction for row i of the one that lacks its loss is
//
//	f_-i = z_i + r_i / M_ii
//
// For the squared loss z is y, and this is exact. For the logistic loss it is one
// Newton step from the fit (ALO; Rad and Maleki 2020). The biases are not
// penalised, which is what Z is for. The losses of the other rows keep their
// weight 1/n_i. Where tasks have more than two classes each is several tasks here,
// a class against the rest, and K is zero between rows of different classes.
//
// For a function of all f_-i with derivatives g_i, with q = M/h and s = r/h, the
// slope with respect to K is T = Gamma - (u r' + r u')/2 where
//
//	Gamma = M diag(g_i r_i / M_ii^2) M
//	u     = M D a,  a_k = g_k/q_k + l'''/l''(f_k) (g_k s_k - sum_i g_i s_i (M_ik^2/(h_i h_k)) / q_i^2)
//
// Gamma is what M follows, the first part of a what the fit itself follows, and
// the second one how the weights of the logistic loss follow the fit.

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/layers/linalg"
)

type leaveOneOut struct {
	measure
	first []int      // where the rows of each task (class by class) begin, and the end
	gram  *mat.Dense // <x_a, x_b>, N x N
}

// LeaveOneOut is the evidence of the training rows of a problem, each predicted
// by the fit that lacks it: exactly for the squared loss, approximately (ALO)
// for the logistic one. It takes of the order of N^3 operations for N rows.
//
// The approximation is within 1 % of refitting for twenty rows a task where
// Lambda1 is what so few rows want, and within 5 % for five rows, or for a
// hundredth of that Lambda1. The only row of its class is predicted
// by that step too, where refitting would have no minimum.
func LeaveOneOut(p *data.ProblemData, o EvidenceOptions) (Evidence, error) {
	m, err := newMeasure(p, o)
	if err != nil {
		return nil, err
	}
	for i, t := range p.Tasks {
		if len(t.TrainSet.Y) < 2 {
			return nil, fmt.Errorf("multitask: evidence: task %q: %w: it has one row; leaving it out takes at least 2", t.Name, ErrInvalidData)
		}
		m.y[i] = t.TrainSet.Y
	}
	e := newLeaveOneOut(m)
	return e, e.check()
}

func newLeaveOneOut(m measure) *leaveOneOut {
	e := &leaveOneOut{measure: m, first: []int{0}}
	for i, t := range m.train.tasks {
		e.first = append(e.first, e.first[i]+len(t.y))
	}
	e.gram = m.train.gram(e.first)
	return e
}

func (e *leaveOneOut) Measure(_ context.Context, r *Result) (*HeldOut, error) {
	if err := e.train.check(r); err != nil {
		return nil, err
	}
	s := e.train.near(r)
	l := &left{leaveOneOut: e, omega: r.Omega, lambda1: r.Params.Lambda1, h: slices.Concat(s.h...)}
	if err := l.factorize(); err != nil {
		return nil, err
	}
	l.newton(slices.Concat(s.score...), slices.Concat(s.r...), s.b)
	scores, k := make([][]float64, len(e.y)), e.train.classes
	for i, y := range e.y {
		scores[i] = slices.Repeat([]float64{math.Inf(-1)}, len(y)*k)
		for c := range k {
			for a := e.first[i*k+c]; a < e.first[i*k+c+1]; a++ {
				scores[i][(a-e.first[i*k+c])*k+c] = l.z[a] + l.r[a]/(l.h[a]*l.diagonal[a])
			}
		}
	}
	h, derivatives := e.hear(r, scores)
	h.slope = func() (*mat.SymDense, error) {
		var g []float64
		for i, part := range e.train.tasks {
			if len(part.y) > 0 {
				g = append(g, column(derivatives[i/k], i%k, k)...)
			}
		}
		return l.slope(g), nil
	}
	return h, nil
}

// left is a fit with each of its rows left out. What rows say takes the diagonal of
//
//	Q = H^(-1/2) M H^(-1/2),
//
// whose eigenvalues are 0 to 1, and products with it. The slope takes all of Q.
type left struct {
	*leaveOneOut
	omega    *mat.SymDense
	lambda1  float64
	h, root  []float64 // and H^(1/2)
	blocks   []block   // of Q
	diagonal []float64 // of Q
	z, r     []float64
	bias     []float64 // in K for the rows of each task, instead of a free bias; or nil
	logDet   float64   // log |I + H^(1/2) K H^(1/2)|
}

// block is the part of Q of some rows, L^-T L^-1 - F'F.
type block struct {
	rows    []int
	inverse *mat.Dense // L^-1, where LL' = I + H^(1/2) K H^(1/2)
	biases  *mat.Dense // F, which takes them out; or nil
}

// newton takes the Newton step from the scores and slopes of a fit, after which
// it need not be a close one.
func (l *left) newton(score, r, b []float64) {
	n := len(l.h)
	l.z, l.r = make([]float64, n), make([]float64, n)
	v := make([]float64, n)
	for i := range b {
		for a := l.first[i]; a < l.first[i+1]; a++ {
			l.z[a] = score[a] + b[i] - r[a]/l.h[a]
			v[a] = l.root[a] * l.z[a]
		}
	}
	for a, q := range l.multiply(v) {
		l.r[a] = -l.root[a] * q
	}
}

// multiply returns Q v.
func (l *left) multiply(v []float64) []float64 {
	out := make([]float64, len(v))
	for _, b := range l.blocks {
		part := make([]float64, len(b.rows))
		for x, a := range b.rows {
			part[x] = v[a]
		}
		product := make([]float64, len(part))
		for x := range part {
			row := b.inverse.RawRowView(x)[:x+1]
			add(inner(row, part[:x+1]), row, product)
		}
		if b.biases != nil {
			tasks, _ := b.biases.Dims()
			for p := range tasks {
				row := b.biases.RawRowView(p)
				add(-inner(row, part), row, product)
			}
		}
		for x, a := range b.rows {
			out[a] = product[x]
		}
	}
	return out
}

// all returns Q.
func (l *left) all() *mat.Dense {
	q := mat.NewDense(len(l.h), len(l.h), nil)
	for _, b := range l.blocks {
		n := len(b.rows)
		part := mat.NewDense(n, n, nil)
		squareUpper(b.inverse.RawMatrix(), part.RawMatrix())
		if b.biases != nil {
			gemm(true, false, -1, b.biases.RawMatrix(), b.biases.RawMatrix(), 1, part.RawMatrix())
		}
		for x, a := range b.rows {
			for y, v := range part.RawRowView(x)[x:] {
				q.Set(a, b.rows[x+y], v)
				q.Set(b.rows[x+y], a, v)
			}
		}
	}
	return q
}

// factorize finds the blocks of Q from I + H^(1/2) K H^(1/2), which is well conditioned
// where K + D is not.
func (l *left) factorize() error {
	n := len(l.h)
	// A row with no curvature left takes no part, but must not divide by zero.
	least := 1e-12 * floats.Max(l.h)
	l.root, l.diagonal, l.blocks, l.logDet = make([]float64, n), make([]float64, n), nil, 0
	for a, h := range l.h {
		l.h[a] = max(h, least)
		l.root[a] = math.Sqrt(l.h[a])
	}
	for _, parts := range l.joined() {
		if err := l.factorizeBlock(parts); err != nil {
			return err
		}
	}
	return nil
}

// joined are the tasks of the training set among whose rows K has no zeros: those
// that Omega joins, class by class.
func (l *left) joined() (blocks [][]int) {
	k, m := l.train.classes, l.omega.SymmetricDim()
	seen := make([]bool, m)
	for i := range m {
		if seen[i] {
			continue
		}
		seen[i] = true
		joined := []int{i}
		for at := 0; at < len(joined); at++ {
			for j := range m {
				if !seen[j] && l.omega.At(joined[at], j) != 0 {
					seen[j], joined = true, append(joined, j)
				}
			}
		}
		slices.Sort(joined)
		for c := range k {
			parts := make([]int, len(joined))
			for p, j := range joined {
				parts[p] = j*k + c
			}
			blocks = append(blocks, parts)
		}
	}
	return blocks
}

func (l *left) factorizeBlock(parts []int) error {
	var rows, end []int // of the block, in the list of all
	for _, i := range parts {
		for a := l.first[i]; a < l.first[i+1]; a++ {
			rows = append(rows, a)
		}
		end = append(end, len(rows))
	}
	n, k := len(rows), l.train.classes
	if n == 0 {
		return nil
	}
	root := make([]float64, n)
	for x, a := range rows {
		root[x] = l.root[a]
	}
	lower := mat.NewDense(n, n, nil)
	x := 0
	for p, i := range parts {
		for from := x; x < end[p]; x++ {
			row, gram, y := lower.RawRowView(x), l.gram.RawRowView(rows[x]), 0
			for q, j := range parts[:p+1] {
				for c := l.omega.At(i/k, j/k) / l.lambda1 * root[x]; y < min(end[q], x+1); y++ {
					row[y] = c * root[y] * gram[rows[y]]
				}
			}
			if l.bias != nil {
				add(l.bias[i]*root[x], root[from:x+1], row[from:])
			}
			row[x]++
		}
	}
	if !linalg.Cholesky(linalg.Default(), n, lower.RawMatrix().Data, n) {
		return fmt.Errorf("multitask: evidence: %w: I + H^1/2 K H^1/2 is not positive definite in float64; Lambda1 = %v is too small", ErrInvalidParams, l.lambda1)
	}
	for x := range n {
		l.logDet += 2 * math.Log(lower.At(x, x))
	}
	linalg.Invert(linalg.Default(), n, lower.RawMatrix().Data, n)
	b := block{rows: rows, inverse: lower}
	if l.bias == nil {
		if b.biases = biases(lower, root, end); b.biases == nil {
			return fmt.Errorf("multitask: evidence: %w: the biases are not determined at Lambda1 = %v", ErrInvalidParams, l.lambda1)
		}
	}
	l.blocks = append(l.blocks, b)
	for x := range n {
		for y, v := range lower.RawRowView(x)[:x+1] {
			l.diagonal[rows[y]] += v * v
		}
	}
	for p := 0; b.biases != nil && p < len(parts); p++ {
		for y, v := range b.biases.RawRowView(p) {
			l.diagonal[rows[y]] -= v * v
		}
	}
	return nil
}

// biases returns F, whose square takes the biases of the tasks out of a block, given L^-1:
// with P = Z'H^(1/2) L^-T and U'U = P P', F = U'^-1 P L^-1. It is nil where P P' is
// singular.
func biases(inverse *mat.Dense, root []float64, end []int) *mat.Dense {
	n := len(root)
	p, c := mat.NewDense(len(end), n, nil), mat.NewSymDense(len(end), nil)
	from := 0
	for t, to := range end {
		for x := from; x < n; x++ {
			p.Set(t, x, inner(inverse.RawRowView(x)[from:min(to, x+1)], root[from:]))
		}
		c.SetSym(t, t, 1) // where there are no rows there is no bias
		for u := 0; u <= t && from < to; u++ {
			c.SetSym(t, u, inner(p.RawRowView(t), p.RawRowView(u)))
		}
		from = to
	}
	var chol cholesky
	if !chol.factorize(c) {
		return nil
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, chol.u, p.RawMatrix())
	f := mat.NewDense(len(end), n, nil)
	gemm(false, false, 1, p.RawMatrix(), inverse.RawMatrix(), 0, f.RawMatrix())
	return f
}

// slope returns the slope with respect to Omega of a function of the
// predictions without each row, given its derivatives g.
func (l *left) slope(g []float64) *mat.SymDense {
	n, classes, all := len(g), l.train.classes, l.all()
	a, weight := make([]float64, n), make([]float64, n) // weight = g s / q^2
	for k := range a {
		q := l.diagonal[k]
		a[k], weight[k] = g[k]/q, g[k]*l.r[k]/l.h[k]/(q*q)
	}
	if l.train.loss == Logistic {
		sum := make([]float64, n)
		for i, w := range weight {
			for k, q := range all.RawRowView(i) {
				sum[k] += w * q * q
			}
		}
		for k := range a {
			s := l.r[k] / l.h[k]
			third := -math.Tanh((l.z[k] + s) / 2) // l''' / l''
			a[k] += third * (g[k]*s - sum[k])
		}
	}
	floats.Div(a, l.root)
	u := l.multiply(a)
	floats.Mul(u, l.root)
	// Gamma from the diagonal blocks on, as (Q diag(weight)) Q.
	weighted := mat.DenseCopyOf(all)
	for i := range n {
		floats.Mul(weighted.RawRowView(i), weight)
	}
	slope := mat.NewSymDense(len(l.y), nil)
	for i := range l.train.tasks {
		from, to := l.first[i], l.first[i+1]
		if from == to {
			continue
		}
		gamma := mat.NewDense(to-from, n-from, nil)
		right, own := all.Slice(0, n, from, n).(*mat.Dense), weighted.Slice(from, to, 0, n).(*mat.Dense)
		gemm(false, false, 1, own.RawMatrix(), right.RawMatrix(), 0, gamma.RawMatrix())
		for j := i; j < len(l.train.tasks); j += classes {
			sum := 0.0
			for b := from; b < to; b++ {
				gram, row := l.gram.RawRowView(b), gamma.RawRowView(b-from)
				for k := l.first[j]; k < l.first[j+1]; k++ {
					sum += gram[k] * (l.root[b]*l.root[k]*row[k-from] - (u[b]*l.r[k]+l.r[b]*u[k])/2)
				}
			}
			slope.SetSym(i/classes, j/classes, slope.At(i/classes, j/classes)+sum/l.lambda1)
		}
	}
	return slope
}

// squareUpper puts the upper triangle of L'L into dst, for a lower triangle L.
func squareUpper(l, dst blas64.General) {
	for j := 0; j < l.Rows; j += wide { // the columns from j on, down to the diagonal
		w, below := min(wide, l.Rows-j), l.Data[j*l.Stride:]
		linalg.Gemm(linalg.Default(), linalg.Trans, linalg.NoTrans, j+w, w, l.Rows-j, 1, below, l.Stride, below[j:], l.Stride, 0, dst.Data[j:], dst.Stride)
	}
}
