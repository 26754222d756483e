package solve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
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
		if !ok || again != c {
			t.Errorf("%q is read as %+v, %t; it is of %+v", c.Name(), again, ok, c)
		}
		if names[c.Name()] || strings.Contains(c.Name(), " ") {
			t.Errorf("%+v is called %q", c, c.Name())
		}
		if titles[c.Title()] || c.Title() == "" {
			t.Errorf("%+v has the title %q", c, c.Title())
		}
		names[c.Name()] = true
		titles[c.Title()] = true
	}
	for _, name := range []string{"", "mtrl", "l2mt", "stl-", "stl-stl", "stl-metric", "bent", "pooled200x", "curves-nonsense", "curves-metric1", "level-alone", "-alone"} {
		if c, ok := ParseCandidate(name); ok {
			t.Errorf("%q is read as %+v", name, c)
		}
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
		if c.Name() != c.name || c.Title() != c.title {
			t.Errorf("%+v is called %q, %q; want %q, %q", c.Candidate, c.Name(), c.Title(), c.name, c.title)
		}
	}
}

// Shares that make no covariance are refused, and so is what there is not.
func TestWhatNoCandidateIs(t *testing.T) {
	p := made(1, "p", data.Classification, 3)
	alone := bench(t, nil, p, Options{Folds: 2})
	for _, c := range []Candidate{
		{Mixture: Mixture{Network: 1}},
		{Mixture: Mixture{Pooled: 2}},
		{Mixture: Mixture{Pooled: -1}},
		{Mixture: Mixture{Network: 0.5, Pooled: 0.6}},
		{Mixture: Mixture{Pooled: math.NaN()}},
		{Ridge: -1},
		{Ridge: math.NaN()},
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
	datatest.Refused(alone.Best(t.Context(), nil))(t, nil)
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
