//go:build !noasm

package linalg

import "golang.org/x/sys/cpu"

var avx2 = set{
	name: "avx2",
	f32: kernels[float32]{
		lanes: 8, tile: 6,
		copy: copyF32AVX2,
		gemm: [...]gemmKernel[float32]{gemmF32AVX2x1, gemmF32AVX2x2},
		csr:  csrF32,
	},
	f64: kernels[float64]{
		lanes: 4, tile: 6,
		copy: copyF64AVX2,
		gemm: [...]gemmKernel[float64]{gemmF64AVX2x1, gemmF64AVX2x2},
		csr:  csrF64,
	},
}

var avx512 = set{
	name: "avx512",
	f32: kernels[float32]{
		lanes: 16, tile: 12,
		copy: copyF32AVX512,
		gemm: [...]gemmKernel[float32]{gemmF32AVX512x1, gemmF32AVX512x2},
		csr:  csrF32,
	},
	f64: kernels[float64]{
		lanes: 8, tile: 12,
		copy: copyF64AVX512,
		gemm: [...]gemmKernel[float64]{gemmF64AVX512x1, gemmF64AVX512x2},
		csr:  csrF64,
	},
}

// The kernels of sparse matrices and of mixed numbers need AVX2, as every set does.
var (
	csrF32 = []csrKernel[float32]{csrF32x1, csrF32x2,
		csrF32x3, csrF32x4, csrF32x5, csrF32x6, csrF32x7, csrF32x8}
	csrF64 = []csrKernel[float64]{csrF64x1, csrF64x2,
		csrF64x3, csrF64x4, csrF64x5, csrF64x6, csrF64x7, csrF64x8}
)

// supported returns the sets that the CPU and the operating system can run, the
// fastest first.
func supported() []*set {
	switch {
	case !cpu.X86.HasAVX2 || !cpu.X86.HasFMA:
		return nil
	case cpu.X86.HasAVX512F:
		return []*set{&avx512, &avx2}
	}
	return []*set{&avx2}
}
