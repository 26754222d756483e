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
	// convinced is by how many standard errors another metric has to be better.
	convinced = 1
	// hopeless is by how many standard errors a trust, or a metric, has to be worse with
	// the Lambda1 of the first fit not to get one of its own.
	hopeless = 1
)

// ridges are those that a problem's metric may have. The last leaves the features as
// they are.
var ridges = []float64{0.1, 1, 3, 10, math.Inf(1)}

// doubt is a problem without each fold of its labelled rows.
type doubt struct {
	parts int // none where rows cannot be split
	// said is what the network says of each.
	said func() ([]*mat.SymDense, error)
	// evidence is that of the rows in the metrics of what the folds train on.
	evidence func(view) (*multitask.FoldEvidence, error)
}

// doubt makes each once: L2MT and its controls, in metrics and out of them, share them.
func (e *Embedding) doubt(seed uint64) (*doubt, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.doubts[seed]; d != nil {
		return d, nil
	}
	labelled, err := e.problem.Labelled()
	if err != nil {
		return nil, err
	}
	labelled = labelled.TrainingOnly() // test rows have no say, and take time in a metric
	parts, err := labelled.Folds(trustFolds, seed, nil)
	if err != nil && !errors.Is(err, data.ErrInvalid) {
		return nil, err
	}
	own := make([]func() *data.Metric, len(parts))
	moved := make([]func() *data.ProblemData, len(parts))
	for k, part := range parts {
		own[k] = sync.OnceValue(func() *data.Metric { return data.NewMetric(part.ProblemData, 1) })
		moved[k] = sync.OnceValue(func() *data.ProblemData { return own[k]().Problem(part.ProblemData) })
	}
	directions := e.finder.of.DirectionsOf(e.problem)
	judge := func(v view) (*multitask.FoldEvidence, error) {
		whole, inside := labelled, slices.Clone(parts)
		if v.directed { // there are more features then
			g, err := e.ground(v, seed)
			if err != nil {
				return nil, err
			}
			whole = g.problem
		}
		for k, part := range parts {
			if v == (view{ridge: 1}) {
				inside[k].ProblemData = moved[k]()
			} else {
				inside[k].ProblemData = v.metric(own[k], part.ProblemData, directions).Problem(part.ProblemData)
			}
		}
		return multitask.Folds(whole, inside, multitask.EvidenceOptions{Softness: trustSoftness})
	}
	of := map[view]func() (*multitask.FoldEvidence, error){}
	for _, ridge := range ridges {
		for _, v := range []view{{ridge, false}, {ridge, true}} {
			of[v] = sync.OnceValues(func() (*multitask.FoldEvidence, error) { return judge(v) })
		}
	}
	d := &doubt{
		parts: len(parts),
		said: sync.OnceValues(func() (said []*mat.SymDense, err error) {
			said = make([]*mat.SymDense, len(parts))
			for k := range parts {
				if said[k], err = e.finder.asked(parts[k].ProblemData, moved[k]); err != nil {
					return nil, err
				}
			}
			return said, nil
		}),
		evidence: func(v view) (*multitask.FoldEvidence, error) { return of[v]() },
	}
	if e.doubts == nil {
		e.doubts = map[uint64]*doubt{}
	}
	e.doubts[seed] = d
	return d, nil
}

// trust returns what is to be believed, and the fit of it, in the metric or not.
func (s *search) trust(ctx context.Context, start *Searched) (best Trust, at *Searched, err error) {
	best, at = trusts[0], start
	if s.doubt, err = s.of.doubt(s.tune.Seed); err != nil || s.doubt.parts == 0 {
		return best, at, err
	}
	first, err := s.hold(ctx, s.view, best, start, nil)
	if err != nil {
		return best, at, err
	}
	if s.directed {
		if start, first, err = s.undirected(ctx, start, first); err != nil {
			return best, at, err
		}
		at = start
	}
	if s.problem.Kind() == data.Classification && first.Error*float64(first.Rows) < fewestErrors {
		return best, at, nil
	}
	if !math.IsInf(s.ridge, 1) {
		if start, first, err = s.metrics(ctx, start, first); err != nil {
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
		none, err := s.hopeless(ctx, s.view, t, start, first)
		if err != nil {
			return best, at, err
		}
		if none {
			continue
		}
		fit, err := s.fit(ctx, t.Mixed(start.Omega, start.Tuned.Result), tune)
		if err != nil {
			return best, at, err
		}
		held, err := s.hold(ctx, s.view, t, fit, first.Fits)
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

// hopeless says without a search for Lambda1 that a trust in a metric has no chance
// against the first.
func (s *search) hopeless(ctx context.Context, v view, t Trust, start *Searched, first *multitask.HeldOut) (bool, error) {
	held, err := s.hold(ctx, v, t, start, first.Fits)
	if err != nil {
		return false, err
	}
	more := multitask.PairedSoft(held, first)
	return more.Loss > hopeless*more.StandardError, nil
}

// hold is what the folds say of a trust in a metric, each with what the network says and
// the weights that were fitted without it, and the Lambda1 of a fit.
func (s *search) hold(ctx context.Context, v view, t Trust, fit *Searched, weights []*multitask.Result) (*multitask.HeldOut, error) {
	d := s.doubt
	omegas := slices.Repeat([]*mat.SymDense{multitask.Uniform(len(s.problem.Tasks))}, d.parts)
	if !s.without {
		var err error
		if omegas, err = d.said(); err != nil {
			return nil, err
		}
	}
	fits := make([]*multitask.Result, d.parts)
	for k, omega := range omegas {
		of := *fit.Tuned.Result
		if fits[k], of.Omega = &of, omega; t.Network < 1 {
			of.Omega = t.Mixed(omega, weights[k])
		}
	}
	e, err := d.evidence(v)
	if err != nil {
		return nil, err
	}
	return e.MeasureEach(ctx, fits)
}

// metrics goes from the metric that the network sees to others, as far as each is better
// than the one before it by the folds, which make it anew. Leave-one-out errors cannot
// tell metrics apart: the row left out has been in S.
func (s *search) metrics(ctx context.Context, start *Searched, first *multitask.HeldOut) (*Searched, *multitask.HeldOut, error) {
	from := slices.Index(ridges, s.ridge)
	for _, way := range []int{1, -1} {
		for k := from + way; k >= 0 && k < len(ridges); k += way {
			fit, held, err := s.under(ctx, view{ridges[k], s.directed}, start, first)
			if err != nil {
				return nil, nil, err
			}
			if fit == nil {
				break
			}
			start, first = fit, held
		}
		if s.ridge != ridges[from] {
			break
		}
	}
	return start, first, nil
}

// under goes on with another metric if it convinces. Else the fit is nil.
func (s *search) under(ctx context.Context, v view, start *Searched, first *multitask.HeldOut) (fit *Searched, held *multitask.HeldOut, err error) {
	none, err := s.hopeless(ctx, v, trusts[0], start, first)
	if none || err != nil {
		return nil, nil, err
	}
	before := s.ground
	if fit, held, err = s.seen(ctx, v, start); err != nil {
		return nil, nil, err
	}
	if less := multitask.PairedSoft(held, first); less.Loss < -convinced*less.StandardError {
		return fit, held, nil
	}
	s.ground = before
	return nil, nil, nil
}

// seen fits the first covariance with another view of the features, where it goes on.
func (s *search) seen(ctx context.Context, v view, start *Searched) (fit *Searched, held *multitask.HeldOut, err error) {
	if s.ground, err = s.of.ground(v, s.tune.Seed); err != nil {
		return nil, nil, err
	}
	if fit, err = s.fit(ctx, start.Omega, s.tune); err != nil {
		return nil, nil, err
	}
	held, err = s.hold(ctx, v, trusts[0], fit, nil)
	return fit, held, err
}

// undirected goes on without the directions that experience has taught where held-out
// rows are better off without. The soft error tells where hardly a row is misclassified
// too: along directions of other tasks the scores are close.
func (s *search) undirected(ctx context.Context, start *Searched, first *multitask.HeldOut) (*Searched, *multitask.HeldOut, error) {
	before := s.ground
	fit, held, err := s.seen(ctx, view{ridge: s.ridge}, start)
	if err != nil {
		return nil, nil, err
	}
	if less := multitask.PairedSoft(held, first); less.Loss < -s.margin*less.StandardError {
		return fit, held, nil
	}
	s.ground = before
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
func (f *Finder) asked(p *data.ProblemData, inMetric func() *data.ProblemData) (*mat.SymDense, error) {
	e, err := f.embed(p, inMetric)
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
