//go:build !noasm

package linalg

import "golang.org/x/sys/cpu"

var avx2 = set{
	name: "avx2",
	f32: kernels[float32]{
		lanes: 8, rows: 6,
		copy: copyF32AVX2,
		gemm: [...]gemmKernel[float32]{gemmF32AVX2x1, gemmF32AVX2x2},
		csr: []csrKernel[float32]{csrF32AVX2x1, csrF32AVX2x2, csrF32AVX2x3, csrF32AVX2x4,
			csrF32AVX2x5, csrF32AVX2x6, csrF32AVX2x7, csrF32AVX2x8},
	},
	f64: kernels[float64]{
		lanes: 4, rows: 6,
		copy: copyF64AVX2,
		gemm: [...]gemmKernel[float64]{gemmF64AVX2x1, gemmF64AVX2x2},
		csr: []csrKernel[float64]{csrF64AVX2x1, csrF64AVX2x2, csrF64AVX2x3, csrF64AVX2x4,
			csrF64AVX2x5, csrF64AVX2x6, csrF64AVX2x7, csrF64AVX2x8},
	},
}

var avx512 = set{
	name: "avx512",
	f32: kernels[float32]{
		lanes: 16, rows: 12,
		copy: copyF32AVX512,
		gemm: [...]gemmKernel[float32]{gemmF32AVX512x1, gemmF32AVX512x2},
		csr: []csrKernel[float32]{csrF32AVX512x1, csrF32AVX512x2, csrF32AVX512x3, csrF32AVX512x4,
			csrF32AVX512x5, csrF32AVX512x6, csrF32AVX512x7, csrF32AVX512x8},
	},
	f64: kernels[float64]{
		lanes: 8, rows: 12,
		copy: copyF64AVX512,
		gemm: [...]gemmKernel[float64]{gemmF64AVX512x1, gemmF64AVX512x2},
		csr: []csrKernel[float64]{csrF64AVX512x1, csrF64AVX512x2, csrF64AVX512x3, csrF64AVX512x4,
			csrF64AVX512x5, csrF64AVX512x6, csrF64AVX512x7, csrF64AVX512x8},
	},
}

// supported returns the sets that the CPU and the operating system can run, the
// fastest first.
func supported() []*set {
	var sets []*set
	if cpu.X86.HasAVX512F {
		sets = append(sets, &avx512)
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		sets = append(sets, &avx2)
	}
	return sets
}

// dot and axpy are the kernels of DotMixed and AxpyMixed. They are called by name, so that
// the compiler knows that they keep nothing.
func (s *set) dot(n int, x *float32, y, sum *float64) {
	if s == &avx512 {
		dotMixedAVX512(n, x, y, sum)
	} else {
		dotMixedAVX2(n, x, y, sum)
	}
}

func (s *set) axpy(n int, a float64, x *float32, y *float64) {
	if s == &avx512 {
		axpyMixedAVX512(n, a, x, y)
	} else {
		axpyMixedAVX2(n, a, x, y)
	}
}
