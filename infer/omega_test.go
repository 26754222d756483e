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
	"regexp"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"l2mt/data"
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
		Kappa   []float64
		Rho     float64
		Printed struct {
			Tau float64
			Mu  []float64
		}
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
		Printed *struct {
			SumMu float64 `json:"sum_mu"`
		} `json:"printed_algorithm"`
	}
}

func readGolden(t *testing.T) *golden {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "golden", "omega_inference.json"))
	if err != nil {
		t.Fatal(err)
	}
	g := new(golden)
	if err := json.Unmarshal(b, g); err != nil {
		t.Fatal(err)
	}
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
	for _, c := range readGolden(t).Cases {
		t.Run(c.Name, func(t *testing.T) {
			seen[c.Kind]++
			want := c.Expected
			near := func(what string, got, want, scale float64) {
				t.Helper()
				if !(math.Abs(got-want) <= 1e-10*scale) {
					t.Errorf("%s is %v, want %v (scale %g)", what, got, want, scale)
				}
			}
			switch c.Kind {
			case "spectrum":
				kappa, rho := ascending(c.Inputs.Kappa), c.Config.Rho
				size := max(math.Abs(kappa[0]), math.Abs(kappa[len(kappa)-1]))
				mu, tau, value, err := DualScan(kappa, rho)
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range ascending(want.Mu) {
					near(fmt.Sprintf("mu[%d]", i), mu[i], w, max(1, size/rho))
				}
				near("tau", tau, want.Tau, size+rho)
				near("objective", value, want.Objective, size+rho)
				if r := spectrumResidual(kappa, rho, mu, tau); r > kktTolerance {
					t.Errorf("KKT residual %g", r)
				}
			case "matrix":
				phi := symmetric(c.Inputs.Phi, c.Config.Direction)
				rho := c.Config.Direction * c.Config.C
				size := max(math.Abs(want.Kappa[0]), math.Abs(want.Kappa[len(want.Kappa)-1]))
				s, err := Omega(phi, rho)
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range ascending(want.Kappa) {
					near(fmt.Sprintf("kappa[%d]", i), s.Kappa[i], w, size)
				}
				near("objective", s.Objective, want.Objective, size+math.Abs(rho))
				near("objective of Omega itself", objective(phi, s.Omega, rho), want.Objective, size+math.Abs(rho))
				scale := 1.0
				if rho > 0 {
					scale = max(1, size/rho)
					near("tau", s.Tau, want.Tau, size+rho)
				} else if s.Multiplicity != want.Multiplicity {
					t.Errorf("multiplicity %d, want %d", s.Multiplicity, want.Multiplicity)
				}
				for i, w := range ascending(want.Mu) {
					near(fmt.Sprintf("mu[%d]", i), s.Mu[i], w, scale)
				}
				if want.Omega != nil {
					near("distance to the expected Omega", maxDifference(s.Omega, symmetric(want.Omega, 1)), 0, scale)
				}
				if s.Unique() != (rho > 0 || want.Multiplicity == 1) {
					t.Errorf("Unique is %v at rho %v, multiplicity %d", s.Unique(), rho, want.Multiplicity)
				}
				if r := matrixResidual(phi, s); r > kktTolerance {
					t.Errorf("KKT residual %g", r)
				}
			default:
				t.Errorf("unknown kind %q", c.Kind)
			}
		})
	}
	if seen["spectrum"] != 31 || seen["matrix"] != 29 {
		t.Errorf("ran %v, want 31 spectra and 29 matrices", seen)
	}
}

// printedAlgorithm1 is the supplement's Algorithm 1 to the letter, except that
// the "i := i+1" inside its FOR loop is left out. kappa descends.
func printedAlgorithm1(kappa []float64, rho float64) (mu []float64, tau float64) {
	m := len(kappa)
	c0, c1, c2 := 0.0, 4*rho, float64(m)
	for _, k := range kappa {
		c0 += k * k
		c1 += 2 * k
	}
	tau = min(-kappa[0], -c1/(2*c2))
	v := c0 + c1*tau + c2*tau*tau
	for i := 1; i < m; i++ {
		c0 -= kappa[i] * kappa[i] // the region (-kappa_{i-1}, -kappa_i] lost kappa_{i-1}, not kappa_i
		c1 -= 2 * kappa[i]
		c2--
		tau0 := min(-kappa[i], max(-kappa[i-1], -c1/(2*c2)))
		if v0 := c0 + c1*tau0 + c2*tau0*tau0; v0 < v {
			tau, v = tau0, v0
		}
	}
	mu = make([]float64, m)
	for i, k := range kappa {
		mu[i] = max(0, -(k+tau)/(2*rho))
	}
	return mu, tau
}

// The printed algorithm leaves the feasible set on the smallest of inputs; the
// scan doesn't. (ERRATA of the project, item 1.)
func TestPrintedAlgorithmIsOffByOne(t *testing.T) {
	g := readGolden(t)
	c := g.Counterexample
	mu, tau := printedAlgorithm1(c.Kappa, c.Rho)
	if !slices.Equal(mu, c.Printed.Mu) || tau != c.Printed.Tau {
		t.Errorf("as printed: mu %v, tau %v; the counterexample says %v, %v", mu, tau, c.Printed.Mu, c.Printed.Tau)
	}
	mu, tau, value, err := DualScan(ascending(c.Kappa), c.Rho)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(mu, ascending(c.Corrected.Mu)) || tau != c.Corrected.Tau || value != c.Corrected.Objective {
		t.Errorf("scan: mu %v, tau %v, objective %v; want %v, %v, %v", mu, tau, value, ascending(c.Corrected.Mu), c.Corrected.Tau, c.Corrected.Objective)
	}
	wrong := 0
	for _, c := range g.Cases {
		if c.Printed == nil {
			continue
		}
		mu, _ := printedAlgorithm1(c.Inputs.Kappa, c.Config.Rho)
		sum := floats.Sum(mu)
		if math.Abs(sum-1) > 1e-3 {
			wrong++
		}
		if math.Abs(sum-c.Printed.SumMu) > 1e-6*sum {
			t.Errorf("%s: as printed mu sums to %v, the golden file says %v", c.Name, sum, c.Printed.SumMu)
		}
	}
	if wrong < 18 {
		t.Errorf("the printed algorithm is wrong on %d golden spectra; the golden file says 18", wrong)
	}
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

func TestScanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kappa, rho := drawSpectrum(t)
		before := slices.Clone(kappa)
		mu, tau, value, err := DualScan(kappa, rho)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(kappa, before) {
			t.Fatal("the scan changed its input")
		}
		if r := spectrumResidual(kappa, rho, mu, tau); r > kktTolerance {
			t.Fatalf("KKT residual %g: mu %v, tau %v", r, mu, tau)
		}
		if d := floats.Distance(mu, bisect(kappa, rho), math.Inf(1)); d > 1e-12 {
			t.Fatalf("bisection differs by %g", d)
		}
		direct := rho*floats.Dot(mu, mu) + floats.Dot(mu, kappa)
		size := rho + max(math.Abs(kappa[0]), math.Abs(kappa[len(kappa)-1]))
		if math.Abs(direct-value) > 1e-13*size {
			t.Fatalf("objective %v, but from its definition %v", value, direct)
		}
	})
}

// Eigenvalues that are equal get equal weight, and a lower one never gets less.
func TestScanIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kappa, rho := drawSpectrum(t)
		mu, _, _, err := DualScan(kappa, rho)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(mu); i++ {
			if mu[i] > mu[i-1] || (kappa[i] == kappa[i-1] && mu[i] != mu[i-1]) {
				t.Fatalf("kappa %v, %v have mu %v, %v", kappa[i-1], kappa[i], mu[i-1], mu[i])
			}
		}
	})
}

func TestScanOfAMillion(t *testing.T) {
	rng := data.Stream(1, "million")
	kappa := make([]float64, 1_000_000)
	for i := range kappa {
		kappa[i] = rng.NormFloat64()
	}
	slices.Sort(kappa)
	for _, rho := range []float64{1e-9, 0.7, 1e4, 1e9} { // from one eigenvalue in the support to all
		mu, tau, _, err := DualScan(kappa, rho)
		if err != nil {
			t.Fatal(err)
		}
		if r := spectrumResidual(kappa, rho, mu, tau); r > kktTolerance {
			t.Errorf("rho %g: KKT residual %g", rho, r)
		}
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
		mu, tau, _, err := DualScan(kappa, rho)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || (valid && len(kappa) > 0) {
				t.Fatalf("refused a valid spectrum, or without ErrInvalid: %v", err)
			}
			return
		}
		if !valid || len(kappa) == 0 {
			t.Fatalf("accepted kappa %v, rho %v", kappa, rho)
		}
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
		s, err := Omega(phi, rho)
		if err != nil {
			t.Fatal(err)
		}
		if r := matrixResidual(phi, s); r > kktTolerance {
			t.Fatalf("KKT residual %g", r)
		}
		scale := math.Abs(rho) + mat.Norm(phi, 2)
		if d := math.Abs(objective(phi, s.Omega, rho) - s.Objective); d > 1e-12*scale {
			t.Fatalf("the objective of Omega differs from Objective by %g", d)
		}
		m := phi.SymmetricDim()
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "rivals"), 3))
		for range 50 {
			rival := drawFeasible(rng, m)
			step := math.Pow(10, -6*rng.Float64()) // from a far rival to a neighbour
			rival.ScaleSym(step, rival)
			var rest mat.SymDense
			rest.ScaleSym(1-step, s.Omega)
			rival.AddSym(rival, &rest)
			if v := objective(phi, rival, rho); v < s.Objective-1e-12*scale {
				t.Fatalf("a random covariance has objective %v, Omega %v", v, s.Objective)
			}
		}
		uniform := mat.NewSymDense(m, nil)
		for i := range m {
			uniform.SetSym(i, i, 1/float64(m))
		}
		if v := objective(phi, uniform, rho); v < s.Objective-1e-12*scale {
			t.Fatalf("I/m has objective %v, Omega %v", v, s.Objective)
		}
	})
}

// With two tasks every covariance is (1 + a cos(angle), a sin(angle); ., 1 - a cos(angle)) / 2
// with 0 <= a <= 1, so a grid over a and the angle sees them all.
func TestTwoTasksAgainstAGrid(t *testing.T) {
	const steps = 200
	for _, rho := range []float64{-2, -0.1, 0, 0.1, 0.5, 3} {
		rng := data.Stream(7, "two tasks")
		for range 5 {
			a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			s, err := Omega(mat.NewSymDense(2, []float64{a, b, b, c}), rho)
			if err != nil {
				t.Fatal(err)
			}
			best := math.Inf(1)
			for i := range steps + 1 {
				length := float64(i) / steps
				for j := range steps {
					sin, cos := math.Sincos(2 * math.Pi * float64(j) / steps)
					x, y, z := (1+length*cos)/2, length*sin/2, (1-length*cos)/2
					best = min(best, rho*(x*x+2*y*y+z*z)+a*x+2*b*y+c*z)
				}
			}
			if s.Objective > best+1e-12 || s.Objective < best-0.01 {
				t.Errorf("rho %v, Phi (%.3f, %.3f; %.3f): objective %v, grid %v", rho, a, b, c, s.Objective, best)
			}
		}
	}
}

// sameUnder checks that transforming Phi transforms Omega alike. Where Omega
// isn't unique and rho < 0 the answer is a choice among tasks, so only the
// objective must agree.
func sameUnder(t *rapid.T, transform func(rng *rand.Rand, a *mat.SymDense) *mat.SymDense) {
	phi, rho := drawMatrix(t, "Phi"), drawRho.Draw(t, "rho")
	seed := rapid.Uint64().Draw(t, "transform")
	apply := func(a *mat.SymDense) *mat.SymDense { return transform(rand.New(rand.NewPCG(seed, 4)), a) }
	s, err := Omega(phi, rho)
	if err != nil {
		t.Fatal(err)
	}
	moved, err := Omega(apply(phi), rho)
	if err != nil {
		t.Fatal(err)
	}
	if d := math.Abs(s.Objective - moved.Objective); d > 1e-11*(1+math.Abs(rho)) {
		t.Fatalf("objective %v became %v", s.Objective, moved.Objective)
	}
	if rho < 0 && !s.Unique() {
		return
	}
	// A close pair of lowest eigenvalues makes Omega ill-conditioned when rho <= 0.
	if m := len(s.Kappa); rho <= 0 && s.Multiplicity < m && s.Kappa[s.Multiplicity]-s.Kappa[0] < 1e-4 {
		return
	}
	if d := maxDifference(apply(s.Omega), moved.Omega); d > 1e-9 {
		t.Fatalf("Omega differs by %g", d)
	}
}

func TestPermutingTasksPermutesOmega(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameUnder(t, func(rng *rand.Rand, a *mat.SymDense) *mat.SymDense {
			m := a.SymmetricDim()
			p, b := rng.Perm(m), mat.NewSymDense(m, nil)
			for i := range m {
				for j := i; j < m; j++ {
					b.SetSym(i, j, a.At(p[i], p[j]))
				}
			}
			return b
		})
	})
}

func TestFlippingSignsFlipsOmega(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameUnder(t, func(rng *rand.Rand, a *mat.SymDense) *mat.SymDense {
			m := a.SymmetricDim()
			sign := make([]float64, m)
			for i := range sign {
				sign[i] = float64(1 - 2*rng.IntN(2))
			}
			b := mat.NewSymDense(m, nil)
			for i := range m {
				for j := i; j < m; j++ {
					b.SetSym(i, j, sign[i]*sign[j]*a.At(i, j))
				}
			}
			return b
		})
	})
}

// Omega depends on Phi and rho only up to a common factor, and not on a
// multiple of I in Phi.
func TestUnitsAndOffsetDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		phi, rho := drawMatrix(t, "Phi"), drawRho.Draw(t, "rho")
		s, err := Omega(phi, rho)
		if err != nil {
			t.Fatal(err)
		}
		// A power of two scales without rounding.
		factor := math.Exp2(float64(rapid.IntRange(-498, 498).Draw(t, "log2 of the factor")))
		var scaled mat.SymDense
		scaled.ScaleSym(factor, phi)
		other, err := Omega(&scaled, factor*rho)
		if err != nil {
			t.Fatal(err)
		}
		if s.Multiplicity != other.Multiplicity {
			t.Fatalf("multiplicity %d, scaled %d", s.Multiplicity, other.Multiplicity)
		}
		if rho >= 0 {
			if d := maxDifference(s.Omega, other.Omega); d > 1e-9 {
				t.Fatalf("scaled by %g: Omega differs by %g", factor, d)
			}
		}
		offset := rapid.Float64Range(-10, 10).Draw(t, "offset")
		m := phi.SymmetricDim()
		for i := range m {
			phi.SetSym(i, i, phi.At(i, i)+offset)
		}
		if other, err = Omega(phi, rho); err != nil {
			t.Fatal(err)
		}
		if d := math.Abs(other.Objective - s.Objective - offset); d > 1e-10*(1+math.Abs(rho)) {
			t.Fatalf("offset %v: objective moved by %v", offset, other.Objective-s.Objective)
		}
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
		s, err := Omega(mat.NewSymDense(c.m, c.phi), -0.5)
		if err != nil {
			t.Fatal(err)
		}
		want := mat.NewSymDense(c.m, nil)
		want.SymRankOne(want, 1, mat.NewVecDense(c.m, c.want))
		if d := maxDifference(s.Omega, want); d > 1e-12 {
			t.Errorf("%s: Omega is\n%.4f", c.name, mat.Formatted(s.Omega))
		}
		if s.Unique() {
			t.Errorf("%s: called unique", c.name)
		}
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
		s, err := Omega(phi, -1)
		if err != nil {
			t.Fatal(err)
		}
		var projector mat.SymDense
		projector.SymOuterK(1/mat.Dot(want, want), want)
		if d := maxDifference(s.Omega, &projector); d > 1e-12 {
			t.Errorf("m = %d: Omega differs by %g from the projector of task 0", m, d)
		}
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
			s, err := Omega(sym, 0)
			if err != nil {
				t.Fatal(err)
			}
			if s.Multiplicity != c.want {
				t.Errorf("scale %g, gap %g: multiplicity %d, want %d", scale, c.gap, s.Multiplicity, c.want)
			}
		}
	}
}

func TestOmegaLeavesPhiAlone(t *testing.T) {
	phi := mat.NewSymDense(2, []float64{1, 2, 2, -3})
	for _, rho := range []float64{-1, 0, 1} {
		if _, err := Omega(phi, rho); err != nil {
			t.Fatal(err)
		}
	}
	if d := maxDifference(phi, mat.NewSymDense(2, []float64{1, 2, 2, -3})); d != 0 {
		t.Errorf("Phi changed by %g", d)
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
		{"no Phi", nil, 1, "infer: Phi: invalid input: it is empty"},
		{"empty Phi", new(mat.SymDense), 1, "infer: Phi: invalid input: it is empty"},
		{"NaN in Phi", bad(math.NaN()), 1, `infer: Phi: invalid input: entry \(0, 1\) is NaN; it must be finite`},
		{"Inf in Phi", bad(math.Inf(1)), 0, `infer: Phi: invalid input: entry \(0, 1\) is \+Inf; it must be finite`},
		{"NaN rho", bad(0), math.NaN(), "infer: rho: invalid input: it is NaN; it must be finite"},
		{"infinite rho", bad(0), math.Inf(-1), "infer: rho: invalid input: it is -Inf; it must be finite"},
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
		if _, _, _, err := DualScan(c.kappa, c.rho); !errors.Is(err, ErrInvalid) {
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
		if err == nil && !(math.Abs(mat.Trace(s.Omega)-1) < 1e-12) {
			t.Errorf("entries of %g: Omega has trace %v", v, mat.Trace(s.Omega))
		}
		if err != nil && (!errors.Is(err, ErrInvalid) || v <= 1e150) {
			t.Errorf("entries of %g: %v", v, err)
		}
	}
}

func BenchmarkDualScan(b *testing.B) {
	for _, m := range []int{8, 64, 512, 4096, 100_000, 1_000_000} {
		rng := data.Stream(0, "spectrum")
		kappa := make([]float64, m)
		for i := range kappa {
			kappa[i] = rng.NormFloat64()
		}
		slices.Sort(kappa)
		for _, c := range []struct {
			name string
			rho  float64
		}{{"sparse", 0.7}, {"full", 10 * float64(m)}} {
			b.Run(fmt.Sprintf("%s/m=%d", c.name, m), func(b *testing.B) {
				for b.Loop() {
					if _, _, _, err := DualScan(kappa, c.rho); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkOmega(b *testing.B) {
	for _, m := range []int{6, 50, 200} {
		rng := data.Stream(0, "phi")
		phi := mat.NewSymDense(m, nil)
		for i := range m {
			for j := i; j < m; j++ {
				phi.SetSym(i, j, rng.NormFloat64())
			}
		}
		b.Run(fmt.Sprintf("m=%d", m), func(b *testing.B) {
			for b.Loop() {
				if _, err := Omega(phi, 0.7); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
