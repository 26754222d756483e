package infer

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"l2mt/data"
	"l2mt/data/datatest"
)

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
		mu, tau, value, err := DualScan(kappa, rho)
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
		direct := rho*floats.Dot(mu, mu) + floats.Dot(mu, kappa)
		size := rho + max(math.Abs(kappa[0]), math.Abs(kappa[len(kappa)-1]))
		datatest.Near(t, direct, value, 1e-13*size, "objective")
	})
}

func TestScanOfAMillion(t *testing.T) {
	rng := data.Stream(1, "million")
	kappa := datatest.Normals[float64](rng, 1_000_000)
	slices.Sort(kappa)
	for _, rho := range []float64{1e-9, 0.7, 1e4, 1e9} { // from one eigenvalue in the support to all
		mu, tau, _, err := DualScan(kappa, rho)
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
		mu, tau, _, err := DualScan(kappa, rho)
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
