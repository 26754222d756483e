package layers

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"l2mt/data"
)

// A head turns the features of a dataset into the network's features: the fully
// connected layers of a vision network, say, in front of
//
//	H_1 = act(F L_1 + b_1),  F = ReLU(... ReLU(X W_1 + 1 c_1') ...) W_k + 1 c_k'
//
// It is applied once where it is frozen (Apply), and is part of the graph where
// it is trained (Product, Activate, Regraph). Its weights are in single
// precision in networks of any, because there may be a hundred million.

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

// In is the number of features that go in.
func (h Head) In() int {
	return h[0].In
}

// Out is the number of features that come out.
func (h Head) Out() int {
	return h[len(h)-1].Out
}

// String lists the widths: "25088-4096-4096-1000". It is empty without layers.
func (h Head) String() string {
	if len(h) == 0 {
		return ""
	}
	widths := []string{strconv.Itoa(h.In())}
	for _, l := range h {
		widths = append(widths, strconv.Itoa(l.Out))
	}
	return strings.Join(widths, "-")
}

// Validate checks that there are layers, that their shapes chain and that every
// weight is finite.
func (h Head) Validate() error {
	if len(h) == 0 {
		return data.Invalid("head: it has no layers")
	}
	for i, l := range h {
		switch {
		case l.In < 1 || l.Out < 1 ||
			len(l.W) != l.In*l.Out || len(l.B) != l.Out:
			return data.Invalid("head: layer %d: it is %d x %d with %d weights and %d biases; it needs in x out weights and out biases",
				i, l.In, l.Out, len(l.W), len(l.B))
		case i > 0 && l.In != h[i-1].Out:
			return data.Mismatch("head: layer %d: it takes %d numbers, but layer %d makes %d; the layers must chain",
				i, l.In, i-1, h[i-1].Out)
		}
		if NotFinite(l.W) >= 0 || NotFinite(l.B) >= 0 {
			return data.Invalid("head: layer %d: a weight or bias is infinite or is NaN; it must be finite", i)
		}
	}
	return nil
}

// NotFinite is the index of the first NaN or infinity, or -1.
func NotFinite[T Float](x []T) int {
	for i, v := range x {
		f := float64(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return i
		}
	}
	return -1
}

// Sum is the SHA-256 of the weights, W before b and layer after layer, as the
// bytes of little-endian numbers: the checksum of a safetensors file's data.
func (h Head) Sum() string {
	sum := sha256.New()
	for _, l := range h {
		for _, part := range [][]float32{l.W, l.B} {
			for chunk := range slices.Chunk(part, 1<<14) {
				_ = binary.Write(sum, binary.LittleEndian, chunk) // sums have no error
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Clone copies the head.
func (h Head) Clone() Head {
	c := slices.Clone(h)
	for i, l := range c {
		c[i].W = slices.Clone(l.W)
		c[i].B = slices.Clone(l.B)
	}
	return c
}

// rowsAtOnce bounds the memory of Apply.
const rowsAtOnce = 256

// Apply returns the output of the first n layers for the rows of x, x itself for
// n = 0. ReLU follows every layer but the head's last.
func (h Head) Apply(x data.Matrix, n int) (data.Matrix, error) {
	if n == 0 {
		return x, nil
	}
	if x.Cols() != h.In() {
		return nil, data.Mismatch("head: there are %d features, but the head takes %d",
			x.Cols(), h.In())
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

// Regraph is F itself, the features (n x d) of the batch's rows, and lets the
// operations on it see the label graph of these features instead of the
// batch's: the same classes, and the k nearest neighbours as they are now. The
// graph is a constant to the gradient. Features that are not finite have no
// neighbours, and leave the graph of the batch.
func Regraph(s *Slot, k int, f *Node) *Node {
	return Apply(Op{
		Name:  fmt.Sprint("graph", k),
		Shape: SameShape,
		F32:   regraph[float32](s, k),
		F64:   regraph[float64](s, k),
		Grad: func(_ Nodes, _, grad *Node) Nodes {
			return Nodes{grad}
		},
	}, f)
}

func regraph[T Float](s *Slot, k int) Body[T] {
	return func(out View[T], in []View[T]) {
		copy(out.Data, in[0].Data)
		if NotFinite(out.Data) >= 0 {
			return
		}
		s.graph = neighbours(s.batch, k, out)
	}
}

// neighbours is the aggregation over the label graphs of the tasks' rows in f, which are
// finite.
func neighbours[T Float](b *Batch, k int, f View[T]) *aggregation[T] {
	graphs := make([]*data.LabelGraph, b.Tasks())
	for j := range graphs {
		rows := f.Data[b.start[j]*f.Cols : b.start[j+1]*f.Cols]
		single := make([]float32, len(rows)) // as features are kept everywhere
		convert(single, rows)
		n := b.start[j+1] - b.start[j]
		x, err := data.NewDense(n, f.Cols, single)
		if err == nil {
			graphs[j], err = data.NewLabelGraph(x,
				b.graphs[j].Class, min(k, n-1))
		}
		if err != nil {
			panic(err) // Run returns it
		}
	}
	return newAggregation[T](b, graphs)
}

// RandomHead draws layers of the given widths: weights from N(0, 2/in), which
// keeps the scale of numbers through ReLU, and biases of zero. It stands for a
// pretrained head where there is none.
func RandomHead(seed uint64, widths ...int) Head {
	h := make(Head, len(widths)-1)
	for i := range h {
		in := widths[i]
		out := widths[i+1]
		h[i] = Connected{In: in, Out: out,
			W: make([]float32, in*out), B: make([]float32, out)}
		r := data.Stream(seed, "random head", uint64(i))
		deviation := math.Sqrt(2 / float64(in))
		for j := range h[i].W {
			h[i].W[j] = float32(deviation * r.NormFloat64())
		}
	}
	return h
}
