package model

import (
	"l2mt/data"
	"l2mt/layers"
)

// NewPayload is for the golden tests, whose data is in double precision: package data has single.
func NewPayload(c Config, tasks []layers.Task) (*Payload, error) {
	batch, err := layers.NewBatch(c.DType, c.Norm, tasks)
	return &Payload{tasks: len(tasks), shape: batch.Shape(), batch: batch, config: c}, err
}

// ReadoutWeights calls a readout by name.
func ReadoutWeights(name string, kind data.Kind, y []float64) ([]float64, error) {
	return readouts[name](kind, y)
}
