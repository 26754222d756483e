package model_test

import (
	"fmt"
	"testing"

	op "gorgonia.org/gorgonia"

	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// A user's own estimator and link are registered once, in a file like this
// one, and can then be chosen by name. The names here leave the short ones to
// the reader who tries this in the same package.

// example-cosine estimates with Phi = beta_1 cos(E) and c = beta_2, where cos(E) holds the
// cosines between the embeddings.
func init() {
	model.RegisterEstimator("example-cosine", model.Estimator{
		Params: func(model.Config) []model.Spec {
			return []model.Spec{{Name: "beta", Shape: []int{2}, Start: []float64{-1, 1}}}
		},
		Linear: []model.Entry{{Param: "beta", Index: 0}, {Param: "beta", Index: 1}},
		Build: func(p model.Inputs, e *layers.Node) (phi, c *layers.Node) {
			unit := layers.Unit(e)
			cosines := op.Must(op.Mul(unit, op.Must(op.Transpose(unit)))) // m x m
			return op.Must(op.Mul(p.Number("beta", 0), cosines)), p.Number("beta", 1)
		},
	})

	// example-exp is the link v(o) = a exp(-o), which falls or rises with the sign of a.
	model.RegisterLink("example-exp", model.Link{
		Params: func(model.Config) []model.Spec {
			return []model.Spec{{Name: "a", Shape: []int{1}, Start: []float64{-1}}}
		},
		Build: func(p model.Inputs, o *layers.Node) *layers.Node {
			return op.Must(op.Mul(p.Number("a", 0), op.Must(op.Exp(op.Must(op.Neg(o))))))
		},
		Direction: func(p model.Params) float64 { return -p.Get("a")[0] },
	})
}

// One line proves a piece right.
func TestOwnPieces(t *testing.T) { modeltest.Check(t, "example-cosine", "example-exp") }

func ExampleRegisterEstimator() {
	config, err := model.Preset("default", 64)
	if err != nil {
		panic(err)
	}
	config.Estimator = "example-cosine" // registered in this file's init
	network, err := model.NewNetwork(config, 1)
	if err != nil {
		panic(err)
	}
	for _, p := range network.Params {
		fmt.Println(p.Name, p.Shape)
	}
	// Output:
	// L1 [64 200]
	// b1 [200]
	// L2 [64 200]
	// b2 [200]
	// beta [2]
	// gamma [2]
}
