package model

import (
	op "gorgonia.org/gorgonia"

	"l2mt/layers"
)

// The links beside the paper's.
func init() {
	RegisterLink("log", logLink)
	RegisterLink("identity", identityLink)
}

// identityLink is v(o) = o. It leaves training no way to bend v until slopes
// vanish where most tuples lie.
var identityLink = Link{
	Build: func(_ Inputs, o *layers.Node) *layers.Node {
		return o
	},
	Direction: func(Params) float64 {
		return 1
	},
}

// logLink is the paper's alternative v(o) = ln(e^gamma_1 o + e^gamma_2), which
// rises with o whatever gamma is.
var logLink = Link{
	Params: gamma,
	Build: func(p Inputs, o *layers.Node) *layers.Node {
		slope := must(op.Exp(p.Number("gamma", 0)))
		offset := must(op.Exp(p.Number("gamma", 1)))
		return must(op.Log(add(mul(slope, o), offset)))
	},
	Direction: func(Params) float64 {
		return 1
	},
}
