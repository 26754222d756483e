package solve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// mixtures are all of some shares that a covariance can be made of.
func mixtures() (all []Mixture) {
	shares := []float64{0, 0.25, 0.5, 0.8, 0.95, 1}
	for _, network := range shares {
		for _, pooled := range shares {
			if network+pooled <= 1 {
				all = append(all, Mixture{network, pooled})
			}
		}
	}
	return all
}

// A covariance is the sum that the comment of Mixture gives, and has the trace 1.
func TestMixtureIsTheSumOfItsParts(t *testing.T) {
	const m = 3
	said := covariance(data.Stream(1, "mixtures"), m)
	for _, x := range mixtures() {
		got, trace := x.omega(make([]bool, m), said), 0.0
		for i := range m {
			trace += got.At(i, i)
			for j := range m {
				want := x.Network*said.At(i, j) + x.Pooled/m
				if i == j {
					want += (1 - x.Network - x.Pooled) / m
				}
				datatest.Near(t, got.At(i, j), want, 1e-12, "%+v: entry (%d, %d)", x, i, j)
			}
		}
		datatest.Near(t, trace, 1, 1e-12, "%+v: the trace", x)
	}
}

// candidates are ways to fit of every kind.
func candidates() (all []Candidate) {
	for _, x := range mixtures() {
		for _, ridge := range []float64{0, 0.1, 1, 3} {
			drawn := []float64{0, 3, multitask.OneIntercept}[len(all)%3]
			all = append(all, Candidate{Mixture: x, Ridge: ridge, Drawn: drawn, Balanced: len(all)%2 == 1})
		}
	}
	for _, s := range Structures() {
		all = append(all, Candidate{Structure: s})
	}
	return all
}

// Every candidate has a name of its own, without spaces, and a title of its own.
func TestNamesTellCandidatesApart(t *testing.T) {
	names, titles := map[string]bool{}, map[string]bool{}
	for _, c := range candidates() {
		again, ok := ParseCandidate(c.Name())
		datatest.Holds(t, ok && again == c, "%q is read as %+v, %t; it is of %+v", c.Name(), again, ok, c)
		datatest.Holds(t, !names[c.Name()] && !strings.Contains(c.Name(), " "),
			"%+v is called %q", c, c.Name())
		datatest.Holds(t, !titles[c.Title()] && c.Title() != "",
			"%+v has the title %q", c, c.Title())
		names[c.Name()] = true
		titles[c.Title()] = true
	}
	for _, name := range []string{"", "mtrl", "l2mt", "stl-", "stl-stl", "stl-metric", "bent", "pooled200x", "curves-nonsense", "curves-metric1", "level-alone", "-alone"} {
		c, ok := ParseCandidate(name)
		datatest.Holds(t, !ok, "%q is read as %+v", name, c)
	}
	mtrl := datatest.Must(multitask.Lookup("mtrl"))(t)
	for _, c := range []struct {
		Candidate
		name, title string
	}{
		{Candidate{}, "stl", "every task on its own"},
		{Candidate{Mixture: Mixture{Pooled: 0.95}}, "pooled95", "by 95 % one model for all"},
		{Candidate{Mixture: Mixture{Network: 1}, Ridge: 0.1, Drawn: 30, Balanced: true}, "network-metric0.1-drawn30-balanced", "the network's covariance, columns weighed by how rows scatter (0.1), intercepts that lean on 30 rows of the others, classes that count the same"},
		{Candidate{Ridge: 1, Model: mtrl}, "mtrl-metric1", mtrl.Info().Title + ", columns weighed by how rows scatter (1)"},
		{Candidate{Structure: Structure{View: Level}}, "level", "the level of each task"},
		{Candidate{Structure: Structure{Kernel, Alone}}, "kernel-alone", "straight lines and similar rows, each task on its own"},
	} {
		datatest.Holds(t, c.Name() == c.name && c.Title() == c.title,
			"%+v is called %q, %q; want %q, %q", c.Candidate, c.Name(), c.Title(), c.name, c.title)
	}
}

// Shares that make no covariance are refused, and so is what there is not.
func TestWhatNoCandidateIs(t *testing.T) {
	alone := bench(t, nil, made(1, "p", data.Classification, 3), Options{Folds: 2})
	for _, c := range []Candidate{
		{Mixture: Mixture{Network: 1}},
		{Mixture: Mixture{Pooled: 2}},
		{Mixture: Mixture{Pooled: -1}},
		{Mixture: Mixture{Network: 0.5, Pooled: 0.6}},
		{Mixture: Mixture{Pooled: math.NaN()}},
		{Structure: Structure{View: "bent"}},
		{Structure: Structure{Curves, "some"}},
		{Structure: Structure{Sharing: Alone}},
		{Drawn: -1},
	} {
		if j, err := alone.Judge(t.Context(), c); err == nil || !strings.Contains(err.Error(), `problem "p"`) {
			t.Errorf("%+v is judged as %v, %v", c, j, err)
		}
	}
	datatest.Refused(alone.ask(false))(t, nil)
}

// Two covariances are two candidates, though they are called the same.
func TestGivenCovariancesAreToldApart(t *testing.T) {
	b := bench(t, nil, made(1, "p", data.Regression, 3), Options{})
	var losses []float64
	for seed := range uint64(3) {
		given := datatest.Must(multitask.Given(covariance(data.Stream(seed, "given"), 3)))(t)
		losses = append(losses, judge(t, b, Candidate{Model: given}).Loss)
	}
	if slices.Sort(losses); len(slices.Compact(losses)) != 3 {
		t.Errorf("three covariances have the losses %v", fmt.Sprint(losses))
	}
}

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
		precision := blendPrecision / 4
		if b.regression() {
			precision = blendPrecision
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
			sum := precision / 2 * (math.Pow(v-p[0], 2) + math.Pow(w-p[1], 2))
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
		datatest.Holds(t, math.Abs(got[0]-v) <= 0.011 && math.Abs(got[1]-w) <= 0.011 && objective(got[0], got[1]) <= least+1e-9,
			"%s: weights %v, of the grid (%v, %v)", kind, got, v, w)
	}
}

// Targets of the same rows count as one target of these rows.
func TestRowsCountOnceWhateverTheirTargets(t *testing.T) {
	for _, own := range []bool{false, true} {
		b, _, parts := blendOf(t, data.Regression)
		b.rows.OwnUnits = own
		e := newBlend(b, parts, -1)
		rows := float64(len(e.y))
		if own {
			rows /= float64(len(b.rows.Tasks))
		}
		datatest.Near(t, floats.Sum(e.weight), rows, 1e-9, "own units %v: weights of all rows add up to", own)
	}
}

// A candidate that predicts the opposite has the weight 0.
func TestWeightsAreNotNegative(t *testing.T) {
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		_, e, _ := blendOf(t, kind)
		for _, s := range e.scores {
			s[0] = -s[1]
		}
		got := e.weigh()
		datatest.Holds(t, got[0] == 0 && got[1] > 0.5, "%s: weights %v", kind, got)
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
		datatest.Holds(t, moved != 0, "%s: other labels of a fold change no weights", kind)
	}
}
