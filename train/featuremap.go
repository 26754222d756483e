package train

import (
	"cmp"
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/layers/linalg"
	"l2mt/model"
	"l2mt/model/multitask"
)

// Some hundred outcomes teach a body little about its features by gradients. The training tasks
// know more: the weights that all of their rows give. The start from experience is a linear map
// from the readout of the few training rows of tasks, A, to these weights, W, in closed form:
//
//	B = argmin |A B - W|^2 + rho |B|^2 = A' (A A' + rho I)^-1 W,  M = B V
//
// V being the leading right singular vectors of A B. Inner products of A M are those
// that the map expects of the weights, of tasks that it has not seen too.

// featureRidge is rho over the mean eigenvalue of A A'. The rho that predicts the weights
// of problems left out best was 0.1 of it on Yale B and Caltech-101 and 0.3 on Multiple
// Features, Reuters and 20 Newsgroups.
const featureRidge = 0.2

// mostTasks is the number of tasks that a map is learnt from. Its time grows with the cube.
const mostTasks = 1000

// startFeatureMap gives the body a map to begin with, if it takes one.
func (t *trainer) startFeatureMap(ctx context.Context) error {
	set := t.network.FeatureMap()
	if set == nil {
		return nil
	}
	means, weights, err := t.taskWeights(ctx)
	if err != nil || means == nil {
		return err
	}
	m, err := featureMap(means, weights, t.config.Model.Hidden/2)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	set(m)
	return nil
}

// taskWeights are A and W of the training problems, with a row of length one for every
// task, but for tasks of several classes, which have no one vector of weights.
func (t *trainer) taskWeights(ctx context.Context) (means, weights *mat.Dense, err error) {
	report := t.options.Progress
	report.Start("task weights", len(t.training))
	defer report.Finish()
	var a, w []float64
	tasks := 0
	for _, p := range t.training {
		if tasks >= mostTasks {
			break
		}
		if p.Problem.Several() > 0 {
			continue
		}
		embeddings, err := model.Means(t.config.Model, p.Problem)
		if err != nil {
			return nil, nil, err
		}
		targets, err := ownWeights(ctx, p.Example)
		if err != nil {
			return nil, nil, fmt.Errorf("start: problem %q: %w", p.Problem.Name, err)
		}
		for i := range p.Problem.Tasks {
			a = append(a, unit(embeddings.RawRowView(i))...)
			w = append(w, unit(mat.Col(nil, i, targets))...)
			tasks++
		}
		report.Advance(1, p.Problem.Name)
	}
	if tasks == 0 {
		return nil, nil, nil
	}
	return mat.NewDense(tasks, len(a)/tasks, a),
		mat.NewDense(tasks, len(w)/tasks, w), nil
}

// ownWeights is W of every task of a problem on its own, fitted to all of its rows with the
// Lambda1 of the best tuple.
func ownWeights(ctx context.Context, e Example) (*mat.Dense, error) {
	p := e.Problem.Labelled().Tested().Labelled()
	problem, err := multitask.Training(p)
	if err != nil {
		return nil, err
	}
	lambda1 := cmp.Or(e.best(-1).Lambda1, 1e-2)
	r, err := multitask.FitFixed(ctx, multitask.Uniform(len(p.Tasks)),
		problem, lambda1, multitask.Options{Tolerance: 1e-4})
	if err != nil {
		return nil, err
	}
	return r.W, nil
}

// unit scales a vector to length one, if it has any.
func unit(v []float64) []float64 {
	length := floats.Norm(v, 2)
	if length > 0 {
		floats.Scale(1/length, v)
	}
	return v
}

// featureMap is M (d x k) of A and W (n x d), with fewer columns where the rank of A B is
// lower.
func featureMap(a, w *mat.Dense, k int) (*mat.Dense, error) {
	n, _ := a.Dims()
	var gram mat.SymDense
	gram.SymOuterK(1, a)
	x, rho, err := solveRidge(&gram, featureRidge, w)
	if err != nil {
		return nil, fmt.Errorf("means of the tasks: %w", err)
	}
	var fitted mat.Dense
	fitted.Scale(-rho, x)
	fitted.Add(&fitted, w) // A B = W - rho X
	gram.SymOuterK(1, &fitted)
	e, err := linalg.Eigen(&gram)
	if err != nil {
		return nil, err
	}
	first := n - min(n, k)
	for first < n-1 && e.Values[first] < 1e-12*e.Values[n-1] {
		first++ // A B has a lower rank
	}
	var v, dual, m mat.Dense
	v.Mul(fitted.T(), e.Vectors.Slice(0, n, first, n)) // d x k
	for j := range n - first {
		v.SetCol(j, unit(mat.Col(nil, j, &v)))
	}
	dual.Mul(x, &v) // n x k
	m.Mul(a.T(), &dual)
	return &m, nil
}
