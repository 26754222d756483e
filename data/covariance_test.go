package data

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/datatest"
)

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
		"negative, of any size":        {[][]float64{{1e308, 0}, {0, -1e308}}, "entries lie within 1e+100"},
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
		datatest.Says(t, CheckCovariance(omega, 0), ErrInvalid, "no entries")
	}
	datatest.Says(t, CheckCovariance(mat.NewSymDense(1, []float64{1}), 2), ErrInvalid, "it is for 1 tasks; there are 2")
}
