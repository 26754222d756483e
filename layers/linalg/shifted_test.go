package linalg

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A is rebuilt from what Shifted returns, its vectors are orthonormal, and it returns no
// more of them than there are: also where values are many times there, negative, or
// where the one that there is most of is 0 or all there is.
func TestShifted(t *testing.T) {
	kinds := map[string]struct {
		c      float64
		values []float64
	}{
		"all alike": {0.5, nil},
		"zero":      {0, nil},
		"of rank 1": {0, []float64{3}},
		"shifted":   {0.1, []float64{3, 2, 1e-3}},
		"repeated":  {0.2, []float64{3, 3, 3, 1, 1, 0.5}},
		"below":     {1, []float64{0.5, 0.5, 0}},
		"negative":  {-1, []float64{2, -3}},
		"graded":    {0, []float64{1, 1e-2, 1e-4, 1e-6, 1e-8}},
	}
	for what, kind := range kinds {
		for _, n := range []int{40, 150} {
			r := stream(t, fmt.Sprint("shifted ", n))
			k := len(kind.values)
			directions := mat.NewDense(n, n, nil)
			for i := range n {
				for j := range n {
					directions.Set(i, j, r.NormFloat64())
				}
			}
			var qr mat.QR
			qr.Factorize(directions)
			var q mat.Dense
			qr.QTo(&q)
			a := mat.NewSymDense(n, nil)
			for i := range n {
				a.SetSym(i, i, kind.c)
			}
			for j, value := range kind.values {
				a.SymRankOne(a, value-kind.c, q.ColView(j))
			}
			c, values, v, ok := Shifted(a, n/4)
			if !ok || len(values) > k {
				t.Fatalf("%s, n = %d: %v with %d values besides; it has %d", what, n, ok, len(values), k)
			}
			largest := max(math.Abs(kind.c), 1e-300)
			for _, value := range kind.values {
				largest = max(largest, math.Abs(value))
			}
			rebuilt := mat.NewSymDense(n, nil)
			for i := range n {
				rebuilt.SetSym(i, i, c)
			}
			for j, value := range values {
				rebuilt.SymRankOne(rebuilt, value-c, v.RowView(j))
				for i := range j + 1 {
					if d := math.Abs(mat.Dot(v.RowView(i), v.RowView(j)) - one(i == j)); d > 1e-12 {
						t.Errorf("%s, n = %d: vectors %d and %d are orthonormal up to %.3g", what, n, i, j, d)
					}
				}
			}
			for i := range n {
				for j := range n {
					if d := math.Abs(a.At(i, j) - rebuilt.At(i, j)); d > 1e-12*largest {
						t.Fatalf("%s, n = %d: entry (%d, %d) is %.3g away", what, n, i, j, d)
					}
				}
			}
		}
	}
}

// More values than are asked for are none of its business.
func TestShiftedOfMany(t *testing.T) {
	for n := 1; n < 20; n++ {
		a := mat.NewSymDense(n, nil)
		for i := range n {
			a.SetSym(i, i, float64(i*i))
		}
		if _, values, _, ok := Shifted(a, n-2); ok && n > 2 {
			t.Errorf("a diagonal of %d values is said to have %v and another", n, values)
		}
	}
}
