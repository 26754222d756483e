package multitask

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Where there are fewer features than tasks, the solver works with a spectral
// model across, on the other side of W: what Omega (m x m) is to W'W, a covariance
// of the features Psi (d x d) is to WW', whose eigenvalues are the same but for
// zeros, and tr(W' Psi^-1 W) = tr(W Omega^-1 W'). Everything is smaller there, and
// while Psi is held, the tasks have nothing to do with each other.

// side is the number of rows of a Gram matrix.
func (s *solver) side() int {
	if s.across {
		return s.d
	}
	return s.m
}

// view has an m x anything vector of the solver as a matrix.
func (s *solver) view(x []float64) blas64.General {
	return general(s.m, len(x)/s.m, x)
}

// rotate sets dst to A X, or to X A' across.
func (s *solver) rotate(dst []float64, a *mat.Dense, x []float64) {
	if s.across {
		gemm(false, true, 1, s.view(x), a.RawMatrix(), 0, s.view(dst))
		return
	}
	rotate(dst, a, x, s.d)
}

// products returns X Y', or X'Y across.
func (s *solver) products(x, y []float64) *mat.Dense {
	if s.across {
		p := mat.NewDense(len(x)/s.m, len(y)/s.m, nil)
		gemm(true, false, 1, s.view(x), s.view(y), 0, p.RawMatrix())
		return p
	}
	return products(x, y, len(x)/s.d, s.d)
}

// gram returns W'W, or WW' across.
func (s *solver) gram(w []float64) *mat.SymDense {
	if s.across {
		return symmetrised(s.products(w, w), 1)
	}
	return gram(w, s.m, s.d)
}
