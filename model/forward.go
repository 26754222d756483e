package model

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"l2mt/layers"
)

// Forward computes what a network says about problems. It grows with the
// problems it meets and reads the network's parameters anew every time, so it
// follows a network in training. It is used by one goroutine.
type Forward struct {
	*core
	of    *Network
	head  layers.Head
	graph *layers.Graph

	es, phis, cs, fs, vs *layers.Capture
}

// Estimate is what a network says about one problem.
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
// head that are in the graph, as those of a TrainingGraph; without, payloads have
// the features that the whole head makes.
func NewForward(n *Network, head ...layers.Connected) (*Forward, error) {
	if n == nil {
		return nil, ErrConfig.Errorf("there is no network")
	}
	if err := checkHead(n.Config, head); err != nil {
		return nil, err
	}
	if err := n.Params.matches(n.Config); err != nil {
		return nil, fmt.Errorf("forward graph: %w", err)
	}
	return &Forward{of: n, head: head}, nil
}

// grow builds the graph for problems of the given size, if it is too small.
func (f *Forward) grow(size Capacity) error {
	if f.core != nil {
		if have := f.core.size; have.atLeast(size) == have {
			return nil
		}
		size = f.core.size.atLeast(size)
	}
	var parts *parts
	if f.of.Config.inParts(size.Tasks) {
		var err error
		if parts, err = newParts(f.of.Config); err != nil {
			return err
		}
	}
	graph, err := layers.Build(f.of.Config.DType, func(g *layers.Graph) {
		f.core = newCore(g, f.of.Config, size.atLeast(Capacity{}), f.head, parts)
		f.es, f.phis, f.cs = g.Capture(f.e), g.Capture(f.phi), g.Capture(f.c)
		f.fs, f.vs = g.Capture(f.f), g.Capture(f.v)
	})
	if err != nil {
		f.core = nil
		return fmt.Errorf("forward graph: %w", err)
	}
	f.graph = graph
	return nil
}

// Estimate embeds the tasks of a problem and evaluates the given tuples, of
// which there may be none.
func (f *Forward) Estimate(p *Payload, tuples ...Tuple) (*Estimate, error) {
	if err := f.grow(Capacity{p.Rows(), p.Tasks(), len(tuples)}); err != nil {
		return nil, err
	}
	if err := f.put(f.graph, f.of.Params, p, tuples); err != nil {
		return nil, err
	}
	if err := f.graph.Run(); err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	m := p.Tasks()
	per := f.of.Config.Embeds()
	h := len(f.es.Value) / per.rows(f.size.Tasks)
	e := &Estimate{Tasks: m, Per: per, E: make([]float64, per.rows(m)*h), C: f.cs.Value[0]}
	per.move(e.E, m, f.es.Value, f.size.Tasks, h)
	for i := range m {
		e.Phi = append(e.Phi, f.phis.Value[i*f.size.Tasks:][:m]...)
	}
	e.F = append(e.F, f.fs.Value[:len(tuples)]...)
	e.V = append(e.V, f.vs.Value[:len(tuples)]...)
	return e, nil
}

// Asked is what the closed form is asked: a covariance for which direction * f is least.
func (e *Estimate) Asked(direction float64) (phi *mat.SymDense, rho float64) {
	return asked(e.Phi, e.C, e.Tasks, e.Tasks, direction)
}

// asked is Asked of the first tasks of a Phi with so many columns.
func asked(phi []float64, c float64, tasks, cols int, direction float64) (*mat.SymDense, float64) {
	symmetric := mat.NewSymDense(tasks, nil)
	for i := range tasks {
		for j := i; j < tasks; j++ {
			symmetric.SetSym(i, j, direction*(phi[i*cols+j]+phi[j*cols+i])/2)
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
