package infer

import (
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"l2mt/data/datatest"
)

// drawMatrix returns a Phi with simple or repeated eigenvalues in a random basis.
func drawMatrix(t *rapid.T, label string) *mat.SymDense {
	m := rapid.IntRange(1, 12).Draw(t, label+" m")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, label+" seed"), 2))
	kappa := make([]float64, m)
	repeated := rapid.Bool().Draw(t, label+" repeated eigenvalues")
	for i := range kappa {
		if kappa[i] = rng.NormFloat64(); repeated {
			kappa[i] = math.Round(kappa[i])
		}
	}
	q := orthogonal(rng, m)
	phi := mat.NewSymDense(m, nil)
	for i, k := range kappa {
		phi.SymRankOne(phi, k, q.ColView(i))
	}
	return phi
}

func orthogonal(rng *rand.Rand, m int) *mat.Dense {
	g := mat.NewDense(m, m, nil)
	g.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, g)
	var qr mat.QR
	qr.Factorize(g)
	var q mat.Dense
	qr.QTo(&q)
	return &q
}

// drawFeasible returns a random covariance of trace 1 and random rank.
func drawFeasible(rng *rand.Rand, m int) *mat.SymDense {
	g := mat.NewDense(m, 1+rng.IntN(m), nil)
	g.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, g)
	var omega mat.SymDense
	omega.SymOuterK(1, g)
	omega.ScaleSym(1/mat.Trace(&omega), &omega)
	return &omega
}

var drawRho = rapid.Custom(func(t *rapid.T) float64 {
	sign := rapid.SampledFrom([]float64{-1, 0, 1}).Draw(t, "sign of rho")
	return sign * math.Pow(10, rapid.Float64Range(-3, 3).Draw(t, "log rho"))
})

func TestOmegaIsFeasibleAndOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		phi, rho := drawMatrix(t, "Phi"), drawRho.Draw(t, "rho")
		given := mat.DenseCopyOf(phi)
		s := datatest.Must(Omega(phi, rho))(t)
		datatest.Need(t, mat.Equal(phi, given), "Phi is changed")
		r := matrixResidual(phi, rho, s)
		datatest.Need(t, r <= kktTolerance, "KKT residual %g", r)
		scale := math.Abs(rho) + mat.Norm(phi, 2)
		best := objective(phi, s.Omega, rho)
		m := phi.SymmetricDim()
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "rivals"), 3))
		for range 50 {
			rival := drawFeasible(rng, m)
			step := math.Pow(10, -6*rng.Float64()) // from a far rival to a neighbour
			rival.ScaleSym(step, rival)
			var rest mat.SymDense
			rest.ScaleSym(1-step, s.Omega)
			rival.AddSym(rival, &rest)
			v := objective(phi, rival, rho)
			datatest.Need(t, v >= best-1e-12*scale, "a random covariance has objective %v, Omega %v", v, best)
		}
		uniform := mat.NewSymDense(m, nil)
		for i := range m {
			uniform.SetSym(i, i, 1/float64(m))
		}
		v := objective(phi, uniform, rho)
		datatest.Need(t, v >= best-1e-12*scale, "I/m has objective %v, Omega %v", v, best)
	})
}

// Omega depends on Phi and rho only up to a common factor, and not on a
// multiple of I in Phi.
func TestUnitsAndOffsetDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		phi, rho := drawMatrix(t, "Phi"), drawRho.Draw(t, "rho")
		s := datatest.Must(Omega(phi, rho))(t)
		// A power of two scales without rounding.
		factor := math.Exp2(float64(rapid.IntRange(-498, 498).Draw(t, "log2 of the factor")))
		var scaled mat.SymDense
		scaled.ScaleSym(factor, phi)
		other := datatest.Must(Omega(&scaled, factor*rho))(t)
		datatest.Equal(t, s.Multiplicity, other.Multiplicity, "multiplicity")
		if rho >= 0 {
			if d := maxDifference(s.Omega, other.Omega); d > 1e-9 {
				t.Fatalf("scaled by %g: Omega differs by %g", factor, d)
			}
		}
		before := objective(phi, s.Omega, rho)
		offset := rapid.Float64Range(-10, 10).Draw(t, "offset")
		m := phi.SymmetricDim()
		for i := range m {
			phi.SetSym(i, i, phi.At(i, i)+offset)
		}
		other = datatest.Must(Omega(phi, rho))(t)
		moved := objective(phi, other.Omega, rho) - before
		datatest.Near(t, moved, offset, 1e-10*(1+math.Abs(rho)), "the objective moves")
	})
}

// One lowest eigenvector is chosen by the eigenspace alone: on a plane it is the
// projection of the task that lies nearest to the plane.
func TestNegativeRhoChoosesTheNearestTask(t *testing.T) {
	for _, c := range []struct {
		name string
		phi  []float64
		m    int
		want []float64 // the chosen vector
	}{
		{"zero Phi takes the first task", make([]float64, 9), 3, []float64{1, 0, 0}},
		{"diagonal tie takes the first of the tied", []float64{1, 0, 0, 0, -1, 0, 0, 0, -1}, 3, []float64{0, 1, 0}},
		// The eigenspace is orthogonal to (2, 1, 0)/sqrt 5 and holds task 2, which is nearest.
		{"a task inside the eigenspace", []float64{4, 2, 0, 2, 1, 0, 0, 0, 0}, 3, []float64{0, 0, 1}},
		{"all ones projects the first task", []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, []float64{2 / math.Sqrt(6), -1 / math.Sqrt(6), -1 / math.Sqrt(6)}},
	} {
		s := datatest.Must(Omega(mat.NewSymDense(c.m, c.phi), -0.5))(t)
		want := mat.NewSymDense(c.m, nil)
		want.SymRankOne(want, 1, mat.NewVecDense(c.m, c.want))
		d := maxDifference(s.Omega, want)
		datatest.Holds(t, d <= 1e-12, "%s: Omega is\n%.4f", c.name, mat.Formatted(s.Omega))
		datatest.Holds(t, s.Multiplicity != 1, "%s: called unique", c.name)
	}
}

// For Phi = 11' all tasks are equally near to the lowest eigenspace, up to the
// rounding of the basis that gonum found. The first must be chosen all the same.
func TestRoundingDoesNotChooseTheTask(t *testing.T) {
	for m := 2; m <= 40; m++ {
		phi, want := mat.NewSymDense(m, nil), mat.NewVecDense(m, nil)
		for i := range m {
			for j := range m {
				phi.SetSym(i, j, 1)
			}
			want.SetVec(i, -1/float64(m))
		}
		want.SetVec(0, 1-1/float64(m))
		s := datatest.Must(Omega(phi, -1))(t)
		var projector mat.SymDense
		projector.SymOuterK(1/mat.Dot(want, want), want)
		d := maxDifference(s.Omega, &projector)
		datatest.Holds(t, d <= 1e-12, "m = %d: Omega differs by %g from the projector of task 0", m, d)
	}
}

// Rounding in Phi must not split a repeated lowest eigenvalue, at any scale, and
// a gap above the tolerance must.
func TestTiesAreRelativeToTheSpectrum(t *testing.T) {
	for _, scale := range []float64{1e-150, 1e-9, 1, 1e9, 1e150} {
		for _, c := range []struct {
			gap  float64
			want int
		}{{0, 2}, {1e-11, 2}, {1e-9, 1}, {0.5, 1}} {
			phi := mat.NewDiagDense(3, []float64{2 * scale, scale * (1 + c.gap), scale})
			sym := mat.NewSymDense(3, nil)
			for i := range 3 {
				sym.SetSym(i, i, phi.At(i, i))
			}
			s := datatest.Must(Omega(sym, 0))(t)
			datatest.Equal(t, s.Multiplicity, c.want, "scale %g, gap %g: multiplicity", scale, c.gap)
		}
	}
}

func TestUnusableInput(t *testing.T) {
	bad := func(v float64) *mat.SymDense { return mat.NewSymDense(2, []float64{1, v, v, 1}) }
	for _, c := range []struct {
		name string
		phi  *mat.SymDense
		rho  float64
		says string
	}{
		{"no Phi", nil, 1, "Phi: it is empty"},
		{"empty Phi", new(mat.SymDense), 1, "Phi: it is empty"},
		{"NaN in Phi", bad(math.NaN()), 1, `Phi: entry \(0, 1\) is NaN; it must be finite`},
		{"Inf in Phi", bad(math.Inf(1)), 0, `Phi: entry \(0, 1\) is \+Inf; it must be finite`},
		{"NaN rho", bad(0), math.NaN(), "rho: it is NaN; it must be finite"},
		{"infinite rho", bad(0), math.Inf(-1), "rho: it is -Inf; it must be finite"},
	} {
		s, err := Omega(c.phi, c.rho)
		if s != nil || !errors.Is(err, ErrInvalid) || !regexp.MustCompile(c.says).MatchString(err.Error()) {
			t.Errorf("%s: %v, %v", c.name, s, err)
		}
	}
	for _, c := range []struct {
		name  string
		kappa []float64
		rho   float64
	}{
		{"no spectrum", nil, 1},
		{"descending", []float64{2, 1}, 1},
		{"NaN first", []float64{math.NaN(), 1}, 1},
		{"NaN within", []float64{0, math.NaN(), 1}, 1},
		{"infinite", []float64{0, math.Inf(1)}, 1},
		{"rho zero", []float64{0, 1}, 0},
		{"rho negative", []float64{0, 1}, -1},
		{"rho NaN", []float64{0, 1}, math.NaN()},
	} {
		if _, _, err := DualScan(c.kappa, c.rho); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The largest finite entries overflow inside the decomposition. That must end in
// an error or in a covariance, never in NaN.
func TestHugePhi(t *testing.T) {
	for _, v := range []float64{1e150, 1e300, math.MaxFloat64} {
		phi := mat.NewSymDense(3, []float64{v, -v, v, -v, v, v, v, v, -v})
		s, err := Omega(phi, 1)
		if err == nil {
			datatest.Near(t, mat.Trace(s.Omega), 1, 1e-12, "entries of %g: trace of Omega", v)
		}
		datatest.Holds(t, err == nil || errors.Is(err, ErrInvalid) && v > 1e150, "entries of %g: %v", v, err)
	}
}
