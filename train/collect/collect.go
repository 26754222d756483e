// Package collect makes experience: it tries covariances on problems and
// records how well they did against single-task learning.
//
// Covariances come from the multitask models, each with hyperparameters drawn
// from its ranges; and from exploration, because an estimator that has only seen
// good covariances is fooled outside of them.
//
// # What a run leaves behind
//
// Tuples stand in the store in the order in which they were finished. A run does not sort them at
// its end, as a file that is only appended to can lose nothing. Readers load tuples in canonical
// order: then they are the same, but for their seconds, however the work was divided, interrupted
// and resumed.
package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/fault"
	"l2mt/data/progress"
	"l2mt/model"
	"l2mt/model/multitask"
	"l2mt/train"
)

// ErrConfig marks settings that make no sense.
var ErrConfig = fault.New("invalid collection")

// Measured names the fit whose relative error a tuple has.
type Measured string

// The fits that can be measured.
const (
	// OfRefit fixes Omega and tunes Lambda1 on validation rows: o belongs to
	// Omega alone.
	OfRefit Measured = "refit"
	// OfLabelled is OfRefit, but trains on the validation rows too, and chooses Lambda1 by
	// evidence.Labelled. Problems need no validation rows.
	OfLabelled Measured = experience.Labelled
	// OfModel is the error of the very fit that Omega came from, as in the
	// paper; o depends on its Lambda1 too. Covariances that no fit came from are
	// refitted.
	OfModel Measured = "model"
)

// A model need not be fitted exactly to give a covariance to try: o belongs to the covariance as it
// was found. On 20newsgroups these limits bring it within 4 % of the covariance at 1e-6, in norm
// and on average (SPATS: 11 %), in a third of the time.
const (
	fitTolerance  = 1e-3
	fitIterations = 20
)

// Config says which tuples are made of every problem, with the flags that say it on the command
// line.
type Config struct {
	// Single-task learning is always among them: it is the denominator.
	Models  []string `help:"Multitask models to try (${models}); by default the paper's ten."`
	Draws   int      `default:"1" help:"Number of draws of hyperparameters for each model."`
	Explore int      `default:"8" help:"Number of random covariances to try on each problem."`
	// Near are of networks with the body "pairwise", untrained except for their weights of the
	// cosines and their diagonal, which are drawn.
	Near     int      `default:"0" help:"Number of covariances to try near the ones that cosines of the tasks' signed means give."`
	Measured Measured `name:"o" default:"refit" enum:"refit,labelled,model" help:"Fit whose relative error is kept: refit (with the covariance, and Lambda1 tuned on the validation rows), labelled (with Lambda1 tuned by leave-one-out, on all labelled rows) or model (the model's own, as in the paper)."`
	Seed     uint64   `default:"1" help:"Seed of all random draws."`
	// Shard of Shards is the part of the problems to work on, from 0; no Shards
	// are all problems. Parts of one number of shards may be worked on at the same
	// time. Parts of different numbers overlap, and do not know of each other.
	Shard, Shards int `kong:"-"`
}

// Validate checks a configuration.
func (c Config) Validate() error {
	_, err := c.models()
	return err
}

// models are the models to try. A configuration that makes no sense has none.
func (c Config) models() (models []multitask.Model, err error) {
	if !slices.Contains([]Measured{OfRefit, OfLabelled, OfModel}, c.Measured) {
		return nil, ErrConfig.Errorf("o is of %q; it must be %s, %s or %s",
			c.Measured, OfRefit, OfModel, OfLabelled)
	}
	if c.Models == nil {
		return multitask.Baselines(), nil
	}
	for _, name := range c.Models {
		m, err := multitask.Lookup(name)
		if err != nil {
			return nil, ErrConfig.Errorf("%w", err)
		}
		name = m.Info().Name
		if slices.ContainsFunc(models, func(m multitask.Model) bool {
			return m.Info().Name == name
		}) {
			return nil, ErrConfig.Errorf("model %q is named twice", name)
		}
		models = append(models, m)
	}
	return models, nil
}

// Problems are a source of problems. Only problems at hand are in memory.
type Problems interface {
	// Len is the number of problems.
	Len() int
	// Problem brings problem i, from 0, with its data. The same i brings the
	// same problem every time; it is asked for by one goroutine at a time.
	Problem(i int) (*data.ProblemData, error)
}

// InMemory are problems that are in memory anyway.
type InMemory []*data.ProblemData

// Len is the number of problems.
func (p InMemory) Len() int {
	return len(p)
}

// Problem returns problem i.
func (p InMemory) Problem(i int) (*data.ProblemData, error) {
	return p[i], nil
}

// Collector makes the tuples of one shard of the problems. The Writer has the shard, and is to be
// closed.
type Collector struct {
	*experience.Writer // nil in memory

	config      Config
	models      []multitask.Model
	fingerprint string // of the dataset
	keep        func(r *experience.Record) error
}

func newCollector(c Config) (*Collector, error) {
	c.Shards = max(1, c.Shards)
	models, err := c.models()
	return &Collector{
		config: c,
		models: models,
	}, err
}

// Open opens a store for collecting from problems on a dataset, and creates it, by a program of
// that name, if need be. It refuses, and leaves alone, a store of other data or settings and a
// shard that another collector is working on.
func Open(dir string, config Config, dataset data.DatasetRef, createdBy string) (*Collector, error) {
	c, err := newCollector(config)
	if err != nil {
		return nil, err
	}
	c.fingerprint = dataset.SHA256
	settings := map[string]any{
		"o":              string(config.Measured),
		"fit_tolerance":  fitTolerance,
		"fit_iterations": fitIterations,
	}
	c.Writer, err = experience.OpenWriter(dir,
		experience.Shard(c.config.Shard, c.config.Shards),
		experience.Manifest{
			Dataset:   dataset,
			Seed:      config.Seed,
			Config:    settings,
			CreatedBy: []string{createdBy},
		})
	if err != nil {
		return nil, err
	}
	c.keep = c.Append
	return c, nil
}

// Options do not change the records.
type Options struct {
	// Workers is the number of tuples made at a time; default GOMAXPROCS.
	Workers int
	// Progress follows every tuple. Nil means that nothing does.
	Progress progress.Reporter
	// Begin, if not nil, is called before the first tuple that is missing. Its error ends
	// the run.
	Begin func() error
}

// Summary counts the tuples of a run.
type Summary struct {
	// Made counts the tuples of this run, Failed the failures among them, and Had the tuples
	// that the store had before.
	Made   int `json:"made"`
	Failed int `json:"failed"`
	Had    int `json:"had"`
	// Perfect counts failed tuples on problems that single-task learning solves without error,
	// where no relative error exists.
	Perfect int `json:"perfect"`
}

// Run makes the tuples that the store does not have yet. When ctx is cancelled
// it finishes the tuples at hand and returns the context's error; the same call
// goes on from there. A fit that fails is recorded as failed and does not stop
// the run; a problem that cannot be used is found before the first fit.
func (c *Collector) Run(ctx context.Context, problems Problems, o Options) (s Summary, err error) {
	missing := 0
	s.Had, missing, err = c.count(ctx, problems)
	if err != nil || missing == 0 {
		return s, err
	}
	if o.Begin != nil {
		err := o.Begin()
		if err != nil {
			return s, err
		}
	}
	report := cmp.Or(o.Progress, progress.Silent())
	report.Start("collecting", missing)
	defer report.Finish()
	var mu sync.Mutex
	work, stop := errgroup.WithContext(ctx)
	work.SetLimit(cmp.Or(o.Workers, runtime.GOMAXPROCS(0)))
	finish := func(j *job) error {
		begin := time.Now()
		r := j.make(context.WithoutCancel(ctx)) // a job that was begun is ended
		r.Seconds = time.Since(begin).Round(time.Millisecond).Seconds()
		err := c.keep(r)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		s.Made++
		if r.Status == experience.Failed {
			s.Failed++
		}
		if strings.Contains(r.Reason, experience.Perfect) {
			s.Perfect++
		}
		report.Advance(1, fmt.Sprintf("%d failed", s.Failed-s.Perfect))
		return nil
	}
plan:
	for t, planErr := range c.trials(problems) {
		err = planErr
		if err != nil {
			break
		}
		for _, j := range t.missing {
			err = stop.Err()
			if err != nil {
				break plan
			}
			work.Go(func() error {
				return finish(j)
			})
		}
	}
	err = cmp.Or(work.Wait(), err) // before s is read
	return s, err
}

// Tuples makes the tuples of problems in memory, without a store. Of each problem it returns
// the tuples that have not failed, in canonical order.
func Tuples(ctx context.Context, problems []*data.ProblemData,
	config Config, o Options) ([][]model.Tuple, error) {
	c, err := newCollector(config)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	records := map[string][]*experience.Record{}
	c.keep = func(r *experience.Record) error {
		mu.Lock()
		defer mu.Unlock()
		records[r.ProblemID] = append(records[r.ProblemID], r)
		return nil
	}
	if _, err := c.Run(ctx, InMemory(problems), o); err != nil {
		return nil, err
	}
	tuples := make([][]model.Tuple, len(problems))
	for i, p := range problems {
		id := experience.ProblemID(p.Problem, "")
		slices.SortFunc(records[id], experience.Compare)
		tuples[i] = train.Tuples(records[id])
	}
	return tuples, nil
}

// count looks at all problems of the shard before the work begins, and counts
// the tuples that the store has and the missing ones.
func (c *Collector) count(ctx context.Context, problems Problems) (had, missing int, err error) {
	var faults []error
	known := map[string]string{}
	for t, err := range c.trials(problems) {
		if err := ctx.Err(); err != nil {
			return had, missing, err
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		first, twice := known[t.id]
		if twice {
			faults = append(faults,
				data.Invalid("problems %q and %q are the same", first, t.problem.Name))
		}
		known[t.id] = t.problem.Name
		had += t.had
		missing += len(t.missing)
	}
	return had, missing, errors.Join(faults...)
}

// trials plans the tuples of the shard's problems, problem by problem.
func (c *Collector) trials(problems Problems) iter.Seq2[*trial, error] {
	return func(yield func(*trial, error) bool) {
		for i := c.config.Shard; i < problems.Len(); i += c.config.Shards {
			var t *trial
			p, err := problems.Problem(i)
			if err == nil {
				t, err = c.plan(p)
			}
			if !yield(t, err) {
				return
			}
		}
	}
}
