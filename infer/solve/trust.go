package solve

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/model/multitask"
)

// What the network says comes from all labelled rows, so that none of these can say
// whether it is right: errors of rows left out of the fit alone are too good, by half
// where tasks are not related at all. Trust asks the network again without a fold of
// the rows, and the rows of the fold: of
//
//	Omega_g = g Omega_0 + (1 - g) I/m,  g = 1, 1/2, 0,
//
// the one with the least soft error is where the search begins. It has to be less
// than that of Omega_0 by a fiftieth, since few rows cannot tell.
var shares = []float64{1, 0.5, 0}

const (
	margin     = 0.02
	trustFolds = 5
)

// doubt is a problem without each fold of its labelled rows, and what the network says
// of it there.
type doubt struct {
	labelled *data.ProblemData
	parts    []data.Fold // none where rows cannot be split
	said     []*mat.SymDense
}

// doubt asks the network once: fits in the metric and out of it share the answers.
func (e *Embedding) doubt(seed uint64) (*doubt, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.doubts[seed]; d != nil {
		return d, nil
	}
	d := &doubt{}
	var err error
	if d.labelled, err = e.problem.Labelled(); err != nil {
		return nil, err
	}
	d.labelled = d.labelled.TrainingOnly() // test rows have no say, and take time in a metric
	if d.parts, err = d.labelled.Folds(trustFolds, seed, nil); err != nil && !errors.Is(err, data.ErrInvalid) {
		return nil, err
	}
	for _, part := range d.parts {
		omega, err := e.finder.asked(part.ProblemData)
		if err != nil {
			return nil, err
		}
		d.said = append(d.said, omega)
	}
	if e.doubts == nil {
		e.doubts = map[uint64]*doubt{}
	}
	e.doubts[seed] = d
	return d, nil
}

// trust returns the share g of the network's word that is to be believed, and the fit
// of Omega_g.
func (s *search) trust(ctx context.Context, start *Searched) (float64, *Searched, error) {
	d, err := s.of.doubt(s.tune.Seed)
	if err != nil {
		return 0, nil, err
	}
	if len(d.parts) == 0 {
		return 1, start, nil
	}
	parts := slices.Clone(d.parts)
	for k, part := range parts {
		if !s.euclidean {
			parts[k].ProblemData = data.NewMetric(part.TrainingOnly()).Problem(part.ProblemData)
		}
	}
	best, least, at := 1.0, math.Inf(1), start
	for _, g := range shares {
		fit := start
		if g < 1 {
			tune := s.tune
			tune.Lambda1 = around(start.Tuned.Params.Lambda1)
			if fit, err = s.fit(ctx, mixed(start.Omega, g), tune); err != nil {
				return 0, nil, err
			}
		}
		fits := make([]*multitask.Result, len(parts))
		for k := range parts {
			of := *fit.Tuned.Result
			of.Omega, fits[k] = mixed(d.said[k], g), &of
		}
		held, err := multitask.MeasureFolds(ctx, d.labelled, parts, fits, multitask.EvidenceOptions{})
		if err != nil {
			return 0, nil, err
		}
		if g == 1 {
			least = (1 - margin) * held.Soft
		} else if held.Soft < least {
			best, least, at = g, held.Soft, fit
		}
	}
	return best, at, nil
}

// asked is what the network says of the training rows of a problem with its features.
func (f *Finder) asked(p *data.ProblemData) (*mat.SymDense, error) {
	e, err := f.embed(p)
	if err != nil {
		return nil, err
	}
	found, err := e.Omega(1)
	if err != nil {
		return nil, err
	}
	return found.Omega, nil
}

// mixed is g Omega + (1 - g) I/m.
func mixed(omega *mat.SymDense, g float64) *mat.SymDense {
	if g == 1 {
		return omega
	}
	out := multitask.Uniform(omega.SymmetricDim())
	out.ScaleSym(1-g, out)
	var said mat.SymDense
	said.ScaleSym(g, omega)
	out.AddSym(out, &said)
	return out
}

// around is the grid of Lambda1 in the neighbourhood of a choice.
func around(lambda1 float64) []float64 {
	grid := make([]float64, 5)
	for i := range grid {
		grid[i] = lambda1 * math.Pow(10, float64(i-2)/2)
	}
	return grid
}
