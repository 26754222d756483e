package model_test

import (
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
	"l2mt/train"
)

// Gorgonia's machine on the graph of a step, and its solvers, come to the parameters that our
// run of the graph and our optimisers come to.
func TestStepsAreThoseOfGorgoniasMachineAndSolver(t *testing.T) {
	solvers := map[string]func(...gorgonia.SolverOpt) gorgonia.Solver{
		"adam":     func(o ...gorgonia.SolverOpt) gorgonia.Solver { return gorgonia.NewAdamSolver(o...) },
		"momentum": func(o ...gorgonia.SolverOpt) gorgonia.Solver { return gorgonia.NewMomentum(o...) },
		"rmsprop":  func(o ...gorgonia.SolverOpt) gorgonia.Solver { return gorgonia.NewRMSPropSolver(o...) },
		"adagrad":  func(o ...gorgonia.SolverOpt) gorgonia.Solver { return gorgonia.NewAdaGradSolver(o...) },
	}
	for _, test := range [][2]string{{"paper", "adam"}, {"default", "adam"}, {"pairs", "adam"}, {"paper", "momentum"}, {"paper", "rmsprop"}, {"paper", "adagrad"}} {
		optimiser := test[1]
		c := pairs(t)
		if test[0] != "pairs" {
			c = config(t, test[0], 3)
		}
		t.Run(test[0]+" "+optimiser, func(t *testing.T) {
			const steps, rate = 15, 0.001 // Gorgonia's AdaGrad has no other
			c.DType = layers.Float64
			if test[0] == "pairs" { // its covariance found multiplies the last digits
				c.Objective = model.Scaled
			}
			r := data.Stream(1, "Gorgonia's solver")
			payload := datatest.Must(model.Prepare(c, modeltest.Problem(r, 3, 6, 7, 5)))(t)
			tuples := []model.Tuple{{Omega: modeltest.Covariance(r, 3), O: 0.8}, {Omega: modeltest.Covariance(r, 3), O: 1.2}}
			graph := datatest.Must(model.NewTrainingGraph(c, []float64{0.8, 1.2}))(t)
			graph.Measure = func(omega *mat.SymDense) (float64, *mat.SymDense, error) {
				slope := mat.NewSymDense(3, []float64{1, 0.5, 0, 0.5, 2, 0, 0, 0, 3})
				return mat.Trace(slope), slope, nil
			}
			params := model.NewParams(c, 1)
			e := datatest.Must(graph.Express(params, payload, tuples))(t)

			machine := gorgonia.NewTapeMachine(e.Graph, gorgonia.BindDualValues(e.Params...))
			defer machine.Close()
			solver := solvers[optimiser](gorgonia.WithLearnRate(rate))
			for range steps {
				datatest.Check(t, machine.RunAll())
				datatest.Check(t, solver.Step(gorgonia.NodesToValueGrads(e.Params)))
				for _, p := range e.Params { // AdaGrad's step leaves its own in the gradient
					datatest.Must(p.Grad())(t).(*tensor.Dense).Zero()
				}
				machine.Reset()
			}

			ours := train.NewOptimiser(optimiser, params)
			for range steps {
				step := datatest.Must(graph.Step(params, payload, tuples))(t)
				ours.Step(params, step.Gradient, func(string) float64 { return rate })
			}
			for i, p := range params {
				near(t, p.Name, e.Params[i].Value().Data().([]float64), p.Value, 1e-12)
			}
		})
	}
}
