package model

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
)

// Forward computes estimates of a network. It has a graph for every shape of a problem
// that it meets, and reads the network's parameters anew every time, so it follows a
// network in training. It is used by one goroutine.
type Forward struct {
	programs
	network *Network
}

// Estimate is f of a network for one problem.
type Estimate struct {
	// Tasks is m.
	Tasks int
	// E holds the embeddings, row-major, with a row of h numbers for every task or
	// pair of tasks.
	E []float64
	// Phi (m x m, row-major) and C give f(Omega) = <Phi, Omega> + C tr(Omega^2).
	Phi []float64
	C   float64
	// F and V are f(Omega) and v(o) of the given tuples.
	F, V []float64
}

// NewForward returns the forward graph of a network, which NewNetwork or Load has made.
func NewForward(n *Network) *Forward {
	return &Forward{
		programs: newPrograms(n.Config),
		network:  n,
	}
}

// Estimate embeds the tasks of a problem and evaluates the given tuples, if any.
func (f *Forward) Estimate(p *Payload, tuples ...Tuple) (*Estimate, error) {
	n, err := f.put(f.network.Params, p, tuples)
	if err != nil {
		return nil, fmt.Errorf("forward graph: %w", err)
	}
	if err := n.graph.Run(); err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	e := &Estimate{
		Tasks: p.tasks, C: n.c.Value[0],
		E: slices.Clone(n.e.Value), Phi: slices.Clone(n.phi.Value),
	}
	if n.f != nil {
		e.F = slices.Clone(n.f.Value)
		e.V = slices.Clone(n.v.Value)
	}
	return e, nil
}

// Asked has the arguments of the closed form for a covariance with the least direction * f.
func (e *Estimate) Asked(direction float64) (phi *mat.SymDense, rho float64) {
	phi = linalg.Symmetrised(mat.NewDense(e.Tasks, e.Tasks, e.Phi), direction)
	return phi, direction * e.C
}
