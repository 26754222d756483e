package mixed

import (
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

// BenchmarkNew finds the variances of 100 tasks of 10 rows and 40 features.
func BenchmarkNew(b *testing.B) {
	s := shape{rows: slices.Repeat([]int{10}, 100), wide: []int{1, 13, 13, 13}}
	s.components = []Component{both(1, .3), both(.6, .2), both(.1, .1), both(.1, .1)}
	for _, c := range []struct {
		name string
		loss Loss
	}{{"squares", nil}, {"logistic", Logistic{}}} {
		b.Run(c.name, func(b *testing.B) {
			s.loss = c.loss
			p := s.problem(data.Stream(1, b.Name()))
			steps := 0
			for b.Loop() {
				f := datatest.Must(New(b.Context(), p, Options{Workers: 2}))(b)
				steps += f.Steps
			}
			b.ReportMetric(float64(steps)/float64(b.N), "steps/op")
		})
	}
}
