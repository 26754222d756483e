package solve

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/infer/solve/solvetest"
	"l2mt/model"
	"l2mt/model/multitask"
)

var made = solvetest.Problem

// random returns a network of random parameters, ready for use.
func random(t testing.TB, seed uint64, change func(c *model.Config)) *Finder {
	t.Helper()
	return NewFinder(solvetest.Network(t, seed, change))
}

// estimate is what the network says of a problem whose features it takes as they are.
func estimate(t testing.TB, n *Finder, p *data.ProblemData) *model.Estimate {
	t.Helper()
	payload := datatest.Must(model.Prepare(n.network.Config, p))(t)
	return datatest.Must(n.forward.Estimate(payload))(t)
}

// The covariance found is at least as good, in the eyes of the network, as that of single-task
// learning, and of chance, whatever the pieces and the sign of rho.
func TestNoOtherCovarianceIsBetter(t *testing.T) {
	datatest.Long(t)
	problems := []*data.ProblemData{made(1, "a", data.Classification, 4), made(2, "b", data.Regression, 3), made(3, "c", data.Classification, 1)}
	seen := map[string]bool{}
	for seed := range uint64(6) {
		for _, estimator := range model.Pieces()["estimator"] {
			for _, link := range model.Pieces()["link"] {
				n := random(t, seed, func(c *model.Config) { c.Estimator, c.Link = estimator, link })
				direction := n.network.Direction()
				for i, p := range problems {
					e, found := estimate(t, n, p), datatest.Must(n.Omega(p))(t)
					seen[fmt.Sprint("rho is positive: ", direction*e.C > 0)] = true
					seen[fmt.Sprint("the link falls: ", direction < 0)] = true
					value := func(omega *mat.SymDense) float64 {
						flat := mat.DenseCopyOf(omega).RawMatrix().Data
						return direction * (floats.Dot(e.Phi, flat) + e.C*floats.Dot(flat, flat))
					}
					best := value(found)
					rival := multitask.Uniform(len(p.Tasks))
					r := data.Stream(4, "rivals", uint64(i))
					for k := range 30 {
						v := value(rival)
						datatest.Need(t, v >= best-1e-9*(1+math.Abs(best)),
							"seed %d, %s, %s, problem %s: direction * f is %v at the covariance found, but %v at rival %d", seed, estimator, link, p.Name, best, v, k)
						rival = covariance(r, len(p.Tasks))
					}
				}
			}
		}
	}
	datatest.Holds(t, len(seen) == 4, "not all is tried: %v", seen)
}

// Tasks in another order give the covariance in that order.
func TestOrderOfTasksDoesNotMatter(t *testing.T) {
	for seed := range uint64(8) {
		for _, estimator := range model.Pieces()["estimator"] {
			n := random(t, seed, func(c *model.Config) { c.Estimator = estimator })
			p := made(seed, "p", data.Classification, 4)
			order := data.Stream(seed, "order").Perm(4)
			other := &data.ProblemData{Problem: &data.Problem{Name: "p"}}
			for _, i := range order {
				other.Tasks = append(other.Tasks, p.Tasks[i])
			}
			a, b := datatest.Must(n.Omega(p))(t), datatest.Must(n.Omega(other))(t)
			for i := range order {
				for j := range order {
					if got, want := b.At(i, j), a.At(order[i], order[j]); math.Abs(got-want) > 1e-9 {
						t.Fatalf("seed %d, %s, order %v: entry (%d, %d) is %v, it was %v", seed, estimator, order, i, j, got, want)
					}
				}
			}
		}
	}
}

func TestProblemsThatANetworkRefuses(t *testing.T) {
	n := random(t, 1, func(c *model.Config) { c.Features = solvetest.Features + 1 })
	datatest.Refused(n.Omega(made(1, "p", data.Classification, 2)))(t, model.ErrMismatch)
	n = random(t, 1, nil)
	p := made(1, "p", data.Classification, 2)
	p.Tasks[1].TrainSet.X.Row(3).Value[2] = float32(math.NaN())
	datatest.Refused(n.Omega(p))(t, nil, "must be finite")
}

// Tasks that say nothing have the mean row of the covariance of the others.
func TestTasksTheNetworkIsNotAskedAbout(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		datatest.Near(t, got, want, 1e-9, "%s", what)
	}
	n, silent := random(t, 1, nil), func(p *data.ProblemData, tasks ...int) *data.ProblemData {
		for _, i := range tasks {
			for j := range p.Tasks[i].TrainSet.Y {
				p.Tasks[i].TrainSet.Y[j] = 1
			}
		}
		return p
	}
	p := silent(made(1, "p", data.Classification, 5), 1, 3)
	telling := []int{0, 2, 4}
	of, others := datatest.Must(n.Omega(p))(t), datatest.Must(n.Omega(only(p, telling)))(t)
	scale := of.At(0, 0) / others.At(0, 0)
	for i, a := range telling {
		mean := 0.0
		for j, b := range telling {
			near("covariance", of.At(a, b), scale*others.At(i, j))
			mean += scale * others.At(i, j) / 3
		}
		near("mean row", of.At(a, 1), mean)
	}
	near("variance", of.At(3, 3), scale*mat.Sum(others)/9)
	near("trace", mat.Trace(of), 1)
	datatest.Must(data.ProjectCovariance(of))(t)
	datatest.Equal(t, of.SymmetricDim(), 5, "tasks")
	p = silent(made(1, "p", data.Classification, 3), 0, 1)
	if found := datatest.Must(n.Omega(p))(t); !mat.Equal(found, multitask.Uniform(3)) {
		t.Errorf("of one task that tells the network says\n%v", mat.Formatted(found))
	}
}

// Several goroutines may use one network.
func TestNetworkIsShared(t *testing.T) {
	n := random(t, 1, nil)
	var problems []*data.ProblemData
	var want []*mat.SymDense
	for i := range 6 {
		p := made(uint64(i), "p", data.Classification, 2+i%3)
		problems, want = append(problems, p), append(want, datatest.Must(n.Omega(p))(t))
	}
	done := make(chan error)
	for i, p := range problems {
		go func() {
			found, err := n.Omega(p)
			if err == nil && !mat.Equal(found, want[i]) {
				err = fmt.Errorf("problem %d: another Omega than alone", i)
			}
			done <- err
		}()
	}
	for range problems {
		datatest.Check(t, <-done)
	}
}

// A problem that is empty or nil is refused in a sentence.
func TestNothingToSolve(t *testing.T) {
	f := shipped(t)
	good := family{data.Regression, false, 2, 6, 3, 1, 6}.problem(t)
	for what, p := range map[string]*data.ProblemData{
		"nil":        nil,
		"no problem": {Tasks: good.Tasks},
		"no tasks":   {Problem: good.Problem},
		"empty task": {Problem: good.Problem, Tasks: []data.TaskData{good.Tasks[0], {}}},
	} {
		for _, network := range []*Finder{nil, f} {
			_, err := Fit(t.Context(), network, p, Options{})
			datatest.Holds(t, errors.Is(err, data.ErrInvalid), "%s, a network %t: %v", what, network != nil, err)
		}
		_, err := f.Omega(p)
		datatest.Holds(t, errors.Is(err, data.ErrInvalid), "%s, Omega: %v", what, err)
	}
}

// covariance draws a covariance of trace 1 and random rank.
func covariance(r *rand.Rand, m int) *mat.SymDense {
	g := mat.NewDense(m, 1+r.IntN(m), nil)
	g.Apply(func(_, _ int, _ float64) float64 { return r.NormFloat64() }, g)
	var omega mat.SymDense
	omega.SymOuterK(1, g)
	return multitask.Normalised(&omega)
}
