package multitask

// Multitask learning with the graphical lasso: the inverse of Omega is sparse.
//
//	sum of losses + Lambda1/2 tr(W Omega^-1 W')
//	  + Lambda1 d/2 ln|Omega| + Lambda2 ||Omega^-1||_1
//
//	g(Omega)    Lambda1 d/(2 Lambda2) ln|Omega| + ||Omega^-1||_1, the norm over
//	            all entries, the diagonal too: without it the step is unbounded
//	Omega step  the graphical lasso of W'W/d with penalty 2 Lambda2/(Lambda1 d)
//	source      Zhang, Schneider, "Learning multiple tasks with a sparse
//	            matrix-normal penalty", NIPS 2010; Rai, Kumar, Daume, NIPS 2012
//
// The problem is not convex in Omega, but the step is convex in Omega^-1.

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

func init() { Register(glmtl{}) }

type glmtl struct{}

func (glmtl) Info() Info {
	return Info{
		Name: "glmtl", Title: "glMTL", Source: "Zhang and Schneider 2010; Rai, Kumar and Daume 2012",
		Ranges: []Range{lambda1Range, {Name: Lambda2, Default: 1e-3, Low: 1e-5, High: 1e-1, Log: true}},
	}
}

func (glmtl) G(c *Covariance, d int, p Params) float64 {
	precision := c.Precision
	e, err := Eigen(c.Omega)
	if err != nil {
		return math.NaN()
	}
	if e.Values[0] <= 0 {
		return math.Inf(1)
	}
	logDet := 0.0
	inverse := make([]float64, len(e.Values))
	for i, v := range e.Values {
		logDet += math.Log(v)
		inverse[i] = 1 / v
	}
	if precision == nil {
		precision = e.Rebuild(inverse)
	}
	return p.Lambda1*float64(d)/(2*p.Lambda2)*logDet + norm1(precision)
}

func (glmtl) Step(s *mat.SymDense, d int, p Params) (*Covariance, error) {
	var scaled mat.SymDense
	scaled.ScaleSym(1/float64(d), s)
	omega, precision, gap, err := graphicalLasso(&scaled, 2*p.Lambda2/(p.Lambda1*float64(d)))
	if err != nil {
		return nil, err
	}
	return &Covariance{Omega: omega, Precision: precision, Gap: p.Lambda1 * float64(d) / 2 * gap}, nil
}

// norm1 is the sum of the absolute values of all entries.
func norm1(a mat.Matrix) float64 {
	n, k := a.Dims()
	sum := 0.0
	for i := range n {
		for j := range k {
			sum += math.Abs(a.At(i, j))
		}
	}
	return sum
}

// graphicalLasso minimises tr(C P) - ln|P| + alpha ||P||_1 over positive
// definite P and returns P^-1, P and a bound on the distance to the minimum.
//
// It maximises the dual ln|Omega| + m over |Omega - C| <= alpha row by row, as
// Banerjee, El Ghaoui and d'Aspremont (2008) do: with the other rows fixed, row
// j solves a lasso. It starts at C + alpha I, which is positive definite
// whatever C is, and every row raises the determinant, so it stays so. Tasks
// are scaled to a unit diagonal of Omega, which no row changes.
func graphicalLasso(c *mat.SymDense, alpha float64) (omega, precision *mat.SymDense, gap float64, err error) {
	const sweeps = 1000
	m := c.SymmetricDim()
	size := make([]float64, m)
	for i := range m {
		size[i] = math.Sqrt(c.At(i, i) + alpha)
	}
	q := mat.NewSymDense(m, nil) // C, scaled
	omega = mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i {
			q.SetSym(i, j, c.At(i, j)/size[i]/size[j])
			omega.SetSym(i, j, q.At(i, j))
		}
		q.SetSym(i, i, c.At(i, i)/size[i]/size[i])
		omega.SetSym(i, i, 1)
	}
	penalty := func(i, j int) float64 { return alpha / size[i] / size[j] }
	beta := mat.NewDense(m, m, nil)
	best := math.Inf(1)
	for range sweeps {
		for j := range m {
			rowLasso(omega, q, beta.RawRowView(j), j, penalty)
		}
		inverse, err := invert(omega)
		if err != nil {
			return nil, nil, 0, err
		}
		// invert returns its argument as the precision; here the roles differ.
		p := inverse.Omega
		gap = dot(q, p) - float64(m)
		for i := range m {
			for j := range m {
				gap += penalty(i, j) * math.Abs(p.At(i, j))
			}
		}
		stop := gap <= 1e-13*float64(m) || gap >= best*(1-1e-3)
		if gap < best || precision == nil {
			best, precision = gap, p
		}
		if stop {
			break
		}
	}
	for i := range m {
		for j := range i + 1 {
			omega.SetSym(i, j, omega.At(i, j)*size[i]*size[j])
			precision.SetSym(i, j, precision.At(i, j)/size[i]/size[j])
		}
	}
	return omega, precision, math.Max(best, 0), nil
}

// rowLasso sets row and column j of Omega to their best values given the rest:
// Omega_ij = sum_k Omega_ik beta_k, where beta minimises
// 1/2 beta' Omega beta - q_j' beta + sum_i penalty |beta_i| over i, k != j.
func rowLasso(omega, q *mat.SymDense, beta []float64, j int, penalty func(i, j int) float64) {
	const passes = 10000
	m := len(beta)
	image := make([]float64, m) // Omega beta
	for i := range m {
		for k, b := range beta {
			if k != j {
				image[i] += omega.At(i, k) * b
			}
		}
	}
	for range passes {
		largest := 0.0
		for i := range m {
			if i == j {
				continue
			}
			old := beta[i]
			beta[i] = soft(q.At(i, j)-image[i]+omega.At(i, i)*old, penalty(i, j)) / omega.At(i, i)
			if change := beta[i] - old; change != 0 {
				largest = max(largest, math.Abs(change))
				for k := range m {
					image[k] += change * omega.At(k, i)
				}
			}
		}
		if largest <= 1e-15 {
			break
		}
	}
	for i := range m {
		if i != j {
			// In exact arithmetic the image is within the box already.
			lo, hi := q.At(i, j)-penalty(i, j), q.At(i, j)+penalty(i, j)
			omega.SetSym(i, j, min(max(image[i], lo), hi))
		}
	}
}

// soft is the soft threshold, the minimiser of (x - v)^2/2 + t |x|.
func soft(v, t float64) float64 {
	switch {
	case v > t:
		return v - t
	case v < -t:
		return v + t
	}
	return 0
}
