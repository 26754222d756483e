package mixed

import (
	"fmt"
	"testing"
)

// A row that counts k is k rows, of every loss, where the variances are given.
func TestWeightsAreRowsRepeated(t *testing.T) {
	for _, s := range shapes {
		for _, loss := range []Loss{nil, Logistic{}, Poisson{}, Huber{Width: 1.3}} {
			s.loss = loss
			r := source(t, 11)
			weighted := s.problem(r)
			repeated := weighted
			repeated.Tasks = nil
			d := len(weighted.Part)
			for i := range weighted.Tasks {
				task := &weighted.Tasks[i]
				again := Task{Loading: task.Loading}
				for j, y := range task.Y {
					count := 1 + r.IntN(3)
					task.Weight = append(task.Weight, float64(count))
					task.Offset = append(task.Offset, r.NormFloat64())
					for range count {
						again.Y = append(again.Y, y)
						again.Offset = append(again.Offset, task.Offset[j])
						again.Features = append(again.Features, task.Features[j*d:][:d]...)
					}
				}
				repeated.Tasks = append(repeated.Tasks, again)
			}
			got, want := fit(t, weighted, Options{Given: true}), fit(t, repeated, Options{Given: true})
			what := fmt.Sprintf("%s, %T", s.name, loss)
			for i, own := range append(want.Own, want.Common) {
				for j, w := range own {
					near(t, what, append(got.Own, got.Common)[i][j], w, 2e-4)
				}
			}
		}
	}
}
