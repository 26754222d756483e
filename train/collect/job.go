package collect

// How a tuple is made.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/view"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// trial is a problem to try covariances on.
type trial struct {
	id       string
	given    *data.ProblemData      // with the rows that are trained on, for networks
	problem  *data.ProblemData      // the same for fits: in its metric for OfLabelled
	train    *multitask.TrainingSet // these rows
	measured Measured

	missing []*job // the tuples to make
	had     int    // how many tuples the store has

	// Tuples share the evidence that chooses Lambda1 and the tuple of single-task learning.
	// Both are made when they are first asked for.
	chooses func() (evidence.Evidence, error)
	stl     func() *experience.Record
}

// newTrial checks that a problem can be trained on, tuned and tested.
func newTrial(p *data.ProblemData, measured Measured) (*trial, error) {
	for _, t := range p.Tasks {
		empty := ""
		if len(t.TestSet.Y) == 0 {
			empty = "test"
		}
		if len(t.ValidationSet.Y) == 0 && measured != OfLabelled {
			empty = "validation"
		}
		if empty != "" {
			return nil, data.Invalid("task %q, field %q: there are no rows; experience needs them", t.Name, empty)
		}
	}
	t := &trial{
		given:    p,
		problem:  p,
		measured: measured,
	}
	if measured == OfLabelled {
		t.given = p.Labelled()
		t.problem = view.InMetric(t.given)
	}
	t.chooses = sync.OnceValues(func() (evidence.Evidence, error) {
		if measured == OfLabelled {
			return evidence.Labelled(t.problem)
		}
		return evidence.NewSplit(p)
	})
	var err error
	t.train, err = multitask.Training(t.problem)
	return t, err
}

// job is a tuple to be made.
type job struct {
	*trial
	record experience.Record // without its result
	try    attempt
}

// attempt returns a covariance to try, in the fit that it comes from, or in a result without
// W if it comes from none.
type attempt func(ctx context.Context) (*multitask.Result, error)

// make makes the tuple.
func (j *job) make(ctx context.Context) *experience.Record {
	if j.record.Source == experience.STL {
		r := *j.stl() // others read what stl returns
		return &r
	}
	return j.tried(ctx)
}

// tried is the tuple. An error becomes the reason why it failed.
func (j *job) tried(ctx context.Context) *experience.Record {
	r := j.record
	err := j.fill(ctx, &r)
	if err != nil {
		r = j.record
		r.Status = experience.Failed
		r.Reason = cmp.Or(
			strings.ToValidUTF8(err.Error(), "?"), "an error without a text")
	}
	return &r
}

func (j *job) fill(ctx context.Context, r *experience.Record) (err error) {
	defer func() { // one fit of thousands must not end the others
		fault := recover()
		if fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	fit, err := j.try(ctx)
	if err != nil {
		return err
	}
	tried, err := j.measure(ctx, fit)
	if err != nil {
		return err
	}
	r.Status = experience.OK
	r.Omega = slices.Collect(slices.Chunk(mat.DenseCopyOf(tried.Omega).RawMatrix().Data,
		tried.Omega.SymmetricDim()))
	r.Result = &experience.Result{Lambda1: tried.Params.Lambda1,
		Validation: tried.Validation.Task, Test: tried.Test.Task}
	single := r
	if r.Source != experience.STL {
		single = j.stl()
		if single.Result == nil {
			return fmt.Errorf("single-task learning: %s", single.Reason)
		}
	}
	if err := r.Result.Relate(single.Result.MeanTest()); err != nil {
		return err
	}
	return r.Validate()
}

// measure is the error of a fit, or of its covariance fitted anew.
func (j *job) measure(ctx context.Context, fit *multitask.Result) (*evidence.Tuned, error) {
	if fit.W != nil && j.measured == OfModel {
		return evidence.Report(fit, j.problem, nil, nil)
	}
	rows, err := j.chooses()
	if err != nil {
		return nil, err
	}
	return evidence.Refit(ctx, fit.Omega, rows, j.problem)
}
