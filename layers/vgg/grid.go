package vgg

// A grid is the activations of a layer: the points of an image by rows, the
// channels of a point side by side, within a border of zeros. There is a row of
// zeros above and below, and a single point between the rows, which is the right
// border of one and the left of the next.
//
// So the neighbours of a run of points, in any of the eight directions, are a
// run of points too, and a convolution is nine products of matrices whose rows
// are points: nothing is gathered.
type grid struct {
	height, width, channels int
	data                    []float32
}

// points is the number of a grid's points with its border.
func points(height, width int) int {
	return (height+2)*(width+1) + 1
}

// index is the place of the point (y, x); -1 and the height or width are in the
// border.
func (g grid) index(y, x int) int {
	return (y+1)*(g.width+1) + x + 1
}

// from returns the activations from the point (y, x) on.
func (g grid) from(y, x int) []float32 {
	return g.data[g.index(y, x)*g.channels:]
}

// at returns the channels of the point (y, x).
func (g grid) at(y, x int) []float32 {
	return g.from(y, x)[:g.channels]
}

// clearBorder sets the border to zero.
func (g grid) clearBorder() {
	clear(g.data[:g.index(0, 0)*g.channels])
	clear(g.from(g.height-1, g.width))
	for y := range g.height {
		clear(g.at(y, -1))
	}
}

// A workspace has room for the input and the output of any layer.
type workspace struct{ in, out []float32 }

func newWorkspace(c Config) *workspace {
	side := c.Size
	size := points(side, side) * colours
	for _, b := range c.Blocks {
		size = max(size, points(side, side)*b.Channels)
		side /= 2
	}
	return &workspace{make([]float32, size), make([]float32, size)}
}

// next returns a grid for the output of the layer whose input was the last, with
// its border cleared.
func (w *workspace) next(height, width, channels int) grid {
	w.in, w.out = w.out, w.in
	g := grid{height, width, channels, w.in[:points(height, width)*channels]}
	g.clearBorder()
	return g
}
