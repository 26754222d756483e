package vgg

import (
	"golang.org/x/sync/errgroup"

	"l2mt/data"
	"l2mt/layers"
	"l2mt/layers/linalg"
)

const (
	colours = 3
	taps    = 9 // of a 3 x 3 convolution
)

// Net is a network up to some layer. Any number of goroutines may use one.
type Net struct {
	config Config
	layers []layer // the convolutions
	head   layers.Head
}

// layer is y = ReLU(x * weight + bias). It has the weights of the nine taps one after the other, row
// by row; each is in x out.
type layer struct {
	name         string // in the file
	shape        []int  // of its weights there, four numbers if it is a convolution
	in, out      int
	weight, bias []float32
}

// Features returns the features of every picture. A picture is Size x Size
// pixels by rows, each with a byte for red, green and blue. Besides the result,
// every worker takes memory for the activations of two layers.
func (n *Net) Features(pictures [][]byte, workers int) ([][]float32, error) {
	size := n.config.Size
	for i, p := range pictures {
		if len(p) != size*size*colours {
			return nil, ErrInvalid.Errorf("picture %d: %d bytes; %d x %d pixels have %d",
				i, len(p), size, size, size*size*colours)
		}
	}
	width := n.config.Width(Pool5)
	rows := make([]float32, len(pictures)*width)
	var work errgroup.Group
	work.SetLimit(max(1, workers))
	for i, p := range pictures {
		work.Go(func() error {
			n.convolve(p, rows[i*width:][:width])
			return nil
		})
	}
	_ = work.Wait() // convolve has no error
	x, err := data.NewDense(len(pictures), width, rows)
	if err != nil {
		return nil, err
	}
	y, err := n.head.Apply(x, len(n.head))
	if err != nil {
		return nil, err
	}
	features := make([][]float32, len(pictures))
	for i := range features {
		features[i] = y.Row(i).Value
		for k, v := range features[i] {
			if len(n.head) < len(n.config.Dense) { // the head leaves out ReLU after its last layer
				features[i][k] = max(v, 0)
			}
		}
	}
	return features, nil
}

// convolve runs the blocks on a picture and flattens the result.
func (n *Net) convolve(picture []byte, flat []float32) {
	w := newWorkspace(n.config)
	x := w.next(n.config.Size, n.config.Size, colours)
	prepare(picture, x)
	layers := n.layers
	for _, block := range n.config.Blocks {
		for _, c := range layers[:block.Convolutions] {
			y := w.next(x.height, x.width, c.out)
			c.convolve(x, y)
			x = y
		}
		layers = layers[block.Convolutions:]
		y := w.next(x.height/2, x.width/2, x.channels)
		pool(x, y)
		x = y
	}
	flatten(x, flat)
}

// The mean and standard deviation of ImageNet's colours between 0 and 1.
var (
	mean      = [colours]float32{0.485, 0.456, 0.406}
	deviation = [colours]float32{0.229, 0.224, 0.225}
)

// prepare puts a picture into a grid, standardised.
func prepare(picture []byte, x grid) {
	for row := range x.height {
		for col := range x.width {
			pixel := picture[(row*x.width+col)*colours:][:colours]
			point := x.at(row, col)
			for i := range point {
				centred := float32(pixel[i]) - 255*mean[i]
				point[i] = centred * (1 / (255 * deviation[i]))
			}
		}
	}
}

// flatten puts the entries of a grid one after the other, channel by channel.
func flatten(x grid, flat []float32) {
	for row := range x.height {
		for col := range x.width {
			for i, v := range x.at(row, col) {
				flat[(i*x.height+row)*x.width+col] = v
			}
		}
	}
}

// bandPoints is the number of points convolved at a time, so that they stay in the
// second-level cache for all nine taps. With fewer, more time goes into packing the
// weights; with all points VGG-19 takes a tenth more time.
const bandPoints = 900

// convolve sets y, whose border is zero, to the convolution of x, a band of rows at a time.
func (c layer) convolve(x, y grid) {
	height := max(1, bandPoints/x.width)
	for top := 0; top < x.height; top += height {
		c.band(x, y, top, min(top+height, x.height))
	}
}

// band convolves the rows from top to bottom. The points between the rows are computed
// too, and then cleared.
func (c layer) band(x, y grid, top, bottom int) {
	m := (bottom-top)*(x.width+1) - 1
	for t := range taps {
		a := x.from(top+t/3-1, t%3-1)
		b := c.weight[t*c.in*c.out:]
		beta := float32(1)
		if t == 0 {
			beta = 0
		}
		linalg.Gemm(linalg.Default(), linalg.NoTrans,
			linalg.NoTrans, m, c.out, c.in,
			1, a, c.in, b, c.out, beta, y.from(top, 0), c.out)
	}
	for row := top; row < bottom; row++ {
		clear(y.at(row, -1))
		for col := range x.width {
			point := y.at(row, col)[:len(c.bias)]
			for i, b := range c.bias {
				point[i] = max(point[i]+b, 0)
			}
		}
	}
}

// pool sets y to the largest of every 2 x 2 points of x.
func pool(x, y grid) {
	for row := range y.height {
		for col := range y.width {
			out := y.at(row, col)
			a := x.at(2*row, 2*col)[:len(out)]
			b := x.at(2*row, 2*col+1)[:len(out)]
			c := x.at(2*row+1, 2*col)[:len(out)]
			d := x.at(2*row+1, 2*col+1)[:len(out)]
			for i := range out {
				out[i] = max(a[i], b[i], c[i], d[i])
			}
		}
	}
}
