package evidence

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
	kernel "l2mt/layers/linalg"
	"l2mt/model/multitask"
)

type leaveOneOut struct {
	heldRows
	classes int
	parts   []data.Samples // the rows of every task, class by class
	first   []int          // where these begin, and the end
	gram    *mat.Dense     // <x_a, x_b>, N x N
}

// NewLeaveOneOut is the evidence of the training rows of a problem, each predicted
// by the fit that lacks it: exactly for the squared loss, approximately (ALO)
// for the logistic one. It takes of the order of N^3 operations for N rows. The Omega
// that a model has found is held while rows are left out.
//
// The approximation is within 1 % of refitting for twenty rows a task where
// Lambda1 is what so few rows want, and within 5 % for five rows, or for a
// hundredth of that Lambda1. The only row of its class is predicted
// by that step too, where refitting would have no minimum.
func NewLeaveOneOut(p *data.ProblemData) (Evidence, error) {
	h, err := newHeldRows(p)
	if err != nil {
		return nil, err
	}
	e := &leaveOneOut{heldRows: h, classes: max(1, p.Several())}
	for i, t := range p.Tasks {
		if len(t.TrainSet.Y) < 2 {
			return nil, fmt.Errorf("evidence: task %q: %w: it has one row; leaving it out takes at least 2", t.Name, multitask.ErrInvalidData)
		}
		if e.kind == data.Regression && e.scale[i] == 0 {
			return nil, fmt.Errorf("evidence: task %q: %w: all targets are equal, so that nMSE is undefined", t.Name, multitask.ErrInvalidData)
		}
		e.y[i] = t.TrainSet.Y
	}
	e.parts = e.train.Parts()
	e.gram, e.first = e.train.Gram()
	return e, nil
}

// Hold fits all rows.
func (e *leaveOneOut) Hold(ctx context.Context, of Subject, p multitask.Params, from *HeldOut, o multitask.Options) (*HeldOut, error) {
	r, err := multitask.Fit(ctx, of.Model, e.train, p, from.starting(o, 0))
	if err != nil {
		return nil, err
	}
	l := &left{leaveOneOut: e, omega: r.Omega, lambda1: r.Params.Lambda1}
	var score, slope []float64
	for i, t := range e.parts {
		var f []float64
		if len(t.Y) > 0 {
			f = multitask.ClassScores(r.Scores(i/e.classes, t.X), i%e.classes, e.classes)
		}
		first, second := e.train.Derivatives(f, t.Y)
		score, slope, l.h = append(score, f...), append(slope, first...), append(l.h, second...)
	}
	if err := l.factorize(); err != nil {
		return nil, err
	}
	l.newton(score, slope)
	scores, k := make([][]float64, len(e.y)), e.classes
	for i, y := range e.y {
		scores[i] = slices.Repeat([]float64{math.Inf(-1)}, len(y)*k)
		for c := range k {
			for a := e.first[i*k+c]; a < e.first[i*k+c+1]; a++ {
				scores[i][(a-e.first[i*k+c])*k+c] = l.z[a] + l.r[a]/(l.h[a]*l.diagonal[a])
			}
		}
	}
	return e.hear(scores, r), nil
}

// Judge is Hold.
func (e *leaveOneOut) Judge(ctx context.Context, of Subject, p multitask.Params, from *HeldOut, o multitask.Options) (*HeldOut, error) {
	return e.Hold(ctx, of, p, from, o)
}

// left is a fit with each of its rows left out. What rows say takes the diagonal of
//
//	Q = H^(-1/2) M H^(-1/2),
//
// whose eigenvalues are 0 to 1, and products with it.
type left struct {
	*leaveOneOut
	omega    *mat.SymDense
	lambda1  float64
	h, root  []float64 // and H^(1/2)
	blocks   []block   // of Q
	diagonal []float64 // of Q
	z, r     []float64
}

// block is the part of Q of some rows, L^-T L^-1 - F'F.
type block struct {
	rows    []int
	inverse *mat.Dense // L^-1, where LL' = I + H^(1/2) K H^(1/2)
	biases  *mat.Dense // F, which takes them out
}

// newton takes the Newton step from the scores and slopes of a fit, after which
// it need not be a close one.
func (l *left) newton(score, r []float64) {
	n := len(l.h)
	l.z, l.r = make([]float64, n), make([]float64, n)
	v := make([]float64, n)
	for a := range l.z {
		l.z[a] = score[a] - r[a]/l.h[a]
		v[a] = l.root[a] * l.z[a]
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
			floats.AddScaled(product[:x+1], floats.Dot(row, part[:x+1]), row)
		}
		tasks, _ := b.biases.Dims()
		for p := range tasks {
			row := b.biases.RawRowView(p)
			floats.AddScaled(product, -floats.Dot(row, part), row)
		}
		for x, a := range b.rows {
			out[a] = product[x]
		}
	}
	return out
}

// factorize finds the blocks of Q from I + H^(1/2) K H^(1/2), which is well conditioned
// where K + D is not.
func (l *left) factorize() error {
	n := len(l.h)
	// A row with no curvature left takes no part, but must not divide by zero.
	least := 1e-12 * floats.Max(l.h)
	l.root, l.diagonal, l.blocks = make([]float64, n), make([]float64, n), nil
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
	k, m := l.classes, l.omega.SymmetricDim()
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
	n, k := len(rows), l.classes
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
		for ; x < end[p]; x++ {
			row, gram, y := lower.RawRowView(x), l.gram.RawRowView(rows[x]), 0
			for q, j := range parts[:p+1] {
				for c := l.omega.At(i/k, j/k) / l.lambda1 * root[x]; y < min(end[q], x+1); y++ {
					row[y] = c * root[y] * gram[rows[y]]
				}
			}
			row[x]++
		}
	}
	if !kernel.Cholesky(kernel.Default(), n, lower.RawMatrix().Data, n) {
		return fmt.Errorf("evidence: %w: I + H^1/2 K H^1/2 is not positive definite in float64; Lambda1 = %v is too small", multitask.ErrInvalidParams, l.lambda1)
	}
	kernel.Invert(kernel.Default(), n, lower.RawMatrix().Data, n)
	b := block{rows: rows, inverse: lower, biases: biases(lower, root, end)}
	if b.biases == nil {
		return fmt.Errorf("evidence: %w: the biases are not determined at Lambda1 = %v", multitask.ErrInvalidParams, l.lambda1)
	}
	l.blocks = append(l.blocks, b)
	for x := range n {
		for y, v := range lower.RawRowView(x)[:x+1] {
			l.diagonal[rows[y]] += v * v
		}
	}
	for p := range parts {
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
			p.Set(t, x, floats.Dot(inverse.RawRowView(x)[from:min(to, x+1)], root[from:min(to, x+1)]))
		}
		c.SetSym(t, t, 1) // where there are no rows there is no bias
		for u := 0; u <= t && from < to; u++ {
			c.SetSym(t, u, floats.Dot(p.RawRowView(t), p.RawRowView(u)))
		}
		from = to
	}
	var chol mat.Cholesky
	if !chol.Factorize(c) {
		return nil
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, chol.RawU().(*mat.TriDense).RawTriangular(), p.RawMatrix())
	f := mat.NewDense(len(end), n, nil)
	kernel.Gemm(kernel.Default(), kernel.NoTrans, kernel.NoTrans, len(end), n, n, 1, p.RawMatrix().Data, n, inverse.RawMatrix().Data, n, 0, f.RawMatrix().Data, n)
	return f
}
