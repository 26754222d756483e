package data

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"

	"l2mt/data/progress"
)

// Ridge feature selection, as the paper prepares 20newsgroups and RCV1: for
// every class c minimise over w_c
//
//	||Xc w_c - y_c||^2 + alpha ||w_c||^2
//
// where Xc is X with its column means subtracted and y_c the centred indicator
// of the class; score feature j by sum_c w_cj^2 times its variance, and keep the
// k best.
//
// Each class is solved by conjugate gradients in the dual,
//
//	(Xc Xc' + alpha I) a_c = y_c,  w_c = Xc' a_c,
//
// which needs products with X and X' only: nothing is densified.

const (
	// ridgeTolerance ends the iterations: the residual of the dual system is at most
	// this part of its right-hand side. Solving further changes no choice on word counts.
	ridgeTolerance = 1e-3
	// ridgeIterations is how many are tried before giving up.
	ridgeIterations = 10_000
)

// SelectByRidge returns the step that keeps the k features with the best scores, ties
// going to the lower column. Alpha is the weight of the ridge penalty.
func SelectByRidge(ctx context.Context, d *Dataset, k int, alpha float64, report progress.Reporter) (Step, error) {
	fault := func(err error) error { return fmt.Errorf("%s: ridge selection: %w", d.Name, err) }
	switch {
	case k < 1 || k > d.X.Cols():
		return Step{}, fault(Invalid("%d features are to be kept of %d; it must be one at least, and no more than there are", k, d.X.Cols()))
	case !(alpha > 0) || math.IsInf(alpha, 0):
		return Step{}, fault(Invalid("the ridge is %v; it must be positive", alpha))
	}
	score, err := ridgeScores(ctx, d, alpha, ridgeTolerance, report)
	if err != nil {
		return Step{}, fault(err)
	}
	best := make([]int, len(score))
	floats.Scale(-1, score)
	floats.ArgsortStable(score, best)
	columns := slices.Sorted(slices.Values(best[:k]))
	return Step{Kind: StepSelect, Cols: d.X.Cols(), Columns: columns}, nil
}

// ridgeScores returns the score of every feature. For a dataset with real targets there
// is one ridge problem, on the centred target.
func ridgeScores(ctx context.Context, d *Dataset, alpha, tolerance float64, report progress.Reporter) ([]float64, error) {
	targets := d.ridgeTargets()
	if len(targets) == 0 {
		return nil, Invalid("the rows have one class or one target only; nothing distinguishes features")
	}
	report.Start("ridge selection", len(targets))
	defer report.Finish()
	mean, deviation := moments(d.X)
	s := ridgeSystem{x: d.X, alpha: alpha, tolerance: tolerance, mean: mean}
	weights := make([][]float64, len(targets))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for t, y := range targets {
		work.Go(func() (err error) {
			weights[t], err = s.solve(ctx, y)
			report.Advance(1, "")
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	score := make([]float64, len(mean))
	for _, w := range weights {
		for j, v := range w {
			score[j] += v * v * deviation[j] * deviation[j]
		}
	}
	return score, nil
}

// ridgeTargets returns the centred indicators of the classes that some rows have and
// others have not, or the centred target if it varies.
func (d *Dataset) ridgeTargets() (targets [][]float64) {
	add := func(y []float64) {
		if slices.Min(y) < slices.Max(y) {
			floats.AddConst(-floats.Sum(y)/float64(len(y)), y)
			targets = append(targets, y)
		}
	}
	if d.Regression() {
		add(slices.Clone(d.Target))
	}
	for class := range d.Classes {
		y := make([]float64, len(d.Label))
		for i, c := range d.Label {
			if int(c) == class {
				y[i] = 1
			}
		}
		add(y)
	}
	return targets
}

// ridgeSystem is the operator Xc Xc' + alpha I.
type ridgeSystem struct {
	x                Matrix
	alpha, tolerance float64
	mean             []float64 // of every column
}

// solve returns the weights of the ridge problem of the right-hand side r, which it
// uses up.
func (s *ridgeSystem) solve(ctx context.Context, r []float64) ([]float64, error) {
	direction := slices.Clone(r)
	image := make([]float64, len(r))
	weights := make([]float64, len(s.mean))
	along := make([]float64, len(s.mean))
	square := floats.Dot(r, r)
	goal := square * s.tolerance * s.tolerance
	for range ridgeIterations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		clear(along) // Xc' direction
		s.x.AddMulT(along, direction, 1)
		floats.AddScaled(along, -floats.Sum(direction), s.mean)
		s.x.Mul(image, along, 1) // (Xc Xc' + alpha I) direction
		floats.AddConst(-floats.Dot(s.mean, along), image)
		floats.AddScaled(image, s.alpha, direction)
		step := square / floats.Dot(direction, image)
		floats.AddScaled(weights, step, along)
		floats.AddScaled(r, -step, image)
		last := square
		if square = floats.Dot(r, r); square <= goal {
			return weights, nil
		}
		floats.AddScaledTo(direction, r, square/last, direction)
	}
	return nil, fmt.Errorf("%w: the relative residual is still above %v after %d iterations; a larger ridge helps, and so do scaled features", errNotConverged, s.tolerance, ridgeIterations)
}

var errNotConverged = errors.New("no convergence")
