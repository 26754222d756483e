package train

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"l2mt/model"
)

// regress sets the parameters that f is linear in to the least-squares fit of
// v(o) over the training tuples, at the embeddings of the start. The
// paper's start says "aligned is bad" on real data, and training does not turn
// that round.
func regress(n *model.Network, examples []prepared) error {
	entries := n.Config.LinearEntries()
	if len(entries) == 0 {
		return nil
	}
	forward := model.NewForward(n)
	set := func(values ...float64) {
		for k, e := range entries {
			n.Params.Get(e.Param)[e.Index] = values[k]
		}
	}
	rows := len(outcomes(examples...))
	terms := mat.NewDense(rows, len(entries), nil)
	v := mat.NewVecDense(rows, nil)
	for k := range entries {
		unit := make([]float64, len(entries))
		unit[k] = 1
		set(unit...)
		row := 0
		for _, e := range examples {
			estimate, err := forward.Estimate(e.payload, e.Tuples...)
			if err != nil {
				return fmt.Errorf("start: %w", err)
			}
			for q, f := range estimate.F {
				terms.Set(row, k, f)
				v.SetVec(row, estimate.V[q])
				row++
			}
		}
	}
	// A ridge far below the terms keeps the system solvable when two of them
	// are proportional.
	var normal mat.SymDense
	var right mat.VecDense
	normal.SymOuterK(1, terms.T())
	right.MulVec(terms.T(), v)
	solution, _, err := solveRidge(&normal, 1e-9, &right)
	if err != nil {
		return fmt.Errorf("start: untrained estimates: %w", err)
	}
	set(solution.RawMatrix().Data...)
	return nil
}

// solveRidge is (G + rho I)^-1 R, rho being a share of the mean eigenvalue of G, to which
// rho I is added.
func solveRidge(g *mat.SymDense, share float64,
	right mat.Matrix) (x *mat.Dense, rho float64, err error) {
	n := g.SymmetricDim()
	rho = share * mat.Trace(g) / float64(n)
	for i := range n {
		g.SetSym(i, i, g.At(i, i)+rho)
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(g) {
		return nil, 0, ErrConfig.Errorf("they are all zero, or not finite")
	}
	x = &mat.Dense{}
	return x, rho, cholesky.SolveTo(x, right)
}
