package data

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data/datatest"
)

// sparseCopy returns the nonzero entries of x as a CSR.
func sparseCopy(t testing.TB, x Matrix) *Stored {
	t.Helper()
	ptr := []int{0}
	var index []int32
	var value []float32
	for i := range x.Rows() {
		r := x.Row(i)
		for p, v := range r.Value {
			if v != 0 {
				index, value = append(index, int32(r.Column(p))), append(value, v)
			}
		}
		ptr = append(ptr, len(index))
	}
	return datatest.Must(NewCSR(x.Cols(), ptr, index, value))(t)
}

func TestProductsAgreeWithTheirDefinition(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 11))
		n, d, k := 1+r.IntN(12), 1+r.IntN(24), 1+r.IntN(4)
		values := make([]float32, n*d)
		for i := range values {
			if r.IntN(3) > 0 {
				values[i] = float32(r.NormFloat64())
			}
		}
		dense := datatest.Must(NewDense(n, d, values))(t)
		rows := make([]int, 1+r.IntN(2*n))
		for i := range rows {
			rows[i] = r.IntN(n)
		}
		random := func(n int) []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = r.NormFloat64()
			}
			return v
		}
		entries := mat.NewDense(len(rows), d, nil)
		for i, row := range rows {
			for j := range d {
				entries.Set(i, j, float64(values[row*d+j]))
			}
		}
		b, bt, start := random(d*k), random(len(rows)*k), random(d*k)
		var product, transposed, scores mat.Dense
		var gram mat.VecDense
		product.Mul(entries, mat.NewDense(d, k, b))
		transposed.Mul(entries.T(), mat.NewDense(len(rows), k, bt))
		transposed.Add(&transposed, mat.NewDense(d, k, start))
		scores.Mul(entries, mat.NewDense(d, 1, b[:d]))
		weighted := mat.Col(nil, 0, &scores)
		floats.Mul(weighted, bt[:len(rows)])
		gram.MulVec(entries.T(), mat.NewVecDense(len(rows), weighted))
		gram.AddVec(&gram, mat.NewVecDense(d, start[:d]))
		for name, x := range map[string]Matrix{"dense": dense.Take(rows), "sparse": sparseCopy(t, dense).Take(rows)} {
			got := slices.Repeat([]float64{math.NaN()}, len(rows)*k) // Mul must overwrite
			x.Mul(got, b, k)
			near(t, name+", X B", seed, got, product.RawMatrix().Data)
			got = slices.Clone(start)
			x.AddMulT(got, bt, k)
			near(t, name+", X' B", seed, got, transposed.RawMatrix().Data)
			got = slices.Clone(start[:d])
			sum := x.AddGram(got, b[:d], bt[:len(rows)])
			near(t, name+", X' diag(c) X v", seed, append(got, sum), append(slices.Clone(gram.RawVector().Data), floats.Sum(weighted)))
			for i, v := range x.SquaredNorms() {
				row := entries.RawRowView(i)
				near(t, name+", norms", seed, []float64{v}, []float64{floats.Dot(row, row)})
			}
		}
	}
}

func near(t *testing.T, name string, seed uint64, got, want []float64) {
	t.Helper()
	for i, v := range want {
		if math.Abs(got[i]-v) > 1e-12*(1+math.Abs(v)) || math.IsNaN(got[i]) {
			t.Fatalf("%s, seed %d: got %v, want %v", name, seed, got, want)
		}
	}
}

func TestTakeCountsEntriesAndSharesThem(t *testing.T) {
	x := sparseCopy(t, randomCounts(t, Stream(1, "take"), 20, 30))
	taken := x.Take([]int{3, 3, 7})
	datatest.Equal(t, taken.NNZ(), 2*len(x.Row(3).Value)+len(x.Row(7).Value), "NNZ")
	if &taken.Row(1).Value[0] != &x.Row(3).Value[0] {
		t.Error("Take copied the entries")
	}
}

func TestMatricesRefuseWhatTheyCannotHold(t *testing.T) {
	datatest.Refused(NewDense(2, 3, make([]float32, 5)))(t, nil)
	for name, c := range map[string]struct {
		ptr   []int
		index []int32
	}{
		"column twice":       {[]int{0, 2}, []int32{1, 1}},
		"columns descending": {[]int{0, 2}, []int32{2, 1}},
		"column too large":   {[]int{0, 1}, []int32{3}},
		"column negative":    {[]int{0, 1}, []int32{-1}},
		"pointers descend":   {[]int{0, 2, 1, 2}, []int32{0, 1}},
		"pointers too far":   {[]int{0, 9, 2}, []int32{0, 1}},
		"pointers short":     {[]int{0, 1}, []int32{0, 1}},
		"no pointers":        {nil, nil},
	} {
		if _, err := NewCSR(3, c.ptr, c.index, make([]float32, len(c.index))); err == nil {
			t.Errorf("NewCSR took a matrix with %s", name)
		}
	}
}
