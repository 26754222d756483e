package vgg_test

import (
	"fmt"

	"l2mt/layers/vgg"
)

func Example() {
	c := vgg.VGG19()
	for _, l := range vgg.Layers() {
		fmt.Println(l, c.Width(l))
	}
	// Output:
	// pool5 25088
	// fc6 4096
	// fc7 4096
	// fc8 1000
}
