package layers

import "l2mt/data"

// Connected is a fully connected layer, X W + 1 b'.
type Connected struct {
	// In and Out are the widths of the layer's input and output.
	In, Out int
	// W is In x Out, row-major, and B has length Out.
	W, B []float32
}

// Head is a stack of fully connected layers with ReLU between them, none after
// the last.
type Head []Connected

// rowsAtOnce bounds the memory of Apply.
const rowsAtOnce = 256

// Apply returns the output of the first n layers for the rows of x, x itself for
// n = 0. ReLU follows every layer but the head's last.
func (h Head) Apply(x data.Matrix, n int) (data.Matrix, error) {
	if n == 0 {
		return x, nil
	}
	if x.Cols() != h[0].In {
		return nil, data.Mismatch("head: there are %d features, but the head takes %d",
			x.Cols(), h[0].In)
	}
	width := h[n-1].Out
	out := make([]float32, x.Rows()*width)
	for lo := 0; lo < x.Rows(); lo += rowsAtOnce {
		hi := min(lo+rowsAtOnce, x.Rows())
		in := newView[float32](hi-lo, x.Cols())
		for i := range in.Rows {
			r := x.Row(lo + i)
			row := in.Row(i)
			for p, v := range r.Value {
				row[r.Column(p)] = v
			}
		}
		for k, l := range h[:n] {
			next := View[float32]{hi - lo, width, out[lo*width : hi*width]}
			if k < n-1 {
				next = newView[float32](hi-lo, l.Out)
			}
			gemm(noTrans, in, View[float32]{l.In, l.Out, l.W}, next)
			for i := range next.Rows {
				add(next.Row(i), l.B)
			}
			if k < len(h)-1 {
				relu(next.Data)
			}
			in = next
		}
	}
	return data.NewDense(x.Rows(), width, out)
}
