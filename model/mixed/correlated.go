package mixed

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Levels and slopes of tasks that fan out from a point correlate: how they do depends on where a
// column is 0. So own weights of some components have a covariance D in place of variances.

// correlate begins at a covariance, or without correlations.
func (s *search) correlate() {
	for j, k := range s.Part {
		if s.Components[k].Correlated {
			s.correlated = append(s.correlated, j)
		}
	}
	q := len(s.correlated)
	if q == 0 || s.Covariance != nil {
		return
	}
	s.Covariance = mat.NewSymDense(q, nil)
	for i, j := range s.correlated {
		s.Covariance.SetSym(i, i, s.Components[s.Part[j]].Own)
	}
}

// covaried are rows of features times the covariance of own weights, in a place.
func (s *search) covaried(place, rows []float64) []float64 {
	products := room(place, len(rows))
	for first := 0; first < len(rows); first += s.d {
		row := rows[first:][:s.d]
		product := products[first:][:s.d]
		floats.MulTo(product, row, s.c)
		for i, j := range s.correlated {
			for k, l := range s.correlated {
				product[j] += s.Covariance.At(i, k) * row[l]
			}
		}
	}
	return products
}

// expectProducts finds what chance alone would make of the products of slopes of a task, from the
// rows that expect has.
func (s *search) expectProducts(b *block, rows []float64) {
	if s.Covariance == nil {
		return
	}
	b.products = mat.NewSymDense(len(s.correlated), nil)
	for i, j := range s.correlated {
		for k, l := range s.correlated[:i+1] {
			sum := 0.0
			for row := 0; row < len(rows); row += s.d {
				sum -= b.r[row+j] * rows[row+l]
			}
			b.products.SetSym(i, k, sum)
		}
	}
}

// independent is how strongly weights are believed to be independent before there are rows: by the
// density |R|^(independent/2) of their correlations R (Lewandowski, Kurowicka and Joe 2009), of the
// shape 2 that is usual.
const independent = 2.0

// moveCovariance takes the step of move for the covariance D = L^2 of correlated own weights,
//
//	D <- P M P + independent Q Q',   Q = L K,   P = Q L,
//	K^-2 = L (E + prior + independent diag(D)^-1) L
//
// with symmetric roots, the products M of slopes and their expectation E. It returns how far the
// variances of f moved.
func (s *search) moveCovariance(prior float64) (moved float64) {
	if s.Covariance == nil {
		return 0
	}
	q := len(s.correlated)
	expected := mat.NewSymDense(q, nil)
	for _, b := range s.blocks {
		expected.AddSym(expected, b.products)
	}
	for i, j := range s.correlated {
		size := s.Components[s.Part[j]].Size
		v := expected.At(i, i) + prior*size
		expected.SetSym(i, i, v+independent/(s.Covariance.At(i, i)+tiny))
	}
	l := Root(s.Covariance)
	var product mat.Dense
	product.Product(l, expected, l)
	var k mat.SymDense
	if k.PowPSD(mat.NewSymDense(q, product.RawMatrix().Data), -0.5) != nil {
		return 0
	}
	product.Mul(l, &k)
	next := mat.NewSymDense(q, nil)
	next.SymOuterK(independent, &product)
	product.Mul(&product, l)
	slope := mat.NewVecDense(q, nil)
	for _, b := range s.blocks {
		for row := range slices.Chunk(b.slope, s.d) {
			for i, j := range s.correlated {
				slope.SetVec(i, row[j])
			}
			var to mat.VecDense
			to.MulVec(&product, slope)
			next.SymRankOne(next, 1, &to)
		}
	}
	for i, j := range s.correlated {
		c := &s.Components[s.Part[j]]
		step := next.At(i, i) - s.Covariance.At(i, i)
		moved = max(moved, math.Abs(step)*c.Size)
		c.Own = next.At(i, i)
	}
	s.Covariance = next
	return moved
}

// Root is the symmetric root of a covariance.
func Root(covariance *mat.SymDense) *mat.SymDense {
	q := covariance.SymmetricDim()
	firm := mat.NewSymDense(q, nil)
	firm.CopySym(covariance)
	ridge := tiny + jitter*mat.Trace(covariance)
	for i := range q {
		firm.SetSym(i, i, firm.At(i, i)+ridge)
	}
	root := mat.NewSymDense(q, nil)
	_ = root.PowPSD(firm, 0.5) // firm is positive definite
	return root
}

// tiny keeps variances above 0.
const tiny = math.SmallestNonzeroFloat32
