package solve

import (
	"fmt"
	"math"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/infer"
	"l2mt/model"
)

// Finder finds covariances with a trained network. Its methods may be called
// from several goroutines.
type Finder struct {
	of *model.Network

	mu      sync.Mutex
	forward *model.Forward
}

// NewFinder returns a finder that asks the network.
func NewFinder(n *model.Network) (*Finder, error) {
	forward, err := model.NewForward(n)
	if err != nil {
		return nil, fmt.Errorf("solve: %w", err)
	}
	return &Finder{of: n, forward: forward}, nil
}

// Embedding is a problem as the network sees it. It takes the longest part of
// inference, and everything else about a problem follows from it.
type Embedding struct {
	// E holds the embeddings of the tasks, m x h, row-major.
	E []float64
	// Seconds is the time for the label graph and the embedding.
	Seconds float64

	finder   *Finder
	problem  *data.ProblemData
	estimate *model.Estimate
}

// Features returns a problem with the features that the network works on: those
// that its head makes, or the problem itself if it has none.
func (f *Finder) Features(p *data.ProblemData) (*data.ProblemData, error) {
	q, err := f.of.Features(p)
	if err != nil {
		return nil, fmt.Errorf("solve: %w", err)
	}
	return q, nil
}

// FeaturesOf is Features of several problems.
func (f *Finder) FeaturesOf(problems []*data.ProblemData) ([]*data.ProblemData, error) {
	made := make([]*data.ProblemData, len(problems))
	for i, p := range problems {
		var err error
		if made[i], err = f.Features(p); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// Head has the widths of the network's head, as "1280-1000"; empty if it has none.
func (f *Finder) Head() string { return f.of.Config.Head }

// Embed runs the network on the training rows of a problem.
func (f *Finder) Embed(p *data.ProblemData) (*Embedding, error) {
	begin := time.Now()
	p, err := f.Features(p)
	if err != nil {
		return nil, err
	}
	metric := sync.OnceValue(func() *data.Metric { return data.NewMetric(p, 1) })
	e, err := f.embed(p, func() *data.ProblemData { return metric().Problem(p.TrainingOnly()) })
	if err != nil {
		return nil, err
	}
	e.Seconds = time.Since(begin).Seconds()
	return e, nil
}

// embed is Embed of a problem with the features that the network works on.
func (f *Finder) embed(p *data.ProblemData, inMetric func() *data.ProblemData) (*Embedding, error) {
	if err := checkFeatures(p); err != nil {
		return nil, err
	}
	payload, err := model.PrepareIn(f.of.Config, p, inMetric)
	if err != nil {
		return nil, fmt.Errorf("solve: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	estimate, err := f.forward.Estimate(payload)
	if err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", p.Name, err)
	}
	return &Embedding{E: estimate.E, finder: f, problem: p, estimate: estimate}, nil
}

// Problem is the problem with the features that the network works on, which
// Fit uses too.
func (e *Embedding) Problem() *data.ProblemData { return e.problem }

// checkFeatures refuses features that are not finite: the network would take
// them for an answer.
func checkFeatures(p *data.ProblemData) error {
	for _, t := range p.Tasks {
		for i, v := range t.TrainSet.X.SquaredNorms() {
			if !(v <= math.MaxFloat64) { // or NaN
				return fmt.Errorf("solve: problem %q, task %q, training row %d: %w: its features must be finite", p.Name, t.Name, i, infer.ErrInvalid)
			}
		}
	}
	return nil
}

// Omega finds the covariance that the network thinks best for a problem, from
// the training rows alone. It is Embed with Embedding.Omega.
func (f *Finder) Omega(p *data.ProblemData) (*Found, error) {
	e, err := f.Embed(p)
	if err != nil {
		return nil, err
	}
	return e.Omega(1)
}

// Found is a covariance with what the network says about it.
type Found struct {
	*infer.Solution
	// Phi is what Omega was computed from, with Rho.
	Phi *mat.SymDense
	// Estimated is the relative error that the network expects of Omega.
	Estimated float64
	// Seconds is the time for the eigendecomposition and the scan.
	Seconds float64
}

// Omega finds the covariance with the least estimated error: the one that minimises
// rho tr(Omega^2) + <Phi, Omega>. Scale, which must be positive, multiplies rho, which
// decides how much the tasks share: 1 is what the network says, and where rho is positive
// more brings Omega closer to I/m.
func (e *Embedding) Omega(scale float64) (*Found, error) {
	begin := time.Now()
	if !(scale > 0) {
		return nil, fmt.Errorf("solve: problem %q: %w: rho is to be multiplied by %v; the multiple must be positive", e.problem.Name, infer.ErrInvalid, scale)
	}
	phi, rho := e.estimate.Asked(e.finder.of.Direction())
	solution, err := Omega(phi, rho*scale)
	if err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", e.problem.Name, err)
	}
	f := &Found{Solution: solution, Phi: phi, Estimated: e.finder.of.RelativeError(e.estimate.Value(solution.Omega))}
	f.Seconds = time.Since(begin).Seconds()
	return f, nil
}

// Estimated is the relative error that the network expects of a covariance,
// divided by its trace.
func (e *Embedding) Estimated(omega *mat.SymDense) (float64, error) {
	if err := data.CheckCovariance(omega, e.estimate.Tasks); err != nil {
		return 0, fmt.Errorf("solve: problem %q: %w: the covariance: %w", e.problem.Name, infer.ErrInvalid, err)
	}
	unit := mat.NewSymDense(e.estimate.Tasks, nil)
	unit.ScaleSym(1/mat.Trace(omega), omega)
	return e.finder.of.RelativeError(e.estimate.Value(unit)), nil
}
