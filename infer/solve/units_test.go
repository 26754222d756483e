package solve

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// A choice fits the sum of its candidates, structures and problem (1) alike, and the mean of all
// targets for what their weights leave.
func TestChoiceIsAWeighedSum(t *testing.T) {
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		p := made(8, "p", kind, 3).Labelled()
		b := bench(t, random(t, 1, nil), p, Options{})
		all := []Candidate{{Structure: Structure{View: Curves}}, {Structure: Structure{Kernel, Pooled}}, {Mixture: Mixture{Network: 0.5}, Ridge: 1, Drawn: 10}}
		weights := []float64{0.4, 0.2, 0.3}
		choice := datatest.Must(b.Best(t.Context(), all))(t)
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
		value := make([]float32, 3*n)
		for k := range value {
			value[k] = float32(r.NormFloat64())
		}
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
		if far := floats.Distance(x, y, math.Inf(1)) / stat.StdDev(task.TrainSet.Y, nil); !(far < 1e-6) {
			t.Errorf("target %d: predictions are %g deviations apart", i, far)
		}
		if !(want.Test.Task[i] < 0.4) {
			t.Errorf("target %d: test error %v", i, want.Test.Task[i])
		}
	}
	datatest.Near(t, sumOfShares(want.Shares), 1, 1e-9, "sum of the shares")
}

func sumOfShares(shares []Share) (sum float64) {
	for _, s := range shares {
		sum += s.Common + s.Own
	}
	return sum
}

// Whatever columns and targets there are, a fit is finite and no worse than it has to be.
func TestAwkwardTables(t *testing.T) {
	datatest.Long(t)
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		for name, change := range map[string]func(j int, row []float32, y *float64){
			"constant columns":    func(_ int, row []float32, _ *float64) { row[0], row[3] = 7, 0 },
			"nothing but them":    func(_ int, row []float32, _ *float64) { copy(row, []float32{1, 2, 3, 4, 5}) },
			"columns twice":       func(_ int, row []float32, _ *float64) { row[1], row[2] = row[0], -row[0] },
			"columns of 0 and 1":  func(_ int, row []float32, _ *float64) { row[0] = float32(btoi(row[0] > 0)) },
			"one row far off":     func(j int, row []float32, _ *float64) { row[1] += float32(btoi(j == 3)) * 1e6 },
			"large numbers":       func(_ int, row []float32, _ *float64) { row[2] = row[2]*1e12 + 1e13 },
			"small numbers":       func(_ int, row []float32, _ *float64) { row[2] *= 1e-20 },
			"a class of one row":  func(j int, _ []float32, y *float64) { *y = float64(2*btoi(j == 3) - 1) },
			"the target a column": func(_ int, row []float32, y *float64) { row[4] = float32(*y) },
			"large targets":       func(_ int, _ []float32, y *float64) { *y *= 1 + 1e9*float64(btoi(kind == data.Regression)) },
		} {
			p := made(4, "p", kind, 3)
			for i := range p.Tasks {
				task := &p.Tasks[i]
				for _, s := range []data.Samples{task.TrainSet, task.ValidationSet, task.TestSet} {
					for j := range s.Y {
						change(j, s.X.Row(j).Value, &s.Y[j])
					}
				}
			}
			f := solved(t, random(t, 1, nil), p, Options{}, Parts{})
			numbers := slices.Concat(predictions(t, f)...)
			numbers = append(numbers, f.Choice.Loss, f.Test.Mean)
			numbers = append(numbers, f.Result.B...)
			if floats.HasNaN(numbers) || floats.HasNaN(f.Result.W.RawMatrix().Data) || math.IsInf(floats.Norm(numbers, math.Inf(1)), 0) {
				t.Errorf("%s, %s: loss %v, test %v", name, kind, f.Choice.Loss, f.Test)
			}
			if f.Choice.Loss > 1.25 {
				t.Errorf("%s, %s: %s has the loss %v", name, kind, f.Choice.Name(), f.Choice.Loss)
			}
			if f.Shares != nil && !(math.Abs(sumOfShares(f.Shares)-1) < 1e-9) {
				t.Errorf("%s, %s: shares %v", name, kind, f.Shares)
			}
		}
	}
}
