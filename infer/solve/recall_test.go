package solve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/infer/solve/solvetest"
	"l2mt/model"
	"l2mt/model/multitask"
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
	n.Sigma = model.NewSigma(known, model.Taught{Ridge: 0.1, Far: 2, Few: 5})
	return datatest.Must(NewFinder(n))(t), p
}

// Tasks of classes that the network knows have the discriminant of these classes, whatever the
// features of other tasks are; other tasks, and fits without the network, are as they were.
func TestClassesThatComeBack(t *testing.T) {
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
		want := datatest.Must(Fit(t.Context(), datatest.Must(NewFinder(&forgetful))(t), p, o))(t)
		for i, task := range p.Tasks {
			scores := datatest.Must(got.Scores(i, task.TestSet.X))(t)
			if i > 1 {
				if !slices.Equal(scores, datatest.Must(want.Scores(i, task.TestSet.X))(t)) {
					t.Errorf("%d columns: a task of new classes has other scores", columns)
				}
				if !slices.Equal(got.Choice.Scores[i], want.Choice.Scores[i]) {
					t.Errorf("%d columns: rows held out of a task of new classes have other scores", columns)
				}
				continue
			}
			w, b := sigma.Between([][2]int{{3, 1}, {0, 5}}[i], sides(task))
			by := multitask.LinearOf(w, []float64{b}, 0).Scores(task.TestSet.X)
			ratio := scores[0] / by[0]
			for j, s := range scores {
				if ratio < 0 || math.Abs(s-ratio*by[j]) > 1e-3*math.Abs(ratio)*(1+math.Abs(by[j])) {
					t.Fatalf("%d columns: task %d, row %d has the score %v, and %v by hand", columns, i, j, s, ratio*by[j])
				}
			}
			if held := got.Choice.Scores[i]; len(held) != 12 || slices.Equal(held, want.Choice.Scores[i]) {
				t.Errorf("%d columns: rows held out have the scores %v", columns, held)
			}
		}
		if got.Test.Mean > want.Test.Mean && columns > 3 {
			t.Errorf("%d columns: the error is %.4f with classes that come back, %.4f without", columns, got.Test.Mean, want.Test.Mean)
		}
		b := bench(t, f, p, o)
		c := datatest.Must(b.Choose(t.Context(), Parts{NoNetwork: true}))(t)
		if c.Recalled != nil {
			t.Errorf("without the network %v is recognised", c.Recalled)
		}
	}
}
