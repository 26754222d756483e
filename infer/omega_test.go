package infer

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"l2mt/data"
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
func matrixResidual(phi *mat.SymDense, rho float64, s *Solution) float64 {
	m := phi.SymmetricDim()
	scale := 2*math.Abs(rho) + mat.Norm(phi, 2)
	if scale == 0 {
		scale = 1
	}
	var slack mat.SymDense
	slack.ScaleSym(2*rho, s.Omega)
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
			Tau float64
			Mu  []float64
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
				mu, tau, err := DualScan(kappa, rho)
				datatest.Check(t, err)
				for i, w := range ascending(want.Mu) {
					near(fmt.Sprintf("mu[%d]", i), mu[i], w, max(1, size/rho))
				}
				near("tau", tau, want.Tau, size+rho)
				near("objective", rho*floats.Dot(mu, mu)+floats.Dot(mu, kappa), want.Objective, size+rho)
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
				near("objective", objective(phi, s.Omega, rho), want.Objective, size+math.Abs(rho))
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
				r := matrixResidual(phi, rho, s)
				datatest.Holds(t, r <= kktTolerance, "KKT residual %g", r)
			default:
				t.Errorf("unknown kind %q", c.Kind)
			}
		})
	}
	datatest.Holds(t, seen["spectrum"] == 31 && seen["matrix"] == 29, "ran %v, want 31 spectra and 29 matrices", seen)
	c := g.Counterexample // on which the algorithm that the paper prints leaves the feasible set
	mu, tau, err := DualScan(ascending(c.Kappa), c.Rho)
	datatest.Check(t, err)
	datatest.Equal(t, mu, ascending(c.Corrected.Mu), "mu")
	datatest.Equal(t, tau, c.Corrected.Tau, "tau")
}

// drawSpectrum returns an ascending spectrum of one of the shapes that trouble
// such scans, and a rho, over a wide range of scales.
func drawSpectrum(t *rapid.T) (kappa []float64, rho float64) {
	m := rapid.IntRange(1, 60).Draw(t, "m")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	shape := rapid.SampledFrom([]string{"normal", "ties", "tiny gaps", "offset", "exponential", "equal"}).Draw(t, "shape")
	for i := range m {
		x := rng.NormFloat64()
		switch shape {
		case "ties":
			x = math.Round(x)
		case "tiny gaps":
			x = 1 + 1e-12*float64(i)
		case "offset":
			x += 1e6
		case "exponential":
			x = -math.Exp2(-float64(i))
		case "equal":
			x = -3
		}
		kappa = append(kappa, x)
	}
	scale := math.Pow(10, float64(rapid.IntRange(-150, 150).Draw(t, "log scale")))
	floats.Scale(scale, kappa)
	slices.Sort(kappa)
	return kappa, scale * math.Pow(10, rapid.Float64Range(-12, 6).Draw(t, "log rho"))
}

// bisect solves sum_i max(0, theta - z_i) = 1 for z_i = (kappa_i - kappa_min) / (2 rho),
// by halving an interval: a path of its own to the spectrum.
func bisect(kappa []float64, rho float64) []float64 {
	fill := func(mu []float64, theta float64) (sum float64) {
		for i, k := range kappa {
			mu[i] = max(0, theta-(k-kappa[0])/(2*rho))
			sum += mu[i]
		}
		return sum
	}
	mu := make([]float64, len(kappa))
	low, high := 0.0, 1.0
	for range 200 {
		if mid := (low + high) / 2; fill(mu, mid) > 1 {
			high = mid
		} else {
			low = mid
		}
	}
	fill(mu, high)
	return mu
}

// The conditions of the minimum hold, and eigenvalues that are equal get equal weight, a lower
// one never less.
func TestScanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kappa, rho := drawSpectrum(t)
		before := slices.Clone(kappa)
		mu, tau, err := DualScan(kappa, rho)
		datatest.Check(t, err)
		datatest.Need(t, slices.Equal(kappa, before), "the scan changed its input")
		r := spectrumResidual(kappa, rho, mu, tau)
		datatest.Need(t, r <= kktTolerance, "KKT residual %g: mu %v, tau %v", r, mu, tau)
		d := floats.Distance(mu, bisect(kappa, rho), math.Inf(1))
		datatest.Need(t, d <= 1e-12, "bisection differs by %g", d)
		for i := 1; i < len(mu); i++ {
			datatest.Need(t, mu[i] <= mu[i-1] && (kappa[i] != kappa[i-1] || mu[i] == mu[i-1]),
				"kappa %v, %v have mu %v, %v", kappa[i-1], kappa[i], mu[i-1], mu[i])
		}
	})
}

func TestScanOfAMillion(t *testing.T) {
	rng := data.Stream(1, "million")
	kappa := datatest.Normals[float64](rng, 1_000_000)
	slices.Sort(kappa)
	for _, rho := range []float64{1e-9, 0.7, 1e4, 1e9} { // from one eigenvalue in the support to all
		mu, tau, err := DualScan(kappa, rho)
		datatest.Check(t, err)
		r := spectrumResidual(kappa, rho, mu, tau)
		datatest.Holds(t, r <= kktTolerance, "rho %g: KKT residual %g", rho, r)
	}
}

func FuzzDualScan(f *testing.F) {
	add := func(rho float64, kappa ...float64) {
		var b []byte
		for _, k := range kappa {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(k))
		}
		f.Add(b, rho)
	}
	add(0.25, 0, 1)
	add(1, 5)
	add(1e-300, 1, 1, 1)
	add(math.MaxFloat64, -math.MaxFloat64, math.MaxFloat64)
	add(5e-324, -5e-324, 0, 5e-324)
	add(1e-12, 1e6, 1e6+1e-9)
	add(-1, 1, 2)
	add(1, math.NaN(), 2)
	f.Fuzz(func(t *testing.T, b []byte, rho float64) {
		var kappa []float64
		valid := rho > 0 && finite(rho)
		for ; len(b) >= 8; b = b[8:] {
			k := math.Float64frombits(binary.LittleEndian.Uint64(b))
			valid = valid && finite(k)
			kappa = append(kappa, k)
		}
		slices.Sort(kappa)
		mu, tau, err := DualScan(kappa, rho)
		if err != nil {
			datatest.Need(t, errors.Is(err, ErrInvalid) && (!valid || len(kappa) <= 0),
				"refused a valid spectrum, or without ErrInvalid: %v", err)
			return
		}
		datatest.Need(t, valid && len(kappa) != 0, "accepted kappa %v, rho %v", kappa, rho)
		if sum := floats.Sum(mu); floats.Min(mu) < 0 || !(math.Abs(sum-1) <= 1e-12*float64(len(mu))) {
			t.Fatalf("infeasible: mu %v sums to %v", mu, sum)
		}
		// Tau itself is a float64, so the conditions can only be tested where it is far from both ends.
		size := max(math.Abs(kappa[0]), math.Abs(kappa[len(kappa)-1]), rho)
		if size < 1e300 && rho > 1e-290 {
			if r := spectrumResidual(kappa, rho, mu, tau); r > kktTolerance {
				t.Fatalf("KKT residual %g: kappa %v, rho %v, mu %v, tau %v", r, kappa, rho, mu, tau)
			}
		}
	})
}
