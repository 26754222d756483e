package solve

import (
	"context"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/infer"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// mostCurved is the number of columns up to which each gets a curve.
const mostCurved = 100

// Linear is the view of columns that are straight.
const Linear = "linear"

// Views names the ways in which columns can be seen.
func Views() []string {
	return []string{Linear, data.StepCurves, "gauss0.1", "gauss0.3", "gauss1", "laplace0.3", "laplace1", "laplace3"}
}

// ViewOf is the view of a name, that of straight columns for others.
func ViewOf(name string) View {
	c, _ := ParseCandidate("stl-" + name)
	return c.View
}

// bend names the way in which columns bend.
func (v View) bend() string {
	if v.kernel() {
		return fmt.Sprintf("%s%g", v.Bent, v.Width)
	}
	return v.Bent
}

// bent are the views in which columns of the problem may bend, or those that are asked for:
// curves also in a metric of the ridge. Sparse rows are of words, which do not.
func (b *Bench) bent(ridge float64, asked string) (all []View, err error) {
	sparse := slices.ContainsFunc(b.rows.Tasks, func(t data.TaskData) bool { return data.IsSparse(t.TrainSet.X) })
	names := Views()
	switch {
	case sparse && ViewOf(asked).Bent != "":
		return nil, infer.ErrInvalid.Errorf("problem %q: the view %q takes dense rows; these are sparse", b.problem.Name, asked)
	case sparse:
		return nil, nil
	case asked != "":
		names = []string{asked}
	case b.rows.Cols() > mostCurved:
		names = names[2:]
	}
	for _, name := range names {
		v := ViewOf(name)
		if v.Bent != "" {
			all = append(all, v)
		}
		if v.Bent == data.StepCurves && ridge > 0 {
			v.Ridge = ridge
			all = append(all, v)
		}
	}
	return all, nil
}

// enoughRows is how many rows that the first folds hold out tell views apart.
const enoughRows = 300

// screen is the candidate that loses least on the first folds, along a coarse path of Lambda1.
func (b *Bench) screen(ctx context.Context, candidates []Candidate) (best Candidate, least float64, err error) {
	losses := make([]float64, len(candidates))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(max(1, b.options.Workers))
	for i, c := range candidates {
		of, err := b.subject(ctx, c)
		if err != nil {
			return best, 0, err
		}
		group.Go(func() (err error) {
			losses[i], err = b.coarse(inner, of, c.View)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return best, 0, err
	}
	i := floats.MinIdx(losses)
	return candidates[i], losses[i], nil
}

func (b *Bench) coarse(ctx context.Context, of evidence.Subject, v View) (loss float64, err error) {
	var folds []data.Fold
	for k, rows := 0, 0; k < len(b.folds) && rows < enoughRows; k++ {
		s, err := v.of(b.parts[k])
		if err != nil {
			return 0, err
		}
		fold := b.folds[k]
		fold.ProblemData = s.ProblemData
		folds = append(folds, fold)
		for _, t := range fold.Tasks {
			rows += len(t.ValidationSet.Y)
		}
	}
	e, err := evidence.NewFolds(b.rows, folds, b.options.Together)
	if err != nil {
		return 0, err
	}
	train, err := multitask.Training(folds[0].ProblemData)
	if err != nil {
		return 0, err
	}
	// The loss may rise before it falls, with an Omega that shares nearly all.
	held, least, rises := (*evidence.HeldOut)(nil), math.Inf(1), 0
	grid := evidence.LambdaGrid(train)
	for i := len(grid) - 1; i >= 0 && rises < 3; i -= 2 {
		o := multitask.Options{Tolerance: 1e-3, MaxIterations: 10}
		held, err = e.Hold(ctx, of, multitask.Params{Lambda1: grid[i]}, held, o)
		if err != nil {
			return 0, err
		}
		if rises++; held.Loss < least {
			least, rises = held.Loss, 0
		}
	}
	return least, nil
}
