package linalg

import (
	"fmt"
	"slices"
	"testing"
)

// The shapes of one training step: X is 2400 x 1000 and L is 1000 x 100.
const (
	benchN = 2400
	benchD = 1000
	benchH = 100
)

func BenchmarkGemm(b *testing.B) {
	for _, ker := range everyKernel(b) {
		benchGemm[float32](b, ker, "f32")
		benchGemm[float64](b, ker, "f64")
	}
}

func benchGemm[T Float](b *testing.B, ker Kernels, typ string) {
	r := stream(b, "bench gemm")
	x, l, y := random[T](r, benchN*benchD), random[T](r, benchD*benchH), random[T](r, benchN*benchH)
	flops := 2 * float64(benchN) * benchD * benchH
	for _, threads := range []int{1, 2} {
		ker.Threads = threads
		name := fmt.Sprintf("%s/%s/threads=%d/", ker.Name(), typ, threads)
		b.Run(name+"XL", func(b *testing.B) {
			for b.Loop() {
				Gemm(ker, NoTrans, NoTrans, benchN, benchH, benchD, 1, x, benchD, l, benchH, 0, y, benchH)
			}
			gflops(b, flops)
		})
		b.Run(name+"XtY", func(b *testing.B) {
			for b.Loop() {
				Gemm(ker, Trans, NoTrans, benchD, benchH, benchN, 1, x, benchD, y, benchH, 0, l, benchH)
			}
			gflops(b, flops)
		})
	}
}

func BenchmarkCSRMul(b *testing.B) {
	for _, ker := range everyKernel(b) {
		benchCSR[float32](b, ker, "f32")
		benchCSR[float64](b, ker, "f64")
	}
}

func benchCSR[T Float](b *testing.B, ker Kernels, typ string) {
	r := stream(b, "bench csr")
	l, y := random[T](r, benchN*benchH), make([]T, benchN*benchH)
	for _, density := range []float64{0.01, 0.03, 0.05, 0.2} {
		s := sorted(randomCSR[T](r, benchN, benchD, density))
		b.Run(fmt.Sprintf("%s/%s/density=%g/XL", ker.Name(), typ, density), func(b *testing.B) {
			for b.Loop() {
				CSRMul(ker, s, benchH, l, y, false)
			}
			gflops(b, 2*float64(len(s.idx))*benchH)
		})
		st := sorted(randomCSR[T](r, benchD, benchN, density))
		b.Run(fmt.Sprintf("%s/%s/density=%g/XtY", ker.Name(), typ, density), func(b *testing.B) {
			for b.Loop() {
				CSRMul(ker, st, benchH, l, y, false)
			}
			gflops(b, 2*float64(len(st.idx))*benchH)
		})
	}
}

// sorted puts the columns of each row in order, as they are in real data.
func sorted[T Float](s *CSR[T]) *CSR[T] {
	for i := range s.Rows() {
		slices.Sort(s.idx[s.ptr[i]:s.ptr[i+1]])
	}
	return s
}

func gflops(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/1e9/b.Elapsed().Seconds(), "GFLOPS")
}
