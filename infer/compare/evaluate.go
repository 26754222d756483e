package compare

// The comparison of the paper's section 5: on every test problem, the network
// against multitask models whose hyperparameters are tuned on validation rows.

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/infer"
	"l2mt/infer/solve"
	"l2mt/model/multitask"
)

// The names of methods in outcomes and tables.
const (
	L2MT = "l2mt"
	STL  = "stl"
)

// Variant is a way to use a model or the network.
type Variant string

// The variants of models.
const (
	// Plain is the model as the paper uses it: hyperparameters tuned on the
	// validation rows, W and b fitted on the training rows. Of the network it is
	// solve's Fit with its defaults.
	Plain Variant = ""
	// Labelled uses all labelled rows, as Fit does: tuned by leaving them out in
	// turn, and fitted on all of them.
	Labelled Variant = "labelled"
	// Refitted takes the covariance of the plain model and uses all labelled rows
	// for Lambda1, W and b.
	Refitted Variant = "refit"
	// Joint fits the tasks of the problem together with those of the training
	// problems.
	Joint Variant = "joint"
)

// The variants of the network.
const (
	// Alone is what the network says, without steps: no evidence has a say in Omega.
	Alone Variant = "alone"
	// Without has neither what the network says, but I/m, nor directions that experience
	// has taught: the control.
	Without Variant = "without"
	// Euclidean fits the features as they are, not in the tasks' common metric.
	Euclidean Variant = "euclidean"
	// Metric is that metric alone: every task on its own in it, without directions.
	Metric Variant = "metric"
	// Undirected leaves out the directions of the features that experience has taught,
	// and Directed has these alone: every task on its own along them, in the metric.
	// They are made where the network has directions.
	Undirected Variant = "undirected"
	Directed   Variant = "directed"
	// Paper is the paper's inference: what the network says of the training rows,
	// Lambda1 tuned on the validation rows.
	Paper Variant = "paper"
)

// Control says that the variant is the network's method without one of its parts, or one
// alone: what these bring, and no rival.
func (v Variant) Control() bool {
	return slices.Contains([]Variant{Alone, Without, Euclidean, Metric, Undirected, Directed}, v)
}

// EvaluateOptions control Evaluate. The zero value compares with the paper's
// ten models.
type EvaluateOptions struct {
	// Models are the multitask models; default multitask.Baselines().
	// Single-task learning is always among them, because errors are relative to
	// its error.
	Models []multitask.Model
	// Refit asks for the refitted variant of every model.
	Refit bool
	// Labelled are those of the models that are tuned on all labelled rows too, the
	// strongest rivals, which can take five times as long. Single-task learning is
	// in any case.
	Labelled []multitask.Model
	// Joint holds training problems; with any, the joint variant of every model
	// is made too.
	Joint []*data.ProblemData
	// Tune controls the choice of hyperparameters. Its STL, Workers and
	// Progress are not used.
	Tune multitask.TuneOptions
	// Steps refine the network's covariance; 0 means the default of solve, and less
	// none.
	Steps int
	// Workers is the number of fits made at a time; the outcomes do not depend
	// on it. 0 means 1.
	Workers int
	// Journal keeps the outcomes and has those made before. Nil keeps nothing.
	Journal *Journal
	// Progress hears of every fit. Nil means nobody.
	Progress progress.Reporter
}

func (o EvaluateOptions) defaults() (EvaluateOptions, error) {
	stl, err := multitask.Lookup(STL)
	if err != nil {
		return o, err
	}
	if o.Models == nil {
		o.Models = multitask.Baselines()
	}
	models := []multitask.Model{stl}
	for _, m := range o.Models {
		if !among(models, m) {
			models = append(models, m)
		}
	}
	o.Models = models
	for _, l := range o.Labelled {
		if !among(o.Models, l) {
			return o, fmt.Errorf("compare: %w: %s is to be tuned on all labelled rows, but is not one of the models to compare with", infer.ErrInvalid, l.Info().Name)
		}
	}
	o.Tune.STL, o.Tune.Workers, o.Tune.Progress = nil, 1, nil
	o.Progress = cmp.Or(o.Progress, progress.Silent())
	o.Journal = cmp.Or(o.Journal, newJournal())
	return o, nil
}

func among(models []multitask.Model, m multitask.Model) bool {
	return slices.ContainsFunc(models, func(other multitask.Model) bool { return other.Info().Name == m.Info().Name })
}

// Evaluate solves every problem with every model, and with the network unless
// that is nil. All choices are made on validation rows. Where the network has a
// head, the features that it makes are those of all models. The outcomes come
// problem by problem in the order of the models, the network last.
func Evaluate(ctx context.Context, n *solve.Finder, problems []*data.ProblemData, o EvaluateOptions) ([]Outcome, error) {
	o, err := o.defaults()
	if err != nil {
		return nil, err
	}
	if err := o.Check(problems); err != nil {
		return nil, err
	}
	given := problems
	if n != nil {
		if problems, err = n.FeaturesOf(given); err != nil {
			return nil, err
		}
		if o.Joint, err = n.FeaturesOf(o.Joint); err != nil {
			return nil, err
		}
	}
	cells := o.cells(n, given, problems)
	missing := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.finished(o.Journal) })
	if len(missing) > 0 {
		o.Progress.Start("evaluating", len(missing))
		defer o.Progress.Finish()
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.Workers))
	for _, c := range missing {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			outcomes, err := c.run(ctx)
			if err != nil {
				return fmt.Errorf("compare: %s on problem %q: %w", c.model, c.problem.Name, err)
			}
			if err := o.Journal.add(outcomes); err != nil {
				return err
			}
			o.Progress.Advance(1, c.model+" on "+c.problem.Name)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var outcomes []Outcome
	for _, c := range cells {
		for _, v := range c.variants {
			outcome, _ := o.Journal.get(c.problem.Name, c.model, v)
			outcomes = append(outcomes, outcome)
		}
	}
	return outcomes, nil
}

// Check reports what keeps problems from being evaluated: names that are not
// unique, and tasks without validation or test rows, in those fitted jointly too.
func (o EvaluateOptions) Check(problems []*data.ProblemData) error {
	names := map[string]bool{}
	for _, p := range problems {
		if names[p.Name] {
			return fmt.Errorf("compare: problem %q: %w: there are two of that name", p.Name, infer.ErrInvalid)
		}
		names[p.Name] = true
	}
	for _, p := range slices.Concat(problems, o.Joint) {
		for _, t := range p.Tasks {
			switch {
			case len(t.ValidationSet.Y) == 0:
				return fmt.Errorf("compare: problem %q, task %q: %w: it has no validation rows, on which hyperparameters are chosen", p.Name, t.Name, infer.ErrInvalid)
			case len(t.TestSet.Y) == 0:
				return fmt.Errorf("compare: problem %q, task %q: %w: it has no test rows, on which errors are measured", p.Name, t.Name, infer.ErrInvalid)
			}
		}
	}
	return nil
}

// cell is one piece of work: the outcomes of some variants of one model on one
// problem.
type cell struct {
	problem  *data.ProblemData
	model    string
	variants []Variant
	run      func(ctx context.Context) ([]Outcome, error)
}

func (c cell) finished(j *Journal) bool {
	return !slices.ContainsFunc(c.variants, func(v Variant) bool {
		_, ok := j.get(c.problem.Name, c.model, v)
		return !ok
	})
}

// cells are the work on problems as they were given, which the network takes,
// and with the features that it makes of them, which the models take.
func (o EvaluateOptions) cells(n *solve.Finder, given, problems []*data.ProblemData) (cells []cell) {
	for i, p := range problems {
		for _, m := range o.Models {
			cells = append(cells, o.plain(m, p))
			if len(o.Joint) > 0 && m.Info().Name != STL {
				cells = append(cells, o.joint(m, p))
			}
		}
		if n != nil {
			cells = append(cells, o.network(n, given[i]))
		}
	}
	return cells
}

// plain tunes a model, and uses all labelled rows where that is asked for.
// Single-task learning is its own refit.
func (o EvaluateOptions) plain(m multitask.Model, p *data.ProblemData) cell {
	c := cell{problem: p, model: m.Info().Name, variants: []Variant{Plain}}
	if c.model == STL || among(o.Labelled, m) {
		c.variants = append(c.variants, Labelled)
	}
	if o.Refit && c.model != STL {
		c.variants = append(c.variants, Refitted)
	}
	c.run = func(ctx context.Context) ([]Outcome, error) {
		tuned, err := multitask.Tune(ctx, m, p, o.Tune)
		if err != nil {
			return nil, err
		}
		outcomes := []Outcome{c.outcome(Plain, tuned)}
		if len(c.variants) == 1 {
			return outcomes, nil
		}
		all, err := o.labelled(p)
		if err != nil {
			return nil, err
		}
		for _, v := range c.variants[1:] {
			tune := func() (*multitask.Tuned, error) { return multitask.Tune(ctx, m, p, all) }
			if v == Refitted {
				tune = func() (*multitask.Tuned, error) { return multitask.Refit(ctx, tuned.Omega, p, all) }
			}
			t, err := tune()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v, err)
			}
			outcomes = append(outcomes, c.outcome(v, t))
		}
		return outcomes, nil
	}
	return c
}

// labelled is Tune with the evidence of all labelled rows.
func (o EvaluateOptions) labelled(p *data.ProblemData) (multitask.TuneOptions, error) {
	all, err := o.Tune, error(nil)
	all.Evidence, err = multitask.Labelled(p, multitask.EvidenceOptions{Seed: o.Tune.Seed})
	return all, err
}

// joint tunes a model on the tasks of the problem and of the training problems
// together. Single-task learning would gain nothing.
func (o EvaluateOptions) joint(m multitask.Model, p *data.ProblemData) cell {
	c := cell{problem: p, model: m.Info().Name, variants: []Variant{Joint}}
	c.run = func(ctx context.Context) ([]Outcome, error) {
		all, first, err := multitask.Join(append([]*data.ProblemData{p}, o.Joint...)...)
		if err != nil {
			return nil, err
		}
		tuned, err := multitask.Tune(ctx, m, all, o.Tune)
		if err != nil {
			return nil, fmt.Errorf("joint: %w", err)
		}
		seconds := tuned.Seconds
		if tuned, err = multitask.Report(tuned.Result.Share(first[0], len(p.Tasks)), p, nil); err != nil {
			return nil, fmt.Errorf("joint: %w", err)
		}
		tuned.Seconds = seconds
		return []Outcome{c.outcome(Joint, tuned)}, nil
	}
	return c
}

// network solves the problem with the network.
func (o EvaluateOptions) network(n *solve.Finder, p *data.ProblemData) cell {
	c := cell{problem: p, model: L2MT, variants: []Variant{Plain, Alone, Without, Euclidean, Metric, Paper}}
	if n.Directed() {
		c.variants = append(c.variants, Undirected, Directed)
	}
	c.run = func(ctx context.Context) ([]Outcome, error) {
		labelled, err := p.Labelled()
		if err != nil {
			return nil, err
		}
		all, err := n.Embed(labelled)
		if err != nil {
			return nil, err
		}
		fit := func(f solve.FitOptions) (*solve.Fitted, error) {
			f.Tune, f.Steps = o.Tune, cmp.Or(f.Steps, o.Steps)
			return all.Fit(ctx, f)
		}
		plain, err := fit(solve.FitOptions{})
		if err != nil {
			return nil, err
		}
		without, err := fit(solve.FitOptions{Without: true, Undirected: true})
		if err != nil {
			return nil, err
		}
		euclidean, undirected, directed := plain, plain, without
		if plain.HasMetric {
			if euclidean, err = fit(solve.FitOptions{Euclidean: true}); err != nil {
				return nil, err
			}
		}
		if plain.HasDirections {
			if undirected, err = fit(solve.FitOptions{Undirected: true}); err != nil {
				return nil, err
			}
			if directed, err = fit(solve.FitOptions{Without: true, Steps: -1}); err != nil {
				return nil, err
			}
		}
		e, err := n.Embed(p)
		if err != nil {
			return nil, err
		}
		found, err := e.Omega(1)
		if err != nil {
			return nil, err
		}
		paper, err := multitask.Refit(ctx, found.Omega, e.Problem(), o.Tune)
		if err != nil {
			return nil, err
		}
		outcome := func(v Variant, t *multitask.Tuned, step int, seconds float64) Outcome {
			outcome := c.outcome(v, t)
			outcome.Step, outcome.Seconds = step, seconds
			return outcome
		}
		outcomes := []Outcome{
			outcome(Plain, plain.Tuned, plain.Step, all.Seconds+plain.Seconds),
			outcome(Alone, plain.Start.Tuned, 0, all.Seconds+plain.Start.Tuned.Seconds),
			outcome(Without, without.Tuned, without.Step, all.Seconds+without.Seconds),
			outcome(Euclidean, euclidean.Tuned, euclidean.Step, all.Seconds+euclidean.Seconds),
			outcome(Metric, without.Start.Tuned, 0, without.Start.Tuned.Seconds),
			outcome(Paper, paper, 0, e.Seconds+paper.Seconds),
			outcome(Undirected, undirected.Tuned, undirected.Step, all.Seconds+undirected.Seconds),
			outcome(Directed, directed.Start.Tuned, 0, directed.Start.Tuned.Seconds),
		}
		return outcomes[:len(c.variants)], nil
	}
	return c
}

func (c cell) outcome(v Variant, t *multitask.Tuned) Outcome {
	return Outcome{
		Problem: c.problem.Name, Model: c.model, Variant: v, Params: t.Params, Omega: Entries(t.Omega),
		Validation: t.Validation, Test: t.Test, Seconds: t.Seconds,
	}
}

// Entries writes out a covariance, row by row.
func Entries(a *mat.SymDense) [][]float64 {
	rows := make([][]float64, a.SymmetricDim())
	for i := range rows {
		rows[i] = mat.Row(nil, i, a)
	}
	return rows
}
