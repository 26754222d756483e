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
)

// plan lists the tuples of a problem, that of single-task learning first.
func (c *Collector) plan(p *data.ProblemData) ([]*job, error) {
	b := planner{config: c.config, id: experience.ProblemID(p.Problem, c.fingerprint)}
	var err error
	if b.trial, err = newTrial(p, c.config.Measured); err != nil {
		return nil, fmt.Errorf("collect: problem %q: %w", p.Name, err)
	}
	b.grid = evidence.LambdaGrid(b.train)
	b.add(experience.STL, 0, nil, b.single)
	single := b.jobs[0]
	known := c.has(single)
	b.stl = sync.OnceValue(func() *experience.Record {
		if known {
			return c.writer.STL(single.record.ID)
		}
		return single.tried(context.Background())
	})
	single.stl = b.stl
	for _, name := range c.config.Models {
		b.addModel(name)
	}
	b.addExplorations()
	b.addNear()
	return b.jobs, b.err
}

// planner lists the tuples of one problem.
type planner struct {
	*trial
	config Config
	grid   []float64 // of Lambda1
	id     string
	stl    func() *experience.Record
	jobs   []*job
	err    error
}

// random is the stream of one tuple.
func (b *planner) random(source string, draw int) *rand.Rand {
	return data.Stream(b.config.Seed, source+" on "+b.id, uint64(draw))
}

func (b *planner) add(source string, draw int, hyper map[string]float64, try attempt) {
	id, err := experience.TupleID(b.id, source, draw, hyper)
	if err != nil {
		b.err = err
	}
	b.jobs = append(b.jobs, &job{
		record: experience.Record{
			ID: id, Problem: b.problem.Name, ProblemID: b.id, Source: source, Draw: draw, Hyper: hyper,
		},
		trial: b.trial, stl: b.stl, try: try,
	})
}

// single is the covariance of single-task learning, I/m.
func (b *planner) single(context.Context) (*mat.SymDense, *multitask.Result, error) {
	return multitask.Uniform(len(b.problem.Tasks)), nil, nil
}

// addModel adds the draws of a multitask model.
func (b *planner) addModel(name string) {
	model, err := multitask.Lookup(name)
	if err != nil {
		b.err = err
		return
	}
	if name = model.Info().Name; name == experience.STL {
		return // every problem has it
	}
	for draw := range b.config.Draws {
		p := drawParams(model, b.grid, b.random(name, draw))
		hyper := map[string]float64{}
		for _, r := range model.Info().Ranges {
			hyper[r.Name] = p.Get(r.Name)
		}
		b.add(name, draw, hyper, func(ctx context.Context) (*mat.SymDense, *multitask.Result, error) {
			fit, err := multitask.Fit(ctx, model, b.train, p, multitask.Options{Tolerance: fitTolerance, MaxIterations: fitIterations})
			if err != nil {
				return nil, nil, err
			}
			return fit.Omega, fit, nil
		})
	}
}

// drawParams draws hyperparameters from the ranges of a model; that of Lambda1
// is the grid that tuning searches.
func drawParams(model multitask.Model, grid []float64, r *rand.Rand) multitask.Params {
	p := multitask.Params{}
	for _, h := range model.Info().Ranges {
		u := r.Float64()
		switch {
		case h.Name == multitask.Lambda1:
			first, last := math.Log(grid[0]), math.Log(grid[len(grid)-1])
			p.Lambda1 = math.Exp((1-u)*first + u*last)
		case h.Low < h.High:
			p = p.With(h.Name, h.At(u))
		default:
			p = p.With(h.Name, h.Default)
		}
	}
	return p
}

// addExplorations adds random covariances, the kinds in turn.
func (b *planner) addExplorations() {
	for i := range max(0, b.config.Explore) {
		kind := explorations[i%len(explorations)]
		source, draw := "explore/"+kind.name, i/len(explorations)
		b.add(source, draw, nil, func(context.Context) (*mat.SymDense, *multitask.Result, error) {
			return kind.draw(b.random(source, draw), len(b.problem.Tasks)), nil, nil
		})
	}
}

// addNear adds covariances near those made by hand.
func (b *planner) addNear() {
	const source = "near/pairwise"
	for draw := range b.config.Near {
		b.add(source, draw, nil, func(context.Context) (*mat.SymDense, *multitask.Result, error) {
			network, err := nearby(b.random(source, draw))
			if err != nil {
				return nil, nil, err
			}
			found, err := network.Omega(b.given)
			if err != nil {
				return nil, nil, err
			}
			return found.Omega, nil, nil
		})
	}
}

// nearby is an untrained network whose cosines have drawn weights, of sum 1, and
// whose diagonal is anything from a twentieth to three of theirs.
func nearby(r *rand.Rand) (*solve.Finder, error) {
	c, err := model.Preset("pairwise", 0)
	if err != nil {
		return nil, err
	}
	n, err := model.NewNetwork(c, 0)
	if err != nil {
		return nil, err
	}
	a, sum := n.Params.Get("a"), 0.0
	for k := range 4 {
		a[k] = r.ExpFloat64()
		sum += a[k]
	}
	for k := range 4 {
		a[k] /= sum
	}
	low, high := math.Log(0.05), math.Log(3)
	a[5] = low + (high-low)*r.Float64()
	return solve.NewFinder(n)
}
