//go:build !amd64 || noasm

package linalg

// supported returns nothing: only amd64 has kernels.
func supported() []*set {
	return nil
}

func dotMixed(int, *float32, *float64, *float64) {}
func axpyMixed(int, float64, *float32, *float64) {}
func distance(int, *float32, *float32, *float64) {}
