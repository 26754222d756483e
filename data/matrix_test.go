package data

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
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
			if v == 0 {
				continue
			}
			j := int32(p)
			if r.Index != nil {
				j = r.Index[p]
			}
			index, value = append(index, j), append(value, v)
		}
		ptr = append(ptr, len(index))
	}
	return must(NewCSR(x.Cols(), ptr, index, value))(t)
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
		dense := must(NewDense(n, d, values))(t)
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
		b, bt, start := random(d*k), random(len(rows)*k), random(d*k)
		for name, x := range map[string]Matrix{"dense": dense.Take(rows), "sparse": sparseCopy(t, dense).Take(rows)} {
			product, transposed := make([]float64, len(rows)*k), append([]float64(nil), start...)
			for i := range product {
				product[i] = math.NaN() // Mul must overwrite
			}
			x.Mul(product, b, k)
			x.AddMulT(transposed, bt, k)
			norms := x.SquaredNorms()
			wantT := append([]float64(nil), start...)
			for i, row := range rows {
				norm := 0.0
				for c := range k {
					want := 0.0
					for j := range d {
						want += float64(values[row*d+j]) * b[j*k+c]
						wantT[j*k+c] += float64(values[row*d+j]) * bt[i*k+c]
					}
					near(t, name, seed, product[i*k+c], want)
				}
				for j := range d {
					norm += float64(values[row*d+j]) * float64(values[row*d+j])
				}
				near(t, name, seed, norms[i], norm)
			}
			for i := range wantT {
				near(t, name, seed, transposed[i], wantT[i])
			}
			gram, wantGram, wantSum := slices.Clone(start[:d]), slices.Clone(start[:d]), 0.0
			for i, row := range rows {
				u := 0.0
				for j := range d {
					u += float64(values[row*d+j]) * b[j]
				}
				wantSum += bt[i] * u
				for j := range d {
					wantGram[j] += float64(values[row*d+j]) * bt[i] * u
				}
			}
			near(t, name, seed, x.AddGram(gram, b[:d], bt[:len(rows)]), wantSum)
			for j := range d {
				near(t, name, seed, gram[j], wantGram[j])
			}
		}
	}
}

func near(t *testing.T, name string, seed uint64, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*(1+math.Abs(want)) || math.IsNaN(got) {
		t.Fatalf("%s, seed %d: got %v, want %v", name, seed, got, want)
	}
}

func TestTakeCountsEntriesAndSharesThem(t *testing.T) {
	x := benchmarkRows(20, 30, 5)
	taken := x.Take([]int{3, 3, 7})
	if got, want := taken.NNZ(), 2*len(x.Row(3).Value)+len(x.Row(7).Value); got != want {
		t.Errorf("NNZ %d, want %d", got, want)
	}
	if &taken.Row(1).Value[0] != &x.Row(3).Value[0] {
		t.Error("Take copied the entries")
	}
}

func TestMatricesRefuseWhatTheyCannotHold(t *testing.T) {
	if _, err := NewDense(2, 3, make([]float32, 5)); err == nil {
		t.Error("NewDense took 5 values for 2 x 3")
	}
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
