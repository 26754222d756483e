package train

import (
	"errors"
	"math"
	"testing"

	"l2mt/model"
)

func parameters(values ...float64) model.Params {
	return model.Params{{Name: "a", Shape: []int{1}, Value: values[:1]}, {Name: "b", Shape: []int{len(values) - 1}, Value: values[1:]}}
}

// The first step of Adam moves every entry by its rate times g/(|g| + eps),
// since both corrected moments are then those of g itself.
func TestTheFirstAdamStepIsTheRateWithTheSignOfTheGradient(t *testing.T) {
	p := parameters(1, 2, 3)
	a := NewAdam(p)
	rate := map[string]float64{"a": 0.1, "b": 0.01}
	if err := a.Step(p, parameters(5, -1e-3, 0), func(name string) float64 { return rate[name] }); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1 - 0.1*5/(5+a.Eps), 2 + 0.01*1e-3/(1e-3+a.Eps), 3} {
		if got := append(p[0].Value[:1:1], p[1].Value...)[i]; math.Abs(got-want) > 1e-15 {
			t.Errorf("entry %d is %v, want %v", i, got, want)
		}
	}
}

func TestAdamGoesOnFromACopyOfItsState(t *testing.T) {
	gradient := func(p model.Params) model.Params {
		g := p.Clone()
		for i := range g {
			for j, v := range g[i].Value {
				g[i].Value[j] = 2*v + math.Sin(float64(3*j)+v)
			}
		}
		return g
	}
	rate := func(string) float64 { return 0.05 }
	run := func(a *Adam, p model.Params, steps int) {
		for range steps {
			if err := a.Step(p, gradient(p), rate); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole := parameters(1, 2, 3)
	run(NewAdam(whole), whole, 20)

	first := parameters(1, 2, 3)
	a := NewAdam(first)
	run(a, first, 7)
	second := first.Clone()
	b := &Adam{Beta1: a.Beta1, Beta2: a.Beta2, Eps: a.Eps, Time: a.Time, First: a.First.Clone(), Second: a.Second.Clone()}
	run(a, first, 2) // must not disturb the copy
	run(b, second, 13)
	for i := range whole {
		for j, want := range whole[i].Value {
			if got := second[i].Value[j]; got != want {
				t.Errorf("%s[%d] is %v after resuming, %v without", whole[i].Name, j, got, want)
			}
		}
	}
}

func TestAdamRefusesOtherParameters(t *testing.T) {
	p := parameters(1, 2, 3)
	if err := NewAdam(p).Step(p, p[:1], func(string) float64 { return 1 }); !errors.Is(err, model.ErrMismatch) {
		t.Errorf("the error is %v", err)
	}
}
