package pairwise_test

import (
	"fmt"

	"l2mt/model"
	_ "l2mt/model/pairwise"
)

// The import is enough: the preset's network serves problems over any features.
func Example() {
	c, err := model.Preset("pairwise", 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Body, c.Estimator, c.FeatureFree())
	// Output: pairwise pairs true
}
