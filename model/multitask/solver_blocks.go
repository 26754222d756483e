package multitask

import (
	"gonum.org/v1/gonum/mat"
)

// blocks is the Newton matrix across while Psi is held: a block for every task, Q'H_i Q +
// Lambda1 I. What Psi, following, takes away is left to conjugate gradients.
type blocks struct {
	k    int // of W' = Z Q'
	task []cholesky
}

// widestBlocks bounds the sum of the blocks' entries.
const widestBlocks = 1 << 22

// newBlocks returns the matrix at the current point, nil if it is too large.
func (s *solver) newBlocks(rootT *mat.Dense) preconditioner {
	k, _ := rootT.Dims()
	if s.m*k*k > widestBlocks {
		return nil
	}
	n := &blocks{k: k, task: make([]cholesky, s.m)}
	for i, h := range s.hessians(rootT.RawMatrix().Data, k) {
		for a := range k {
			h[a*k+a] += s.params.Lambda1
		}
		n.task[i].factorize(mat.NewSymDense(k, h))
	}
	return n
}

// solve sets dst to the preconditioned vector x, both m x k.
func (n *blocks) solve(dst, x []float64) {
	copy(dst, x)
	for i := range n.task {
		n.task[i].solve(dst[i*n.k:][:n.k])
	}
}
