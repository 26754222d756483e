package solve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/infer/solve/solvetest"
	"l2mt/model"
	_ "l2mt/model/pairwise"
)

// met is a problem of pairs of classes, of which the network knows all but the last two. Columns
// scatter widely after the first three.
func met(t *testing.T, columns int) (*Finder, *data.ProblemData) {
	t.Helper()
	const classes = 8
	const rows = 6
	r := data.Stream(4, "met")
	known := &data.ProblemData{Problem: &data.Problem{Name: "p"}}
	p := &data.ProblemData{Problem: known.Problem}
	var draws [classes]func(n int) data.Matrix
	for c := range classes {
		mean := []float64{3 * r.NormFloat64(), 3 * r.NormFloat64(), 3 * r.NormFloat64()}
		draws[c] = func(n int) data.Matrix {
			var values []float32
			for range n {
				for _, m := range mean {
					values = append(values, float32(m+r.NormFloat64()))
				}
				for range columns - len(mean) {
					values = append(values, float32(5*r.NormFloat64()))
				}
			}
			return datatest.Must(data.NewDense(n, columns, values))(t)
		}
		if c < classes-2 {
			known.Tasks = append(known.Tasks, model.ClassOf(fmt.Sprint("class ", c), draws[c](200)))
		}
	}
	for _, pair := range [][2]int{{3, 1}, {0, 5}, {6, 7}, {2, 7}} {
		task := data.TaskData{Task: &data.Task{Name: fmt.Sprint(pair), Kind: data.Classification}}
		for _, set := range []*data.Samples{&task.TrainSet, &task.TestSet} {
			n := rows
			if set == &task.TestSet {
				n = 400
			}
			set.X = data.Stack([]data.Matrix{draws[pair[0]](n), draws[pair[1]](n)})
			set.Y = append(slices.Repeat([]float64{1}, n), slices.Repeat([]float64{-1}, n)...)
		}
		p.Tasks = append(p.Tasks, task)
	}
	n := solvetest.Network(t, 1, func(c *model.Config) {
		*c = datatest.Must(model.Preset("pairwise", columns))(t)
	})
	n.Sigma = model.NewSigma(known.Tasks, model.Taught{Ridge: 0.1, Far: 2, Few: 5})
	return NewFinder(n), p
}

// Tasks of classes that the network knows have the mean of the fit and of the discriminant of these
// classes, whatever the features of other tasks are; other tasks, and fits without the network, are
// as they were.
func TestClassesThatComeBack(t *testing.T) {
	datatest.Long(t)
	for _, columns := range []int{3, 12} { // structures need more than five rows a column
		f, p := met(t, columns)
		o := Options{Folds: 2, Lambda1: []float64{0.1}}
		got := datatest.Must(Fit(t.Context(), f, p, o))(t)
		if recalled := strings.Join(got.Choice.Recalled, "\n"); len(got.Choice.Recalled) != 2 ||
			!strings.Contains(recalled, `"class 3" and "class 1"`) || !strings.Contains(recalled, `"class 0" and "class 5"`) {
			t.Fatalf("%d columns: recognised is %s", columns, recalled)
		}
		sigma := f.network.Sigma
		forgetful := *f.network
		forgetful.Sigma = model.NewSigma(sigma.Classes, model.Taught{Ridge: 0.1, Few: 5})
		want := datatest.Must(Fit(t.Context(), NewFinder(&forgetful), p, o))(t)
		for i, task := range p.Tasks {
			scores := datatest.Must(got.Scores(i, task.TestSet.X))(t)
			if i > 1 {
				datatest.Holds(t, slices.Equal(scores, datatest.Must(want.Scores(i, task.TestSet.X))(t)),
					"%d columns: a task of new classes has other scores", columns)
				datatest.Holds(t, slices.Equal(got.Choice.Scores[i], want.Choice.Scores[i]),
					"%d columns: rows held out of a task of new classes have other scores", columns)
				continue
			}
			by := discriminant(sigma, [][2]int{{3, 1}, {0, 5}}[i], task).Scores(0, task.TestSet.X)
			fitted := datatest.Must(want.Scores(i, task.TestSet.X))(t)
			ratio := (scores[0] - fitted[0]/2) / by[0]
			for j, s := range scores {
				s -= fitted[j] / 2
				if ratio < 0 || math.Abs(s-ratio*by[j]) > 1e-3*math.Abs(ratio)*(1+math.Abs(by[j])) {
					t.Fatalf("%d columns: task %d, row %d has the score %v, and %v by hand", columns, i, j, s, ratio*by[j])
				}
			}
			held := slices.Clone(got.Choice.Scores[i]) // both parts are of one size
			half := want.Choice.Scores[i]
			floats.AddScaled(held, -0.5, half)
			datatest.Near(t, floats.Norm(held, 2)/floats.Norm(half, 2), 0.5, 1e-9, "%d columns: the part of old rows, off by", columns)
		}
		datatest.Holds(t, got.Test.Mean <= want.Test.Mean || columns <= 3,
			"%d columns: the error is %.4f with classes that come back, %.4f without", columns, got.Test.Mean, want.Test.Mean)
		b := bench(t, f, p, o)
		c := datatest.Must(b.Choose(t.Context(), Parts{NoNetwork: true}))(t)
		datatest.Holds(t, c.Recalled == nil, "without the network %v is recognised", c.Recalled)
		var strange []data.TaskData // far apart where rows of any class only scatter
		for side, c := range sigma.Classes[:2] {
			x := data.Stack([]data.Matrix{c.TrainSet.X, c.TrainSet.X})
			for i := range x.Rows() {
				x.Row(i).Value[columns-1] = float32(100 - 200*side)
			}
			strange = append(strange, model.ClassOf(c.Name, x))
		}
		forgetful.Sigma = model.NewSigma(strange, model.Taught{Ridge: 10, Far: 1e9, Few: 5})
		c = datatest.Must(Fit(t.Context(), NewFinder(&forgetful), p, o))(t).Choice
		datatest.Holds(t, c.Recalled == nil || columns < 4, "discriminants that err more have a say: %v", c.Recalled)
	}
}

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
	n.Sigma = model.NewSigma(classes.Tasks, model.Taught{Ridge: 0.1})
	return NewFinder(n), solvetest.Problem(5, "p", data.Classification, 3)
}

// A candidate in the metric of the experience is the same candidate for rows X A, and its weights
// are for X.
func TestFitsInTheMetricOfTheExperience(t *testing.T) {
	f, p := learned(t, "pairwise")
	bare := *f.network
	bare.Sigma = nil
	before := NewFinder(&bare)
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
		datatest.Holds(t, !mat.EqualApprox(&a, &b, 1e-6),
			"%s: weights are not for the columns of the problem", c.Name())
		parsed, ok := ParseCandidate(c.Name())
		datatest.Holds(t, ok && parsed == c, "%q is read as %+v", c.Name(), parsed)
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
		datatest.Holds(t, mat.Equal(found, raw[k]),
			"a network with weights for the columns is asked about others")
	}
	all := b.Candidates(Parts{})
	datatest.Holds(t, slices.ContainsFunc(all, is) && !slices.ContainsFunc(b.Candidates(Parts{NoNetwork: true}), is),
		"candidates are %v", all)
	p.Features = []string{"a", "b", "c", "d", "e"}
	other := bench(t, f, p, Options{})
	datatest.Holds(t, !slices.ContainsFunc(other.Candidates(Parts{}), is), "it is used for other columns")
	j, err := other.Judge(t.Context(), Candidate{Learned: true})
	datatest.Holds(t, err != nil, "it is judged for other columns: %v", j)
}
