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

// asked is a problem as the network sees it.
type asked struct {
	finder   *Finder
	problem  *data.ProblemData
	tasks    []int           // those that it is asked about
	estimate *model.Estimate // nil where these are fewer than two of several
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

// ask runs the network on the training rows of a problem with the features that it works on. It
// is asked about the tasks that have different labels; the others say nothing of how they relate.
func (f *Finder) ask(p *data.ProblemData, inMetric func() *data.ProblemData) (*asked, error) {
	if err := checkFeatures(p); err != nil {
		return nil, err
	}
	a := &asked{finder: f, problem: p, tasks: telling(p)}
	if len(a.tasks) < 2 && len(p.Tasks) > len(a.tasks) {
		return a, nil
	}
	payload, err := model.PrepareIn(f.of.Config, only(p, a.tasks), func() *data.ProblemData { return only(inMetric(), a.tasks) })
	if err != nil {
		return nil, fmt.Errorf("solve: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.estimate, err = f.forward.Estimate(payload); err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", p.Name, err)
	}
	return a, nil
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
// the training rows alone.
func (f *Finder) Omega(p *data.ProblemData) (*Found, error) {
	p, err := f.Features(p)
	if err != nil {
		return nil, err
	}
	a, err := f.ask(p, func() *data.ProblemData { return data.NewMetric(p, 1).Problem(p.TrainingOnly()) })
	if err != nil {
		return nil, err
	}
	return a.omega()
}

// Found is a covariance with what the network says about it.
type Found struct {
	*infer.Solution
	// Estimated is the relative error that the network expects of Omega.
	Estimated float64
}

// omega finds the covariance with the least estimated error: the one that minimises
// rho tr(Omega^2) + <Phi, Omega>. Tasks that the network could not be asked about have the mean
// row of Omega; of fewer than two others it is I/m.
func (a *asked) omega() (*Found, error) {
	m := len(a.problem.Tasks)
	if a.estimate == nil {
		return &Found{Solution: &infer.Solution{Omega: multitask.Uniform(m)}, Estimated: 1}, nil
	}
	phi, rho := a.estimate.Asked(a.finder.of.Direction())
	solution, err := Omega(phi, rho)
	if err != nil {
		return nil, fmt.Errorf("solve: problem %q: %w", a.problem.Name, err)
	}
	f := &Found{Solution: solution, Estimated: a.finder.of.RelativeError(a.estimate.Value(solution.Omega))}
	if len(a.tasks) < m {
		all := *solution
		all.Omega = a.spread(solution.Omega)
		f.Solution = &all
	}
	return f, nil
}

// spread is the covariance of all tasks, of that of the ones asked about.
func (a *asked) spread(omega *mat.SymDense) *mat.SymDense {
	m, k := len(a.problem.Tasks), len(a.tasks)
	of := mat.NewDense(m, k, nil)
	for i := range m {
		if at, told := slices.BinarySearch(a.tasks, i); told {
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
