package layers

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/layers/linalg"
)

// Rows are the rows of all tasks of a problem, stacked, in double precision, for
// what is computed of a problem before it comes into a graph.
type Rows struct {
	x   features[float64]
	ker linalg.Kernels
}

// NewRows stacks the rows of tasks: as a dense matrix if that is asked for, or is
// the faster one.
func NewRows(dense bool, tasks ...Points) (*Rows, error) {
	ker, err := kernels()
	if err != nil {
		return nil, err
	}
	from := denseFrom
	if dense {
		from = 0
	}
	x, err := newFeatures[float64](tasks, from)
	return &Rows{x, ker}, err
}

// Dense is X (n x d), for the caller to change, if it is dense.
func (r *Rows) Dense() (x View[float64], dense bool) {
	return View[float64]{r.x.rows, r.x.cols, r.x.dense}, r.x.dense != nil
}

// Times is X L (n x k) for L, d x k.
func (r *Rows) Times(l View[float64]) View[float64] {
	y := View[float64]{r.x.rows, l.Cols, make([]float64, r.x.rows*l.Cols)}
	r.x.mul(y.Data, l.Data, l.Cols)
	return y
}

// AddGram adds the smaller one of X X' and X'X to the lower triangle of A.
func (r *Rows) AddGram(a View[float64]) {
	x, dense := r.Dense()
	switch wide := r.x.rows > r.x.cols; {
	case dense:
		addGram(r.ker, a, 1, x, wide)
	case wide:
		linalg.CSRGram(r.x.sparseT, r.x.sparse, a.Data, a.Cols)
	default:
		linalg.CSRGram(r.x.sparse, r.x.sparseT, a.Data, a.Cols)
	}
}

// AddOuter adds scale B B' to the lower triangle of A, B being k x m.
func AddOuter(a View[float64], scale float64, b View[float64]) error {
	ker, err := kernels()
	if err == nil {
		addGram(ker, a, scale, b, false)
	}
	return err
}

// addGram adds scale B B' or, transposed, scale B'B to the lower triangle of A, some
// rows at a time, as far as the last of them reaches.
func addGram(ker linalg.Kernels, a View[float64], scale float64, b View[float64], transposed bool) {
	const some = 120
	left, right, inner, next := linalg.NoTrans, linalg.Trans, b.Cols, b.Cols
	if transposed {
		left, right, inner, next = linalg.Trans, linalg.NoTrans, b.Rows, 1
	}
	for i := 0; i < a.Rows; i += some {
		rows := min(some, a.Rows-i)
		linalg.Gemm(ker, left, right, rows, i+rows, inner, scale, b.Data[i*next:], b.Cols, b.Data, b.Cols, 1, a.Data[i*a.Cols:], a.Cols)
	}
}

// InnerProducts are B'B (m x m) for B, k x m.
func InnerProducts(b View[float64]) (View[float64], error) {
	ker, err := kernels()
	if err != nil {
		return View[float64]{}, err
	}
	p := View[float64]{b.Cols, b.Cols, make([]float64, b.Cols*b.Cols)}
	addGram(ker, p, 1, b, true)
	for i := range p.Rows {
		for j := range i {
			p.Row(j)[i] = p.Row(i)[j]
		}
	}
	return p, nil
}

// InverseProducts are B'A^-1 B (m x m), for B, k x m, and tr(A^-1), for a positive
// definite A, k x k. Of A the lower triangle is read, and A is overwritten.
func InverseProducts(a, b View[float64]) (products View[float64], trace float64, err error) {
	ker, err := kernels()
	if err != nil {
		return products, 0, err
	}
	if !linalg.Cholesky(ker, a.Rows, a.Data, a.Cols) {
		return products, 0, fmt.Errorf("%w: a matrix of %d x %d is not positive definite in float64", data.ErrInvalid, a.Rows, a.Rows)
	}
	linalg.Invert(ker, a.Rows, a.Data, a.Cols) // tr(A^-1) is the sum of squares of L^-1
	for i := range a.Rows {
		l := a.Row(i)[:i+1]
		trace += floats.Dot(l, l)
	}
	half := View[float64]{b.Rows, b.Cols, make([]float64, len(b.Data))} // L^-1 B
	linalg.Gemm(ker, linalg.NoTrans, linalg.NoTrans, b.Rows, b.Cols, b.Rows, 1, a.Data, a.Cols, b.Data, b.Cols, 0, half.Data, half.Cols)
	products, err = InnerProducts(half)
	return products, trace, err
}
