package mixed

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
)

// Loss is what a row loses at f: minus the logarithm of its likelihood, with the first and the
// second derivative. Nil is the squared loss over a variance, which is found too.
type Loss interface {
	At(f, y float64) (loss, slope, curvature float64)
}

// Logistic is the loss of two classes, -1 and +1.
type Logistic struct{}

// At returns ln(1 + exp(-y f)).
func (Logistic) At(f, y float64) (loss, slope, curvature float64) {
	p := 1 / (1 + math.Exp(y*f)) // of the other class
	loss = math.Log1p(math.Exp(-math.Abs(f))) + max(0, -y*f)
	return loss, -y * p, p * (1 - p)
}

// rule has the nodes and the shares of Gauss's and Hermite's mean over normal numbers.
type rule struct{ nodes, shares [9]float64 }

// set finds the nodes and the shares.
func (r *rule) set() {
	infinity := math.Inf(1)
	quad.Hermite{}.FixedLocations(r.nodes[:], r.shares[:], -infinity, infinity)
	floats.Scale(math.Sqrt2, r.nodes[:])
	floats.Scale(1/floats.Sum(r.shares[:]), r.shares[:])
}

// mean returns the slope and the curvature of the Logistic loss in the mean over scores about f, as
// the nodes have them.
func (r *rule) mean(f, variance, y float64) (slope, curvature float64) {
	deviation := math.Sqrt(variance)
	for k, node := range r.nodes {
		p := 1 / (1 + math.Exp(y*(f+deviation*node)))
		slope -= r.shares[k] * y * p
		curvature += r.shares[k] * p * (1 - p)
	}
	return slope, curvature
}

// Poisson is the loss of counts whose logarithm is expected to be f.
type Poisson struct{}

// At returns exp(f) - y f.
func (Poisson) At(f, y float64) (loss, slope, curvature float64) {
	rate := math.Exp(min(f, 50))
	return rate - y*f, rate - y, rate
}

// Huber is the loss of targets with outliers. Small residuals cost half their square, as noise of
// variance 1 does, and larger ones grow like a line.
type Huber struct{}

// huberWidth is where Huber's loss turns into a line. Of normal noise it takes a twentieth more rows.
const huberWidth = 1.345

// At returns r^2/2 or, with the width k, k (|r| - k/2) of the residual r = f - y. The line has no
// curvature. Its curvature is k/|r|, the weight of iteratively reweighted least squares, with which
// Newton's method goes down in every step.
func (Huber) At(f, y float64) (loss, slope, curvature float64) {
	r := f - y
	size := math.Abs(r)
	if size <= huberWidth {
		return r * r / 2, r, 1
	}
	slope = math.Copysign(huberWidth, r)
	return huberWidth * (size - huberWidth/2), slope, huberWidth / size
}
