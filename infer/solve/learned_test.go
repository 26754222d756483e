package solve

import (
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/infer/solve/solvetest"
	"l2mt/model"
	_ "l2mt/model/pairwise"
)

// learned is a network of experience with a metric, and a problem for it.
func learned(t *testing.T, preset string) (*Finder, *data.ProblemData) {
	t.Helper()
	n := solvetest.Network(t, 1, func(c *model.Config) {
		if preset != "" {
			*c = datatest.Must(model.Preset(preset, solvetest.Features))(t)
		}
	})
	other := solvetest.Problem(9, "experience", data.Classification, 4)
	for _, task := range other.Tasks { // the first column scatters far
		for i := range task.TrainSet.Y {
			task.TrainSet.X.Row(i).Value[0] *= 5
		}
	}
	classes := &data.ProblemData{Problem: other.Problem}
	for _, task := range other.Tasks {
		for side, x := range sides(task) {
			classes.Tasks = append(classes.Tasks, model.ClassOf(fmt.Sprint(task.Name, side), x))
		}
	}
	n.Sigma = model.NewSigma(classes, model.Taught{Ridge: 0.1})
	return datatest.Must(NewFinder(n))(t), solvetest.Problem(5, "p", data.Classification, 3)
}

// A candidate in the metric of the experience is the same candidate for rows X A, and its weights
// are for X.
func TestFitsInTheMetricOfTheExperience(t *testing.T) {
	f, p := learned(t, "pairwise")
	bare := *f.network
	bare.Sigma = nil
	before := datatest.Must(NewFinder(&bare))(t)
	o := Options{Lambda1: []float64{0.1}}
	for _, c := range []Candidate{{}, {Ridge: 1, Drawn: Drawn}, {Ridge: 1, Mixture: Mixture{Network: 0.5}}} {
		want := fit(t, bench(t, before, f.network.Sigma.Problem(p), o), c)
		c.Learned = true
		got := fit(t, bench(t, f, p, o), c)
		var a, b mat.Dense
		for i, task := range p.Tasks {
			x := task.TestSet.X
			mapped := f.network.Sigma.Problem(p).Tasks[i].TestSet.X
			for j := range x.Rows() {
				u := datatest.Must(got.Scores(i, x.Take([]int{j})))(t)
				v := datatest.Must(want.Scores(i, mapped.Take([]int{j})))(t)
				if d := u[0] - v[0]; d > 1e-4 || d < -1e-4 {
					t.Fatalf("%s: task %d, row %d has the score %v, and %v by hand", c.Name(), i, j, u, v)
				}
			}
		}
		a.CloneFrom(got.W)
		b.CloneFrom(want.W)
		if mat.EqualApprox(&a, &b, 1e-6) {
			t.Errorf("%s: weights are not for the columns of the problem", c.Name())
		}
		if parsed, ok := ParseCandidate(c.Name()); !ok || parsed != c {
			t.Errorf("%q is read as %+v", c.Name(), parsed)
		}
	}
}

// The metric is used where the columns are its own, and never without the network; a network with
// weights for the columns is asked about them as they are.
func TestWhenTheMetricOfTheExperienceIsUsed(t *testing.T) {
	is := func(c Candidate) bool { return c.Learned }
	f, p := learned(t, "")
	b := bench(t, f, p, Options{})
	raw := datatest.Must(b.ask(false))(t)
	for k, found := range datatest.Must(b.ask(true))(t) {
		if !mat.Equal(found.Omega, raw[k].Omega) {
			t.Error("a network with weights for the columns is asked about others")
		}
	}
	all := b.Candidates(Parts{})
	if !slices.ContainsFunc(all, is) || slices.ContainsFunc(b.Candidates(Parts{NoNetwork: true}), is) {
		t.Errorf("candidates are %v", all)
	}
	p.Features = []string{"a", "b", "c", "d", "e"}
	other := bench(t, f, p, Options{})
	if slices.ContainsFunc(other.Candidates(Parts{}), is) {
		t.Error("it is used for other columns")
	}
	if j, err := other.Judge(t.Context(), Candidate{Learned: true}); err == nil {
		t.Errorf("it is judged for other columns: %v", j)
	}
}
