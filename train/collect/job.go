package collect

// How a tuple is made.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/experience"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// job is a tuple to be made.
type job struct {
	*trial
	record experience.Record // without what comes of it
	// stl is the tuple of single-task learning of the problem, which is made when it is first
	// asked for.
	stl func() *experience.Record
	try attempt
}

// attempt returns a covariance to try, and the fit that it comes from if it
// comes from one.
type attempt func(ctx context.Context) (*mat.SymDense, *multitask.Result, error)

// make makes the tuple.
func (j *job) make(ctx context.Context) *experience.Record {
	if j.record.Source == experience.STL {
		r := *j.stl() // others read what stl returns
		return &r
	}
	return j.tried(ctx)
}

// tried is the tuple. Whatever goes wrong becomes the reason why it failed.
func (j *job) tried(ctx context.Context) *experience.Record {
	r := j.record
	if err := j.fill(ctx, &r); err != nil {
		r.Status, r.Omega, r.Result = experience.Failed, nil, nil
		r.Reason = cmp.Or(strings.ToValidUTF8(err.Error(), "?"), "an error without a text")
	}
	return &r
}

func (j *job) fill(ctx context.Context, r *experience.Record) (err error) {
	defer func() { // one fit of thousands must not end the others
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	tried, err := j.evaluate(ctx)
	if err != nil {
		return err
	}
	r.Status, r.Omega = experience.OK, slices.Collect(slices.Chunk(mat.DenseCopyOf(tried.Omega).RawMatrix().Data, tried.Omega.SymmetricDim()))
	result := &experience.Result{Lambda1: tried.Params.Lambda1, Validation: tried.Validation.Task, Test: tried.Test.Task}
	stl := result.MeanTest()
	if r.Source != experience.STL {
		single := j.stl()
		if single.Result == nil {
			return fmt.Errorf("single-task learning: %s", single.Reason)
		}
		stl = single.Result.MeanTest()
	}
	if err := result.Relate(stl); err != nil {
		return err
	}
	r.Result = result
	return r.Validate()
}

func (j *job) evaluate(ctx context.Context) (*evidence.Tuned, error) {
	omega, fit, err := j.try(ctx)
	switch {
	case err != nil:
		return nil, err
	case fit != nil && j.measured == OfModel:
		return evidence.Report(fit, j.problem, nil)
	}
	rows, err := j.evidence()
	if err != nil {
		return nil, err
	}
	return evidence.Refit(ctx, omega, rows, j.problem)
}

// evidence is what chooses Lambda1.
func (j *job) evidence() (evidence.Evidence, error) {
	if j.measured == OfLabelled {
		return j.labelled()
	}
	return evidence.NewSplit(j.problem)
}
