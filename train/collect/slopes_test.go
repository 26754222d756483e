package collect_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/experience/experiencetest"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
	"l2mt/train/collect"
)

// Errors are those of fits on all labelled rows, slopes those of the soft test
// error of such fits, over the error of single-task learning.
func TestSlopesOfFitsOnAllLabelledRows(t *testing.T) {
	problems, ref := sample(t, 2)
	byName := map[string]*data.ProblemData{}
	for _, p := range problems {
		all, err := p.Labelled()
		if err != nil {
			t.Fatal(err)
		}
		byName[p.Name] = all
	}
	c := collect.Config{Models: []string{"stl"}, Explore: 2, Near: 3, Measured: collect.OfLabelled, Slopes: true, Seed: 4}
	dir := experiencetest.Dir(t)
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
		train, err := multitask.Training(p, "")
		if err != nil {
			t.Fatal(err)
		}
		test, err := evidence.NewSplit(p.Tested())
		if err != nil {
			t.Fatal(err)
		}
		omega := mat.NewSymDense(len(r.Omega), slices.Concat(r.Omega...))
		fit, err := multitask.FitFixed(t.Context(), omega, train, r.Result.Lambda1, multitask.Options{Tolerance: 1e-12})
		if err != nil {
			t.Fatal(err)
		}
		held, err := test.Measure(fit)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(held.Error-r.Result.Model.MeanTest) > 1e-3 {
			t.Errorf("%s on %s: the error is recorded as %v; it is %v", r.Source, r.Problem, r.Result.Model.MeanTest, held.Error)
		}
		if r.Source == experience.STL {
			var scores []data.Samples
			for _, k := range p.Tasks {
				scores = append(scores, k.TestSet)
			}
			e, err := evidence.Evaluate(fit, p.Kind(), scores)
			if err != nil || cmp.Diff(e.Task, r.Result.STL.Test) != "" {
				t.Errorf("single-task learning makes the errors %v, recorded are %v (%v)", e.Task, r.Result.STL.Test, err)
			}
		}
		slope, err := test.Slope(held)
		if err != nil {
			t.Fatal(err)
		}
		slope.ScaleSym(1/r.Result.STL.MeanTest, slope)
		if got := mat.NewSymDense(len(r.Omega), slices.Concat(r.Result.Slope...)); !mat.EqualApprox(got, slope, 1e-3*(1+mat.Norm(slope, 2))) {
			t.Errorf("%s on %s: the slope is\n%v, recorded is\n%v", r.Source, r.Problem, mat.Formatted(slope), mat.Formatted(got))
		}
	}
	if len(near) < 5 {
		t.Errorf("the 6 covariances near those made by hand have %d different entries (0, 1)", len(near))
	}
	for _, bad := range []collect.Config{{Near: -1}, {Measured: collect.OfModel, Slopes: true}} {
		if err := bad.Defaults().Validate(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
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
	if s := run(t, experiencetest.Dir(t), c, problems, ref, 1); s != (collect.Summary{Made: 2}) {
		t.Errorf("%+v", s)
	}
}
