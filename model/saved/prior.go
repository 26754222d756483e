package saved

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/data/view"
)

// Prior is the distribution of a new task's level and weights before its rows, for the features
// that the Steps make
//
//	w = Mean + Root'v,   v ~ N(0, I)
//
// The covariance Root'Root is the step of an EM algorithm: the deviations of the tasks from the
// Mean, what the rows of these tasks left open, and the doubt of the mean.
type Prior struct {
	// Recipe makes rows of a table, and Steps standardise them and make their views.
	Recipe table.Recipe
	Steps  view.Steps
	Mean   []float64
	Root   [][]float64
	// Noise is the variance of a target about f.
	Noise float64

	kind    data.Kind
	classes []string
}

// Prior returns the prior of a mixed model of numbers or of two classes.
func (s *Fit) Prior() (*Prior, error) {
	steps := s.Recipe.Steps
	n := len(steps) - 2
	varies := s.Doubt != nil && s.Shared != nil
	switch {
	case !varies || n < 0 || !viewed(steps[n:]):
		return nil, data.Invalid("the model %q has no variances of weights, as an older model must; fit it with --view curves, to numbers or two classes", s.Model)
	case s.Log:
		return nil, data.Invalid("the model was fitted to logarithms of the target; fit it with --target-scale identity")
	case len(s.Recipe.Targets) > 1:
		return nil, data.Invalid("the tasks of the model are %d targets, from which new ones learn nothing; fit a table in which a column names the tasks",
			len(s.Recipe.Targets))
	}
	p := &Prior{
		Recipe: s.Recipe,
		Steps:  steps[n:],
		kind:   s.Kind,
	}
	p.classes = s.ClassesOf(0)
	p.Recipe.Steps = steps[:n]
	p.Mean = s.weights(Average)
	m := len(s.Tasks)
	unit := s.Doubt.Tasks[m].Scale
	p.Noise = s.Doubt.Noise * unit * unit
	add := func(root []float64, unit float64) {
		for row := range slices.Chunk(root, len(p.Mean)) {
			row = slices.Clone(row)
			floats.Scale(unit, row)
			p.Root = append(p.Root, row)
		}
	}
	left := 0.0
	for i := range m {
		w := s.weights(i)
		floats.Sub(w, p.Mean)
		add(w, 1/math.Sqrt(float64(m)))
		left += s.Doubt.Tasks[i].Left / float64(m)
	}
	add(s.Doubt.Own, math.Sqrt(left)*unit)
	add(s.Doubt.Common, unit)
	return p, nil
}

// viewed says that steps standardise columns, and make curves and then a kernel of them.
func viewed(steps view.Steps) bool {
	views := steps[1].Parts
	kernel := len(views) - 1
	return steps[0].Kind == view.Standardise && kernel >= 0 &&
		views[0].Kind == view.Curves &&
		kernel == min(1, len(views[kernel].Landmarks))
}

// weights are the level and the weights of a task, or of the Average.
func (s *Fit) weights(task int) []float64 {
	l := s.Linear(task)
	return append(slices.Clone(l.B), l.W...)
}

// Affine is a level and the weighed values of a row.
func Affine(weights []float64, row []float32) float64 {
	sum := weights[0]
	for j, w := range weights[1:] {
		sum += w * float64(row[j])
	}
	return sum
}

// Check tells why the tasks of a problem are not of the kind of the older ones.
func (p *Prior) Check(problem *data.ProblemData) error {
	if problem.OwnUnits {
		return data.Mismatch("there are several targets, of which an older model knows nothing; fit one target, with a column that names the tasks")
	}
	for _, t := range problem.Tasks {
		classes := problem.ClassesOf(t)
		if t.Kind != p.kind || !slices.Equal(classes, p.classes) {
			return data.Mismatch("task %q is a %s %q, but the older model's tasks are a %s %q; they must be alike",
				t.Name, t.Kind, classes, p.kind, p.classes)
		}
	}
	return nil
}
