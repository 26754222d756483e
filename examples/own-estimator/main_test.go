package main

import (
	"testing"

	"l2mt/model/modeltest"
)

// Gradients, permutations, inference, saving and loading, in one line.
func TestCosine(t *testing.T) { modeltest.Check(t, "cosine") }
