package multitask

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// A row that counts k is k rows: of few rows and of many, which become fewer, and of classes that
// count the same.
func TestWeightsAreRowsRepeated(t *testing.T) {
	omega := mat.NewSymDense(3, []float64{1, 0.5, 0.2, 0.5, 1, 0.1, 0.2, 0.1, 1})
	for _, loss := range []Loss{Square, Logistic} {
		for _, n := range []int{7, 40} {
			weighted := samples(shape{3, 4, n, loss, false}, 7)
			repeated := make([]data.Samples, 3)
			for i := range weighted {
				var rows []int
				for j := range n {
					for range 1 + j%3 {
						rows = append(rows, j)
					}
					weighted[i].Weight = append(weighted[i].Weight, float64(1+j%3))
				}
				repeated[i] = data.Samples{X: weighted[i].X.Take(rows)}
				for _, j := range rows {
					repeated[i].Y = append(repeated[i].Y, weighted[i].Y[j])
				}
			}
			for _, balanced := range []bool{false, true} {
				model := datatest.Must(GivenWith(omega, 3, balanced && loss == Logistic))(t)
				p, o := Params{Lambda1: 0.05}, Options{Tolerance: 1e-13}
				got := mustFit(t, model, mustProblem(t, loss, weighted), p, o)
				want := mustFit(t, model, mustProblem(t, loss, repeated), p, o)
				nearMatrix(t, fmt.Sprintf("%s, %d rows, balanced %t: W", loss, n, balanced), got.W, want.W, 1e-5)
				for i := range want.B {
					near(t, "b", got.B[i], want.B[i], 1e-5)
				}
			}
		}
	}
}
