package solve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/infer/solve/solvetest"
	"l2mt/model/multitask"
)

// mixtures are all of some shares that a covariance can be made of.
func mixtures() (all []Mixture) {
	shares := []float64{0, 0.25, 0.5, 0.8, 0.95, 1}
	for _, network := range shares {
		for _, pooled := range shares {
			if network+pooled > 1 {
				continue
			}
			base := Candidate{Mixture: Mixture{Network: network, Pooled: pooled}}
			all = append(all, base.Mixture, base.weighed().Mixture)
		}
	}
	return all
}

// A covariance is the sum that the comment of Mixture gives, and has the trace 1.
func TestMixtureIsTheSumOfItsParts(t *testing.T) {
	const m = 3
	r := data.Stream(1, "mixtures")
	said, w := solvetest.Covariance(r, m), mat.NewDense(4, m, nil)
	w.Apply(func(_, _ int, _ float64) float64 { return r.NormFloat64() }, w)
	squares := math.Pow(mat.Norm(w, 2), 2)
	for _, x := range mixtures() {
		got, trace := x.omega(make([]bool, m), said, &multitask.Result{W: w}), 0.0
		for i := range m {
			trace += got.At(i, i)
			for j := range m {
				want := x.Network*said.At(i, j) + x.Pooled/m
				if i == j {
					want += (1 - x.Network - x.Pooled) / m
				}
				if x.Weights {
					want = 0.4*want + 0.6*mat.Dot(w.ColView(i), w.ColView(j))/squares
				}
				if math.Abs(got.At(i, j)-want) > 1e-12 {
					t.Errorf("%+v: entry (%d, %d) is %v, want %v", x, i, j, got.At(i, j), want)
				}
			}
		}
		if math.Abs(trace-1) > 1e-12 {
			t.Errorf("%+v: the trace is %v", x, trace)
		}
	}
	// Weights whose squares are no normal numbers say nothing.
	for _, tiny := range []float64{1e-155, 0} {
		var short mat.Dense
		short.Scale(tiny, w)
		got, want := Mixture{Network: 0.4, Weights: true}.omega(make([]bool, m), said, &multitask.Result{W: &short}), Mixture{Network: 0.4}.omega(make([]bool, m), said, nil)
		if !mat.EqualApprox(got, want, 1e-15) {
			t.Errorf("weights of %v:\n%v", tiny, mat.Formatted(got))
		}
	}
}

// Every candidate has a name of its own, without spaces, and a title of its own.
func TestNamesTellCandidatesApart(t *testing.T) {
	names, titles := map[string]Candidate{}, map[string]Candidate{}
	for _, x := range mixtures() {
		for _, v := range []View{{}, {Ridge: 1}, {Ridge: 0.1}, {Bent: data.StepCurves}, {Bent: data.StepCurves, Ridge: 3}, {Bent: data.StepGauss, Width: 0.1}, {Bent: data.StepLaplace, Width: 3}} {
			c := Candidate{View: v, Mixture: x, Drawn: []float64{0, 3, multitask.OneIntercept}[len(names)%3]}
			again, ok := ParseCandidate(c.Name())
			if !ok || again != c {
				t.Fatalf("%q is read as %+v, %t; it is of %+v", c.Name(), again, ok, c)
			}
			if was, ok := names[c.Name()]; ok || strings.Contains(c.Name(), " ") {
				t.Fatalf("%+v and %+v are both called %q", was, c, c.Name())
			}
			if was, ok := titles[c.Title()]; ok || c.Title() == "" {
				t.Fatalf("%+v and %+v both have the title %q", was, c, c.Title())
			}
			names[c.Name()], titles[c.Title()] = c, c
		}
	}
	for _, name := range []string{"", "mtrl", "l2mt", "stl-", "stl-stl", "stl-metric", "curves", "pooled200x", "stl-weights-curves-nonsense", "stl-metric1-curves"} {
		if c, ok := ParseCandidate(name); ok {
			t.Errorf("%q is read as %+v", name, c)
		}
	}
	for _, c := range []struct {
		Candidate
		name, title string
	}{
		{Candidate{}, "stl", "STL"},
		{Candidate{Mixture: Mixture{Pooled: 0.95}}.weighed(), "pooled95-weights", "pooled by 95 % + weights"},
		{Candidate{View{Ridge: 0.1}, Mixture{Network: 1}, 30, true, nil}, "network-metric0.1-drawn30-balanced", "the network's covariance, common metric of ridge 0.1, intercepts drawn together by 30 rows, classes that count the same"},
		{Candidate{View{Ridge: 1}, Mixture{Pooled: 1}, 0, false, multitask.Baselines()[1]}, "mtfl-metric1", ""},
	} {
		if c.Model != nil {
			c.name, c.title = c.Model.Info().Name+"-metric1", c.Model.Info().Title+", common metric of ridge 1"
		}
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
		{Mixture: Mixture{Network: 1}}, {Mixture: Mixture{Pooled: 2}}, {Mixture: Mixture{Pooled: -1}},
		{Mixture: Mixture{Network: 0.5, Pooled: 0.6}}, {Mixture: Mixture{Pooled: math.NaN()}},
		{View: View{Ridge: -1}}, {View: View{Ridge: math.NaN()}}, {View: View{Bent: data.StepGauss}}, {View: View{Bent: data.StepGauss, Width: 1, Ridge: 1}},
	} {
		if j, err := alone.Judge(t.Context(), c); err == nil || !strings.Contains(err.Error(), `problem "p"`) {
			t.Errorf("%+v is judged as %v, %v", c, j, err)
		}
	}
	if _, err := alone.found(); err == nil {
		t.Error("there is no network, and it finds something")
	}
	if _, err := alone.Best(t.Context(), nil); err == nil {
		t.Error("there is a best one of no candidates")
	}
}

// Two covariances are two candidates, though they are called the same.
func TestGivenCovariancesAreToldApart(t *testing.T) {
	b := bench(t, nil, made(1, "p", data.Regression, 3), Options{})
	var losses []float64
	for seed := range uint64(3) {
		given := must(multitask.Given(solvetest.Covariance(data.Stream(seed, "given"), 3)))(t)
		losses = append(losses, judge(t, b, Candidate{Model: given}).Loss)
	}
	if slices.Sort(losses); len(slices.Compact(losses)) != 3 {
		t.Errorf("three covariances have the losses %v", fmt.Sprint(losses))
	}
}
