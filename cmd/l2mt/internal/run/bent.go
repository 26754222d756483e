package run

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/model/saved"
)

// bent is the step in which a model's columns bend, with the names and the scale of what goes
// in, or nil.
func bent(m *saved.Fit) (step *data.Step, names []string, unit func(j int, v float64) float64) {
	names, unit = m.Recipe.Features(), func(_ int, v float64) float64 { return v }
	for i := range m.Recipe.Steps {
		switch s := &m.Recipe.Steps[i]; s.Kind {
		case data.StepCurves, data.StepGauss, data.StepLaplace:
			return s, names, unit
		case data.StepStandardise:
			unit = func(j int, v float64) float64 {
				if v = v*s.Deviation[j] + s.Mean[j]; math.Abs(v) < 1e-6*s.Deviation[j] {
					return 0 // but for single precision
				}
				return v
			}
		}
	}
	return nil, names, unit
}

// points is the number of points of a curve beside its knots, and mostShuffled bounds the rows
// that are shuffled.
const points, mostShuffled = 41, 200

// Curves are those of the columns that bend, the ones that change predictions most first. Each
// is around 0. There are none of more than two classes, and without bends.
func Curves(m *saved.Fit) (curves []plot.Curve, err error) {
	step, names, unit := bent(m)
	if step == nil || step.Kind != data.StepCurves || m.Classes != nil {
		return nil, nil
	}
	for j, c := range step.Curves {
		if len(c.Knots) == 0 {
			continue
		}
		of := plot.Curve{Column: names[j]}
		at := floats.Span(make([]float64, points), c.Knots[0], c.Knots[len(c.Knots)-1])
		at = append(at, c.Knots...)
		slices.Sort(at)
		values := make([]float32, len(at)*step.Cols)
		for i, x := range at {
			values[i*step.Cols+j], of.X = float32(x), append(of.X, unit(j, x))
		}
		for _, knot := range c.Knots {
			of.Knots = append(of.Knots, unit(j, knot))
		}
		if of.Shared, err = effect(m, step, values, saved.Average); err != nil {
			return nil, err
		}
		for t := range m.Tasks {
			y, err := effect(m, step, values, t)
			if err != nil {
				return nil, err
			}
			of.Tasks, of.Change = append(of.Tasks, y), of.Change+floats.Max(y)-floats.Min(y)
			of.Apart = math.Hypot(of.Apart, floats.Distance(y, of.Shared, 2))
		}
		of.Apart /= math.Sqrt(float64(len(of.X) * len(m.Tasks)))
		curves = append(curves, of)
	}
	slices.SortStableFunc(curves, func(a, b plot.Curve) int { return cmp.Compare(b.Change, a.Change) })
	return curves, nil
}

// effect is what a task predicts of rows that go into the step, less its mean.
func effect(m *saved.Fit, step *data.Step, values []float32, task int) ([]float64, error) {
	x, err := data.NewDense(len(values)/step.Cols, step.Cols, values)
	if err != nil {
		return nil, err
	}
	made, err := step.Apply(x)
	if err != nil {
		return nil, err
	}
	y := m.Linear(task).Scores(made)
	floats.AddConst(-stat.Mean(y, nil), y)
	return y, nil
}

// Importance is how much predictions change where the values of a column are shuffled: the
// root mean square over their standard deviation, of the mean of all tasks.
type Importance struct {
	Column string  `json:"column"`
	Change float64 `json:"change"`
}

// Importances are those of the columns of a kernel, the largest first, by the landmarks. There
// are none of other models.
func Importances(m *saved.Fit) (all []Importance, err error) {
	step, names, _ := bent(m)
	if step == nil || step.Kind == data.StepCurves || m.Classes != nil {
		return nil, nil
	}
	rows := step.Landmarks[:min(len(step.Landmarks), mostShuffled)]
	was, err := effect(m, step, slices.Concat(rows...), saved.Average)
	if err != nil {
		return nil, err
	}
	for j, name := range names {
		shuffled := slices.Concat(rows...)
		for i, from := range data.Stream(0, "importance", uint64(j)).Perm(len(rows)) {
			shuffled[i*step.Cols+j] = rows[from][j]
		}
		is, err := effect(m, step, shuffled, saved.Average)
		if err != nil {
			return nil, err
		}
		all = append(all, Importance{name, floats.Distance(is, was, 2) / cmp.Or(floats.Norm(was, 2), 1)})
	}
	slices.SortStableFunc(all, func(a, b Importance) int { return cmp.Compare(b.Change, a.Change) })
	return all, nil
}
