package compare

// The comparison of the paper's section 5: on every test problem, the network
// against multitask models whose hyperparameters are tuned on validation rows.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/infer"
	"l2mt/infer/solve"
	"l2mt/model/evidence"
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
	// Labelled is tuned on all labelled rows, which are left out in turn, and fitted on
	// all of them.
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
	// Alone is what the network says, in the view that a choice begins with: rows held out
	// have no say but in Lambda1.
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
	// Labelled are those of the models that are tuned on all labelled rows too, the
	// strongest rivals, which can take five times as long. Single-task learning is
	// in any case.
	Labelled []multitask.Model
	// Joint holds training problems; with any, the joint variant of every model
	// is made too.
	Joint []*data.ProblemData
	// Points is the number of grid points of hyperparameters beside Lambda1; 0 means 4.
	Points int
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
	o.Progress = cmp.Or(o.Progress, progress.Silent())
	o.Journal = cmp.Or(o.Journal, newJournal())
	return o, nil
}

func among(models []multitask.Model, m multitask.Model) bool {
	return slices.ContainsFunc(models, func(other multitask.Model) bool { return other.Info().Name == m.Info().Name })
}

// Evaluate solves every problem with every model, and with the network unless
// that is nil. Test rows have no say in any choice. Where the network has a head, the
// features that it makes are those of all models. The outcomes come problem by problem in
// the order of the models, the network last.
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

// plain tunes a model as in the paper, and fits all labelled rows with its covariance or,
// where that is asked for, tunes it on these too. Single-task learning is its own refit.
func (o EvaluateOptions) plain(m multitask.Model, p *data.ProblemData) cell {
	c := cell{problem: p, model: m.Info().Name, variants: []Variant{Plain}}
	if c.model == STL || among(o.Labelled, m) {
		c.variants = append(c.variants, Labelled)
	}
	if c.model != STL {
		c.variants = append(c.variants, Refitted)
	}
	c.run = func(ctx context.Context) ([]Outcome, error) {
		tuned, err := o.paper(ctx, m, p)
		if err != nil {
			return nil, err
		}
		outcomes := []Outcome{c.outcome(Plain, tuned)}
		all, err := evidence.Labelled(p, 0)
		if err != nil {
			return nil, err
		}
		for _, v := range c.variants[1:] {
			tune := func() (*evidence.Tuned, error) { return evidence.Tune(ctx, evidence.Of(m), all, p, o.tune()) }
			if v == Refitted {
				tune = func() (*evidence.Tuned, error) { return evidence.Refit(ctx, tuned.Omega, all, p, o.tune()) }
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

func (o EvaluateOptions) tune() evidence.Options { return evidence.Options{Points: o.Points} }

// paper tunes a model on the validation rows.
func (o EvaluateOptions) paper(ctx context.Context, m multitask.Model, p *data.ProblemData) (*evidence.Tuned, error) {
	split, err := evidence.NewSplit(p)
	if err != nil {
		return nil, err
	}
	return evidence.Tune(ctx, evidence.Of(m), split, p, o.tune())
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
		tuned, err := o.paper(ctx, m, all)
		if err != nil {
			return nil, fmt.Errorf("joint: %w", err)
		}
		seconds := tuned.Seconds
		if tuned, err = evidence.Report(tuned.Result.Share(first[0], len(p.Tasks)), p, nil); err != nil {
			return nil, fmt.Errorf("joint: %w", err)
		}
		tuned.Seconds = seconds
		return []Outcome{c.outcome(Joint, tuned)}, nil
	}
	return c
}

// network solves the problem with the network, and without parts of that.
func (o EvaluateOptions) network(n *solve.Finder, p *data.ProblemData) cell {
	c := cell{problem: p, model: L2MT, variants: []Variant{Plain, Alone, Without, Euclidean, Metric, Paper}}
	if n.Directed() {
		c.variants = append(c.variants, Undirected, Directed)
	}
	c.run = func(ctx context.Context) ([]Outcome, error) {
		b, err := solve.NewBench(n, p, solve.Options{Points: o.Points})
		if err != nil {
			return nil, err
		}
		first := b.First(solve.Parts{})
		metric := solve.Candidate{View: solve.View{Ridge: first.Ridge}}
		directed := metric
		directed.Directed = first.Directed
		ways := map[Variant]func() (*solve.Judged, error){
			Alone:    func() (*solve.Judged, error) { return b.Judge(ctx, first) },
			Metric:   func() (*solve.Judged, error) { return b.Judge(ctx, metric) },
			Directed: func() (*solve.Judged, error) { return b.Judge(ctx, directed) },
		}
		for v, without := range map[Variant]solve.Parts{Plain: {}, Without: {NoNetwork: true, NoDirections: true}, Euclidean: {NoMetric: true}, Undirected: {NoDirections: true}} {
			ways[v] = func() (*solve.Judged, error) {
				choice, err := b.Choose(ctx, without)
				if err != nil {
					return nil, err
				}
				return choice.Judged, nil
			}
		}
		var outcomes []Outcome
		for _, v := range c.variants {
			if v == Paper {
				paper, err := o.asPublished(ctx, n, p)
				if err != nil {
					return nil, err
				}
				outcomes = append(outcomes, c.outcome(v, paper))
				continue
			}
			j, err := ways[v]()
			if err != nil {
				return nil, err
			}
			t, err := b.Fit(ctx, j)
			if err != nil {
				return nil, err
			}
			outcomes = append(outcomes, c.outcome(v, t.Tuned))
		}
		return outcomes, nil
	}
	return c
}

// asPublished is the inference of the paper.
func (o EvaluateOptions) asPublished(ctx context.Context, n *solve.Finder, p *data.ProblemData) (*evidence.Tuned, error) {
	begin := time.Now()
	e, err := n.Embed(p)
	if err != nil {
		return nil, err
	}
	found, err := e.Omega(1)
	if err != nil {
		return nil, err
	}
	split, err := evidence.NewSplit(e.Problem())
	if err != nil {
		return nil, err
	}
	t, err := evidence.Refit(ctx, found.Omega, split, e.Problem(), o.tune())
	if err == nil {
		t.Seconds = time.Since(begin).Seconds()
	}
	return t, err
}

func (c cell) outcome(v Variant, t *evidence.Tuned) Outcome {
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
