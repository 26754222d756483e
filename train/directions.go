package train

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model"
	"l2mt/model/multitask"
)

// The columns of W that the training tasks have, given all of their rows, lie in a few
// directions of the features. A new task's is likely to lie there too, whatever the other
// tasks of its problem are: that is the covariance of the rows of W, as Omega is that of
// its columns. So a network keeps
//
//	M M' ~ 1/n sum_t w_t w_t',  |w_t| = 1,
//
// the leading directions of these n weights, and fits ask for them (data.Metric.Along).

// faint is the variance of a direction, relative to that of the first, below which it
// says nothing.
const faint = 1e-4

// directions learns them where all training problems have the same features, unless
// this run has done so before.
func (t *trainer) directions(ctx context.Context, source Source) (*model.Directions, error) {
	if t.config.Directions < 1 {
		return nil, nil
	}
	if t.options.Out != "" { // a new run leaves none of another there
		if of, err := model.LoadDirections(os.DirFS(t.options.Out)); err == nil && of != nil {
			return of, nil
		}
	}
	for _, p := range t.training {
		if p.features != t.training[0].features {
			return nil, nil
		}
	}
	l, err := t.lessons(ctx, source, true)
	if err != nil || len(l.problem) == 0 {
		return nil, err
	}
	m, err := leading(l.weights, t.config.Directions)
	if err != nil {
		return nil, fmt.Errorf("train: directions: %w", err)
	}
	of := &model.Directions{M: m}
	if of.Signal, err = t.signal(ctx, source, l); err != nil {
		return nil, fmt.Errorf("train: directions: %w", err)
	}
	if t.options.Head == nil { // else these are what a head makes
		e, err := source.Example(t.training[0].at)
		if err != nil {
			return nil, err
		}
		of.Features = e.Problem.Features
	}
	return of, nil
}

// A problem whose tasks lie elsewhere, of other classes, say, has less of its signal along M
// than training problems have. To compare, these are asked about directions that the lessons
// of other problems taught.
const (
	signalParts = 5 // each of which is left out of the lessons once
	signalMost  = 60
)

// signal is the median of that of training problems, 0 where none has one.
func (t *trainer) signal(ctx context.Context, source Source, l *lessons) (float64, error) {
	var signals []float64
	for part := range signalParts {
		weights, left := l.without(part)
		if len(left) == 0 || weights == nil {
			continue
		}
		m, err := leading(weights, t.config.Directions)
		if err != nil {
			return 0, err
		}
		for _, k := range left[:min(len(left), signalMost/signalParts)] {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			p, err := t.fewRows(source, k)
			if err != nil {
				return 0, err
			}
			if s := data.NewMetric(p, 1).Along(p, m).Signal(p); s >= 0 && !math.IsInf(s, 1) {
				signals = append(signals, s)
			}
		}
	}
	if len(signals) == 0 {
		return 0, nil
	}
	slices.Sort(signals)
	return stat.Quantile(0.5, stat.Empirical, signals, nil), nil
}

// without are the weights but for those of every signalParts-th problem, and these problems.
func (l *lessons) without(part int) (weights *mat.Dense, left []int) {
	var rest []float64
	for i, k := range l.problem {
		if k%signalParts != part {
			rest = append(rest, l.weights.RawRowView(i)...)
		} else if len(left) == 0 || left[len(left)-1] != k {
			left = append(left, k)
		}
	}
	if rest != nil {
		_, d := l.weights.Dims()
		weights = mat.NewDense(len(rest)/d, d, rest)
	}
	return weights, left
}

// fewRows is a training problem as inference sees one, all of its labelled rows in one.
func (t *trainer) fewRows(source Source, k int) (*data.ProblemData, error) {
	e, err := source.Example(t.training[k].at)
	if err != nil {
		return nil, err
	}
	p, err := t.network.Features(e.Problem)
	if err != nil {
		return nil, err
	}
	return p.Labelled()
}

// leading is M (d x r) of weights (n x d), with r at most count, in the precision in which it
// is saved.
func leading(weights *mat.Dense, count int) (*mat.Dense, error) {
	n, d := weights.Dims()
	var gram mat.SymDense
	gram.SymOuterK(1/float64(n), weights)
	e, err := multitask.Eigen(&gram)
	if err != nil {
		return nil, err
	}
	first := n - min(n, count)
	for first < n-1 && e.Values[first] < faint*e.Values[n-1] {
		first++
	}
	m := mat.NewDense(d, n-first, nil)
	m.Mul(weights.T(), e.Vectors.Slice(0, n, first, n))
	m.Apply(func(_, _ int, v float64) float64 { return float64(float32(v / math.Sqrt(float64(n)))) }, m)
	return m, nil
}
