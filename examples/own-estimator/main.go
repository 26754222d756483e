// A program with all commands of l2mt and an estimator of its own: see
//
//	go build && ./own-estimator train --help
//	./own-estimator train --model.estimator=cosine --experience DIR --out DIR
package main

import (
	op "gorgonia.org/gorgonia"

	"l2mt/cmd/l2mt/command"
	"l2mt/layers"
	"l2mt/model"
)

// cosine estimates f(E, Omega) = <Phi, Omega> + c tr(Omega^2) with
//
//	Phi = beta_1 cos(E),  c = beta_2
//
// where cos(E) holds the cosines between the embeddings of the tasks.
var cosine = model.Estimator{
	Params: func(model.Config) []model.Spec {
		return []model.Spec{{Name: "beta", Shape: []int{2},
			Start: []float64{-1, 1}}}
	},
	// f is linear in both: training starts them by regression.
	Linear: []model.Entry{{Param: "beta", Index: 0}, {Param: "beta", Index: 1}},
	Build: func(p model.Inputs, e *layers.Node) (phi, c *layers.Node) {
		unit := layers.Unit(e)
		cosines := op.Must(op.Mul(unit, op.Must(op.Transpose(unit)))) // m x m
		return op.Must(op.Mul(p.Number("beta", 0), cosines)), p.Number("beta", 1)
	},
}

func init() { model.RegisterEstimator("cosine", cosine) }

func main() { command.Main() }
