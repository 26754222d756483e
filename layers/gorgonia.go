package layers

import (
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"

	"l2mt/layers/linalg"
)

// Gorgonia's own operations may stand anywhere in a graph. Shapes and gradients are
// Gorgonia's; the bodies below run, by the names that Gorgonia prints. They
// keep their memory between runs, write to no operand, and multiply matrices by our
// kernels.

// entrywise are the operations entry by entry.
var entrywise = map[string]func(x float64) float64{
	"exp":  math.Exp,
	"ln":   math.Log,
	"tanh": math.Tanh,
}

// zips are the operations on the entries of two operands of one shape, or of one and a scalar.
// In single precision, rounding the double of a sum or a product is rounding it once.
var zips = map[string]func(x, y float64) float64{
	"+ false": func(x, y float64) float64 {
		return x + y
	},
	"⊙ false": func(x, y float64) float64 {
		return x * y
	},
}

// Which operands of a product are transposed.
var (
	noTrans     = [2]linalg.Transpose{linalg.NoTrans, linalg.NoTrans}
	firstTrans  = [2]linalg.Transpose{linalg.Trans, linalg.NoTrans}
	secondTrans = [2]linalg.Transpose{linalg.NoTrans, linalg.Trans}
)

// products are the products of matrices A and B and of vectors a and b, which are columns.
var products = map[string][2]linalg.Transpose{
	"A × B": noTrans, "Aᵀ × B": firstTrans, "A × Bᵀ": secondTrans,
	"A × b": noTrans, "Aᵀ × b": firstTrans,
	"a ⋅ b": firstTrans, outer: secondTrans,
}

// outer is in the gradient of a matrix times a vector.
const outer = "a ⊗ b"

// refused are kinds of operations that Gorgonia gets wrong, and names of some.
var refused = map[string]string{
	"atOp":           "Gorgonia has no gradient of it; take Slice",
	"avgPoolOp":      "Gorgonia's gradient of it is wrong; take Mean of a Reshape",
	"BatchNormOp":    "it has a state that is not saved; take Sub and Div by what Mean makes",
	"constantTensor": "Gorgonia may take it for another; declare a parameter",
	"dropoutOp":      "Gorgonia's gradient of it is wrong, and its numbers come from the clock; write it as an Op of layers",
	"GroupNormOp":    "its gradient prints numbers; take Sub and Div by what Mean makes",
	"invSqrt":        "Gorgonia's gradient of it is wrong; take Inverse of Sqrt",
	"log2":           "Gorgonia's gradient of it is wrong; take Log",
	"sparsemaxOp":    "Gorgonia's gradient of it is wrong along columns; take SoftMax",
}

// word is how the printed form of an operation begins.
var word = regexp.MustCompile(`^\w+`)

// operationOf is the operation of a node. The gradient of one of Gorgonia's is Gorgonia's.
func operationOf(n *Node) Op {
	ours, ok := n.Op().(*boundOp)
	if ok {
		return ours.Op
	}
	operands := operandsOf(n)
	kind := kindOf(n)
	name := fmt.Sprint(n.Op())
	for _, key := range []string{kind, name} {
		fit(refused[key] == "", "operation %s: %s",
			word.FindString(name), refused[key])
	}
	fit(operands != nil || kind == "constantScalar",
		"node %s of shape %v is no input of this graph; declare a parameter", n.Name(), n.Shape())
	in := make([]Shape, len(operands))
	for i, operand := range operands {
		in[i] = operand.Shape()
	}
	return Op{
		Name: name,
		F32:  bodyFor[float32](n, kind, name, in),
		F64:  bodyFor[float64](n, kind, name, in),
	}
}

// bodyFor is our body of an operation, or Gorgonia's. Ours are of matrices, but for SoftMax, which
// Gorgonia gets wrong.
func bodyFor[T Float](n *Node, kind, name string, in []Shape) Body[T] {
	flat := n.Dims() <= 2
	for _, s := range in {
		flat = flat && len(s) <= 2
	}
	if flat || kind == "softmaxOp" {
		b := body[T](kind, name, in)
		if b != nil {
			return b
		}
	}
	return foreign[T](n.Op(), in)
}

// foreign runs an operation of Gorgonia's on copies: some change their operands.
func foreign[T Float](op gorgonia.Op, in []Shape) Body[T] {
	return func(out View[T], views []View[T]) {
		values := make([]gorgonia.Value, len(views))
		for i, v := range views {
			values[i] = newValue(in[i], slices.Clone(v.Data))
		}
		result, err := op.Do(values...)
		runtime.KeepAlive(values) // as in entries
		if err != nil {
			panic(err)
		}
		copy(out.Data, entries[T](result))
	}
}

// kindOf is the name of the type of a node's operation.
func kindOf(n *Node) string {
	_, kind, _ := strings.Cut(fmt.Sprintf("%T", n.Op()), "gorgonia.")
	return kind
}

// body is our body of an operation on operands of the given shapes, or nil.
func body[T Float](kind, name string, in []Shape) Body[T] {
	switch kind {
	case "elemUnaryOp":
		f := entrywise[name]
		if f != nil {
			return mapped[T](f)
		}
	case "elemBinOp":
		if name == "+ false" && slices.Equal(in[0], in[1]) {
			return plus[T]
		}
		f := zips[name]
		if f != nil {
			return zipped[T](f, in)
		}
	case "linAlgBinOp":
		turn, ok := products[name]
		if ok {
			_, inner := turned(in[0], turn[0])
			rows, _ := turned(in[1], turn[1])
			fit(inner == rows, "product of operands of shapes %v and %v; the inner dimensions must agree",
				in[0], in[1])
			if name == "Aᵀ × b" { // in the order of Gorgonia's sums
				return weightedRows[T]
			}
			return func(out View[T], in []View[T]) {
				gemm(turn, in[0], in[1], out)
			}
		}
	case "sumOp":
		if name == "Σ[0]" && len(in[0]) == 2 {
			return columnSums[T]
		}
		return totals[T]
	case "repeatOp":
		return repeated[T]
	case "softmaxOp":
		return softmaxFor[T](name, in[0])
	case "sliceOp":
		return sliced[T](slice(name, in[0]))
	case "sliceIncrOp":
		return spread[T](slice(name, in[0]))
	}
	return nil
}

// softmaxFor is SoftMax along an axis, the last one by default, or its logarithm. Gorgonia takes
// the first number of all for the largest along the axis, so that rows far below it have none.
func softmaxFor[T Float](name string, in Shape) Body[T] {
	var axis int
	var logarithm bool
	_, err := fmt.Sscanf(name, "Softmax{%d, %t}()", &axis, &logarithm)
	fit(err == nil, "operation %s is not SoftMax as Gorgonia 0.9.18 prints it", name)
	if axis < 0 {
		column := len(in) == 2 && in[1] == 1 && in[0] > 1
		fit(!column, "operation Softmax of shape %v: Gorgonia's gradient is along another axis; name the axis", in)
		axis += len(in)
	}
	stride := in[axis+1:].TotalSize()
	return func(out View[T], operands []View[T]) {
		x := operands[0].Data
		line := make([]float64, in[axis])
		for first := 0; first < len(x); first++ {
			if first/stride%len(line) > 0 {
				continue // it is in the line of an earlier one
			}
			for k := range line {
				line[k] = float64(x[first+k*stride])
			}
			total := floats.LogSumExp(line)
			for k, v := range line {
				v -= total
				if !logarithm {
					v = math.Exp(v)
				}
				out.Data[first+k*stride] = T(v)
			}
		}
	}
}

func mapped[T Float](f func(x float64) float64) Body[T] {
	return func(out View[T], in []View[T]) {
		for i, x := range in[0].Data {
			out.Data[i] = T(f(float64(x)))
		}
	}
}

// zipped reads an operand that is a scalar with a stride of zero.
func zipped[T Float](f func(x, y float64) float64, in []Shape) Body[T] {
	p := min(1, in[0].TotalSize()-1)
	q := min(1, in[1].TotalSize()-1)
	return func(out View[T], in []View[T]) {
		x := in[0].Data
		y := in[1].Data
		for i := range out.Data {
			v := f(float64(x[p*i]), float64(y[q*i]))
			out.Data[i] = T(v)
		}
	}
}

// plus is the sum of operands of one shape, such as the gradients of a node with two uses.
func plus[T Float](out View[T], in []View[T]) {
	copy(out.Data, in[0].Data)
	add(out.Data, in[1].Data)
}

func weightedRows[T Float](out View[T], in []View[T]) {
	clear(out.Data)
	for i, w := range in[1].Data {
		axpy(out.Data, w, in[0].Row(i))
	}
}

// gemm sets out to op(A) op(B).
func gemm[T Float](turn [2]linalg.Transpose, a, b, out View[T]) {
	inner := len(a.Data) / out.Rows
	linalg.Gemm(kernels(), turn[0], turn[1], out.Rows, out.Cols, inner,
		1, a.Data, a.Cols, b.Data, b.Cols, 0, out.Data, out.Cols)
}

// totals are the sums of rows, or of everything.
func totals[T Float](out View[T], in []View[T]) {
	n := len(in[0].Data) / len(out.Data)
	for i := range out.Data {
		s := 0.0
		for _, v := range in[0].Data[i*n:][:n] {
			s += float64(v)
		}
		out.Data[i] = T(s)
	}
}

// repeated has every row or every column several times.
func repeated[T Float](out View[T], in []View[T]) {
	x := in[0]
	down := out.Rows / x.Rows
	across := out.Cols / x.Cols
	for i := range x.Rows {
		row := out.Row(i * down)
		for j, v := range x.Row(i) {
			for k := range row[j*across:][:across] {
				row[j*across+k] = v
			}
		}
		for k := 1; k < down; k++ {
			copy(out.Row(i*down+k), row)
		}
	}
}

// slicePattern is a slice as Gorgonia prints it, with a colon for each axis before its own.
var slicePattern = regexp.MustCompile(`^T\[((?::, )*)(?:(\d+):\d+:[01]|:)\.\.\.\]`)

// slice is the first row and column of a slice of a matrix or a vector.
func slice(name string, in Shape) (row, col int) {
	found := slicePattern.FindStringSubmatch(name)
	fit(found != nil, "slice %s: Gorgonia gets the shapes of steps wrong; it must be of rows or columns one after the other", name)
	if found[2] == "" { // it is all
		return 0, 0
	}
	axis := len(found[1]) / len(":, ")
	fit(in[axis] < 256,
		"slice %s of an operand of shape %v: Gorgonia takes slices for one another whose bounds differ by 256; take Slice of layers, or Stack for Concat", name, in)
	from, _ := strconv.Atoi(found[2])
	if axis == 1 {
		return 0, from
	}
	return from, 0
}

func sliced[T Float](row, col int) Body[T] {
	return func(out View[T], in []View[T]) {
		for i := range out.Rows {
			copy(out.Row(i), in[0].Row(row + i)[col:])
		}
	}
}

// spread is zero except in the slice, which is the last operand.
func spread[T Float](row, col int) Body[T] {
	return func(out View[T], in []View[T]) {
		slice := in[len(in)-1]
		clear(out.Data)
		for i := range slice.Rows {
			copy(out.Row(row + i)[col:], slice.Row(i))
		}
	}
}
