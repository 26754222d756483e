package pretrained_test

import (
	"fmt"

	"l2mt/model/pretrained"
)

func Example() {
	network, err := pretrained.Load()
	if err != nil {
		panic(err)
	}
	fmt.Println(pretrained.Name, "serves all features:", network.Config.FeatureFree())
	// Output: l2mt-prior-7 serves all features: true
}
