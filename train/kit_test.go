package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/progress"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// made is experience whose truth is known: the tasks of a problem have the same
// direction up to a sign s_i, and o falls with s' Omega s, the more a
// covariance ties the tasks together with the right signs.
func made(seed uint64, problems, tuples, tasks, rows, features int) []Example {
	examples := make([]Example, problems)
	for i := range examples {
		r := data.Stream(seed, "made", uint64(i))
		p := modeltest.Problem(r, features, slices.Repeat([]int{rows}, tasks)...)
		p.Problem = &data.Problem{Name: fmt.Sprint("made ", i)}
		signs := relate(r, p)
		e := Example{Problem: p}
		for range tuples {
			omega := covariance(r, tasks)
			tie := 0.0 // between 0 and 1
			for a := range tasks {
				for b := range tasks {
					tie += signs[a] * omega[a*tasks+b] * signs[b] / float64(tasks)
				}
			}
			e.Tuples = append(e.Tuples, model.Tuple{Omega: omega, O: math.Exp(0.6 - 1.2*tie)})
		}
		examples[i] = e
	}
	return examples
}

// covariance is random, between one of full rank and one of rank one.
func covariance(r *rand.Rand, m int) []float64 {
	omega, u, norm, share := modeltest.Covariance(r, m), make([]float64, m), 0.0, r.Float64()
	for i := range u {
		u[i] = r.NormFloat64()
		norm += u[i] * u[i]
	}
	for i := range u {
		for j := range u {
			omega[i*m+j] = (1-share)*omega[i*m+j] + share*u[i]*u[j]/norm
		}
	}
	return omega
}

// relate labels all tasks by one random direction, with a random sign each:
// one half of the rows lies on either side.
func relate(r *rand.Rand, p *data.ProblemData) (signs []float64) {
	direction := datatest.Normals[float64](r, p.Cols())
	for _, t := range p.Tasks {
		sign := float64(2*r.IntN(2) - 1)
		signs = append(signs, sign)
		side := make([]float64, len(t.TrainSet.Y))
		for i := range side {
			for j, v := range t.TrainSet.X.Row(i).Value {
				side[i] += direction[j] * float64(v)
			}
		}
		middle := slices.Sorted(slices.Values(side))[len(side)/2]
		for i := range side {
			t.TrainSet.Y[i] = sign
			if side[i] < middle {
				t.TrainSet.Y[i] = -sign
			}
		}
	}
	return signs
}

// small is made experience that trains in an instant.
func small(seed uint64) []Example { return made(seed, 8, 6, 3, 12, 5) }

// config is a small configuration for examples. Where presets may change, it
// does not.
func config(t testing.TB, preset string, examples []Example) Config {
	t.Helper()
	c := datatest.Must(Preset(preset, examples[0].Problem.Cols()))(t).Defaults()
	c.Model.Hidden, c.Model.Neighbours, c.Model.DType = 6, 2, layers.Float64
	c.Epochs, c.Seed = 4, 1
	if preset == "default" {
		c.Model.Estimator, c.Model.Objective = "odd-kernel", model.Scaled
		c.Rate, c.EmbeddingRate, c.Start = 0.01, 3e-4, FromRegression
	}
	return c
}

func run(t testing.TB, c Config, examples []Example, o Options) *Report {
	t.Helper()
	return datatest.Must(Run(t.Context(), c, examples, o))(t)
}

// ready are examples as a run has them.
func ready(t testing.TB, examples []Example) []prepared {
	t.Helper()
	c := config(t, "default", examples)
	made, _, err := prepare(t.Context(), &c, examples)
	datatest.Check(t, err)
	return made
}

// trainerOf is a run on examples that has not begun.
func trainerOf(t testing.TB, c Config, examples []Example, o Options) *trainer {
	t.Helper()
	o.Progress = progress.Silent()
	return datatest.Must(newTrainer(t.Context(), c, examples, o))(t)
}

// contents are the contents of a directory by name.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries := datatest.Must(os.ReadDir(dir))(t)
	content := map[string]string{}
	for _, e := range entries {
		if e.IsDir() { // the network before training
			continue
		}
		raw := datatest.Must(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		content[e.Name()] = string(raw)
	}
	return content
}

// compareFiles expects the network and the state of two runs to be equal byte
// for byte.
func compareFiles(t testing.TB, what, got, want string) {
	t.Helper()
	a, b := contents(t, got), contents(t, want)
	for _, name := range []string{model.ConfigFile, model.WeightsFile, StateFile} {
		datatest.Holds(t, a[name] != "" && a[name] == b[name], "%s: %s has other bytes", what, name)
	}
}

// resumed is a run that is cancelled before some step, again and again, and how often.
func resumed(t testing.TB, c Config, examples []Example, o Options, step func() int) (r *Report, stops int) {
	t.Helper()
	for ; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		s := &spy{at: step(), stop: cancel}
		o.Progress = s
		r, err := Run(ctx, c, examples, o)
		cancel()
		datatest.Holds(t, s.finished == s.stages, "%d of %d stages are finished", s.finished, s.stages)
		if err == nil {
			return r, stops
		}
		datatest.Need(t, errors.Is(err, context.Canceled) && stops < 100, "cancelled %d times: %v", stops, err)
	}
}

// poisoned panics when anybody looks at it.
type poisoned struct{ data.Matrix }

// spy counts the calls of a Reporter, and may call stop before a step.
type spy struct {
	stages, steps, finished int
	total                   int
	status                  []string
	at                      int
	stop                    func()
}

func (s *spy) Start(_ string, total int) {
	s.stages++
	s.total += total
}

func (s *spy) Finish() { s.finished++ }

func (s *spy) Advance(n int, status string) {
	s.steps += n
	s.status = append(s.status, status)
	if n > 0 && s.steps == s.at {
		s.stop()
	}
}

func named(examples []Example, name string) Example {
	return examples[slices.IndexFunc(examples, func(e Example) bool { return e.Problem.Name == name })]
}
