package train

import (
	"math"
	"testing"

	"l2mt/data"
)

// rankCorrelation is Spearman's by its definition: Pearson's correlation of
// ranks, where the rank of a value is the number of smaller ones plus half the
// number of equal ones.
func rankCorrelation(x, y []float64) float64 {
	rank := func(x []float64, i int) (r float64) {
		for _, v := range x {
			switch {
			case v < x[i]:
				r++
			case v == x[i]:
				r += 0.5
			}
		}
		return r - float64(len(x))/2 // ranks have the mean n/2
	}
	var xx, xy, yy float64
	for i := range x {
		a, b := rank(x, i), rank(y, i)
		xx, xy, yy = xx+a*a, xy+a*b, yy+b*b
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

func TestSpearmanIsTheCorrelationOfRanks(t *testing.T) {
	for seed := range uint64(200) {
		r := data.Stream(seed, "spearman")
		n, values := 2+r.IntN(30), 1+r.IntN(40) // few values make many ties
		x, y, z := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(r.IntN(values)), float64(r.IntN(values))
			z[i] = -math.Exp(x[i] / 7)
		}
		if got, want := spearman(x, y), rankCorrelation(x, y); math.Abs(got-want) > 1e-12 {
			t.Errorf("seed %d: the correlation of %v and %v is %v, want %v", seed, x, y, got, want)
		}
		if a, b := spearman(x, y), spearman(z, y); math.Abs(a+b) > 1e-12 {
			t.Errorf("seed %d: a falling function of x changes the correlation with y from %v to %v", seed, a, b)
		}
	}
	for _, x := range [][]float64{nil, {3}, {3, 3, 3}} {
		if got := spearman(x, make([]float64, len(x))); got != 0 {
			t.Errorf("the correlation of %v with zeros is %v, want 0", x, got)
		}
	}
}
