package model_test

import (
	"testing"

	"l2mt/model/modeltest"
)

func TestPairwiseIsProvedLikeAnyOther(t *testing.T) {
	modeltest.Check(t, "pairwise", "pairs")
}
