package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/table"
	"l2mt/data/view"
	"l2mt/infer/solve"
	"l2mt/model/evidence"
)

// modelOf is a model of two tasks, a x^2 + noise with x between 10 and 14, beside a column that
// says nothing, fitted in a structure.
func modelOf(t *testing.T, s solve.Structure) *Model {
	t.Helper()
	text := "task,noise,x,y\n"
	for i := range 2 {
		r := data.Stream(1, "bent", uint64(i))
		for range 80 {
			x := 10 + 4*r.Float64()
			text += fmt.Sprintf("t%d,%v,%v,%v\n", i, r.NormFloat64(), x, float64(1+i)*(x-12)*(x-12)+0.1*r.NormFloat64())
		}
	}
	return shownOf(t, text, table.Options{Task: "task", Steps: []string{view.Standardise}}, s)
}

// shownOf is a model of a table, fitted in a structure.
func shownOf(t *testing.T, text string, o table.Options, s solve.Structure) *Model {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bent.csv")
	datatest.Check(t, os.WriteFile(path, []byte(text), 0o644))
	read := datatest.Must(table.Read([]string{path}, o))(t)
	b := datatest.Must(solve.NewBench(nil, read.Problem, solve.Options{}))(t)
	choice := datatest.Must(b.Take(t.Context(), solve.Candidate{Structure: s}))(t)
	f := datatest.Must(b.Fit(t.Context(), choice))(t)
	return datatest.Must(Explain(datatest.Must(f.Saved(read.Recipe))(t), 10))(t)
}

// Curves are those that the targets were made by, in the unit of the table, up to a constant.
func TestCurvesAreThoseOfTheTargets(t *testing.T) {
	shown := modelOf(t, solve.Structure{View: solve.Curves})
	datatest.Need(t, len(shown.Curves) == 2 && shown.Curves[0].Column == "x", "%+v", shown)
	c := shown.Curves[0]
	for i, y := range append([][]float64{c.Shared}, c.Tasks...) {
		factor := []float64{1.5, 1, 2}[i]
		want := make([]float64, len(c.X))
		for k, x := range c.X {
			want[k] = factor * (x - 12) * (x - 12)
		}
		mean := stat.Mean(want, nil)
		for k, x := range c.X {
			datatest.Holds(t, math.Abs(y[k]-(want[k]-mean)) <= 0.15*factor,
				"curve %d at %.2f is %.3f, want %.3f", i, x, y[k], want[k]-mean)
		}
	}
	if c.X[0] < 10 || c.X[0] > 10.3 || c.Knots[len(c.Knots)-1] < 13.7 || c.Knots[len(c.Knots)-1] > 14 {
		t.Errorf("the curve is from %v with the knots %v; x is between 10 and 14", c.X[0], c.Knots)
	}
	want := 0.5 * stat.PopStdDev(c.Tasks[0], nil)
	datatest.Holds(t, math.Abs(c.Apart-want) <= 0.1*want, "tasks are %.3f from their mean, want %.3f", c.Apart, want)
	for _, knot := range c.Knots {
		datatest.Holds(t, slices.Contains(c.X, knot), "the curve has no point at the knot %v", knot)
	}
}

// Each of several classes has a band, narrower than what its column changes. Several targets have the
// same curves in any units.
func TestBandsOfSeveralClassesAndTargets(t *testing.T) {
	r := data.Stream(3, "bands")
	classes := "task,x,class\n"
	targets := "x,y1,y2\n"
	for i := range 120 {
		x := r.NormFloat64()
		y := x + 0.1*r.NormFloat64()
		class := "low"
		if y > -0.5 {
			class = "middle"
		}
		if y > 0.5 {
			class = "high"
		}
		classes += fmt.Sprintf("t%d,%v,%s\n", i%2, x, class)
		targets += fmt.Sprintf("%v,%v,%v\n", x, y, 1000*y)
	}
	s := solve.Structure{View: solve.Curves, Sharing: solve.Shared}
	several := shownOf(t, classes, table.Options{Task: "task"}, s).Curves
	units := shownOf(t, targets, table.Options{Targets: []string{"y*"}}, s)
	if len(several) != 3 || len(units.Curves) != 1 || units.Unit() != "in standard deviations of each target" {
		t.Fatalf("%d curves of classes, %d of targets %s", len(several), len(units.Curves), units.Unit())
	}
	for _, c := range append(several, units.Curves...) {
		datatest.Holds(t, len(c.Band) == len(c.X) && slices.Min(c.Band) > 0 && slices.Max(c.Band) < c.Change/2,
			"%s: the band is %v, the column changes %v", c.Column, c.Band, c.Change)
	}
	for i, y := range units.Curves[0].Tasks[0] {
		datatest.Near(t, units.Curves[0].Tasks[1][i], y, 0.01, "the second target at point %d", i)
	}
}

// In a kernel columns add what they do in curves, and one that says nothing adds next to nothing.
func TestCurvesOfAKernelTellColumnsApart(t *testing.T) {
	datatest.Long(t)
	curves := modelOf(t, solve.Structure{View: solve.Kernel}).Curves
	datatest.Holds(t, len(curves) == 2 && curves[0].Column == "x" && curves[0].Change >= 4*curves[1].Change,
		"%+v", curves)
}

// Probabilities are compared with what came true, class by class, and numbers with targets.
func TestPointsOfThePage(t *testing.T) {
	problem := func(kind data.Kind, own bool, classes ...string) *data.ProblemData {
		p := data.TaskData{Task: &data.Task{Kind: kind}}
		return &data.ProblemData{Problem: &data.Problem{Classes: classes}, OwnUnits: own, Tasks: []data.TaskData{p}}
	}
	third := math.Log(0.5) // of a score of which the probability is a third
	for _, c := range []struct {
		kind      data.Kind
		scores, y []float64
		want      [][2]float64
	}{
		{data.Regression, []float64{1, 2, 3}, []float64{1, 3, 2}, [][2]float64{{1, 1}, {2, 3}, {3, 2}}},
		{data.Classification, []float64{third, third, third, -third, -third}, []float64{1, -1, -1, 1, -1}, [][2]float64{{1. / 3, 1. / 3}, {2. / 3, 0.5}}},
	} {
		got := pointsOf(&evidence.HeldOut{Scores: [][]float64{c.scores[:1], c.scores[1:]}, Y: [][]float64{c.y[:1], c.y[1:]}}, problem(c.kind, false), 1)
		if len(got) != 1 || !slices.EqualFunc(got[0], c.want, func(a, b [2]float64) bool {
			return math.Abs(a[0]-b[0])+math.Abs(a[1]-b[1]) < 1e-12
		}) {
			t.Errorf("points of a %s are %v, want %v", c.kind, got, c.want)
		}
	}
	// Each of three classes has its own points, of many all have the same: each row has one class
	// that came true.
	three := &evidence.HeldOut{Scores: [][]float64{{5, 0, 0, 0, 5, 0}}, Y: [][]float64{{0, 0}}}
	for class, want := range [][]float64{{1, 1}, {0, 0}, {0}} {
		var came []float64
		for _, point := range pointsOf(three, problem(data.Classification, false, "a", "b", "c"), 1)[class] {
			came = append(came, point[1])
		}
		datatest.Equal(t, came, want, "class %d came true", class)
	}
	eight := &evidence.HeldOut{Scores: [][]float64{{9, 0, 0, 0, 0, 0, 0, 0}}, Y: [][]float64{{0}}}
	sets := pointsOf(eight, problem(data.Classification, false, strings.Split("abcdefgh", "")...), 1)
	datatest.Holds(t, len(sets) == 1 && len(sets[0]) == 2, "points of eight classes are %v", sets)
	// Targets in units of their own fit one picture: one of thousands, and one of units.
	several := &evidence.HeldOut{Scores: [][]float64{{1000, 2000}, {1, 4}}, Y: [][]float64{{1000, 3000}, {1, 3}}}
	want := [][2]float64{{-1, -1}, {0, 1}, {-1, -1}, {2, 1}}
	got := pointsOf(several, problem(data.Regression, true), 1)
	datatest.Holds(t, slices.Equal(got[0], want), "points of several targets are %v, want %v", got, want)
}

// A model of weights has straight lines, as steep as the targets are, around the mean of a column
// that is far from zero.
func TestLinesAreAsSteepAsTheTargets(t *testing.T) {
	text := "task,x,y\n"
	r := data.Stream(1, "steep")
	for i := range 60 {
		x := 1000 + 4*r.Float64()
		text += fmt.Sprintf("t%d,%v,%v\n", i%2, x, 3*float64(1+i%2)*x+0.01*r.NormFloat64())
	}
	shown := shownOf(t, text, table.Options{Task: "task"}, solve.Structure{})
	datatest.Need(t, len(shown.Curves) == 1, "%+v", shown.Curves)
	c := shown.Curves[0]
	datatest.Near(t, stat.Mean(c.X, nil), 1002, 1, "middle of the line")
	for i, y := range c.Tasks {
		datatest.Near(t, (y[1]-y[0])/(c.X[1]-c.X[0]), 3*float64(1+i), 0.05, "slope of task %d", i)
	}
}

// Several targets share an axis: errors are in their standard deviations.
func TestErrorsOfTargetsHaveOneUnit(t *testing.T) {
	score := Task{By: map[string]evidence.Score{ByModel: {Held: 5, Error: 40, R2: 0.75}}}
	var m Measured
	datatest.Near(t, m.Error(score, ByModel), 40, 0, "error of a target")
	m.Recipe.Targets = []string{"y1", "y2"}
	datatest.Near(t, m.Error(score, ByModel), 0.5, 0, "error of one of two targets")
	datatest.Holds(t, math.IsNaN(m.Error(score, BySTL)), "nothing is known of tasks on their own")
}
