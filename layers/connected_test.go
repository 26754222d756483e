package layers

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

// randomHead has layers of the given widths.
func randomHead(r *rand.Rand, widths ...int) Head {
	h := make(Head, len(widths)-1)
	for i := range h {
		h[i] = Connected{In: widths[i], Out: widths[i+1]}
		for range widths[i] * widths[i+1] {
			h[i].W = append(h[i].W, float32(r.NormFloat64()))
		}
		for range widths[i+1] {
			h[i].B = append(h[i].B, float32(r.NormFloat64()))
		}
	}
	return h
}

// By the definition, one row and one number at a time.
func TestAHeadIsAppliedAsDefined(t *testing.T) {
	for seed := range uint64(6) {
		r := data.Stream(seed, "apply")
		h := randomHead(r, 1+r.IntN(6), 1+r.IntN(5), 1+r.IntN(5), 2)
		x := newMatrix(t, r, []int{3, rowsAtOnce + 5}[seed%2], h[0].In, []float64{1, 0.6}[seed%3/2])
		rows := DenseRows(PointsOf(x))
		for n := range len(h) + 1 {
			made := DenseRows(PointsOf(datatest.Must(h.Apply(x, n))(t)))
			for i := range rows.Rows {
				row := rows.Row(i)
				for k, l := range h[:n] {
					next := make([]float64, l.Out)
					for o := range next {
						next[o] = float64(l.B[o])
						for j, v := range row {
							next[o] += v * float64(l.W[j*l.Out+o])
						}
						if k < len(h)-1 {
							next[o] = max(next[o], 0)
						}
					}
					row = next
				}
				same(t, fmt.Sprintf("seed %d, %d layers, row %d", seed, n, i), made.Row(i), row, 1e-4)
			}
		}
	}
}

func TestAHeadRefusesOtherFeatures(t *testing.T) {
	r := data.Stream(1, "other features")
	datatest.Refused(randomHead(r, 4, 2).Apply(newMatrix(t, r, 2, 3, 1), 1))(t, data.ErrMismatch, "3 features, but the head takes 4")
}
