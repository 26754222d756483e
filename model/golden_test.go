package model_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/safetensors"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/train"
)

// goldenConfig is the "config" of a golden case.
type goldenConfig struct {
	Readout, Norm, Estimator, Link, Objective string
	Unit, Tied                                bool
	S, K, D, H                                int
	Lambda                                    float64
	LR                                        float64 `json:"lr"`
	Steps                                     int
}

func (g goldenConfig) model() model.Config {
	return model.Config{
		Features: g.D, Body: "lgnn", Layers: g.S, Hidden: g.H, Free: !g.Tied, Neighbours: g.K,
		Norm: layers.Norm(g.Norm), Readout: g.Readout, Unit: g.Unit, Estimator: g.Estimator, Link: g.Link,
		Objective: model.Objective(g.Objective), Lambda: g.Lambda, DType: layers.Float64,
	}
}

type goldenTask struct {
	X [][]float64
	Y []float64
	G [][]float64
}

type goldenTuple struct {
	Tasks []goldenTask
	Omega [][]float64
	O     float64
}

func (t goldenTuple) tuple() model.Tuple {
	var omega []float64
	for _, row := range t.Omega {
		omega = append(omega, row...)
	}
	return model.Tuple{Omega: omega, O: t.O}
}

// doubleRows are points in double precision.
type doubleRows [][]float64

func (x doubleRows) Rows() int { return len(x) }
func (x doubleRows) Cols() int { return len(x[0]) }
func (x doubleRows) NNZ() int  { return len(x) * len(x[0]) }
func (x doubleRows) Visit(i int, entry func(j int, v float64)) {
	for j, v := range x[i] {
		entry(j, v)
	}
}

// payload makes the payload of golden tasks. The label graph comes from G
// itself, so that this test does not depend on package data's neighbours.
func (t goldenTuple) payload(tb testing.TB, c model.Config) *model.Payload {
	tb.Helper()
	var tasks []layers.Task
	for _, task := range t.Tasks {
		graph := &data.LabelGraph{Classes: 2, Ptr: []int32{0}}
		for i, y := range task.Y {
			graph.Class = append(graph.Class, int32((y+1)/2))
			for j, g := range task.G[i] {
				if g == -1 {
					graph.Index = append(graph.Index, int32(j))
				}
			}
			graph.Ptr = append(graph.Ptr, int32(len(graph.Index)))
		}
		if c.Layers == 1 {
			graph = nil
		}
		w := datatest.Must(model.ReadoutWeights(c.Readout, data.Classification, task.Y))(tb)
		tasks = append(tasks, layers.Task{X: doubleRows(task.X), Weights: w, Graph: graph})
	}
	return datatest.Must(model.NewPayload(c, tasks))(tb)
}

// params arranges golden parameters, nested lists by name, as the model's.
func params(tb testing.TB, c model.Config, golden map[string]any) model.Params {
	tb.Helper()
	p := model.NewParams(c, 0)
	for i, t := range p {
		values := flatten(golden[t.Name])
		datatest.Need(tb, len(values) == len(t.Value),
			"golden parameter %s has %d numbers, the model's %d", t.Name, len(values), len(t.Value))
		p[i].Value = values
	}
	return p
}

func flatten(v any) (numbers []float64) {
	switch v := v.(type) {
	case float64:
		return []float64{v}
	case []any:
		for _, w := range v {
			numbers = append(numbers, flatten(w)...)
		}
	}
	return numbers
}

func readGolden(tb testing.TB, name string, v any) {
	tb.Helper()
	b := datatest.Must(os.ReadFile("../testdata/golden/" + name))(tb)
	datatest.Check(tb, json.Unmarshal(b, v))
}

// near fails unless got is within tol of want, relative to the largest entry.
func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	inf := math.Inf(1)
	datatest.Holds(t, len(got) == len(want) && floats.Distance(got, want, inf) <= tol*floats.Norm(want, inf),
		"%s: %v, want %v", what, got, want)
}

// The tolerances that golden/README.md suggests.
const (
	valueTolerance    = 1e-10
	gradientTolerance = 1e-9
	trainingTolerance = 1e-9
)

func TestForwardAndGradientEqualTheGoldenNumbers(t *testing.T) {
	var file struct {
		Cases []struct {
			Name   string
			Config goldenConfig
			Inputs struct {
				goldenTuple
				AllO   []float64 `json:"all_o"`
				Params map[string]any
			}
			Expected struct {
				E, Phi, PhiPrime                   any
				C, F, V, Std, Loss, Direction, Rho float64
				Penalty                            float64
				Grad                               map[string]any
			}
		}
	}
	readGolden(t, "lgnn_forward.json", &file)
	datatest.Need(t, len(file.Cases) == 29, "%d cases, want 29", len(file.Cases))
	for _, tc := range file.Cases {
		t.Run(tc.Name, func(t *testing.T) {
			c, want := tc.Config.model(), tc.Expected
			n := &model.Network{Config: c, Params: params(t, c, tc.Inputs.Params)}
			payload, tuple := tc.Inputs.payload(t, c), tc.Inputs.tuple()

			forward := model.NewForward(n)
			e := datatest.Must(forward.Estimate(payload, tuple))(t)
			near(t, "E", safetensors.Transposed(e.E, e.Tasks, c.Hidden), flatten(want.E), valueTolerance) // golden E is h x m
			near(t, "Phi", e.Phi, flatten(want.Phi), valueTolerance)
			near(t, "c, f, v", []float64{e.C, e.F[0], e.V[0]}, []float64{want.C, want.F, want.V}, valueTolerance)
			near(t, "direction", []float64{n.Direction()}, []float64{want.Direction}, valueTolerance)

			graph := datatest.Must(model.NewTrainingGraph(c, tc.Inputs.AllO))(t)
			step := datatest.Must(graph.Step(n.Params, payload, []model.Tuple{tuple}))(t)
			near(t, "loss", []float64{step.Loss}, []float64{want.Loss}, valueTolerance)
			near(t, "f in training", step.F, []float64{want.F}, valueTolerance)
			near(t, "residual", []float64{step.Residual}, []float64{math.Abs(want.F - want.V)}, valueTolerance)
			if c.Objective == model.Scaled {
				near(t, "deviation", []float64{step.Deviation}, []float64{want.Std}, valueTolerance)
			}
			for _, g := range step.Gradient {
				near(t, "gradient of "+g.Name, g.Value, flatten(want.Grad[g.Name]), gradientTolerance)
			}
		})
	}
}

func TestTwentyAdamStepsEqualTheGoldenNumbers(t *testing.T) {
	var file struct {
		Cases []struct {
			Name   string
			Config goldenConfig
			Inputs struct {
				Tuples        []goldenTuple
				Order         []int
				InitialParams map[string]any `json:"initial_params"`
			}
			Expected struct {
				LossTrace     []float64      `json:"loss_trace"`
				FirstGradient map[string]any `json:"first_gradient"`
				FinalParams   map[string]any `json:"final_params"`
				FinalLosses   []float64      `json:"final_losses"`
			}
		}
	}
	readGolden(t, "training.json", &file)
	datatest.Need(t, len(file.Cases) == 8, "%d cases, want 8", len(file.Cases))
	for _, tc := range file.Cases {
		t.Run(tc.Name, func(t *testing.T) {
			c, want := tc.Config.model(), tc.Expected
			p := params(t, c, tc.Inputs.InitialParams)
			var payloads []*model.Payload
			var outcomes []float64
			for _, tuple := range tc.Inputs.Tuples {
				q := tuple.payload(t, c)
				payloads = append(payloads, q)
				outcomes = append(outcomes, tuple.O)
			}
			graph := datatest.Must(model.NewTrainingGraph(c, outcomes))(t)
			evaluate := func(i int) model.Step {
				return datatest.Must(graph.Step(p, payloads[i], []model.Tuple{tc.Inputs.Tuples[i].tuple()}))(t)
			}
			adam := train.NewOptimiser("adam", p)
			var trace, final []float64
			for k, i := range tc.Inputs.Order {
				step := evaluate(i)
				trace = append(trace, step.Loss)
				for _, g := range step.Gradient {
					if k == 0 {
						near(t, "first gradient of "+g.Name, g.Value, flatten(want.FirstGradient[g.Name]), gradientTolerance)
					}
				}
				adam.Step(p, step.Gradient, slices.Repeat([]float64{tc.Config.LR}, len(p)))
			}
			for i := range payloads {
				final = append(final, evaluate(i).Loss)
			}
			near(t, "loss trace", trace, want.LossTrace, trainingTolerance)
			near(t, "final losses", final, want.FinalLosses, trainingTolerance)
			for _, q := range p {
				near(t, "final "+q.Name, q.Value, flatten(want.FinalParams[q.Name]), trainingTolerance)
			}
		})
	}
}
