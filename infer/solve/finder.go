package solve

import (
	"fmt"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/view"
	"l2mt/infer"
	"l2mt/model"
	"l2mt/model/multitask"
)

// Finder finds covariances with a trained network. Its methods may be called
// from several goroutines.
type Finder struct {
	network *model.Network

	mu      sync.Mutex
	forward *model.Forward
}

// NewFinder returns a finder that asks the network.
func NewFinder(n *model.Network) *Finder {
	return &Finder{
		network: n,
		forward: model.NewForward(n),
	}
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
	q := &data.ProblemData{
		Problem:  p.Problem,
		Features: p.Features,
	}
	for _, i := range tasks {
		q.Tasks = append(q.Tasks, p.Tasks[i])
	}
	return q
}

// Omega finds the covariance that the network thinks best for a problem, from
// the training rows alone.
func (f *Finder) Omega(p *data.ProblemData) (*mat.SymDense, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if _, err := multitask.Training(p); err != nil { // features that are not finite
		return nil, err
	}
	return f.find(p, view.InMetric(p.TrainingOnly()))
}

// find is Omega of a problem that has been made in its metric too. It minimises the estimated
// error: rho tr(Omega^2) + <Phi, Omega>. The network is asked about the tasks that have different
// labels. The others say nothing of how they relate,
// and have the mean row of Omega; of fewer than two tasks that tell it is I/m.
func (f *Finder) find(p, inMetric *data.ProblemData) (*mat.SymDense, error) {
	m := len(p.Tasks)
	tasks := telling(p)
	if len(tasks) < min(2, m) {
		return multitask.Uniform(m), nil
	}
	rows := p
	if f.network.Config.FeatureFree() {
		rows = inMetric
	}
	payload, err := model.PrepareSeen(f.network.Config, only(rows, tasks))
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	estimate, err := f.forward.Estimate(payload)
	f.mu.Unlock()
	var s *infer.Solution
	if err == nil {
		s, err = infer.Omega(estimate.Asked(f.network.Direction()))
	}
	if err != nil {
		return nil, fmt.Errorf("problem %q: %w", p.Name, err)
	}
	if len(tasks) < m {
		return spread(s.Omega, tasks, m), nil
	}
	return s.Omega, nil
}

// spread makes a covariance of m tasks from the covariance of the tasks that the network was asked
// about.
func spread(omega *mat.SymDense, tasks []int, m int) *mat.SymDense {
	k := len(tasks)
	columns := mat.NewDense(m, k, nil)
	for i := range m {
		column, known := slices.BinarySearch(tasks, i)
		if known {
			columns.Set(i, column, 1)
			continue
		}
		for other := range k {
			columns.Set(i, other, 1/float64(k))
		}
	}
	var half, product mat.Dense
	half.Mul(columns, omega)
	product.Mul(&half, columns.T())
	return multitask.Normalised(
		mat.NewSymDense(m, mat.DenseCopyOf(product.T()).RawMatrix().Data))
}
