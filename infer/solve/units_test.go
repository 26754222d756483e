package solve

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// A choice fits the sum of its candidates, structures and problem (1) alike, and the mean of all
// targets for what their weights leave.
func TestChoiceIsAWeighedSum(t *testing.T) {
	datatest.Long(t)
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		p := made(8, "p", kind, 3).Labelled()
		b := bench(t, random(t, 1, nil), p, Options{})
		all := []Candidate{{Structure: Structure{View: Curves}}, {Structure: Structure{Kernel, Pooled}}, {Mixture: Mixture{Network: 0.5}, Ridge: 1, Drawn: 10}}
		weights := []float64{0.4, 0.2, 0.3}
		choice := best(datatest.Must(b.judgeEach(t.Context(), all))(t))
		for k := range weights {
			choice.Weighed[k].Weight = weights[k]
		}
		got := datatest.Must(b.Fit(t.Context(), choice))(t)
		var targets []float64
		if kind == data.Regression {
			for _, task := range p.Tasks {
				targets = append(targets, task.TrainSet.Y...)
			}
		} else {
			targets = []float64{0}
		}
		for i, task := range p.Tasks {
			want := make([]float64, len(task.TestSet.Y))
			floats.AddConst(0.1*stat.Mean(targets, nil), want)
			for k, c := range all {
				part := datatest.Must(fit(t, b, c).Scores(i, task.TestSet.X))(t)
				floats.AddScaled(want, weights[k], part)
			}
			if scores := datatest.Must(got.Scores(i, task.TestSet.X))(t); !floats.EqualApprox(scores, want, 1e-4) {
				t.Errorf("%s, task %d: %v, by hand %v", kind, i, scores, want)
			}
		}
	}
}

// targets are tasks with the same rows, each with a target of its own.
func targets(t *testing.T, seed uint64, units bool) *data.ProblemData {
	t.Helper()
	r := data.Stream(seed, "targets")
	p := &data.ProblemData{Problem: &data.Problem{Name: "p"}, OwnUnits: true}
	sets := make([][2]data.Samples, 4)
	for half, n := range []int{40, 30} {
		value := datatest.Normals[float32](r, 3*n)
		x := datatest.Must(data.NewDense(n, 3, value))(t)
		for i := range sets {
			var y []float64
			for j := range n {
				common := math.Sin(float64(x.Row(j).Value[0])) + float64(x.Row(j).Value[1])
				target := common + 0.3*float64(i)*float64(x.Row(j).Value[2]) + 0.4*r.NormFloat64()
				if units {
					target = target*math.Pow(30, float64(i)) + 100*float64(i)
				}
				y = append(y, target)
			}
			sets[i][half] = data.Samples{X: x, Y: y}
		}
	}
	for i, set := range sets {
		task := &data.Task{Name: fmt.Sprint("target ", i), Kind: data.Regression}
		p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: set[0], TestSet: set[1]})
	}
	return p
}

// Targets in units of their own are predicted in these units.
func TestTargetsInOtherUnits(t *testing.T) {
	datatest.Long(t)
	want := solved(t, nil, targets(t, 1, false), Options{}, Parts{})
	got := solved(t, nil, targets(t, 1, true), Options{}, Parts{})
	for i, task := range want.problem.Tasks {
		x := predictions(t, want)[i]
		y := predictions(t, got)[i]
		floats.AddConst(-100*float64(i), y)
		floats.Scale(math.Pow(30, -float64(i)), y)
		far := floats.Distance(x, y, math.Inf(1)) / stat.StdDev(task.TrainSet.Y, nil)
		datatest.Holds(t, far < 1e-6, "target %d: predictions are %g deviations apart", i, far)
		datatest.Holds(t, want.Test.Task[i] < 0.4, "target %d: test error %v", i, want.Test.Task[i])
	}
	datatest.Near(t, sumOfShares(want.Shares), 1, 1e-9, "sum of the shares")
}

func sumOfShares(shares []Share) (sum float64) {
	for _, s := range shares {
		sum += s.Common + s.Own
	}
	return sum
}
