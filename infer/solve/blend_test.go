package solve

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model/evidence"
)

// blendOf are two candidates of a problem, judged, and their blend.
func blendOf(t *testing.T, kind data.Kind) (*Bench, *blend, []*evidence.HeldOut) {
	t.Helper()
	b := bench(t, nil, made(3, "p", kind, 4).Labelled(), Options{})
	var parts []*evidence.HeldOut
	for _, s := range []Structure{{Straight, Pooled}, {Kernel, Alone}} {
		parts = append(parts, judge(t, b, Candidate{Structure: s}).HeldOut)
	}
	return b, newBlend(b, parts, -1), parts
}

// The weights are the best of a grid of nonnegative ones, by the objective of blend's comment.
func TestWeightsAreTheBestOfAGrid(t *testing.T) {
	datatest.Long(t)
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		b, e, parts := blendOf(t, kind)
		var y, first, second []float64
		for i := range parts[0].Y {
			y = append(y, parts[0].Y[i]...)
			first = append(first, parts[0].Scores[i]...)
			second = append(second, parts[1].Scores[i]...)
		}
		mean, noise := 0.0, math.Inf(1)
		if b.regression() {
			for _, v := range y {
				mean += v / float64(len(y))
			}
			for _, scores := range [][]float64{first, second} {
				square := 0.0
				for r, s := range scores {
					square += (y[r] - s) * (y[r] - s) / float64(len(y))
				}
				noise = min(noise, square)
			}
		}
		p := e.likelihoods()
		if math.Abs(floats.Sum(p)-1) > 1e-12 || (p[0] > p[1]) != (parts[0].Loss < parts[1].Loss) {
			t.Errorf("%s: likelihoods %v of losses %v and %v", kind, p, parts[0].Loss, parts[1].Loss)
		}
		objective := func(v, w float64) float64 {
			sum := 2 * (math.Pow(v-p[0], 2) + math.Pow(w-p[1], 2))
			for r := range y {
				s := v*(first[r]-mean) + w*(second[r]-mean)
				if b.regression() {
					sum += math.Pow(y[r]-mean-s, 2) / noise / 2
				} else {
					sum += math.Log1p(math.Exp(-y[r] * s))
				}
			}
			return sum
		}
		least, v, w := math.Inf(1), 0.0, 0.0
		for i := range 301 {
			for j := range 301 {
				a := 0.01 * float64(i)
				c := 0.01 * float64(j)
				if o := objective(a, c); o < least {
					least = o
					v = a
					w = c
				}
			}
		}
		got := e.weigh()
		if math.Abs(got[0]-v) > 0.011 || math.Abs(got[1]-w) > 0.011 || objective(got[0], got[1]) > least+1e-9 {
			t.Errorf("%s: weights %v, of the grid (%v, %v)", kind, got, v, w)
		}
	}
}

// A candidate that predicts the opposite has the weight 0.
func TestWeightsAreNotNegative(t *testing.T) {
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		_, e, _ := blendOf(t, kind)
		for _, s := range e.scores {
			s[0] = -s[1]
		}
		if got := e.weigh(); got[0] != 0 || !(got[1] > 0.5) {
			t.Errorf("%s: weights %v", kind, got)
		}
	}
}

// The labels of a fold's rows say nothing of what they are scored by.
func TestScoresOfAFoldHaveNotSeenIt(t *testing.T) {
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		b, _, parts := blendOf(t, kind)
		before := b.blended(parts)
		for i, y := range parts[0].Y {
			for j, k := range b.foldsOf(i) {
				if k == 0 {
					y[j] *= -1
				}
			}
		}
		after := b.blended(parts)
		moved := 0
		for i := range before {
			for j, k := range b.foldsOf(i) {
				switch {
				case k == 0 && before[i][j] != after[i][j]:
					t.Errorf("%s, task %d, row %d: %v, with other labels %v", kind, i, j, before[i][j], after[i][j])
				case k != 0 && before[i][j] != after[i][j]:
					moved++
				}
			}
		}
		if moved == 0 {
			t.Errorf("%s: other labels of a fold change no weights", kind)
		}
	}
}
