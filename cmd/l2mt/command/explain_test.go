package command

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/table"
	"l2mt/infer/solve"
)

// modelOf is a model of two tasks, a x^2 + noise with x between 10 and 14, beside a column that
// says nothing, fitted in a structure.
func modelOf(t *testing.T, s solve.Structure) *shownModel {
	t.Helper()
	text := "task,noise,x,y\n"
	for i := range 2 {
		r := data.Stream(1, "bent", uint64(i))
		for range 80 {
			x := 10 + 4*r.Float64()
			text += fmt.Sprintf("t%d,%v,%v,%v\n", i, r.NormFloat64(), x, float64(1+i)*(x-12)*(x-12)+0.1*r.NormFloat64())
		}
	}
	return shownOf(t, text, table.Options{Task: "task", Steps: []string{data.StepStandardise}}, s)
}

// shownOf is a model of a table, fitted in a structure.
func shownOf(t *testing.T, text string, o table.Options, s solve.Structure) *shownModel {
	t.Helper()
	read := datatest.Must(table.Read([]string{write(t, "bent.csv", text)}, o))(t)
	b := datatest.Must(solve.NewBench(nil, read.Problem, solve.Options{}))(t)
	choice := datatest.Must(b.Best(t.Context(), []solve.Candidate{{Structure: s}}))(t)
	f := datatest.Must(b.Fit(t.Context(), choice))(t)
	dir := t.TempDir()
	datatest.Check(t, datatest.Must(f.Saved(read.Recipe))(t).Save(dir))
	return datatest.Must(openShown(dir, "", 10))(t)
}

// Curves are those that the targets were made by, in the unit of the table, up to a constant.
func TestCurvesAreThoseOfTheTargets(t *testing.T) {
	shown := modelOf(t, solve.Structure{View: solve.Curves})
	if len(shown.Curves) != 2 || shown.Curves[0].Column != "x" || shown.Weights != nil {
		t.Fatalf("%+v", shown)
	}
	c := shown.Curves[0]
	for i, y := range append([][]float64{c.Shared}, c.Tasks...) {
		factor := []float64{1.5, 1, 2}[i]
		want := make([]float64, len(c.X))
		for k, x := range c.X {
			want[k] = factor * (x - 12) * (x - 12)
		}
		mean := stat.Mean(want, nil)
		for k, x := range c.X {
			if math.Abs(y[k]-(want[k]-mean)) > 0.15*factor {
				t.Errorf("curve %d at %.2f is %.3f, want %.3f", i, x, y[k], want[k]-mean)
			}
		}
	}
	if c.X[0] < 10 || c.X[0] > 10.3 || c.Knots[len(c.Knots)-1] < 13.7 || c.Knots[len(c.Knots)-1] > 14 {
		t.Errorf("the curve is from %v with the knots %v; x is between 10 and 14", c.X[0], c.Knots)
	}
	if want := 0.5 * stat.PopStdDev(c.Tasks[0], nil); math.Abs(c.Apart-want) > 0.1*want {
		t.Errorf("tasks are %.3f from their mean, want %.3f", c.Apart, want)
	}
	for _, knot := range c.Knots {
		if !slices.Contains(c.X, knot) {
			t.Errorf("the curve has no point at the knot %v", knot)
		}
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
		if len(c.Band) != len(c.X) || !(slices.Min(c.Band) > 0 && slices.Max(c.Band) < c.Change/2) {
			t.Errorf("%s: the band is %v, the column changes %v", c.Column, c.Band, c.Change)
		}
	}
	for i, y := range units.Curves[0].Tasks[0] {
		datatest.Near(t, units.Curves[0].Tasks[1][i], y, 0.01, "the second target at point %d", i)
	}
}

// In a kernel columns add what they do in curves, and one that says nothing adds next to nothing.
func TestCurvesOfAKernelTellColumnsApart(t *testing.T) {
	datatest.Long(t)
	curves := modelOf(t, solve.Structure{View: solve.Kernel}).Curves
	if len(curves) != 2 || curves[0].Column != "x" || curves[0].Change < 4*curves[1].Change {
		t.Errorf("%+v", curves)
	}
}

// Columns of two values are straight in a kernel too: they add something at both.
func TestShowOfAKernelOfColumnsOfTwoValues(t *testing.T) {
	datatest.Long(t)
	r := data.Stream(1, "two values", 0)
	text := "task,left,right,y\n"
	for i := range 120 {
		left := r.IntN(2)
		right := r.IntN(2)
		text += fmt.Sprintf("t%d,%d,%d,%v\n", i%3, left, right, float64(3*left-right)+0.1*r.NormFloat64())
	}
	out := filepath.Join(t.TempDir(), "model")
	fitOf(t, text, "--view", "kernel", "--out", out)
	printed := mustL2mt(t, "show", out)
	for _, column := range []string{"left", "right"} {
		if !strings.Contains(printed, column) {
			t.Errorf("column %s is missing:\n%s", column, printed)
		}
	}
}
