package multitask

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Loss is the loss of problem (1) as a function of the prediction f and y.
type Loss string

// The losses.
const (
	// Logistic is ln(1 + exp(-y f)), for labels -1 and +1.
	Logistic Loss = "logistic"
	// Square is (y - f)^2.
	Square Loss = "square"
)

// weights are those of the rows of two classes, -1 and +1, or nil where all weigh 1. A
// regression has none.
type weights []float64

// of is the weight of a row.
func (w weights) of(y float64) float64 {
	if w == nil {
		return 1
	}
	return w[LabelOf(y, 1)]
}

// Balanced is the hyperparameter of a given covariance that, at 1, weighs the rows of every
// task so that its classes count the same.
const Balanced = "balanced"

// Balance is the model of a given covariance with classes that count the same.
func Balance(given Model) (Model, error) {
	k, ok := given.(held)
	if !ok {
		return nil, fmt.Errorf("multitask: model %q: %w: only fits with a given covariance have weights of classes", given.Info().Name, ErrInvalidParams)
	}
	k.info.Ranges = append(slices.Clip(k.info.Ranges), Range{Name: Balanced, Default: 1})
	return k, nil
}

// weighted is the training set with the weights that the rows have in a fit. Every task has
// rows of both classes.
func (p *TrainingSet) weighted(params Params) *TrainingSet {
	if p.loss == Square || params.Get(Balanced) == 0 {
		return p
	}
	balance := func(y []float64) weights {
		n, positive := float64(len(y)), 0.0
		for _, v := range y {
			positive += (1 + v) / 2
		}
		return weights{n / 2 / (n - positive), n / 2 / positive}
	}
	w := &TrainingSet{loss: p.loss, cols: p.cols, features: p.features, classes: p.classes, tasks: slices.Clone(p.tasks), span: p.span}
	for i := range w.tasks {
		w.tasks[i].weights = balance(p.tasks[i].y)
	}
	return w
}

// mean returns the mean loss of predictions score + b.
func (l Loss) mean(score, y []float64, b float64, w weights) float64 {
	if len(y) == 0 {
		return 0
	}
	sum := 0.0
	for j, s := range score {
		if l == Square {
			e := s + b - y[j]
			sum += e * e
		} else {
			sum += w.of(y[j]) * logistic(y[j]*(s+b))
		}
	}
	return sum / float64(len(y))
}

// logistic returns ln(1 + exp(-t)) without overflow.
func logistic(t float64) float64 {
	if t < 0 {
		return -t + math.Log1p(math.Exp(t))
	}
	return math.Log1p(math.Exp(-t))
}

// slopes sets r and h to the first and second derivatives, divided by n, of
// the loss of every row at the prediction score + b. It returns their sums.
func (l Loss) slopes(r, h, score, y []float64, b float64, w weights) (sumR, sumH float64) {
	n := float64(len(y))
	for j, s := range score {
		if l == Square {
			r[j], h[j] = 2*(s+b-y[j])/n, 2/n
		} else {
			// e <= 1 keeps both tails exact.
			t := y[j] * (s + b)
			e := math.Exp(-math.Abs(t))
			q := 1 / (1 + e)
			weight := w.of(y[j]) / n
			h[j] = e * q * q * weight
			if t > 0 {
				q *= e
			}
			r[j] = -y[j] * q * weight
		}
		sumR += r[j]
		sumH += h[j]
	}
	return sumR, sumH
}

// steepest is the largest second derivative.
func (l Loss) steepest() float64 {
	if l == Square {
		return 2
	}
	return 0.25
}

// bias returns the b that minimises the mean loss of score + b, and pull/2 (b - common)^2
// with it, starting from an estimate, and leaves the slopes of the loss there in r and h.
func (l Loss) bias(r, h, score, y []float64, b, pull, common float64, w weights) float64 {
	lo, hi := math.Inf(-1), math.Inf(1)
	if l == Logistic && pull > 0 { // the slope of the loss is 1 at most
		lo, hi = common-1/pull, common+1/pull
		b = min(max(b, lo), hi)
	} else if l == Logistic && len(score) > 0 {
		// Beyond these one row of the other class outweighs all that are right.
		far := 1 + math.Log(float64(len(score)))
		if w != nil {
			far += math.Abs(math.Log(w[0] / w[1]))
		}
		lo, hi = -floats.Max(score)-far, -floats.Min(score)+far
		b = min(max(b, lo), hi)
	}
	for range 200 {
		g, c := l.slopes(r, h, score, y, b, w)
		g, c = g+pull*(b-common), c+pull
		if g > 0 {
			hi = b
		} else {
			lo = b
		}
		if math.Abs(g) <= 1e-15 {
			break
		}
		move := -g / c
		if math.Abs(move) <= 1e-9 || b+move == b || l == Square {
			// The slopes are linear in so short a move.
			add(move, h, r)
			return b + move
		}
		// The sum of the slopes rises with b, so its root is bracketed.
		if b += move; !(b > lo && b < hi) {
			b = lo + (hi-lo)/2
		}
	}
	return b
}
