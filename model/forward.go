package model

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"l2mt/layers"
)

// Forward computes estimates of a network. It grows with the problems it meets and
// reads the network's parameters anew every time, so it follows a network in
// training. It is used by one goroutine.
type Forward struct {
	*core
	network *Network
	head    layers.Head
	graph   *layers.Graph

	es, phis, cs, fs, vs *layers.Capture
}

// Estimate is f of a network for one problem.
type Estimate struct {
	// Tasks is m.
	Tasks int
	// E holds the embeddings, row-major, with a row of h numbers for every task or
	// pair of tasks, as Per says.
	E   []float64
	Per Per
	// Phi (m x m, row-major) and C give f(Omega) = <Phi, Omega> + C tr(Omega^2).
	Phi []float64
	C   float64
	// F and V are f(Omega) and v(o) of the given tuples.
	F, V []float64
}

// NewForward returns the forward graph of a network. Head has the layers of its
// head that are in the graph, as in a TrainingGraph; without, payloads have the
// features that the whole head makes.
func NewForward(n *Network, head ...layers.Connected) (*Forward, error) {
	if n == nil {
		return nil, ErrConfig.Errorf("there is no network; load one, or make one with NewNetwork")
	}
	if err := checkHead(n.Config, head); err != nil {
		return nil, err
	}
	if err := n.Params.matches(n.Config); err != nil {
		return nil, fmt.Errorf("forward graph: %w", err)
	}
	return &Forward{network: n, head: head}, nil
}

// grow builds the graph for problems of the given size, if it is too small.
func (f *Forward) grow(size Capacity) error {
	if f.core != nil {
		size = f.size.atLeast(size)
		if size == f.size {
			return nil
		}
	}
	config := f.network.Config
	var parts *parts
	if config.inParts(size.Tasks) {
		var err error
		if parts, err = newParts(config); err != nil {
			return err
		}
	}
	graph, err := layers.Build(config.DType, func(g *layers.Graph) {
		f.core = newCore(g, config, size.atLeast(Capacity{}), f.head, parts)
		f.es = g.Capture(f.e)
		f.phis = g.Capture(f.phi)
		f.cs = g.Capture(f.c)
		f.fs = g.Capture(f.f)
		f.vs = g.Capture(f.v)
	})
	if err != nil {
		f.core = nil
		return fmt.Errorf("forward graph: %w", err)
	}
	f.graph = graph
	return nil
}

// Estimate embeds the tasks of a problem and evaluates the given tuples, if any.
func (f *Forward) Estimate(p *Payload, tuples ...Tuple) (*Estimate, error) {
	m := p.Tasks()
	if err := f.grow(Capacity{p.Rows(), m, len(tuples)}); err != nil {
		return nil, err
	}
	if err := f.put(f.graph, f.network.Params, p, tuples); err != nil {
		return nil, err
	}
	if err := f.graph.Run(); err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	per := f.config.Embeds()
	tasks := f.size.Tasks
	h := len(f.es.Value) / per.rows(tasks)
	e := &Estimate{Tasks: m, Per: per, C: f.cs.Value[0]}
	e.E = make([]float64, per.rows(m)*h)
	per.move(e.E, m, f.es.Value, tasks, h)
	for i := range m {
		e.Phi = append(e.Phi, f.phis.Value[i*tasks:][:m]...)
	}
	e.F = append(e.F, f.fs.Value[:len(tuples)]...)
	e.V = append(e.V, f.vs.Value[:len(tuples)]...)
	return e, nil
}

// Asked has the arguments of the closed form for a covariance with the least direction * f.
func (e *Estimate) Asked(direction float64) (phi *mat.SymDense, rho float64) {
	return asked(e.Phi, e.C, e.Tasks, e.Tasks, direction)
}

// asked is Asked of the first tasks of a Phi with so many columns.
func asked(phi []float64, c float64, tasks, cols int, direction float64) (*mat.SymDense, float64) {
	symmetric := mat.NewSymDense(tasks, nil)
	for i := range tasks {
		for j := i; j < tasks; j++ {
			sum := phi[i*cols+j] + phi[j*cols+i]
			symmetric.SetSym(i, j, direction*sum/2)
		}
	}
	return symmetric, direction * c
}

// Value is f at a covariance: <Phi, Omega> + C tr(Omega^2).
func (e *Estimate) Value(omega mat.Symmetric) float64 {
	f := 0.0
	for i := range e.Tasks {
		for j := range e.Tasks {
			w := omega.At(i, j)
			f += e.Phi[i*e.Tasks+j]*w + e.C*w*w
		}
	}
	return f
}
