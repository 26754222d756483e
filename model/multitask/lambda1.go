package multitask

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// smooth replaces the soft errors of a path by their means along ln(Lambda1)
// under a Gaussian, whose width is a factor of sqrt(10). The minimum of few rows'
// errors is wherever the last of them happens to be right. What its neighbours say
// too is more than chance.
func (s *search) smooth(path []attempt) {
	const width = math.Ln10 / 2
	at, soft, weight := make([]float64, len(path)), make([]float64, len(path)), make([]float64, len(path))
	for i, t := range path {
		at[i], soft[i] = math.Log(t.Params.Lambda1), t.Validation
	}
	for i := range path {
		for j := range path {
			u := (at[i] - at[j]) / width
			weight[j] = math.Exp(-u * u / 2)
		}
		path[i].Validation = floats.Dot(weight, soft) / floats.Sum(weight)
	}
}

// between returns the Lambda1 at the vertex of the parabola through a minimum
// among the values of a path and its two neighbours in ln(Lambda1).
func between(path []attempt, j int) float64 {
	lambda1 := path[j].Params.Lambda1
	if j == 0 || j == len(path)-1 {
		return lambda1
	}
	before, after := math.Log(path[j-1].Params.Lambda1/lambda1), math.Log(path[j+1].Params.Lambda1/lambda1)
	left, right := (path[j-1].Validation-path[j].Validation)/before, (path[j+1].Validation-path[j].Validation)/after
	curvature := (right - left) / (after - before)
	if !(curvature > 0) {
		return lambda1
	}
	slope := left - curvature*before
	vertex := -slope / (2 * curvature)
	return lambda1 * math.Exp(max(after/2, min(vertex, before/2))) // Lambda1 descends
}
