package multitask

import (
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

// Balanced is the hyperparameter of a given covariance that, at 1, weighs the rows of every
// task so that its classes count the same.
const Balanced = "balanced"

// weighted is the training set with the weights that the rows have in a fit. A task that lacks
// a class takes the weights that the rows of all tasks together would have.
func (p *TrainingSet) weighted(params Params) *TrainingSet {
	if p.loss == Square || params.Get(Balanced) == 0 {
		return p
	}
	count := make([][2]float64, len(p.tasks))
	total := make([][2]float64, p.classes)
	for i, t := range p.tasks {
		for j, v := range t.y {
			label := LabelOf(v, 1)
			weight := t.weights[j] / t.share
			count[i][label] += weight
			total[i%p.classes][label] += weight
		}
	}
	w := *p
	w.tasks = slices.Clone(p.tasks)
	for i := range w.tasks {
		rows := count[i]
		if rows[0] == 0 || rows[1] == 0 {
			rows = total[i%p.classes]
		}
		t := &w.tasks[i]
		t.weights = slices.Clone(t.weights)
		for j, v := range t.y {
			t.weights[j] *= (rows[0] + rows[1]) / 2 / rows[LabelOf(v, 1)]
		}
	}
	return &w
}

// sum returns the weighted loss of predictions score + b.
func (l Loss) sum(score, y []float64, b float64, w []float64) (sum float64) {
	for j, s := range score {
		if l == Square {
			e := s + b - y[j]
			sum += w[j] * e * e
		} else {
			// ln(1 + exp(-t)), without overflow
			t := y[j] * (s + b)
			loss := max(0, -t) + math.Log1p(math.Exp(-math.Abs(t)))
			sum += w[j] * loss
		}
	}
	return sum
}

// slopes sets r and h to the first and second derivatives of the weighted
// loss of every row at the prediction score + b. It returns their sums.
func (l Loss) slopes(
	r, h, score, y []float64, b float64, w []float64) (sumR, sumH float64) {
	for j, s := range score {
		if l == Square {
			r[j] = 2 * w[j] * (s + b - y[j])
			h[j] = 2 * w[j]
		} else {
			// e <= 1 keeps both tails exact.
			t := y[j] * (s + b)
			e := math.Exp(-math.Abs(t))
			q := 1 / (1 + e)
			h[j] = e * q * q * w[j]
			if t > 0 {
				q *= e
			}
			r[j] = -y[j] * q * w[j]
		}
		sumR += r[j]
		sumH += h[j]
	}
	return sumR, sumH
}

// bias returns the b that minimises the loss of score + b, and pull/2 (b - common)^2
// with it, starting from an estimate, and leaves the slopes of the loss there in r and h.
func (l Loss) bias(
	r, h, score, y []float64, b, pull, common float64, w []float64,
) float64 {
	lo := math.Inf(-1)
	hi := math.Inf(1)
	if l == Logistic && pull > 0 { // no slope of a row is more than its weight
		reach := floats.Sum(w) / pull
		lo = common - reach
		hi = common + reach
	} else if l == Logistic && len(score) > 0 {
		// Beyond these bounds one row of the other class outweighs all rows that are right.
		reach := 1 + math.Log(float64(len(score)))
		reach += math.Log(slices.Max(w) / slices.Min(w))
		lo = -floats.Max(score) - reach
		hi = -floats.Min(score) + reach
	}
	b = min(max(b, lo), hi)
	for range 200 {
		g, c := l.slopes(r, h, score, y, b, w)
		g = g + pull*(b-common)
		c = c + pull
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
		b += move
		if !(b > lo && b < hi) {
			b = lo + (hi-lo)/2
		}
	}
	return b
}
