package train

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"l2mt/model"
)

// regress sets the parameters that f is linear in to the least-squares fit of
// v(o) over the training tuples, the embeddings being what they are. The
// paper's start says "aligned is bad" on real data, and training does not turn
// that round. Head has the trained layers of the network's head.
func regress(n *model.Network, examples []prepared, head ...model.Connected) error {
	entries := n.Config.LinearEntries()
	if len(entries) == 0 {
		return nil
	}
	forward, err := model.NewForward(n, head...)
	if err != nil {
		return err
	}
	set := func(values ...float64) {
		for k, e := range entries {
			n.Params.Get(e.Param)[e.Index] = values[k]
		}
	}
	rows := len(outcomes(examples...))
	terms, v := mat.NewDense(rows, len(entries), nil), mat.NewVecDense(rows, nil)
	unit := make([]float64, len(entries))
	for k := range entries {
		clear(unit)
		unit[k] = 1
		set(unit...)
		row := 0
		for _, e := range examples {
			estimate, err := forward.Estimate(e.payload, e.tuples...)
			if err != nil {
				return fmt.Errorf("train: start: %w", err)
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
	normal.SymOuterK(1, terms.T())
	ridge := 1e-9 * mat.Trace(&normal) / float64(len(entries))
	for k := range entries {
		normal.SetSym(k, k, normal.At(k, k)+ridge)
	}
	var right, solution mat.VecDense
	right.MulVec(terms.T(), v)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(&normal) {
		return fmt.Errorf("train: start: %w: the untrained estimates are all zero or not finite", ErrConfig)
	}
	if err := cholesky.SolveVecTo(&solution, &right); err != nil {
		return fmt.Errorf("train: start: %w", err)
	}
	set(solution.RawVector().Data...)
	return nil
}
