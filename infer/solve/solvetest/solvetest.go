// Package solvetest draws the problems and networks that tests of inference
// and of comparisons share.
package solvetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// Features is d of the problems.
const Features = 5

// Problem returns a problem of related tasks with a few dense features: the tasks
// have one direction in common, up to its sign.
func Problem(seed uint64, name string, kind data.Kind, tasks int) *data.ProblemData {
	r := data.Stream(seed, "made "+name)
	direction := datatest.Normals[float64](r, Features)
	p := &data.ProblemData{Problem: &data.Problem{Name: name}}
	for i := range tasks {
		sign := float64(2*r.IntN(2) - 1)
		w := datatest.Normals[float64](r, Features)
		floats.Scale(0.3, w)
		floats.AddScaled(w, sign, direction)
		task := &data.Task{
			Name: fmt.Sprintf("%s task %d", name, i),
			Kind: kind,
		}
		if kind == data.Classification {
			task.Positive = "yes"
			task.Negative = "no"
		}
		t := data.TaskData{Task: task}
		t.TrainSet = rows(r, w, kind, 14+i)
		t.ValidationSet = rows(r, w, kind, 12)
		t.TestSet = rows(r, w, kind, 40)
		p.Tasks = append(p.Tasks, t)
		p.Problem.Tasks = append(p.Problem.Tasks, task)
	}
	return p
}

func rows(r *rand.Rand, w []float64, kind data.Kind, n int) data.Samples {
	value := make([]float32, n*len(w))
	y := make([]float64, n)
	for i := range y {
		for j := range w {
			v := r.NormFloat64()
			value[i*len(w)+j] = float32(v)
			y[i] += w[j] * v
		}
		y[i] += 0.7 * r.NormFloat64()
		if kind == data.Classification {
			y[i] = math.Copysign(1, y[i])
			if i < 2 { // both classes occur
				y[i] = float64(2*i - 1)
			}
		}
	}
	x, err := data.NewDense(n, len(w), value)
	if err != nil {
		panic(err) // the sizes agree by construction
	}
	return data.Samples{X: x, Y: y}
}

// Network returns a network of random parameters in float64.
func Network(t testing.TB, seed uint64, change func(c *model.Config)) *model.Network {
	t.Helper()
	c := datatest.Must(model.Preset("default", Features))(t)
	c.Layers = 2
	c.Hidden = 6
	c.Neighbours = 3
	c.DType = layers.Float64
	if change != nil {
		change(&c)
	}
	for _, body := range model.Pieces()["body"] {
		if c.Validate() == nil {
			break
		}
		c.Body = body // the estimator takes rows of another kind
	}
	network := datatest.Must(model.NewNetwork(c, seed))(t)
	r := data.Stream(seed, "random network")
	modeltest.Perturb(r, c, network.Params, seed%2 == 0)
	return network
}

// Poisoned returns the problem with other test rows: labels exchanged, or
// targets moved, and features replaced.
func Poisoned(p *data.ProblemData) *data.ProblemData {
	poisoned := &data.ProblemData{
		Problem: p.Problem,
		Tasks:   slices.Clone(p.Tasks),
	}
	for i := range poisoned.Tasks {
		t := &poisoned.Tasks[i]
		y := slices.Clone(t.TestSet.Y)
		floats.Scale(-1, y)
		x := t.TrainSet.X.Take(make([]int, len(y)))
		t.TestSet = data.Samples{
			X: x,
			Y: y,
		}
	}
	return poisoned
}
