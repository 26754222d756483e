package infer

import (
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/model"
)

// Network finds covariances with a trained network. Its methods may be called
// from several goroutines.
type Network struct {
	of *model.Network

	mu      sync.Mutex
	forward *model.Forward
}

// NewNetwork returns the network ready for use.
func NewNetwork(n *model.Network) (*Network, error) {
	forward, err := model.NewForward(n)
	if err != nil {
		return nil, fmt.Errorf("infer: %w", err)
	}
	return &Network{of: n, forward: forward}, nil
}

// Found is a covariance with what the network says about it.
type Found struct {
	*Solution
	// E holds the embeddings of the tasks, m x h, row-major.
	E []float64
	// Phi is what Omega was computed from, with Rho.
	Phi *mat.SymDense
	// Estimated is the relative error that the network expects of Omega.
	Estimated float64
}

// Omega finds the covariance that the network thinks best for a problem, from
// the training rows alone. Scale multiplies rho, which decides how much the
// tasks share: 1 is what the network says, and more brings Omega closer to
// I/m, which is reached at infinity.
func (n *Network) Omega(p *data.ProblemData, scale float64) (*Found, error) {
	e, err := n.estimate(p)
	if err != nil {
		return nil, err
	}
	return n.solve(p.Name, e, scale)
}

// estimate runs the network on the training rows of a problem.
func (n *Network) estimate(p *data.ProblemData) (*model.Estimate, error) {
	payload, err := model.Prepare(n.of.Config, p, nil)
	if err != nil {
		return nil, fmt.Errorf("infer: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	e, err := n.forward.Estimate(payload)
	if err != nil {
		return nil, fmt.Errorf("infer: problem %q: %w", p.Name, err)
	}
	return e, nil
}

// solve turns an estimate of the network into a covariance.
func (n *Network) solve(problem string, e *model.Estimate, scale float64) (*Found, error) {
	direction := n.of.Direction()
	f := &Found{E: e.E, Phi: mat.NewSymDense(e.Tasks, nil)}
	for i := range e.Tasks {
		for j := i; j < e.Tasks; j++ {
			f.Phi.SetSym(i, j, direction*(e.Phi[i*e.Tasks+j]+e.Phi[j*e.Tasks+i])/2)
		}
	}
	phi, rho := f.Phi, direction*e.C*scale
	if math.IsInf(scale, 1) { // Phi has no say
		phi, rho = mat.NewSymDense(e.Tasks, nil), 1
	}
	var err error
	if f.Solution, err = Omega(phi, rho); err != nil {
		return nil, fmt.Errorf("infer: problem %q: %w", problem, err)
	}
	f.Estimated = n.of.RelativeError(e.Value(f.Omega))
	return f, nil
}
