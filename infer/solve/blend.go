package solve

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

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
	units
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
	e := &blend{loss: b.loss()}
	first := parts[0]
	rivals := make([][]float64, len(first.Y))
	for i, targets := range first.Y {
		for j, fold := range b.foldsOf(i) {
			if fold != without {
				rivals[i] = append(rivals[i], targets[j])
			}
		}
	}
	e.units = b.unitsOf(rivals)
	sharers := 1.0 // of a row's weight
	if b.rows.OwnUnits {
		sharers = float64(len(first.Y))
	}
	for i, targets := range first.Y {
		fold := b.foldsOf(i)
		weights := e.weights(i, first.Weight[i])
		classes := max(1, e.classes)
		for j, y := range targets {
			if fold[j] == without {
				continue
			}
			for c := range classes {
				scores := e.rowScores(parts, i, j*classes+c)
				if scores == nil {
					continue
				}
				e.scores = append(e.scores, scores)
				e.y = append(e.y, e.target(i, y, c))
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
			e.noise = min(e.noise,
				max(square/floats.Sum(e.weight), math.SmallestNonzeroFloat32))
		}
	}
	return e
}

// rowScores are the candidates' predictions for a row of a task, or for one class; nil where a
// candidate takes the class for foreign to the task.
func (e *blend) rowScores(parts []*evidence.HeldOut, task, number int) (scores []float64) {
	for _, h := range parts {
		score := h.Scores[task][number]
		if math.IsInf(score, -1) {
			return nil
		}
		if e.counts > 0 {
			score = math.Log(score)
		}
		score -= e.center[task]
		scores = append(scores, score/e.scale[task])
	}
	return scores
}

// units are the units that fits have targets in.
type units struct {
	classes int     // if several
	counts  float64 // of the Bench
	// center and scale are the means and the deviations of the targets, of all tasks or, in units of
	// their own, of each; 0 and 1 of classes, and of counts the logarithm of the mean and 1. Huber's
	// loss has its unit.
	center, scale []float64
}

// target is a target in these units, and 1 or -1 of one class of several against the rest.
func (u units) target(task int, y float64, class int) float64 {
	if u.classes > 0 {
		return float64(2*btoi(multitask.LabelOf(y, u.classes) == class) - 1)
	}
	if u.counts > 0 {
		return y / math.Exp(u.center[task])
	}
	return (y - u.center[task]) / u.scale[task]
}

// weights are the weights of a task's rows. Counts, which are divided by their mean, weigh as much
// as counts whose variance is their expectation.
func (u units) weights(task int, weights []float64) []float64 {
	if u.counts > 0 {
		weights = slices.Clone(weights)
		floats.Scale(math.Exp(u.center[task])/u.counts, weights)
	}
	return weights
}

// unitsOf are the units of the targets y.
func (b *Bench) unitsOf(y [][]float64) units {
	u := units{
		classes: b.rows.Several(),
		counts:  b.counts,
	}
	groups := y
	tasks := 1
	if !b.rows.OwnUnits {
		groups = [][]float64{slices.Concat(y...)}
		tasks = len(y)
	}
	for _, targets := range groups {
		center, scale := 0.0, 1.0
		if b.regression() && len(targets) > 0 {
			center, scale = stat.PopMeanStdDev(targets, nil)
		}
		if b.counts > 0 {
			center = math.Log(max(center, 1/float64(1+len(targets))))
		}
		if scale == 0 || b.counts > 0 {
			scale = 1
		}
		scale = cmp.Or(b.unit, scale)
		u.center = append(u.center, slices.Repeat([]float64{center}, tasks)...)
		u.scale = append(u.scale, slices.Repeat([]float64{scale}, tasks)...)
	}
	return u
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
		moved := descend(h, g, v)
		if moved < blendMoves || e.loss == nil {
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
func (b *Bench) blended(parts []*evidence.HeldOut) (out [][]float64) {
	for _, scores := range parts[0].Scores {
		out = append(out, make([]float64, len(scores)))
	}
	for k := range b.folds {
		e := newBlend(b, parts, k)
		if len(e.y) == 0 {
			e = newBlend(b, parts, -1)
		}
		v := e.weigh()
		for i, scores := range out {
			fold := b.foldsOf(i)
			classes := max(1, e.classes)
			for j := range scores {
				if fold[j/classes] != k {
					continue
				}
				scores[j] = math.Inf(-1)
				row := e.rowScores(parts, i, j)
				if row != nil {
					scores[j] = e.center[i] + e.scale[i]*floats.Dot(v, row)
				}
			}
		}
	}
	if b.counts > 0 {
		for _, scores := range out {
			saved.Expect(scores, b.largest)
		}
	}
	return out
}
