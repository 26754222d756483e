package solve

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

const (
	// leave is by how many standard errors held-out rows have to be better off without the
	// directions of the training tasks for these to be left, and keep by how many with them
	// to be kept by a strange problem: one of less than faint of the usual signal along them.
	leave = 2
	keep  = 0.5
	faint = 0.4
)

// Directions are what a network's experience has taught of the features of a problem.
type Directions struct {
	// M (d x r) is where the weights of the training tasks lie.
	M *mat.Dense
	// Signal is how much of the problem's data.Metric.Signal lies there, beside what is
	// usual of training problems; NaN where that is not known.
	Signal float64
}

// Directions returns those for the features of a problem, or nil where there are none.
func (f *Finder) Directions(p *data.ProblemData) *Directions {
	return f.directions(p, func() *data.Metric { return data.NewMetric(p, 1) })
}

func (f *Finder) directions(p *data.ProblemData, metric func() *data.Metric) *Directions {
	m := f.of.DirectionsOf(p)
	if m == nil {
		return nil
	}
	d := &Directions{M: m, Signal: math.NaN()}
	if usual := f.of.Directions.Signal; usual > 0 {
		d.Signal = metric().Along(p, m).Signal(p) / usual
	}
	return d
}

// Margin is by how many standard errors held-out rows may be worse off along the directions
// for these to be kept; below zero, by how many they have to be better off. Where a problem
// has the usual signal there, experience is believed unless rows object, and elsewhere not
// unless they agree.
func (d *Directions) Margin() float64 {
	switch {
	case d.Signal < faint:
		return -keep
	case d.Signal >= faint:
		return leave
	}
	return 0
}
