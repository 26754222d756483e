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
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// The names of methods in outcomes and tables.
const (
	L2MT = "l2mt"
	STL  = "stl"
	Best = "best" // by validation, problem by problem
)

// Network is a network to compare, with a name that tells it from others.
type Network struct {
	Name string
	*solve.Finder
}

// Variant is a way to use a model or the network.
type Variant string

const (
	// Plain is the model as the paper uses it: hyperparameters tuned on the
	// validation rows, W and b fitted on the training rows. Of the network it is
	// solve's Fit with its defaults.
	Plain Variant = ""
	// Labelled models are tuned by leaving out each labelled row in turn, and fitted on all
	// labelled rows.
	Labelled Variant = "labelled"
	// Refitted takes the covariance of the plain model and uses all labelled rows
	// for Lambda1, W and b.
	Refitted Variant = "refit"

	// Alone is the network's covariance, in the view that a choice begins with: rows held out
	// choose Lambda1 alone. It is a control: the network's method without its other parts.
	Alone Variant = "alone"
	// Without is the control that has I/m in the place of the network's covariance. All networks
	// have it in common.
	Without Variant = "without"
	// Paper is the paper's inference: the covariance that the network finds from training rows,
	// with Lambda1 tuned on the validation rows.
	Paper Variant = "paper"
)

// EvaluateOptions control Evaluate.
type EvaluateOptions struct {
	// Models are the multitask models. Single-task learning is always among them, because
	// errors are relative to its error.
	Models []multitask.Model
	// Labelled are models to tune on all labelled rows too, the strongest rivals, which can
	// take five times as long. Single-task learning always is.
	Labelled []multitask.Model
	// Workers is the number of fits made at a time; the outcomes do not depend
	// on it. 0 means 1.
	Workers int
	// Journal keeps the outcomes, and has earlier outcomes. Nil keeps nothing.
	Journal *Journal
	// Progress follows every fit. Nil means that nothing does.
	Progress progress.Reporter
	// Begin, if not nil, is called before the first fit that is missing. Its error ends
	// the evaluation.
	Begin func() error
}

func (o EvaluateOptions) defaults() (EvaluateOptions, error) {
	stl, _ := multitask.Lookup(STL) // is always registered
	models := []multitask.Model{stl}
	for _, m := range o.Models {
		if !among(models, m) {
			models = append(models, m)
		}
	}
	o.Models = models
	for _, l := range o.Labelled {
		if !among(o.Models, l) {
			return o, infer.ErrInvalid.Errorf("%s is to be tuned on all labelled rows; it must be one of the models to compare with",
				l.Info().Name)
		}
	}
	o.Progress = cmp.Or(o.Progress, progress.Silent())
	o.Journal = cmp.Or(o.Journal, &Journal{done: map[outcomeKey]Outcome{}})
	return o, nil
}

func among(models []multitask.Model, m multitask.Model) bool {
	return slices.ContainsFunc(models, func(rival multitask.Model) bool {
		return rival.Info().Name == m.Info().Name
	})
}

// Evaluate solves every problem with every model, and with every network. Test rows have no
// say in any choice. The outcomes come problem by problem in the order of the models, the
// networks last.
func Evaluate(ctx context.Context, networks []Network,
	problems []*data.ProblemData, o EvaluateOptions) ([]Outcome, error) {
	o, err := o.defaults()
	err = cmp.Or(err, Check(problems))
	if err != nil {
		return nil, err
	}
	cells := o.cells(networks, problems)
	missing := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool {
		return len(o.Journal.kept(c)) == len(c.variants)
	})
	if len(missing) > 0 {
		if o.Begin != nil {
			err = o.Begin()
		}
		if err != nil {
			return nil, err
		}
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
				return fmt.Errorf("%s on problem %q: %w", c.model, c.problem.Name, err)
			}
			o.Progress.Advance(1, c.model+" on "+c.problem.Name)
			return o.Journal.add(outcomes)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var outcomes []Outcome
	for _, c := range cells {
		outcomes = append(outcomes, o.Journal.kept(c)...)
	}
	return outcomes, nil
}

// Check reports why problems cannot be evaluated: names that are not unique, and tasks without
// validation or test rows.
func Check(problems []*data.ProblemData) error {
	names := map[string]bool{}
	for _, p := range problems {
		if names[p.Name] {
			return infer.ErrInvalid.Errorf("problem %q: two problems have this name; every problem needs a name of its own", p.Name)
		}
		names[p.Name] = true
		for _, t := range p.Tasks {
			if len(t.ValidationSet.Y)*len(t.TestSet.Y) == 0 {
				return infer.ErrInvalid.Errorf("problem %q, task %q: it needs validation rows, on which hyperparameters are chosen, and test rows",
					p.Name, t.Name)
			}
		}
	}
	return nil
}

// cell is one piece of work: the variants of one model, or of one network, on one problem. They
// are fitted one after the other, since one may begin with the covariance that another found.
type cell struct {
	problem  *data.ProblemData
	model    string
	network  string
	variants []Variant
	fit      func(ctx context.Context, v Variant) (*evidence.Tuned, error)
}

// keys name the outcomes.
func (c *cell) keys() (keys []outcomeKey) {
	for _, v := range c.variants {
		method := Method{c.model, v, c.network}
		if v == Without {
			method.Network = ""
		}
		keys = append(keys, outcomeKey{c.problem.Name, method})
	}
	return keys
}

func (c *cell) run(ctx context.Context) (outcomes []Outcome, err error) {
	for _, k := range c.keys() {
		t, err := c.fit(ctx, k.Variant)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cmp.Or(k.Variant, "plain"), err)
		}
		outcomes = append(outcomes, Outcome{k.problem, k.Method,
			Entries(t.Omega), t.Validation, t.Test})
	}
	return outcomes, nil
}

// cells are the work on problems.
func (o EvaluateOptions) cells(networks []Network, problems []*data.ProblemData) (cells []*cell) {
	for _, p := range problems {
		for _, m := range o.Models {
			cells = append(cells, o.plain(m, p))
		}
		variants := []Variant{Plain, Alone, Without, Paper}
		for _, n := range networks {
			cells = append(cells, network(n, p, variants))
			variants = []Variant{Plain, Alone, Paper} // the control is the same for all
		}
	}
	return cells
}

// plain tunes a model as in the paper, and fits all labelled rows with its covariance or,
// where that is asked for, tunes it on these too. Single-task learning is its own refit.
func (o EvaluateOptions) plain(m multitask.Model, p *data.ProblemData) *cell {
	c := &cell{
		problem:  p,
		model:    m.Info().Name,
		variants: []Variant{Plain},
	}
	if c.model == STL || among(o.Labelled, m) {
		c.variants = append(c.variants, Labelled)
	}
	if c.model != STL {
		c.variants = append(c.variants, Refitted)
	}
	var labelled evidence.Evidence
	var tuned *evidence.Tuned
	c.fit = func(ctx context.Context, v Variant) (_ *evidence.Tuned, err error) {
		switch v {
		case Plain:
			labelled, err = evidence.Labelled(p)
			split, invalid := evidence.NewSplit(p)
			err = cmp.Or(err, invalid)
			if err == nil {
				tuned, err = evidence.Tune(ctx, evidence.Of(m),
					split, p, evidence.Options{})
			}
			return tuned, err
		case Labelled:
			return evidence.Tune(ctx, evidence.Of(m),
				labelled, p, evidence.Options{})
		}
		return evidence.Refit(ctx, tuned.Omega, labelled, p)
	}
	return c
}

// network solves the problem with the network, and without parts of that.
func network(n Network, p *data.ProblemData, variants []Variant) *cell {
	var b *solve.Bench
	fit := func(ctx context.Context, v Variant) (_ *evidence.Tuned, err error) {
		var choice *solve.Choice
		switch v {
		case Paper:
			omega, err := n.Omega(p)
			split, invalid := evidence.NewSplit(p)
			err = cmp.Or(err, invalid)
			if err != nil {
				return nil, err
			}
			return evidence.Refit(ctx, omega, split, p)
		case Alone:
			choice, err = b.Take(ctx, b.First())
		case Without:
			choice, err = b.Choose(ctx, solve.Parts{NoNetwork: true})
		default:
			b, err = solve.NewBench(n.Finder, p, solve.Options{})
			if err == nil {
				choice, err = b.Choose(ctx, solve.Parts{})
			}
		}
		if err != nil {
			return nil, err
		}
		fitted, err := b.Fit(ctx, choice)
		if err != nil {
			return nil, err
		}
		return fitted.Tuned, nil
	}
	return &cell{p, L2MT, n.Name, variants, fit}
}

// Entries writes out a covariance, row by row.
func Entries(a *mat.SymDense) (rows [][]float64) {
	for i := range a.SymmetricDim() {
		rows = append(rows, mat.Row(nil, i, a))
	}
	return rows
}
