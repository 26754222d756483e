//go:build !amd64 || noasm

package linalg

// supported returns nothing: only amd64 has kernels.
func supported() []*set { return nil }

func (*set) dot(int, *float32, *float64, *float64) {}
func (*set) axpy(int, float64, *float32, *float64) {}
