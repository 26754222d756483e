package infer

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/datatest"
)

// kktTolerance bounds the residuals of the optimality conditions, relative to
// the size of the terms in them.
const kktTolerance = 1e-10

// spectrumResidual is the largest violation of the conditions that make mu the
// minimiser: mu_i = max(0, -(kappa_i + tau)/(2 rho)), in units of the gradient
// and relative to its size, and sum(mu) = 1.
func spectrumResidual(kappa []float64, rho float64, mu []float64, tau float64) float64 {
	residual, sum := 0.0, 0.0
	scale := 2*rho + max(math.Abs(kappa[0]), math.Abs(kappa[len(kappa)-1]))
	for i, k := range kappa {
		if mu[i] < 0 || math.IsNaN(mu[i]) {
			return math.Inf(1)
		}
		want := max(0, -(k + tau))
		residual = max(residual, math.Abs(2*rho*mu[i]-want)/scale)
		sum += mu[i]
	}
	return max(residual, math.Abs(sum-1))
}

// matrixResidual is the largest violation of the conditions on Omega: it is
// positive semidefinite with trace 1, S = 2 rho Omega + Phi + tau I is positive
// semidefinite, and S Omega = 0.
func matrixResidual(phi *mat.SymDense, s *Solution) float64 {
	m := phi.SymmetricDim()
	scale := 2*math.Abs(s.Rho) + mat.Norm(phi, 2)
	if scale == 0 {
		scale = 1
	}
	var slack mat.SymDense
	slack.ScaleSym(2*s.Rho, s.Omega)
	slack.AddSym(&slack, phi)
	for i := range m {
		slack.SetSym(i, i, slack.At(i, i)+s.Tau)
	}
	slack.ScaleSym(1/scale, &slack)
	var product mat.Dense
	product.Mul(&slack, s.Omega)
	return max(
		math.Abs(mat.Trace(s.Omega)-1),
		-lowestEigenvalue(s.Omega),
		-lowestEigenvalue(&slack),
		mat.Norm(&product, 2),
	)
}

func lowestEigenvalue(a mat.Symmetric) float64 {
	var e mat.EigenSym
	if !e.Factorize(a, false) {
		return math.Inf(-1)
	}
	return e.Values(nil)[0]
}

func objective(phi, omega *mat.SymDense, rho float64) float64 {
	var square, cross mat.Dense
	square.Mul(omega, omega)
	cross.Mul(phi, omega)
	return rho*mat.Trace(&square) + mat.Trace(&cross)
}

func symmetric(rows [][]float64, factor float64) *mat.SymDense {
	a := mat.NewSymDense(len(rows), nil)
	for i, row := range rows {
		for j := i; j < len(row); j++ {
			a.SetSym(i, j, factor*row[j])
		}
	}
	return a
}

func maxDifference(a, b mat.Matrix) float64 {
	var d mat.Dense
	d.Sub(a, b)
	r, c := d.Dims()
	largest := 0.0
	for i := range r {
		for j := range c {
			largest = max(largest, math.Abs(d.At(i, j)))
		}
	}
	return largest
}

type golden struct {
	Counterexample struct {
		Kappa     []float64
		Rho       float64
		Corrected struct {
			Tau, Objective float64
			Mu             []float64
		}
	}
	Cases []struct {
		Name, Kind string
		Config     struct{ Rho, C, Direction float64 }
		Inputs     struct {
			Kappa []float64
			Phi   [][]float64
		}
		Expected struct {
			Kappa, Mu           []float64
			Tau, Objective, Rho float64
			Omega               [][]float64
			Support             int
			Multiplicity        int
		}
	}
}

func readGolden(t *testing.T) *golden {
	t.Helper()
	b := datatest.Must(os.ReadFile(filepath.Join("..", "testdata", "golden", "omega_inference.json")))(t)
	g := new(golden)
	datatest.Check(t, json.Unmarshal(b, g))
	return g
}

// ascending turns a spectrum of the paper's order into gonum's.
func ascending(kappa []float64) []float64 {
	kappa = slices.Clone(kappa)
	slices.Reverse(kappa)
	return kappa
}

func TestGolden(t *testing.T) {
	seen := map[string]int{}
	g := readGolden(t)
	for _, c := range g.Cases {
		t.Run(c.Name, func(t *testing.T) {
			seen[c.Kind]++
			want := c.Expected
			near := func(what string, got, want, scale float64) {
				t.Helper()
				datatest.Holds(t, math.Abs(got-want) <= 1e-10*scale,
					"%s is %v, want %v (scale %g)", what, got, want, scale)
			}
			switch c.Kind {
			case "spectrum":
				kappa, rho := ascending(c.Inputs.Kappa), c.Config.Rho
				size := max(math.Abs(kappa[0]), math.Abs(kappa[len(kappa)-1]))
				mu, tau, value, err := DualScan(kappa, rho)
				datatest.Check(t, err)
				for i, w := range ascending(want.Mu) {
					near(fmt.Sprintf("mu[%d]", i), mu[i], w, max(1, size/rho))
				}
				near("tau", tau, want.Tau, size+rho)
				near("objective", value, want.Objective, size+rho)
				r := spectrumResidual(kappa, rho, mu, tau)
				datatest.Holds(t, r <= kktTolerance, "KKT residual %g", r)
			case "matrix":
				phi := symmetric(c.Inputs.Phi, c.Config.Direction)
				rho := c.Config.Direction * c.Config.C
				size := max(math.Abs(want.Kappa[0]), math.Abs(want.Kappa[len(want.Kappa)-1]))
				s := datatest.Must(Omega(phi, rho))(t)
				for i, w := range ascending(want.Kappa) {
					near(fmt.Sprintf("kappa[%d]", i), s.Kappa[i], w, size)
				}
				near("objective", s.Objective, want.Objective, size+math.Abs(rho))
				near("objective of Omega itself", objective(phi, s.Omega, rho), want.Objective, size+math.Abs(rho))
				scale := 1.0
				if rho > 0 {
					scale = max(1, size/rho)
					near("tau", s.Tau, want.Tau, size+rho)
				} else {
					datatest.Equal(t, s.Multiplicity, want.Multiplicity, "multiplicity")
				}
				for i, w := range ascending(want.Mu) {
					near(fmt.Sprintf("mu[%d]", i), s.Mu[i], w, scale)
				}
				if want.Omega != nil {
					near("distance to the expected Omega", maxDifference(s.Omega, symmetric(want.Omega, 1)), 0, scale)
				}
				r := matrixResidual(phi, s)
				datatest.Holds(t, r <= kktTolerance, "KKT residual %g", r)
			default:
				t.Errorf("unknown kind %q", c.Kind)
			}
		})
	}
	datatest.Holds(t, seen["spectrum"] == 31 && seen["matrix"] == 29, "ran %v, want 31 spectra and 29 matrices", seen)
	c := g.Counterexample // on which the algorithm that the paper prints leaves the feasible set
	mu, tau, value, err := DualScan(ascending(c.Kappa), c.Rho)
	datatest.Check(t, err)
	datatest.Equal(t, mu, ascending(c.Corrected.Mu), "mu")
	datatest.Equal(t, [2]float64{tau, value}, [2]float64{c.Corrected.Tau, c.Corrected.Objective}, "tau, objective")
}
