package solve

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/infer"
	"l2mt/model"
	"l2mt/model/multitask"
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

	finder   *Finder
	problem  *data.ProblemData
	asked    []int // the tasks of E
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
	p, err := f.Features(p)
	if err != nil {
		return nil, err
	}
	metric := sync.OnceValue(func() *data.Metric { return data.NewMetric(p, 1) })
	return f.embed(p, func() *data.ProblemData { return metric().Problem(p.TrainingOnly()) })
}

// embed is Embed of a problem with the features that the network works on. It is asked about
// the tasks that have different labels; the others say nothing of how they relate.
func (f *Finder) embed(p *data.ProblemData, inMetric func() *data.ProblemData) (*Embedding, error) {
	if err := checkFeatures(p); err != nil {
		return nil, err
	}
	e := &Embedding{finder: f, problem: p, asked: telling(p)}
	if len(e.asked) < 2 && len(p.Tasks) > len(e.asked) {
		return e, nil
	}
	payload, err := model.PrepareIn(f.of.Config, only(p, e.asked), func() *data.ProblemData { return only(inMetric(), e.asked) })
	if err != nil {
		return nil, fmt.Errorf("solve: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.estimate, err = f.forward.Estimate(payload); err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", p.Name, err)
	}
	e.E = e.estimate.E
	return e, nil
}

// telling are the tasks whose training rows have different labels.
func telling(p *data.ProblemData) (tasks []int) {
	for i, t := range p.Tasks {
		if !t.TrainSet.Borrows(true) {
			tasks = append(tasks, i)
		}
	}
	return tasks
}

// only is a problem of some of the tasks.
func only(p *data.ProblemData, tasks []int) *data.ProblemData {
	q := &data.ProblemData{Problem: p.Problem, Features: p.Features}
	for _, i := range tasks {
		q.Tasks = append(q.Tasks, p.Tasks[i])
	}
	return q
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
}

// Omega finds the covariance with the least estimated error: the one that minimises
// rho tr(Omega^2) + <Phi, Omega>. Scale, which must be positive, multiplies rho, which
// decides how much the tasks share: 1 is what the network says, and where rho is positive
// more brings Omega closer to I/m. Tasks that it could not be asked about have the mean row of
// Omega; of fewer than two others it is I/m.
func (e *Embedding) Omega(scale float64) (*Found, error) {
	if !(scale > 0) {
		return nil, fmt.Errorf("solve: problem %q: %w: rho is to be multiplied by %v; the multiple must be positive", e.problem.Name, infer.ErrInvalid, scale)
	}
	m := len(e.problem.Tasks)
	if e.estimate == nil {
		return &Found{Solution: &infer.Solution{Omega: multitask.Uniform(m)}, Estimated: 1}, nil
	}
	phi, rho := e.estimate.Asked(e.finder.of.Direction())
	solution, err := Omega(phi, rho*scale)
	if err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", e.problem.Name, err)
	}
	f := &Found{Solution: solution, Phi: phi, Estimated: e.finder.of.RelativeError(e.estimate.Value(solution.Omega))}
	if len(e.asked) < m {
		all := *solution
		all.Omega = e.spread(solution.Omega)
		f.Solution = &all
	}
	return f, nil
}

// spread is the covariance of all tasks, of that of the ones asked about.
func (e *Embedding) spread(omega *mat.SymDense) *mat.SymDense {
	m, k := len(e.problem.Tasks), len(e.asked)
	of := mat.NewDense(m, k, nil)
	for i := range m {
		if at, asked := slices.BinarySearch(e.asked, i); asked {
			of.Set(i, at, 1)
			continue
		}
		for at := range k {
			of.Set(i, at, 1/float64(k))
		}
	}
	var half, product mat.Dense
	half.Mul(of, omega)
	product.Mul(&half, of.T())
	all := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			all.SetSym(i, j, product.At(i, j))
		}
	}
	return multitask.Normalised(all)
}

// Estimated is the relative error that the network expects of a covariance,
// divided by its trace.
func (e *Embedding) Estimated(omega *mat.SymDense) (float64, error) {
	if err := data.CheckCovariance(omega, len(e.problem.Tasks)); err != nil {
		return 0, fmt.Errorf("solve: problem %q: %w: the covariance: %w", e.problem.Name, infer.ErrInvalid, err)
	}
	if e.estimate == nil {
		return 1, nil
	}
	unit := mat.NewSymDense(len(e.asked), nil)
	for i, a := range e.asked {
		for j, b := range e.asked[:i+1] {
			unit.SetSym(i, j, omega.At(a, b))
		}
	}
	return e.finder.of.RelativeError(e.estimate.Value(multitask.Normalised(unit))), nil
}
