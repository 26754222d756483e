package solve

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/model/multitask"
)

// Trust says where the search begins:
//
//	Omega_0 = Network Omega_n + Weights W'W / tr(W'W) + (1 - Network - Weights) I/m
//
// with Omega_n what the network says, and W the weights that are fitted with it. From
// many rows these say more of how the tasks relate than the network, which has few
// numbers for a pair of tasks, and from few rows next to nothing.
type Trust struct {
	Network float64 `json:"network"`
	Weights float64 `json:"weights"`
}

// What the network and W say comes from all labelled rows, so that none of these can
// say whether it is right: errors of rows left out of the fit alone are too good, by
// half where tasks are not related at all. Therefore the network is asked again, and W
// fitted, without each fold of the rows, and the rows of the folds choose among trusts.
// Few rows cannot tell. So what takes a share of the network's word away has to be
// better by as much of the standard error of the difference, and where hardly a row
// is misclassified the network is believed.
var trusts = []Trust{{1, 0}, {0.5, 0}, {0, 0}, InWeights()}

// InWeights is the trust in weights beside what they were fitted with.
func InWeights() Trust { return Trust{0.4, 0.6} }

const (
	trustFolds = 5
	// noWeights is a trace of W'W over which no share can be divided.
	noWeights = 1e-300
	// fewestErrors is how many misclassified rows can tell covariances apart.
	fewestErrors = 3
	// trustSoftness is narrow: to compare a few covariances their error matters more
	// than to follow its slope.
	trustSoftness = 0.3
	// leaveMetric is by how many standard errors the features have to be better as they
	// are than in the metric, which most that are dense are better in.
	leaveMetric = 1.5
)

// doubt is a problem without each fold of its labelled rows, and what the network says
// of it there.
type doubt struct {
	labelled *data.ProblemData
	parts    []data.Fold // none where rows cannot be split
	said     []*mat.SymDense
	inMetric []func() *data.ProblemData // the folds in the metrics of what they train on
}

// doubt asks the network once: fits in the metric and out of it share the answers.
func (e *Embedding) doubt(of doubtOf) (*doubt, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.doubts[of]; d != nil {
		return d, nil
	}
	d := &doubt{}
	var err error
	if d.labelled, err = e.problem.Labelled(); err != nil {
		return nil, err
	}
	d.labelled = d.labelled.TrainingOnly() // test rows have no say, and take time in a metric
	if d.parts, err = d.labelled.Folds(trustFolds, of.seed, nil); err != nil && !errors.Is(err, data.ErrInvalid) {
		return nil, err
	}
	for _, part := range d.parts {
		d.inMetric = append(d.inMetric, sync.OnceValue(func() *data.ProblemData {
			return data.InMetric(part.ProblemData)
		}))
		omega := multitask.Uniform(len(part.Tasks))
		if !of.without {
			if omega, err = e.finder.asked(part.ProblemData); err != nil {
				return nil, err
			}
		}
		d.said = append(d.said, omega)
	}
	if e.doubts == nil {
		e.doubts = map[doubtOf]*doubt{}
	}
	e.doubts[of] = d
	return d, nil
}

// doubtOf says which one is meant.
type doubtOf struct {
	seed    uint64
	without bool
}

// trust returns what is to be believed, and the fit of it, in the metric or not.
func (s *search) trust(ctx context.Context, start *Searched) (best Trust, at *Searched, err error) {
	best, at = trusts[0], start
	d, err := s.of.doubt(doubtOf{s.tune.Seed, s.without})
	if err != nil || len(d.parts) == 0 {
		return best, at, err
	}
	first, err := s.hold(ctx, d, best, start, nil)
	if err != nil {
		return best, at, err
	}
	if s.problem.Kind() == data.Classification && first.Error*float64(first.Rows) < fewestErrors {
		return best, at, nil
	}
	if s.metric != nil {
		if start, first, err = s.leave(ctx, d, start, first); err != nil {
			return best, at, err
		}
		at = start
	}
	tune, least := s.tune, 0.0
	tune.Lambda1 = around(start.Tuned.Params.Lambda1)
	for _, t := range trusts[1:] {
		if s.without && t.Weights == 0 {
			continue // which is the first, I/m
		}
		fit, err := s.fit(ctx, t.Mixed(start.Omega, start.Tuned.Result), tune)
		if err != nil {
			return best, at, err
		}
		held, err := s.hold(ctx, d, t, fit, first.Fits)
		if err != nil {
			return best, at, err
		}
		less := multitask.PairedSoft(held, first)
		if less.Loss < min(least, -(1-t.Network)*less.StandardError) {
			best, at, least = t, fit, less.Loss
		}
	}
	return best, at, nil
}

// hold is what the folds say of a trust, each with what the network says and the
// weights that were fitted without it, and the Lambda1 of a fit.
func (s *search) hold(ctx context.Context, d *doubt, t Trust, fit *Searched, weights []*multitask.Result) (*multitask.HeldOut, error) {
	fits, parts := make([]*multitask.Result, len(d.parts)), slices.Clone(d.parts)
	for k := range parts {
		of := *fit.Tuned.Result
		of.Omega, fits[k] = d.said[k], &of
		if t.Network < 1 {
			of.Omega = t.Mixed(d.said[k], weights[k])
		}
		if s.metric != nil {
			parts[k].ProblemData = d.inMetric[k]()
		}
	}
	return multitask.MeasureFolds(ctx, d.labelled, parts, fits, multitask.EvidenceOptions{Softness: trustSoftness})
}

// leave leaves the metric if the folds, which make it anew, say that the features are
// better as they are.
func (s *search) leave(ctx context.Context, d *doubt, start *Searched, first *multitask.HeldOut) (*Searched, *multitask.HeldOut, error) {
	inside := s.ground
	var err error
	if s.ground, err = s.of.ground(true, s.tune.Seed); err != nil {
		return nil, nil, err
	}
	fit, err := s.fit(ctx, start.Omega, s.tune)
	if err != nil {
		return nil, nil, err
	}
	held, err := s.hold(ctx, d, trusts[0], fit, nil)
	if err != nil {
		return nil, nil, err
	}
	if less := multitask.PairedSoft(held, first); less.Loss < -leaveMetric*less.StandardError {
		return fit, held, nil
	}
	s.ground = inside
	return start, first, nil
}

// Mixed is Omega_0 of what the network says and of the weights fitted with that.
func (t Trust) Mixed(said *mat.SymDense, weights *multitask.Result) *mat.SymDense {
	if t.Network == 1 {
		return said
	}
	out, part := mat.NewSymDense(said.SymmetricDim(), nil), &mat.SymDense{}
	add := func(share float64, omega *mat.SymDense) {
		part.ScaleSym(share, omega)
		out.AddSym(out, part)
	}
	rest := 1 - t.Network
	if t.Weights > 0 {
		var products mat.SymDense
		products.SymOuterK(1, weights.W.T())
		if trace := mat.Trace(&products); trace > noWeights {
			add(t.Weights/trace, &products)
			rest -= t.Weights
		}
	}
	add(t.Network, said)
	add(rest, multitask.Uniform(said.SymmetricDim()))
	return out
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

// around is the grid of Lambda1 in the neighbourhood of a choice.
func around(lambda1 float64) []float64 {
	grid := make([]float64, 5)
	for i := range grid {
		grid[i] = lambda1 * math.Pow(10, float64(i-2)/2)
	}
	return grid
}
