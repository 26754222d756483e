package model

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	op "gorgonia.org/gorgonia"

	"l2mt/infer"
	"l2mt/layers"
)

// TrainingGraph computes the objective of training,
//
//	mean over tuples of |f(E, Omega) - v(o)| [/ sd of v(o)] + lambda sum_i ||L_i||^2,
//
// or for the objective Found the error of the covariance found and a tenth of the first
// term, and its gradient, for the tuples of one problem at a time: one tuple, as in
// the paper, or several that share the embedding. It has a graph for every shape of a
// problem that it meets, and is used by one goroutine.
type TrainingGraph struct {
	programs
	// Measure measures on the next step's problem. The objective Found needs it.
	Measure   Measure
	direction float64 // of the step's parameters
}

// Step is the outcome of one evaluation. It is overwritten by the next.
type Step struct {
	// Loss is the objective, Residual its mean of |f - v(o)|.
	Loss, Residual float64
	// Deviation is the standard deviation of v(o) over the outcomes of training.
	Deviation float64
	// F has one entry a tuple.
	F []float64
	// Gradient of Loss, in the order of the parameters.
	Gradient Params
}

// NewTrainingGraph returns a training graph for a configuration.
// Outcomes are the o's of all training tuples, at least two of them different.
func NewTrainingGraph(c Config, outcomes []float64) (t *TrainingGraph, err error) {
	if err := c.Trainable(); err != nil {
		return nil, err
	}
	if len(outcomes) < 2 || slices.Min(outcomes) == slices.Max(outcomes) {
		return nil, ErrConfig.Errorf("training graph: the relative errors o of the %d training tuples are all equal; there is nothing to learn from them", len(outcomes))
	}
	t = &TrainingGraph{programs: newPrograms(c)}
	t.outcomes = outcomes
	t.objective = t.capture
	return t, nil
}

// capture adds the objective and its gradient to a graph.
func (t *TrainingGraph) capture(g *layers.Graph, n *core) {
	p := n.program
	loss, in := n.loss(t, g.Input(outcomesName, len(t.outcomes)))
	p.loss = g.Capture(loss)
	p.residual = g.Capture(in.Residual)
	p.deviation = g.Capture(in.Deviation)
	gradients := layers.Gradient(loss, n.parameters()...)
	for i, s := range n.config.Specs() {
		p.gradient = append(p.gradient, Tensor{
			Name:  s.Name,
			Shape: s.Shape,
			Value: g.Capture(gradients[i]).Value,
		})
	}
}

const outcomesName = "outcomes"

// parameters are the nodes of the parameters, in their order.
func (n *core) parameters() (nodes layers.Nodes) {
	for _, s := range n.config.Specs() {
		nodes = append(nodes, n.params[s.Name])
	}
	return nodes
}

// Expression is the objective on some tuples as a graph of Gorgonia's, for its machines and
// solvers, with values for all inputs.
type Expression struct {
	Graph *op.ExprGraph
	Loss  *layers.Node
	// Params and Gradient are in the order of Config.Specs. Whoever has a machine may bind
	// the parameters to their gradients, gorgonia.BindDualValues.
	Params, Gradient layers.Nodes
}

// Express is what Step computes, as a graph of Gorgonia's.
func (t *TrainingGraph) Express(params Params, p *Payload, tuples []Tuple) (e Expression, err error) {
	values, err := t.inputs(params, p, tuples)
	if err != nil {
		return e, err
	}
	n := &program{
		shape: shape{p.shape, p.tasks, len(tuples)},
		slot:  &layers.Slot{Batch: p.batch},
	}
	t.setDirection(params)
	e.Graph, err = t.memory.Express(values, func(g *layers.Graph) {
		c := newCore(g, &t.programs, n)
		e.Loss, _ = c.loss(t, g.Input(outcomesName, len(t.outcomes)))
		e.Params = c.parameters()
		e.Gradient = layers.Gradient(e.Loss, e.Params...)
	})
	return e, err
}

// The objectives beside the paper's.
func init() {
	RegisterObjective(Scaled, Loss{Build: scaled})
	RegisterObjective(Found, Loss{Measured: true, Build: func(in LossInputs) *layers.Node {
		part := mul(layers.Constant(in.Deviation, calibration), scaled(in))
		return add(in.Found, part)
	}})
}

func scaled(in LossInputs) *layers.Node {
	return must(op.Div(in.Residual, in.Deviation))
}

// calibration is the part of Scaled in the objective Found.
const calibration = 0.1

// Measure is the error of a covariance on a problem, and its slope, which is nil where
// nothing can be measured on the problem.
type Measure func(omega *mat.SymDense) (value float64, slope *mat.SymDense, err error)

// found is the error of the covariance that the closed form finds, by Measure. It is 0 where
// that has no slope, or f no least value inside of the covariances.
func (t *TrainingGraph) found(n *core) *layers.Node {
	m := n.program.shape.tasks
	return layers.Outside("found",
		func(in, slopes []layers.View[float64]) float64 {
			estimate := Estimate{
				Tasks: m,
				Phi:   in[0].Data,
				C:     in[1].Data[0],
			}
			phi, rho := estimate.Asked(t.direction)
			if !(rho > 0) {
				return 0
			}
			solution, err := infer.Omega(phi, rho)
			if err != nil { // Phi is not finite
				return math.NaN()
			}
			value, slope, err := t.Measure(solution.Omega)
			check(err)
			if slope == nil {
				return 0
			}
			slopePhi, slopeRho, err := infer.Slopes(phi, rho, slope)
			check(err)
			mat.NewDense(m, m, slopes[0].Data).Scale(t.direction, slopePhi)
			slopes[1].Data[0] = t.direction * slopeRho
			return value
		}, n.phi, n.c)
}

// check lets a run of the graph return an error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Step evaluates the objective and its gradient at the given parameters on the
// tuples of one problem, at least one.
func (t *TrainingGraph) Step(params Params, p *Payload, tuples []Tuple) (Step, error) {
	n, err := t.put(params, p, tuples)
	if err != nil {
		return Step{}, fmt.Errorf("training graph: %w", err)
	}
	if t.config.Measures() && t.Measure == nil {
		return Step{}, ErrConfig.Errorf("the objective %q needs Measure, the error of a covariance on the problem",
			t.config.Objective)
	}
	t.setDirection(params)
	if err := n.graph.Run(); err != nil {
		return Step{}, fmt.Errorf("training step: %w", err)
	}
	s := Step{
		Loss:      n.loss.Value[0],
		Residual:  n.residual.Value[0],
		Deviation: n.deviation.Value[0],
		F:         n.f.Value,
		Gradient:  n.gradient,
	}
	return s, s.finite(n.graph)
}

// finite is an error if the loss, the deviation or the gradient is not.
func (s Step) finite(g *layers.Graph) error {
	parts := Params{{
		Name:  "the loss",
		Value: []float64{s.Loss, s.Deviation},
	}}
	for _, t := range s.Gradient {
		t.Name = "the gradient of " + t.Name
		parts = append(parts, t)
	}
	for _, p := range parts {
		if layers.NotFinite(p.Value) >= 0 {
			return ErrNotFinite.Errorf("%s is not finite; the first such numbers come from operation %s",
				p.Name, g.NotFinite())
		}
	}
	return nil
}

func (t *TrainingGraph) setDirection(params Params) {
	t.direction = math.Copysign(1, t.config.direction(params))
}
