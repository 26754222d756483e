package vgg

import (
	"fmt"
	"regexp"
)

// A library is one of those that distribute the networks' weights: how it names
// and lays them out, and how it prepares pictures.
type library struct {
	name string
	// tensor splits a tensor's name into that of its layer and what it is of
	// the layer: w... or k... for the weights, b... for the biases.
	tensor *regexp.Regexp
	// parts are what it calls the weights and the biases of a layer, after the
	// layer's name.
	parts [2]string
	// layers names the layers of a network, the convolutions first.
	layers func(Config) []string
	// channelsFirst says that weights are out x in x 3 x 3 and out x in and
	// that pool5 is flattened by channel, not 3 x 3 x in x out, in x out, and by
	// position.
	channelsFirst bool
	// order, mean and scale prepare a pixel: channel i is
	// (pixel[order[i]] - mean[i]) * scale[i].
	order       [colours]int
	mean, scale [colours]float32
}

var torchvision = &library{
	name:          "torchvision",
	tensor:        regexp.MustCompile(`^((?:features|classifier)\.\d+)\.(weight|bias)$`),
	parts:         [2]string{".weight", ".bias"},
	layers:        torchvisionLayers,
	channelsFirst: true,
	order:         [colours]int{0, 1, 2},
	// The mean and standard deviation of ImageNet's colours between 0 and 1.
	mean:  [colours]float32{255 * 0.485, 255 * 0.456, 255 * 0.406},
	scale: [colours]float32{1 / (255 * 0.229), 1 / (255 * 0.224), 1 / (255 * 0.225)},
}

// Keras has the weights of the paper's authors, which were trained with Caffe:
// blue first, and the mean subtracted.
var keras = &library{
	name:   "keras",
	tensor: regexp.MustCompile(`(block\d+_conv\d+|fc\d+|predictions)[./_](?:.*[./_])?(kernel|W|bias|b)(?:_\d+)?(?::0)?$`),
	parts:  [2]string{"/kernel", "/bias"},
	layers: kerasLayers,
	order:  [colours]int{2, 1, 0},
	mean:   [colours]float32{103.939, 116.779, 123.68},
	scale:  [colours]float32{1, 1, 1},
}

// torchvisionLayers counts the layers of its Sequential modules, in which ReLU,
// pooling and dropout are layers too.
func torchvisionLayers(c Config) (names []string) {
	at := 0
	for _, b := range c.Blocks {
		for range b.Convolutions {
			names = append(names, fmt.Sprintf("features.%d", at))
			at += 2
		}
		at++
	}
	return append(names, "classifier.0", "classifier.3", "classifier.6")
}

func kerasLayers(c Config) (names []string) {
	for i, b := range c.Blocks {
		for j := range b.Convolutions {
			names = append(names, fmt.Sprintf("block%d_conv%d", i+1, j+1))
		}
	}
	return append(names, "fc1", "fc2", "predictions")
}

// prepare puts a picture into a grid.
func (l *library) prepare(picture []byte, x grid) {
	var value [colours][256]float32
	for i := range value {
		for p := range value[i] {
			value[i][p] = (float32(p) - l.mean[i]) * l.scale[i]
		}
	}
	for row := range x.height {
		for col := range x.width {
			pixel, point := picture[(row*x.width+col)*colours:][:colours], x.at(row, col)
			for i, colour := range l.order {
				point[i] = value[i][pixel[colour]]
			}
		}
	}
}

// flatten puts the entries of a grid one after the other.
func (l *library) flatten(x grid, flat []float32) {
	for row := range x.height {
		for col := range x.width {
			at := row*x.width + col
			for i, v := range x.at(row, col) {
				if l.channelsFirst {
					flat[i*x.height*x.width+at] = v
				} else {
					flat[at*x.channels+i] = v
				}
			}
		}
	}
}
