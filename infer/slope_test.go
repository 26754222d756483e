package infer

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/datatest"
)

// Central differences of a linear function of Omega agree with the slopes: with a
// support of one and of all, and with eigenvalues that are equal in the support, out of
// it, and all of them.
func TestSlopesAreThoseOfDifferences(t *testing.T) {
	for _, c := range []struct {
		name    string
		kappa   []float64
		rho     float64
		support int
	}{
		{"all", []float64{-1, -0.9, -0.7, -0.65}, 0.4, 4},
		{"some", []float64{-1, -0.9, 0.7, 3}, 0.2, 2},
		{"one", []float64{-1, 0.3, 0.7, 3}, 0.2, 1},
		{"equal in the support", []float64{-1, -1, 0.7, 3}, 0.2, 2},
		{"equal out of it", []float64{-1, -0.9, 3, 3}, 0.2, 2},
		{"support of one, others equal", []float64{-1, 3, 3, 3}, 0.1, 1},
		{"all equal", []float64{2, 2, 2, 2}, 0.3, 4},
		{"single task", []float64{-1}, 0.3, 1},
		{"far from zero", []float64{1e6, 1e6 + 0.1, 1e6 + 2, 1e6 + 3}, 0.2, 2},
	} {
		m := len(c.kappa)
		r := rand.New(rand.NewPCG(1, uint64(m)))
		symmetric := func() *mat.SymDense {
			a := mat.NewSymDense(m, nil)
			for i := range m {
				for j := i; j < m; j++ {
					a.SetSym(i, j, r.NormFloat64())
				}
			}
			return a
		}
		var qr mat.QR
		qr.Factorize(mat.NewDense(m, m, append([]float64(nil), mat.DenseCopyOf(symmetric()).RawMatrix().Data...)))
		var u, turned mat.Dense
		qr.QTo(&u)
		turned.Product(&u, mat.NewDiagDense(m, c.kappa), u.T())
		phi, weights, direction := mat.NewSymDense(m, nil), symmetric(), symmetric()
		for i := range m {
			for j := i; j < m; j++ {
				phi.SetSym(i, j, turned.At(i, j))
			}
		}
		inner := func(a, b mat.Matrix) float64 {
			var p mat.Dense
			p.Mul(a, b.T())
			return mat.Trace(&p)
		}
		at := func(h, k float64) float64 {
			moved := mat.NewSymDense(m, nil)
			moved.ScaleSym(h, direction)
			moved.AddSym(moved, phi)
			s := datatest.Must(Omega(moved, c.rho+k))(t)
			if h == 0 && k == 0 {
				support := 0
				for support < m && s.Mu[support] > 0 {
					support++
				}
				datatest.Equal(t, support, c.support, "%s: the support", c.name)
			}
			return inner(weights, s.Omega)
		}
		at(0, 0)
		ofPhi, ofRho, err := Slopes(phi, c.rho, weights)
		datatest.Check(t, err)
		const h = 1e-5
		tolerance := 1e-6 * math.Max(1, c.kappa[0]/10)
		if got, want := inner(ofPhi, direction), (at(h, 0)-at(-h, 0))/(2*h); math.Abs(got-want) > tolerance*(1+math.Abs(want)) {
			t.Errorf("%s: along Phi %v, differences say %v", c.name, got, want)
		}
		if got, want := ofRho, (at(0, h)-at(0, -h))/(2*h); math.Abs(got-want) > tolerance*(1+math.Abs(want)) {
			t.Errorf("%s: along rho %v, differences say %v", c.name, got, want)
		}
	}
	_, _, err := Slopes(mat.NewSymDense(1, nil), 0, mat.NewSymDense(1, nil))
	datatest.Holds(t, err != nil, "rho = 0 has slopes")
}
