package solve

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model/evidence"
	"l2mt/model/mixed"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// blend holds the candidates' predictions of rows held out, to weigh the candidates:
//
//	minimise   sum loss(sum_k v_k s_k) + precision/2 sum (v_k - p_k)^2   over v >= 0
//
// with s_k the predictions, from the mean of the targets in their deviations, and p_k in proportion to the likelihood
// of the rows by candidate k alone (likelihoods). The squared loss is over the least mean square of a candidate.
type blend struct {
	scores [][]float64 // of a row: one of every candidate
	y      []float64
	weight []float64 // of a row; targets of the same row share one
	loss   mixed.Loss
	noise  float64
	center []float64 // of every task
	scale  []float64 // of every task
}

const (
	// blendPrecision is the precision of a weight about p_k, in rows whose loss has the curvature
	// 1. A loss of classes has a fourth at most, and so have their weights.
	blendPrecision = 25.0
	// blendSteps bounds Newton's steps, and the rounds over the weights in each.
	blendSteps  = 50
	blendRounds = 5000
	blendMoves  = 1e-9
)

// newBlend gathers the predictions of the rows that a fold did not hold out, or of all with the fold
// -1. A row of several classes counts once for every class.
func newBlend(b *Bench, parts []*evidence.HeldOut, without int) *blend {
	e := &blend{loss: b.loss(b.rows.Kind())}
	first := parts[0]
	rivals := make([][]float64, len(first.Y))
	for i, targets := range first.Y {
		for j, fold := range b.foldsOf(i) {
			if fold != without {
				rivals[i] = append(rivals[i], targets[j])
			}
		}
	}
	e.center, e.scale = b.moments(b.rows, rivals)
	sharers := 1.0 // of a row's weight
	if b.rows.OwnUnits {
		sharers = float64(len(first.Y))
	}
	for i, targets := range first.Y {
		fold := b.foldsOf(i)
		weights := first.Weight[i]
		if b.counts > 0 {
			weights = countWeights(weights, e.center[i], b.counts)
		}
		for j, y := range targets {
			if fold[j] == without {
				continue
			}
			classes := len(first.Scores[i]) / len(targets)
			for c := range classes {
				target := (y - e.center[i]) / e.scale[i]
				if b.counts > 0 {
					target = y / math.Exp(e.center[i])
				} else if classes > 1 {
					target = float64(2*btoi(multitask.LabelOf(y, classes) == c) - 1)
				}
				e.scores = append(e.scores, e.rowScores(b, parts, i, j*classes+c))
				e.y = append(e.y, target)
				e.weight = append(e.weight, weights[j]/sharers)
			}
		}
	}
	e.noise = 1
	if e.loss == nil {
		e.noise = math.Inf(1)
		for k := range parts {
			square := 0.0
			for r, s := range e.scores {
				miss := e.y[r] - s[k]
				square += e.weight[r] * miss * miss
			}
			e.noise = min(e.noise, max(square/floats.Sum(e.weight), math.SmallestNonzeroFloat32))
		}
	}
	return e
}

// rowScores are the candidates' predictions for a row of a task, or for one class.
func (e *blend) rowScores(
	b *Bench, parts []*evidence.HeldOut, task, number int,
) (scores []float64) {
	for _, h := range parts {
		score := h.Scores[task][number]
		if b.counts > 0 {
			score = math.Log(score)
		}
		score -= e.center[task]
		scores = append(scores, score/e.scale[task])
	}
	return scores
}

// countWeights are the weights of counts that are divided by their mean; center is its logarithm.
// They weigh as much as counts whose variance is their expectation.
func countWeights(weights []float64, center, dispersion float64) []float64 {
	weights = slices.Clone(weights)
	floats.Scale(math.Exp(center)/dispersion, weights)
	return weights
}

// moments are the means and the deviations of the targets, of all tasks or, in units of their own,
// of each; 0 and 1 of classes, and of counts the logarithm of the mean and 1. Huber's loss has its
// unit.
func (b *Bench) moments(p *data.ProblemData, y [][]float64) (mean, deviation []float64) {
	groups := y
	tasks := 1
	if !p.OwnUnits {
		groups = [][]float64{slices.Concat(y...)}
		tasks = len(y)
	}
	for _, targets := range groups {
		center, scale := 0.0, 1.0
		if p.Kind() == data.Regression && len(targets) > 0 {
			center, scale = stat.PopMeanStdDev(targets, nil)
		}
		if b.counts > 0 {
			center = math.Log(max(center, 1/float64(1+len(targets))))
		}
		if scale == 0 || b.counts > 0 {
			scale = 1
		}
		scale = cmp.Or(b.unit, scale)
		mean = append(mean, slices.Repeat([]float64{center}, tasks)...)
		deviation = append(deviation, slices.Repeat([]float64{scale}, tasks)...)
	}
	return mean, deviation
}

// weigh finds the weights.
func (e *blend) weigh() []float64 {
	k := len(e.scores[0])
	p := e.likelihoods()
	precision := blendPrecision
	if e.loss != nil {
		_, _, curvature := e.loss.At(0, 0)
		precision *= curvature
	}
	v := slices.Clone(p)
	h := make([][]float64, k)
	for range blendSteps {
		g := make([]float64, k)
		for a := range h {
			h[a] = make([]float64, k)
			h[a][a] = precision
			g[a] = precision * p[a]
		}
		for r, s := range e.scores {
			target := e.y[r]
			curvature := 1 / e.noise
			if e.loss != nil {
				f := floats.Dot(v, s)
				_, slope, bend := e.loss.At(f, target)
				curvature = max(bend, 1e-4)
				target = f - slope/curvature
			}
			curvature *= e.weight[r]
			for a := range k {
				floats.AddScaled(h[a], curvature*s[a], s)
			}
			floats.AddScaled(g, curvature*target, s)
		}
		if moved := descend(h, g, v); moved < blendMoves || e.loss == nil {
			break
		}
	}
	return v
}

// likelihoods has the likelihood of the rows by each candidate alone; they add up to 1. Beside the
// likeliest a difference counts in units of its standard error, if the unit is above 1.
func (e *blend) likelihoods() []float64 {
	k := len(e.scores[0])
	losses := make([][]float64, k)
	for r, scores := range e.scores {
		for c, s := range scores {
			miss := e.y[r] - s
			loss := miss * miss / (2 * e.noise)
			if e.loss != nil {
				loss, _, _ = e.loss.At(s, e.y[r])
			}
			losses[c] = append(losses[c], e.weight[r]*loss)
		}
	}
	byTotal := func(a, b []float64) int {
		return cmp.Compare(floats.Sum(a), floats.Sum(b))
	}
	best := slices.Clone(slices.MinFunc(losses, byTotal))
	p := make([]float64, k)
	for c := range p {
		floats.Sub(losses[c], best)
		unit := max(1, floats.Norm(losses[c], 2))
		p[c] = math.Exp(-floats.Sum(losses[c]) / unit)
	}
	floats.Scale(1/floats.Sum(p), p)
	return p
}

// descend minimises v'hv/2 - g'v over v >= 0, one weight after the other.
func descend(h [][]float64, g, v []float64) (moved float64) {
	for range blendRounds {
		distance := 0.0
		for a := range v {
			slope := g[a] - floats.Dot(h[a], v)
			next := max(0, v[a]+slope/h[a][a])
			distance = max(distance, math.Abs(next-v[a]))
			v[a] = next
		}
		moved = max(moved, distance)
		if distance < blendMoves {
			break
		}
	}
	return moved
}

// blended are the predictions of the weighed sum of all rows. The rows of a fold have the weights
// that the others give, and a single fold has its own.
func (b *Bench) blended(parts []*evidence.HeldOut) [][]float64 {
	out := make([][]float64, len(parts[0].Scores))
	for i, scores := range parts[0].Scores {
		out[i] = make([]float64, len(scores))
	}
	for k := range b.folds {
		e := newBlend(b, parts, k)
		if len(e.y) == 0 {
			e = newBlend(b, parts, -1)
		}
		v := e.weigh()
		for i, scores := range out {
			fold := b.foldsOf(i)
			classes := len(scores) / max(1, len(fold))
			for j := range scores {
				if fold[j/classes] == k {
					score := floats.Dot(v, e.rowScores(b, parts, i, j))
					scores[j] = e.center[i] + e.scale[i]*score
				}
			}
			if b.counts > 0 && k == len(b.folds)-1 {
				saved.Expect(scores, b.largest)
			}
		}
	}
	return out
}
