// Package vgg runs the convolutional networks of Simonyan and Zisserman, "Very
// deep convolutional networks for large-scale image recognition" (2015),
// forwards only. L2MT's paper takes the last layer of VGG-19, trained on
// ImageNet, as the features of images.
//
// A network is blocks of 3 x 3 convolutions, each block followed by 2 x 2 max
// pooling, and three fully connected layers:
//
//	pool5  the last block's pooled activations, flattened
//	fc6    ReLU(W pool5 + b)
//	fc7    ReLU(W fc6 + b)
//	fc8    W fc7 + b, the scores of ImageNet's 1,000 classes before the softmax
//
// Weights are torchvision's, by its names and for pictures prepared as it does.
//
// Features depend neither on the number of workers nor on which pictures are
// computed together.
package vgg

import (
	"slices"

	"l2mt/data/fault"
)

// ErrInvalid marks pictures of another size than the network's.
var ErrInvalid = fault.New("invalid picture")

// ErrWeights marks weights of another network.
var ErrWeights = fault.New("weights do not fit the network")

// Layer is a layer whose activations serve as features.
type Layer string

// The layers, in their order.
const (
	Pool5 Layer = "pool5"
	FC6   Layer = "fc6"
	FC7   Layer = "fc7"
	FC8   Layer = "fc8"
)

// Layers returns the layers in their order.
func Layers() []Layer {
	return []Layer{Pool5, FC6, FC7, FC8}
}

// Config is the shape of a network.
type Config struct {
	// Name names the network in errors.
	Name string
	// Size is the height and width of a picture. Every block halves it, and leaves something.
	Size int
	// Blocks are the blocks of convolutions.
	Blocks []Block
	// Dense are the widths of fc6, fc7 and fc8.
	Dense [3]int
}

// Block is convolutions of the same number of channels, then pooling.
type Block struct{ Convolutions, Channels int }

// VGG19 is the network with 16 convolutions, 143,667,240 parameters in all.
func VGG19() Config {
	return Config{
		Name: "vgg19", Size: 224,
		Blocks: []Block{{2, 64}, {2, 128}, {4, 256},
			{4, 512}, {4, 512}},
		Dense: [3]int{4096, 4096, 1000},
	}
}

// side is the height and width of the last block's pooled activations.
func (c Config) side() int {
	return c.Size >> len(c.Blocks)
}

// Width is the number of features that a layer has.
func (c Config) Width(l Layer) int {
	i := slices.Index(Layers(), l)
	if i > 0 {
		return c.Dense[i-1]
	}
	return c.side() * c.side() * c.Blocks[len(c.Blocks)-1].Channels
}
