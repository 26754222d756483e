package data

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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
		random := func(n int) []float64 { return datatest.Normals[float64](r, n) }
		entries := mat.NewDense(len(rows), d, nil)
		for i, row := range rows {
			for j := range d {
				entries.Set(i, j, float64(values[row*d+j]))
			}
		}
		b, bt, start := random(d*k), random(len(rows)), random(d)
		var product, scores mat.Dense
		var transposed, gram mat.VecDense
		product.Mul(entries, mat.NewDense(d, k, b))
		transposed.MulVec(entries.T(), mat.NewVecDense(len(rows), bt))
		transposed.AddVec(&transposed, mat.NewVecDense(d, start))
		scores.Mul(entries, mat.NewDense(d, 1, b[:d]))
		weighted := mat.Col(nil, 0, &scores)
		floats.Mul(weighted, bt)
		gram.MulVec(entries.T(), mat.NewVecDense(len(rows), weighted))
		gram.AddVec(&gram, mat.NewVecDense(d, start))
		for name, x := range map[string]Matrix{"dense": dense.Take(rows), "sparse": sparseCopy(t, dense).Take(rows)} {
			got := slices.Repeat([]float64{math.NaN()}, len(rows)*k) // Mul must overwrite
			x.Mul(got, b, k)
			near(t, name+", X B", seed, got, product.RawMatrix().Data)
			got = slices.Clone(start)
			x.AddMulT(got, bt)
			near(t, name+", X' B", seed, got, transposed.RawVector().Data)
			got = slices.Clone(start)
			sum := x.AddGram(got, b[:d], bt)
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
		datatest.Need(t, math.Abs(got[i]-v) <= 1e-12*(1+math.Abs(v)) && !math.IsNaN(got[i]),
			"%s, seed %d: got %v, want %v", name, seed, got, want)
	}
}

func TestTakeCountsEntriesAndSharesThem(t *testing.T) {
	x := sparseCopy(t, randomCounts(t, Stream(1, "take"), 20, 30))
	taken := x.Take([]int{3, 3, 7})
	datatest.Equal(t, taken.NNZ(), 2*len(x.Row(3).Value)+len(x.Row(7).Value), "NNZ")
	datatest.Holds(t, &taken.Row(1).Value[0] == &x.Row(3).Value[0],
		"Take copied the entries")
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
		_, err := NewCSR(3, c.ptr, c.index, make([]float32, len(c.index)))
		datatest.Holds(t, err != nil, "NewCSR took a matrix with %s", name)
	}
}

func TestCovariancesAreChecked(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		rows [][]float64
		says string // empty: it is one
	}{
		"identity":                     {[][]float64{{1, 0}, {0, 1}}, ""},
		"of rank one":                  {[][]float64{{1, -2}, {-2, 4}}, ""},
		"of any size":                  {[][]float64{{1e200, 0}, {0, 1e190}}, ""},
		"written with ten digits":      {[][]float64{{0.3333333333, 0.3333333334}, {0.3333333334, 0.3333333333}}, ""},
		"one task":                     {[][]float64{{2}}, ""},
		"empty":                        {nil, "no rows"},
		"ragged":                       {[][]float64{{1, 0}, {0}}, "row 1 has 1 entries; a matrix of 2 rows needs 2"},
		"NaN":                          {[][]float64{{1, nan}, {nan, 1}}, "entry (1, 0) is NaN"},
		"infinite":                     {[][]float64{{inf, 0}, {0, 1}}, "entry (0, 0) is +Inf"},
		"not symmetric":                {[][]float64{{1, 0.5}, {0.4, 1}}, "entry (1, 0) is 0.4, entry (0, 1) is 0.5"},
		"negative, of any size":        {[][]float64{{1e308, 0}, {0, -1e308}}, "entries must lie within 1e+100"},
		"not positive semidefinite":    {[][]float64{{1, 2}, {2, 1}}, "reach from -1 to 3"},
		"all zero":                     {[][]float64{{0, 0}, {0, 0}}, "one must be positive"},
		"negative":                     {[][]float64{{-1}}, "reach from -1 to -1"},
		"far below what rounding does": {[][]float64{{1, 0}, {0, -1e-6}}, "not positive semidefinite"},
	} {
		omega, err := NewCovariance(c.rows)
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if m := len(c.rows); omega.At(m-1, 0) != c.rows[m-1][0] || omega.SymmetricDim() != m {
				t.Errorf("%s: it became %v", name, mat.Formatted(omega))
			}
		} else if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: the error is %v, want %s", name, err, c.says)
		}
	}
	for _, omega := range []*mat.SymDense{nil, {}} {
		datatest.Refused(ProjectCovariance(omega))(t, ErrInvalid, "no entries")
	}
}

// randomCounts draws a matrix of counts, mostly zeros.
func randomCounts(t testing.TB, rng *rand.Rand, n, d int) *Stored {
	t.Helper()
	values := make([]float32, n*d)
	for i := range values {
		if rng.IntN(3) == 0 {
			values[i] = float32(1 + rng.IntN(9))
		}
	}
	return datatest.Must(NewDense(n, d, values))(t)
}
