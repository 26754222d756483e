package layers

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/data/datatest"
)

func TestBuildRefusesWhatGorgoniaWouldGetWrong(t *testing.T) {
	flat := Op{Name: "flat", Shape: ScalarShape, F32: identityMatrix[float32], F64: identityMatrix[float64]}
	for name, define := range map[string]func(g *Graph){
		"nothing captured":         func(g *Graph) { g.Input("x", 2) },
		"the same input twice":     func(g *Graph) { g.Capture(g.Input("x", 2)); g.Input("x", 2) },
		"an input of dimension 3":  func(g *Graph) { g.Capture(g.Input("x", 2, 2, 2)) },
		"operands that do not fit": func(g *Graph) { g.Capture(must(gorgonia.Slice(g.Input("x", 2), gorgonia.S(5)))) },
		"two inputs with one 32-bit hash": func(g *Graph) {
			a, b := collision(g)
			g.Capture(g.Input(a, 2))
			g.Capture(g.Input(b, 2))
		},
		"an input that the loss does not depend on": func(g *Graph) {
			gradients(g, must(gorgonia.Sum(g.Input("x", 2))), g.Input("y", 2))
		},
		"the gradient of an operation without one": func(g *Graph) {
			x := g.Input("x", 2)
			gradients(g, Apply(flat, x), x)
		},
	} {
		t.Run(name, func(t *testing.T) {
			datatest.Refused(build(Float64, define))(t, ErrGraph)
		})
	}
	datatest.Refused(build("float16", func(*Graph) {}))(t, ErrGraph)
}

// Names that collide in one graph do not in the next one of the same memory.
func TestACollisionIsGoneInTheNextGraph(t *testing.T) {
	var a, b string
	var captured [2]*Capture
	m := datatest.Must(NewMemory(Float64))(t)
	define := func(g *Graph) {
		if a == "" {
			a, b = collision(g)
		}
		for i, name := range []string{a, b} {
			captured[i] = g.Capture(must(gorgonia.Sum(g.Input(name, 2))))
		}
	}
	datatest.Refused(m.Build(define))(t, ErrAlike)
	g := datatest.Must(m.Build(define))(t)
	for i, name := range []string{a, b} {
		datatest.Check(t, g.Set(name, []float64{float64(i), 10}))
	}
	if err := g.Run(); err != nil || captured[0].Value[0] != 10 || captured[1].Value[0] != 11 {
		t.Errorf("the sums are %v and %v, want 10 and 11 (%v)", captured[0].Value, captured[1].Value, err)
	}
}

// collision finds two names of vectors of length 2 that Gorgonia takes for one.
func collision(g *Graph) (a, b string) {
	probe := g.Input("probe", 2)
	seen := map[uint32]string{}
	for r := data.Stream(1, "names"); ; {
		name := fmt.Sprintf("%x", r.Uint64()) // among some 2^16 names two collide
		h := fnv.New32a()
		fmt.Fprintf(h, "%v%v%s\x00", probe.Type(), probe.Shape(), name)
		if other, ok := seen[h.Sum32()]; ok {
			return other, name
		}
		seen[h.Sum32()] = name
	}
}

func TestAPanicInABodyIsAnErrorOfTheRun(t *testing.T) {
	cause := errors.New("no such luck")
	for _, reason := range []any{"no such luck", cause} {
		g := datatest.Must(build(Float64, func(g *Graph) {
			g.Capture(Apply(Op{
				Name: "broken", Shape: SameShape,
				F64: func(View[float64], []View[float64]) { panic(reason) },
			}, g.Input("x", 2)))
		}))(t)
		for range 2 { // and again after a failed run
			if err := g.Run(); err == nil || !strings.Contains(err.Error(), "no such luck") || errors.Is(err, cause) != (reason == cause) {
				t.Errorf("the error is %v", err)
			}
		}
	}
}
