// Package collect makes experience: it tries covariances on problems and
// records how well they did against single-task learning.
//
// Covariances come from the multitask models, each with hyperparameters drawn
// from its ranges; from exploration, because an estimator that has only seen
// good covariances is fooled outside of them; and from networks that were
// trained before, whose proposals are the next round's experience.
package collect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/progress"
	"l2mt/infer"
	"l2mt/model/multitask"
)

// ErrConfig marks settings that make no sense.
var ErrConfig = errors.New("invalid collection")

// Worth says what the relative error of a tuple is the error of.
type Worth string

// The kinds of worth.
const (
	// OfRefit fixes Omega and tunes Lambda1 on validation rows: o belongs to
	// Omega alone.
	OfRefit Worth = "refit"
	// OfModel is the error of the very fit that Omega came from, as in the
	// paper; o depends on its Lambda1 too. Covariances that no model made are
	// refitted.
	OfModel Worth = "model"
)

// Config says which tuples are made of every problem. The zero value of a
// field means its default.
type Config struct {
	// Models are names of multitask models; default the paper's ten.
	// Single-task learning is always among them: it is the denominator.
	Models []string
	// Draws is the number of draws of hyperparameters for each model; default 1.
	Draws int
	// Explore is the number of random covariances; default 8, and -1 means none.
	Explore int
	// Propose is a trained network to ask for covariances, or nil.
	Propose *infer.Network
	// ProposedBy names it in the records.
	ProposedBy string
	// Worth is what o measures; default OfRefit.
	Worth Worth
	// Seed selects everything drawn.
	Seed uint64
	// Shard of Shards is the part of the problems to work on, from 0; the
	// default is all.
	Shard, Shards int
}

// Defaults returns c with zero fields replaced by their defaults.
func (c Config) Defaults() Config {
	if c.Models == nil {
		for _, m := range multitask.Baselines() {
			c.Models = append(c.Models, m.Info().Name)
		}
	}
	c.Draws = cmp.Or(c.Draws, 1)
	c.Explore = cmp.Or(c.Explore, 8)
	c.Worth = cmp.Or(c.Worth, OfRefit)
	c.Shards = cmp.Or(c.Shards, 1)
	return c
}

// Validate checks a configuration after Defaults.
func (c Config) Validate() error {
	for _, name := range c.Models {
		if _, err := multitask.Lookup(name); err != nil {
			return err
		}
	}
	switch {
	case c.Draws < 1:
		return fmt.Errorf("collect: %w: %d draws of every model; there must be at least 1", ErrConfig, c.Draws)
	case c.Worth != OfRefit && c.Worth != OfModel:
		return fmt.Errorf("collect: %w: o of %q; it can be of the %s or of the %s", ErrConfig, c.Worth, OfRefit, OfModel)
	case c.Shard < 0 || c.Shard >= c.Shards:
		return fmt.Errorf("collect: %w: shard %d of %d; shards count from 0", ErrConfig, c.Shard, c.Shards)
	}
	return nil
}

// Manifest is that of a store with such tuples.
func (c Config) Manifest(dataset data.DatasetRef, createdBy string) (experience.Manifest, error) {
	raw, err := json.Marshal(struct {
		O Worth `json:"o"`
	}{c.Defaults().Worth})
	return experience.Manifest{Dataset: dataset, Seed: c.Seed, Config: raw, CreatedBy: []string{createdBy}}, err
}

// Options do not change what is recorded.
type Options struct {
	// Workers is the number of tuples made at a time; default GOMAXPROCS.
	Workers int
	// Progress hears of every tuple. Nil means nobody.
	Progress progress.Reporter
}

// Summary is what a run did.
type Summary struct {
	// Made counts the tuples of this run, Failed those of them that failed,
	// and Had those that the store had before.
	Made, Failed, Had int
}

// Run makes the tuples of all problems that the store in dir does not have
// yet. When ctx is cancelled it finishes the tuples at hand and returns the
// context's error; the same call goes on from there. A fit that fails is
// recorded as failed and does not stop the run.
func Run(ctx context.Context, dir string, m experience.Manifest, c Config, problems []*data.ProblemData, o Options) (s Summary, err error) {
	c = c.Defaults()
	if err := c.Validate(); err != nil {
		return s, err
	}
	w, err := experience.OpenWriter(dir, fmt.Sprintf("shard-%d-of-%d", c.Shard, c.Shards), m)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	jobs, err := c.plan(m.Dataset.SHA256, problems)
	if err != nil {
		return s, err
	}
	if err := recall(dir, jobs); err != nil {
		return s, err
	}
	return execute(ctx, w, jobs, o)
}

// execute makes the tuples that are missing, in parallel.
func execute(ctx context.Context, w *experience.Writer, jobs []*job, o Options) (s Summary, err error) {
	var missing []*job
	for _, j := range jobs {
		if w.Has(j.record.ID) {
			s.Had++
		} else {
			missing = append(missing, j)
		}
	}
	report := o.Progress
	if report == nil {
		report = progress.Silent()
	}
	report.Start("collecting", len(missing))
	defer report.Finish()
	var mu sync.Mutex
	work, stop := errgroup.WithContext(ctx)
	work.SetLimit(cmp.Or(o.Workers, runtime.GOMAXPROCS(0)))
	for _, j := range missing {
		if stop.Err() != nil {
			break
		}
		work.Go(func() error {
			if stop.Err() != nil {
				return nil
			}
			begin := time.Now()
			record := j.make(context.WithoutCancel(ctx))
			if err := w.Append(record, time.Since(begin).Seconds()); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			s.Made++
			if record.Status == experience.Failed {
				s.Failed++
			}
			report.Advance(1, fmt.Sprintf("%d failed", s.Failed))
			return nil
		})
	}
	return s, errors.Join(work.Wait(), ctx.Err())
}

// recall fetches the errors of single-task learning that the store has.
func recall(dir string, jobs []*job) error {
	known := map[string]*job{}
	for _, j := range jobs {
		if j.record.Source == experience.STL {
			known[j.record.ID] = j
		}
	}
	store, err := experience.Open(dir)
	if err != nil {
		return err
	}
	for r, err := range store.Records() {
		if errors.Is(err, experience.ErrTorn) {
			continue // another shard, being written
		}
		if err != nil {
			return err
		}
		if j := known[r.ID]; j != nil {
			j.stl.settle(r)
		}
	}
	return nil
}

// baseline is the tuple of single-task learning of a problem, which all other
// tuples of the problem wait for.
type baseline struct {
	once   sync.Once
	done   chan struct{}
	errors experience.Errors
	err    error
}

func newBaseline() *baseline { return &baseline{done: make(chan struct{})} }

// settle lets the waiting go on.
func (b *baseline) settle(r *experience.Record) {
	b.once.Do(func() {
		if r.Result != nil {
			b.errors = r.Result.Model
		} else {
			b.err = fmt.Errorf("single-task learning: %s", r.Reason)
		}
		close(b.done)
	})
}

// job is a tuple to be made.
type job struct {
	record  experience.Record // without what comes of it
	problem *data.ProblemData
	stl     *baseline
	worth   Worth
	// try returns the covariance, and for multitask models the fit that it
	// came from.
	try func(ctx context.Context) (*mat.SymDense, *multitask.Result, error)
}

// make makes the tuple.
func (j *job) make(ctx context.Context) *experience.Record {
	r := j.record
	if err := j.attempt(ctx, &r); err != nil {
		r.Status, r.Reason, r.Result = experience.Failed, err.Error(), nil
	}
	if r.Source == experience.STL {
		j.stl.settle(&r)
	}
	return &r
}

func (j *job) attempt(ctx context.Context, r *experience.Record) (err error) {
	defer func() { // a fit of thousands must not end the others
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	omega, fit, err := j.try(ctx)
	if err != nil {
		return err
	}
	var validation, test multitask.Errors
	lambda1 := 0.0
	if fit != nil && j.worth == OfModel && r.Source != experience.STL {
		lambda1 = fit.Params.Lambda1
		validation, test, err = j.evaluate(fit)
	} else {
		var tuned *multitask.Tuned
		if tuned, err = multitask.Refit(ctx, omega, j.problem, multitask.TuneOptions{}); err == nil {
			omega, lambda1, validation, test = tuned.Omega, tuned.Params.Lambda1, tuned.Validation, tuned.Test
		}
	}
	if err != nil {
		return err
	}
	r.Status, r.Omega = experience.OK, rows(omega)
	errs := experience.NewErrors(validation.Task, test.Task)
	stl := errs
	if r.Source != experience.STL {
		<-j.stl.done
		if j.stl.err != nil {
			return j.stl.err
		}
		stl = j.stl.errors
	}
	r.Result, err = experience.NewResult(lambda1, errs, stl)
	return err
}

// evaluate returns the errors of a fit itself.
func (j *job) evaluate(fit *multitask.Result) (validation, test multitask.Errors, err error) {
	var v, t []data.Samples
	for _, task := range j.problem.Tasks {
		v, t = append(v, task.ValidationSet), append(t, task.TestSet)
	}
	if validation, err = multitask.Evaluate(fit, j.problem.Kind(), v); err != nil {
		return validation, test, err
	}
	test, err = multitask.Evaluate(fit, j.problem.Kind(), t)
	return validation, test, err
}

// rows writes out a symmetric matrix, divided by its trace.
func rows(omega *mat.SymDense) [][]float64 {
	m, trace := omega.SymmetricDim(), mat.Trace(omega)
	out := make([][]float64, m)
	for i := range out {
		out[i] = make([]float64, m)
		for k := range out[i] {
			out[i][k] = omega.At(i, k) / trace
		}
	}
	return out
}
