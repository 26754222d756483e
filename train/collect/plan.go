package collect

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/model/multitask"
)

// plan lists the tuples of this shard's problems. The tuple of single-task
// learning comes one problem ahead of the others, which wait for it.
func (c Config) plan(fingerprint string, problems []*data.ProblemData) ([]*job, error) {
	var plans [][]*job
	for i, p := range problems {
		if i%c.Shards != c.Shard {
			continue
		}
		jobs, err := c.planProblem(fingerprint, p)
		if err != nil {
			return nil, err
		}
		plans = append(plans, jobs)
	}
	var all []*job
	for i, jobs := range plans {
		if i == 0 {
			all = append(all, jobs[0])
		}
		if i+1 < len(plans) {
			all = append(all, plans[i+1][0])
		}
		all = append(all, jobs[1:]...)
	}
	return all, nil
}

func (c Config) planProblem(fingerprint string, p *data.ProblemData) ([]*job, error) {
	id, err := experience.ProblemID(p.Problem, fingerprint)
	if err != nil {
		return nil, err
	}
	b := planner{config: c, problem: p, id: id, stl: newBaseline()}
	b.add(experience.STL, 0, nil, b.singleTask)
	for _, name := range c.Models {
		if name != experience.STL {
			b.addModel(name)
		}
	}
	for i := range max(0, c.Explore) {
		kind := explorations[i%len(explorations)]
		source, draw := "explore/"+kind.name, i/len(explorations)
		b.add(source, draw, nil, func(context.Context) (*mat.SymDense, *multitask.Result, error) {
			return kind.draw(b.random(source, draw), len(p.Tasks)), nil, nil
		})
	}
	if c.Propose != nil {
		b.addProposals()
	}
	return b.jobs, b.err
}

// planner lists the tuples of one problem.
type planner struct {
	config  Config
	problem *data.ProblemData
	id      string
	stl     *baseline
	jobs    []*job
	err     error
}

// random is the stream of one tuple.
func (b *planner) random(source string, draw int) *rand.Rand {
	return data.Stream(b.config.Seed, source+" on "+b.id, uint64(draw))
}

func (b *planner) add(source string, draw int, hyper map[string]float64, try func(context.Context) (*mat.SymDense, *multitask.Result, error)) {
	id, err := experience.TupleID(b.id, source, draw, hyper)
	if err != nil {
		b.err = err
	}
	b.jobs = append(b.jobs, &job{
		record: experience.Record{
			ID: id, Problem: b.problem.Name, ProblemID: b.id, Source: source, Draw: draw, Hyper: hyper,
		},
		problem: b.problem, stl: b.stl, worth: b.config.Worth, try: try,
	})
}

func (b *planner) singleTask(context.Context) (*mat.SymDense, *multitask.Result, error) {
	m := len(b.problem.Tasks)
	omega := mat.NewSymDense(m, nil)
	for i := range m {
		omega.SetSym(i, i, 1/float64(m))
	}
	return omega, nil, nil
}

// addModel adds the draws of a multitask model.
func (b *planner) addModel(name string) {
	model, err := multitask.Lookup(name)
	if err != nil {
		b.err = err
		return
	}
	train, err := multitask.Training(b.problem, "")
	if err != nil {
		b.err = fmt.Errorf("collect: problem %q: %w", b.problem.Name, err)
		return
	}
	for draw := range b.config.Draws {
		p := drawParams(model, multitask.LambdaGrid(train), b.random(name, draw))
		hyper := map[string]float64{}
		for _, r := range model.Info().Ranges {
			hyper[r.Name] = p.Get(r.Name)
		}
		b.add(name, draw, hyper, func(ctx context.Context) (*mat.SymDense, *multitask.Result, error) {
			fit, err := multitask.Fit(ctx, model, train, p, multitask.Options{})
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

// exploration is a way to draw covariances of trace 1.
type exploration struct {
	name string
	draw func(r *rand.Rand, m int) *mat.SymDense
}

var explorations = []exploration{
	// All tasks alike, up to signs.
	{"rank-one", func(r *rand.Rand, m int) *mat.SymDense { return outer(signs(r, m)) }},
	{"low-rank", func(r *rand.Rand, m int) *mat.SymDense { return outer(normals(r, m, 1+m/3)) }},
	{"wishart", func(r *rand.Rand, m int) *mat.SymDense { return outer(normals(r, m, m)) }},
	// Anywhere between all tasks alike and each on its own.
	{"ridge", func(r *rand.Rand, m int) *mat.SymDense {
		omega, t := outer(signs(r, m)), r.Float64()
		omega.ScaleSym(1-t, omega)
		for i := range m {
			omega.SetSym(i, i, omega.At(i, i)+t/float64(m))
		}
		return omega
	}},
}

// outer returns A A' divided by its trace.
func outer(a *mat.Dense) *mat.SymDense {
	var omega mat.SymDense
	omega.SymOuterK(1, a)
	omega.ScaleSym(1/mat.Trace(&omega), &omega)
	return &omega
}

func signs(r *rand.Rand, m int) *mat.Dense {
	a := mat.NewDense(m, 1, nil)
	for i := range m {
		a.Set(i, 0, float64(2*r.IntN(2)-1))
	}
	return a
}

func normals(r *rand.Rand, m, k int) *mat.Dense {
	a := mat.NewDense(m, k, nil)
	for i := range m {
		for j := range k {
			a.Set(i, j, r.NormFloat64())
		}
	}
	return a
}

// scales multiply rho in proposals: the network's own covariance, and
// neighbours that share more and less.
var scales = []float64{1, 0.25, 0.5, 2, 4}

// addProposals adds the covariances that the network finds.
func (b *planner) addProposals() {
	source := "propose/" + b.config.ProposedBy
	for draw, scale := range scales {
		b.add(source, draw, map[string]float64{"rho_scale": scale}, func(context.Context) (*mat.SymDense, *multitask.Result, error) {
			found, err := b.config.Propose.Omega(b.problem, scale)
			if err != nil {
				return nil, nil, err
			}
			return found.Omega, nil, nil
		})
	}
}
