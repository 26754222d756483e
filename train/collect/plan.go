package collect

// Which tuples are made of a problem.

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
	_ "l2mt/model/pairwise" // of the networks nearby
)

// plan lists the tuples of a problem that the store does not have, single-task learning's
// first.
func (c *Collector) plan(p *data.ProblemData) (*trial, error) {
	t, err := newTrial(p, c.config.Measured)
	if err != nil {
		return nil, fmt.Errorf("problem %q: %w", p.Name, err)
	}
	t.id = experience.ProblemID(p.Problem, c.fingerprint)
	add := func(source string, draw int, hyper map[string]float64, try attempt) *job {
		id, _ := experience.TupleID(t.id,
			source, draw, hyper) // a record without one is not valid
		j := &job{t, experience.Record{ID: id, Problem: p.Name,
			ProblemID: t.id, Source: source, Draw: draw, Hyper: hyper}, try}
		if c.Writer != nil && c.Has(id) {
			t.had++
		} else {
			t.missing = append(t.missing, j)
		}
		return j
	}
	random := func(source string, draw int) *rand.Rand {
		return data.Stream(c.config.Seed, source+" on "+t.id, uint64(draw))
	}

	single := add(experience.STL, 0, nil,
		func(context.Context) (*multitask.Result, error) {
			return &multitask.Result{Omega: multitask.Uniform(len(p.Tasks))}, nil
		})
	stored := t.had > 0
	t.stl = sync.OnceValue(func() *experience.Record {
		if stored {
			return c.STL(single.record.ID)
		}
		return single.tried(context.Background())
	})
	grid := evidence.LambdaGrid(t.train)
	for _, m := range c.models {
		name := m.Info().Name
		if name == experience.STL {
			continue // every problem has it
		}
		for draw := range c.config.Draws {
			params, hyper := drawParams(m, grid, random(name, draw))
			add(name, draw, hyper,
				func(ctx context.Context) (*multitask.Result, error) {
					return multitask.Fit(ctx, m, t.train, params, multitask.Options{
						Tolerance:     fitTolerance,
						MaxIterations: fitIterations,
					})
				})
		}
	}
	for i := range c.config.Explore { // the kinds in turn
		kind := explorations[i%len(explorations)]
		draw := i / len(explorations)
		source := "explore/" + kind
		add(source, draw, nil,
			func(context.Context) (*multitask.Result, error) {
				return &multitask.Result{Omega: explore(kind, random(source, draw), len(p.Tasks))}, nil
			})
	}
	for draw := range c.config.Near {
		const source = "near/pairwise"
		add(source, draw, nil,
			func(context.Context) (*multitask.Result, error) {
				found, err := nearby(random(source, draw)).Omega(t.given)
				if err != nil {
					return nil, err
				}
				return &multitask.Result{Omega: found}, nil
			})
	}
	return t, nil
}

// drawParams draws hyperparameters from the ranges of a model, and has them by their names too.
// Lambda1 has the range of the grid that tuning searches.
func drawParams(model multitask.Model, grid []float64, r *rand.Rand) (
	p multitask.Params, hyper map[string]float64) {
	hyper = map[string]float64{}
	for _, h := range model.Info().Ranges {
		if h.Name == multitask.Lambda1 {
			h.Low = grid[0]
			h.High = grid[len(grid)-1]
		}
		u := r.Float64()
		value := h.Default
		if h.Low < h.High {
			value = h.At(u)
		}
		p = p.With(h.Name, value)
		hyper[h.Name] = value
	}
	return p, hyper
}

// nearby is an untrained network whose cosines have drawn weights, of sum 1, and
// whose diagonal is anything from a twentieth to three of theirs.
func nearby(r *rand.Rand) *solve.Finder {
	c, _ := model.Preset("pairwise", 0) // there is one
	n, _ := model.NewNetwork(c, 0)      // it is valid
	a := n.Params.Get("a")
	sum := 0.0
	for k := range 4 {
		a[k] = r.ExpFloat64()
		sum += a[k]
	}
	for k := range 4 {
		a[k] /= sum
	}
	low := math.Log(0.05)
	high := math.Log(3)
	a[5] = low + (high-low)*r.Float64()
	return solve.NewFinder(n)
}

// explorations are the kinds of random covariances.
var explorations = []string{"rank-one", "low-rank", "wishart", "ridge"}

// explore draws a covariance of trace 1 for m tasks.
func explore(kind string, r *rand.Rand, m int) *mat.SymDense {
	factors := 1
	entry := r.NormFloat64
	switch kind {
	case "low-rank":
		factors = 1 + m/3
	case "wishart":
		factors = m
	default: // all tasks alike, up to signs
		entry = func() float64 {
			return float64(2*r.IntN(2) - 1)
		}
	}
	a := mat.NewDense(m, factors, nil)
	a.Apply(func(int, int, float64) float64 {
		return entry()
	}, a)
	var omega mat.SymDense
	omega.SymOuterK(1, a)
	omega.ScaleSym(1/mat.Trace(&omega), &omega)
	if kind == "ridge" { // anywhere between all tasks alike and each on its own
		t := r.Float64()
		omega.ScaleSym(1-t, &omega)
		for i := range m {
			omega.SetSym(i, i, omega.At(i, i)+t/float64(m))
		}
	}
	return &omega
}
