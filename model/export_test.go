package model

import "l2mt/data"

// NewPayload is for the golden tests, whose data is in double precision:
// package data keeps single.
var NewPayload = newPayload

// ReadoutWeights calls a readout by name.
func ReadoutWeights(name string, kind data.Kind, y []float64) ([]float64, error) {
	return readouts[name](kind, y)
}
