//go:build !amd64 || noasm

package blas

// supported returns nothing: only amd64 has kernels.
func supported() []*set { return nil }
