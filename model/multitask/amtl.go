package multitask

// Asymmetric multitask learning: every task is a sparse combination of the
// others.
//
//	sum of losses + Lambda1/2 (||W - W A||^2 + floor ||W||^2) + Lambda2 ||A||_1
//
//	g(Omega)    ||A||_1 where Omega^-1 = (I - A)(I - A)' + floor I. Omega does
//	            not determine A, so A is the unknown
//	Omega step  a lasso for every column of A
//	source      Lee, Yang, Hwang, "Asymmetric multi-task learning based on task
//	            relatedness and loss", ICML 2016, as Zhang, Wei, Yang modify it
//
// "amtl" keeps the diagonal of A at zero as the original work does;
// "amtl-literal" frees it, as the paper writes it, which lets A approach I. The
// floor, a hyperparameter, bounds Omega where tasks are combinations of
// others exactly. The problem is not convex, and a fit may end in a local
// minimum: on small problems, up to 3 % above the best of several starts.

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func init() {
	Register(amtl{name: "amtl", title: "AMTL"})
	Register(amtl{
		name:  "amtl-literal",
		title: "AMTL (literal)",
		free:  true,
	})
}

type amtl struct {
	name, title string
	free        bool // the diagonal of A is free
}

func (a amtl) Info() Info {
	return Info{
		Name: a.name, Title: a.title,
		Ranges: []Range{
			lambda1Range,
			{Lambda2, 1e-2, 1e-4, 1},
			{"floor", 1e-3, 1e-3, 1e-3},
		},
	}
}

// G needs the A that the covariance comes from.
func (a amtl) G(c *Covariance, _ int, _ Params) float64 {
	if c.A == nil {
		return math.NaN()
	}
	return norm1(c.A)
}

func (a amtl) Step(s *mat.SymDense, _ int, p Params, h Hint) (*Covariance, error) {
	m := s.SymmetricDim()
	columns := mat.NewDense(m, m, nil) // A'
	gap := 0.0
	if h.From != nil && h.From.A != nil {
		columns.Copy(h.From.A.T())
	}
	threshold := p.Lambda2 / p.Lambda1
	enough := h.Enough / float64(m) / p.Lambda1
	for j := range m {
		gap += p.Lambda1 *
			lasso(columns.RawRowView(j), s, j, a.free, threshold, enough)
	}
	combine := mat.DenseCopyOf(columns.T())
	omega, _, err := inverted(transferred(combine, p.Get("floor")))
	return &Covariance{
		Omega: omega,
		A:     combine,
		Gap:   gap,
	}, err
}

// transferred returns (I - A)(I - A)' + floor I.
func transferred(a *mat.Dense, floor float64) *mat.SymDense {
	m, _ := a.Dims()
	rest := mat.NewDense(m, m, nil)
	rest.Sub(identity(m, 1), a)
	precision := identity(m, floor)
	precision.SymRankK(precision, 1, rest)
	return precision
}

// lasso minimises 1/2 ||w_j - W a||^2 + threshold ||a||_1 from a start to within enough of the
// minimum, with a_j = 0 unless that is free, and returns the gap. For given zeros and signs
// equations are left. On the way to their solution the first entry that would change its sign
// becomes zero; there, the zero that the gradient pulls most gets a sign. Next to nothing on
// the diagonal makes the equations regular where W has dependent columns.
func lasso(a []float64, s *mat.SymDense, j int, free bool, threshold, enough float64) (gap float64) {
	columns := mat.DenseCopyOf(s)
	sign := make([]float64, len(a))
	for i, v := range a {
		if i == j && !free {
			a[i] = 0
		} else if v != 0 {
			sign[i] = math.Copysign(1, v)
		}
	}
	gap = math.Inf(1)
	met := true
	for range 1000 {
		rest := slices.Clone(columns.RawRowView(j)) // W'(w_j - W a)
		for i, v := range a {
			add(-v, columns.RawRowView(i), rest)
		}
		last := gap
		gap = lassoGap(a, rest, j, free, threshold)
		if gap <= enough {
			break
		}
		if met { // an entry without a sign is zero
			next := -1
			bound := threshold * (1 + 1e-14)
			for i, v := range rest {
				if sign[i] == 0 && (i != j || free) && math.Abs(v) > bound {
					next = i
					bound = math.Abs(v)
				}
			}
			if next >= 0 {
				sign[next] = math.Copysign(1, rest[next])
			} else if !(gap < last/2) {
				break // rounding errors are left
			}
		}
		met = advance(a, sign, rest, s, threshold)
	}
	return max(gap, 0)
}

// advance moves the entries of a that have a sign to the minimum for these, or until one of
// them becomes zero, and reports the former.
func advance(a, sign, rest []float64, s *mat.SymDense, threshold float64) (met bool) {
	var active []int
	var move []float64
	for i, v := range sign {
		if v != 0 {
			active = append(active, i)
			move = append(move, rest[i]-threshold*v)
		}
	}
	if len(active) == 0 {
		return true
	}
	gram := mat.NewSymDense(len(active), nil)
	ridge := 1e-13 * mat.Trace(s)
	for k, i := range active {
		for l, n := range active[:k+1] {
			gram.SetSym(k, l, s.At(i, n))
		}
		gram.SetSym(k, k, s.At(i, i)+ridge)
	}
	var root mat.Cholesky
	if !root.Factorize(gram) {
		return true
	}
	solution := mat.NewVecDense(len(move), move)
	root.SolveVecTo(solution, solution) // nearly, where it is ill-conditioned
	t := 1.0
	stop := -1
	for k, i := range active {
		v := move[k]
		if v*sign[i] < 0 && -a[i]/v < t {
			t = -a[i] / v
			stop = i
		}
	}
	for k, i := range active {
		a[i] += t * move[k]
	}
	if stop >= 0 {
		a[stop] = 0
		sign[stop] = 0
	}
	return stop < 0
}

// lassoGap returns how far the lasso is above its dual at the residual, scaled into the
// dual's domain.
func lassoGap(a, rest []float64, j int, free bool, threshold float64) float64 {
	top := threshold
	for i, v := range rest {
		if i != j || free {
			top = max(top, math.Abs(v))
		}
	}
	cross := rest[j] // <w_j, residual>
	square := max(0, cross-floats.Dot(a, rest))
	c := threshold / top
	value := square/2 + threshold*floats.Norm(a, 1)
	gap := value - c*(cross-c/2*square)
	if gap <= 1e-15*value { // rounding errors
		return 0
	}
	return gap
}
