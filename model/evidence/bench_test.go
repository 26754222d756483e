package evidence

import (
	"fmt"
	"testing"

	"l2mt/data"
	"l2mt/model/multitask"
)

// BenchmarkHold measures a fit with what is said of it, by each kind of evidence, of few rows
// and of as many as leave-one-out is asked for; BenchmarkTune the whole path.
func BenchmarkHold(b *testing.B) {
	for _, n := range []int{9, 66} {
		p := made(size{data.Classification, 6, 100, n, 0}, 1)
		for kind, e := range kinds(b, p) {
			b.Run(fmt.Sprintf("%s/n=%d", kind, n), func(b *testing.B) {
				of := given(b, covariance(6, 6, 1))
				for b.Loop() {
					must(e.Hold(b.Context(), of, multitask.Params{Lambda1: 0.1}, nil, multitask.Options{Tolerance: 1e-4}))(b)
				}
			})
		}
	}
}

// BenchmarkTune is what eval waits for: models of one problem of six tasks.
func BenchmarkTune(b *testing.B) {
	p := made(size{data.Classification, 6, 100, 66, 0}, 1)
	for kind, e := range kinds(b, p) {
		for _, name := range []string{"stl", "mtrl", "cmtl"} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				for b.Loop() {
					tune(b, named(b, name), e, p, Options{})
				}
			})
		}
	}
}
