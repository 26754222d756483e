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

	"gonum.org/v1/gonum/mat"
)

func init() {
	Register(amtl{name: "amtl", title: "AMTL"})
	Register(amtl{name: "amtl-literal", title: "AMTL (literal)", free: true})
}

type amtl struct {
	name, title string
	free        bool // the diagonal of A is free
}

func (a amtl) Info() Info {
	return Info{
		Name: a.name, Title: a.title, Source: "Lee, Yang and Hwang 2016", MostTasks: 64,
		Ranges: []Range{
			lambda1Range,
			{Name: Lambda2, Default: 1e-2, Low: 1e-4, High: 1, Log: true},
			{Name: "floor", Default: 1e-3, Low: 1e-3, High: 1e-3, Log: true},
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
	combine := mat.NewDense(m, m, nil)
	gap := 0.0
	for j := range m {
		column := make([]float64, m)
		if h.From != nil && h.From.A != nil {
			mat.Col(column, j, h.From.A)
		}
		gap += p.Lambda1 * lasso(column, s, j, a.free, p.Lambda2/p.Lambda1, h.Enough/float64(m)/p.Lambda1)
		combine.SetCol(j, column)
	}
	var rest mat.Dense
	rest.Sub(identity(m, 1), combine)
	precision := mat.NewSymDense(m, nil)
	precision.SymOuterK(1, &rest)
	for i := range m {
		precision.SetSym(i, i, precision.At(i, i)+p.Get("floor"))
	}
	var chol cholesky
	if !chol.factorize(precision) {
		return nil, diverged(precision)
	}
	return &Covariance{Omega: chol.inverse(), Precision: precision, A: combine, Gap: gap}, nil
}

// lasso minimises 1/2 ||w_j - W a||^2 + threshold ||a||_1 from a start to within enough of
// the minimum, with a_j = 0 unless that is free, and returns the gap to the dual. For given
// zeros and signs the equations that are left have a direct solution; on the way there
// entries that would change their sign become zero, and then the zero that the gradient
// pulls most gets a sign.
func lasso(column []float64, s *mat.SymDense, j int, free bool, threshold, enough float64) (gap float64) {
	const passes = 1000
	m := len(column)
	rest, sign := make([]float64, m), make([]float64, m) // rest is W'(w_j - W a)
	for i, v := range column {
		if i == j && !free {
			column[i] = 0
		} else if v != 0 {
			sign[i] = math.Copysign(1, v)
		}
	}
	for pass := range passes {
		residual(rest, column, s, j)
		if gap = lassoGap(column, rest, s, j, free, threshold); gap <= enough {
			break
		}
		next, most := -1, threshold*(1+1e-14)
		for i, v := range rest {
			if sign[i] == 0 && (i != j || free) && math.Abs(v) > most {
				next, most = i, math.Abs(v)
			}
		}
		if next >= 0 {
			sign[next] = math.Copysign(1, rest[next])
		} else if pass > 0 {
			break // rounding errors are left
		}
		for polish(column, sign, s, j, threshold) {
		}
	}
	return math.Max(gap, 0)
}

// residual sets rest to W'(w_j - W a).
func residual(rest, column []float64, s *mat.SymDense, j int) {
	for i := range rest {
		rest[i] = s.At(i, j)
	}
	for k, v := range column {
		if v != 0 {
			for i := range rest {
				rest[i] -= v * s.At(i, k)
			}
		}
	}
}

// polish moves the entries of a that have a sign to the minimum for these, or until
// one of them becomes zero, and reports the latter.
func polish(column, sign []float64, s *mat.SymDense, j int, threshold float64) bool {
	active := nonzero(sign)
	if len(active) == 0 {
		return false
	}
	var chol cholesky
	move, t := mat.NewVecDense(len(active), nil), 1.0
	for k, i := range active {
		move.SetVec(k, s.At(i, j)-threshold*sign[i])
	}
	if gram := submatrix(s, active); chol.factorize(gram) && !chol.singular() {
		chol.solve(move.RawVector().Data)
		for k, i := range active {
			move.SetVec(k, move.AtVec(k)-column[i])
		}
	} else if t = math.Inf(1); !downhill(move, gram, sign, active) {
		return false
	}
	stop := -1
	for k, i := range active {
		if v := move.AtVec(k); v*sign[i] < 0 && -column[i]/v < t {
			t, stop = -column[i]/v, i
		}
	}
	if math.IsInf(t, 1) {
		return false
	}
	for k, i := range active {
		column[i] += t * move.AtVec(k)
	}
	if stop >= 0 {
		column[stop], sign[stop] = 0, 0
	}
	return stop >= 0
}

// downhill sets move to the direction that leaves W a as it is, where W has
// dependent columns, and along which the norm of a falls most.
func downhill(move *mat.VecDense, gram *mat.SymDense, signs []float64, active []int) bool {
	e, err := Eigen(gram)
	if err != nil {
		return false
	}
	move.Zero()
	sign := mat.NewVecDense(len(active), nil)
	for k, i := range active {
		sign.SetVec(k, signs[i])
	}
	for k, v := range e.Values {
		if u := e.Vectors.ColView(k); v <= 1e-13*e.Values[len(active)-1] {
			move.AddScaledVec(move, -mat.Dot(u, sign), u)
		}
	}
	if mat.Norm(move, math.Inf(1)) < 1e-8 { // all are as good
		move.CopyVec(e.Vectors.ColView(0))
	}
	return true
}

func nonzero(column []float64) (active []int) {
	for i, v := range column {
		if v != 0 {
			active = append(active, i)
		}
	}
	return active
}

// submatrix returns the given rows and columns of S.
func submatrix(s *mat.SymDense, rows []int) *mat.SymDense {
	sub := mat.NewSymDense(len(rows), nil)
	for a, i := range rows {
		for b, j := range rows[:a+1] {
			sub.SetSym(a, b, s.At(i, j))
		}
	}
	return sub
}

// lassoGap returns how far the lasso is above its dual at the residual, scaled into the
// dual's domain.
func lassoGap(column, rest []float64, s *mat.SymDense, j int, free bool, threshold float64) float64 {
	top, norm := 0.0, 0.0
	cross, square := s.At(j, j), s.At(j, j) // <w_j, residual>, ||residual||^2
	for i, v := range column {
		if i != j || free {
			top = max(top, math.Abs(rest[i]))
		}
		norm += math.Abs(v)
		cross -= s.At(i, j) * v
		square -= v * (s.At(i, j) + rest[i])
	}
	square = max(square, 0)
	c := 1.0
	if top > threshold {
		c = threshold / top
	}
	gap := square/2 + threshold*norm - c*(cross-c/2*square)
	if gap <= 1e-15*(square/2+threshold*norm) { // rounding errors
		return 0
	}
	return gap
}
