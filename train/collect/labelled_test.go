package collect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
	"l2mt/train/collect"
)

// Errors are those of fits on all labelled rows.
func TestFitsOnAllLabelledRows(t *testing.T) {
	datatest.Long(t)
	problems, ref := sample(t, 2)
	byName := map[string]*data.ProblemData{}
	for _, p := range problems {
		all := p.Labelled()
		byName[p.Name] = all
	}
	c := collect.Config{Models: []string{"stl"}, Explore: 2, Near: 3, Measured: collect.OfLabelled, Seed: 4}
	dir := storeDir(t)
	if s := run(t, dir, c, problems, ref, 2); s != (collect.Summary{Made: 2 * 6}) {
		t.Errorf("%+v", s)
	}
	near := map[float64]bool{}
	for _, r := range load(t, dir) {
		p := byName[r.Problem]
		if strings.HasPrefix(r.Source, "near/") {
			near[r.Omega[0][1]] = true
		}
		p = data.InMetric(p) // fits on all labelled rows are
		train := datatest.Must(multitask.Training(p))(t)
		test := datatest.Must(evidence.NewSplit(p.Tested()))(t)
		omega := mat.NewSymDense(len(r.Omega), slices.Concat(r.Omega...))
		fit := datatest.Must(multitask.FitFixed(t.Context(), omega, train, r.Result.Lambda1, multitask.Options{Tolerance: 1e-12}))(t)
		held := test.Measure(fit)
		datatest.Near(t, held.Error, r.Result.MeanTest(), 1e-3, "%s on %s: the error is recorded as", r.Source, r.Problem)
		if r.Source == experience.STL {
			var scores []data.Samples
			for _, k := range p.Tasks {
				scores = append(scores, k.TestSet)
			}
			e, err := evidence.Evaluate(fit, p.Kind(), scores, nil)
			if err != nil || cmp.Diff(e.Task, r.Result.Test) != "" {
				t.Errorf("single-task learning makes the errors %v, recorded are %v (%v)", e.Task, r.Result.Test, err)
			}
		}
	}
	if len(near) < 5 {
		t.Errorf("the 6 covariances near those made by hand have %d different entries (0, 1)", len(near))
	}
}

// With all labelled rows trained on, problems without validation rows will do.
func TestLabelledNeedsNoValidationRows(t *testing.T) {
	problems, ref := sample(t, 1)
	for i := range problems[0].Tasks {
		k := &problems[0].Tasks[i]
		task := *k.Task
		task.Validation = nil
		k.Task, k.ValidationSet = &task, data.Samples{}
	}
	c := collect.Config{Models: []string{"stl"}, Explore: 1, Measured: collect.OfLabelled}
	if s := run(t, storeDir(t), c, problems, ref, 1); s != (collect.Summary{Made: 2}) {
		t.Errorf("%+v", s)
	}
}
