package train

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/infer/solve"
	"l2mt/model"
)

// scattering has classes whose means lie in the first columns and whose rows scatter in the
// last ones, ten times as far. Labels are as many as a class has rows.
func scattering(t *testing.T, seed uint64, classes, rows, columns int) *data.Dataset {
	t.Helper()
	r := data.Stream(seed, "scattering")
	d := &data.Dataset{Name: "scattering"}
	var values []float32
	for c := range classes {
		d.Classes = append(d.Classes, fmt.Sprint("class ", c))
		mean := make([]float64, columns)
		for j := range columns / 2 {
			mean[j] = r.NormFloat64()
		}
		for range rows {
			d.Label = append(d.Label, int32(c))
			for j, m := range mean {
				deviation := 0.5
				if j >= columns/2 {
					deviation = 5
				}
				values = append(values, float32(m+deviation*r.NormFloat64()))
			}
		}
	}
	d.X = datatest.Must(data.NewDense(classes*rows, columns, values))(t)
	return d
}

// lessons are examples on problems of the dataset's classes, and problems of new classes.
func lessons(t *testing.T, seed uint64, d *data.Dataset) (examples []Example, asked []*data.ProblemData) {
	t.Helper()
	c := data.SampleConfig{Seed: seed, Train: 8, Test: 8, MinTasks: 3, MaxTasks: 3,
		TrainFraction: 0.1, ValidationFraction: 0.1, DisjointClasses: true}
	learned, test, err := data.SampleProblems(d, c)
	datatest.Check(t, err)
	for i, p := range datatest.Must(learned.Bind(d))(t) {
		e := Example{Problem: p, Dataset: "scattering"}
		e.Tuples = made(seed+uint64(i), 1, 6, 3, 12, 5)[0].Tuples
		examples = append(examples, e)
	}
	return examples, datatest.Must(test.Bind(d))(t)
}

// What a run learns of the rows tells new classes apart better than the rows as they are, and the
// metric of all rows about one mean is no part of it: S0 is the scatter of each row once about
// the mean of its class, in the metric of which rows scatter alike in every direction.
func TestExperienceTeachesHowRowsScatter(t *testing.T) {
	datatest.Long(t)
	const seed = 3
	t.Log("seed", seed)
	examples, asked := lessons(t, seed, scattering(t, seed, 12, 40, 10))
	c := config(t, "default", examples)
	c.Epochs = 1
	sigma := run(t, c, examples, Options{Out: t.TempDir()}).Network.Sigma
	datatest.Need(t, sigma != nil, "nothing is learned")
	datatest.Holds(t, sigma.Ridge < 1, "the ridge of rows that scatter far is %v", sigma.Ridge)
	before, after := 0.0, 0.0
	for _, p := range asked {
		before += judged(t, p)
		after += judged(t, sigma.Problem(p))
		datatest.Holds(t, sigma.Fits(p), "the metric is for other columns")
		checkRecognised(t, sigma, p, false)
	}
	for _, e := range examples {
		checkRecognised(t, sigma, e.Problem, true)
	}
	datatest.Holds(t, after <= 0.7*before,
		"the errors of new classes are %.3f in the metric, %.3f without", after/8, before/8)
	z := sigma.Problem(examples[0].Problem).Tasks[0].TestSet
	var sides [2]float64 // variances about the class, of columns that have scattered little or much
	for j := range 10 {
		var sum, squares, n float64
		for i, y := range z.Y {
			if v := float64(z.X.Row(i).Value[j]); y > 0 {
				sum, squares, n = sum+v, squares+v*v, n+1
			}
		}
		sides[j/5] += squares/n - sum*sum/n/n
	}
	datatest.Holds(t, sides[1] <= 4*sides[0],
		"rows scatter by %v in the columns that say nothing, and by %v in others; it was 100 times as far", sides[1], sides[0])
}

// judged is the test error in the tasks' common metric.
func judged(t *testing.T, p *data.ProblemData) float64 {
	t.Helper()
	b := datatest.Must(solve.NewBench(nil, p, solve.Options{}))(t)
	c := datatest.Must(b.Take(t.Context(), solve.Candidate{Ridge: 1, Drawn: solve.Drawn}))(t)
	return datatest.Must(b.Fit(t.Context(), c))(t).Test.Mean
}

// checkRecognised wants the classes of test rows among the classes that a run has learned, or not.
func checkRecognised(t *testing.T, sigma *model.Sigma, p *data.ProblemData, want bool) {
	t.Helper()
	for _, task := range p.Tasks {
		var positive []int
		for i, y := range task.TestSet.Y {
			if y > 0 {
				positive = append(positive, i)
			}
		}
		_, gap := sigma.Nearest(task.TestSet.X.Take(positive))
		datatest.Holds(t, gap <= sigma.Far == want,
			"a class is %.3g from the nearest, and known to %.3g: known %v", gap, sigma.Far, want)
	}
}

// Each row counts once, in the class that it has, however many problems it is in.
func TestKnownRowsCountOnce(t *testing.T) {
	const seed = 4
	t.Log("seed", seed)
	d := scattering(t, seed, 12, 20, 6)
	examples, _ := lessons(t, seed, d)
	k := newKnown(examples)
	want := map[string]map[int]bool{}
	for _, e := range examples {
		for _, task := range e.Problem.Tasks {
			for _, rows := range [][]int{task.Train, task.Validation, task.Test} {
				for _, row := range rows {
					class := d.Classes[d.Label[row]]
					if want[class] == nil {
						want[class] = map[int]bool{}
					}
					want[class][row] = true
				}
			}
		}
	}
	datatest.Holds(t, len(k.classes) == len(want) && k.Few == 4,
		"%d classes with %d labelled rows; want %d with 4", len(k.classes), k.Few, len(want))
	for _, task := range k.classes {
		got, sum := mat.NewVecDense(6, nil), mat.NewVecDense(6, nil)
		for i := range task.TrainSet.X.Rows() {
			for j, v := range task.TrainSet.X.Row(i).Value {
				got.SetVec(j, got.AtVec(j)+float64(v))
			}
		}
		for row := range want[task.Name] {
			for j, v := range d.X.Row(row).Value {
				sum.SetVec(j, sum.AtVec(j)+float64(v))
			}
		}
		sum.SubVec(sum, got)
		datatest.Holds(t, task.TrainSet.X.Rows() == len(want[task.Name]) && math.Abs(mat.Sum(sum)) <= 1e-4,
			"%s has %d rows, %d are known", task.Name, task.TrainSet.X.Rows(), len(want[task.Name]))
	}
}

// The paper knows no metric; rows of several datasets, or of none, teach none
// either; and a run that is repeated has learned the same.
func TestWhereNothingIsLearnedOfRows(t *testing.T) {
	datatest.Long(t)
	examples, _ := lessons(t, 5, scattering(t, 5, 12, 20, 6))
	other := append([]Example(nil), examples...)
	other[3].Dataset = "another"
	c := config(t, "default", examples)
	c.Epochs = 1
	paper := config(t, "paper", examples)
	paper.Epochs = 1
	for name, r := range map[string]*Report{
		"paper": run(t, paper, examples, Options{Out: t.TempDir()}), "several datasets": run(t, c, other, Options{Out: t.TempDir()}),
		"no dataset": run(t, config(t, "default", small(1)), small(1), Options{Out: t.TempDir()}),
	} {
		datatest.Holds(t, r.Network.Sigma == nil, "%s: a metric is learned", name)
	}
	dirs := []string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		run(t, c, examples, Options{Out: dir})
	}
	run(t, c, examples, Options{Out: dirs[1]})
	got, want := contents(t, dirs[1]), contents(t, dirs[0])
	datatest.Holds(t, got[model.WeightsFile] == want[model.WeightsFile], "a run that is repeated has another network")
}
