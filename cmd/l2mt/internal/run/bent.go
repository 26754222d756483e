package run

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/model/multitask"
)

// bent is the step in which a model's columns bend, with the names and the scale of what goes
// in, or nil.
func bent(m *multitask.Saved) (step *data.Step, names []string, unit func(j int, v float64) float64) {
	names, unit = m.Recipe.Features(), func(_ int, v float64) float64 { return v }
	for i := range m.Recipe.Steps {
		switch s := &m.Recipe.Steps[i]; s.Kind {
		case data.StepCurves, data.StepGauss, data.StepLaplace:
			return s, names, unit
		case data.StepStandardise:
			unit = func(j int, v float64) float64 { return v*s.Deviation[j] + s.Mean[j] }
		}
	}
	return nil, names, unit
}

// points is the number of points of a curve.
const points = 41

// Curves are those of the columns that bend, the ones that change predictions most first. Each
// is around 0. There are none of more than two classes, and without bends.
func Curves(m *multitask.Saved) (curves []plot.Curve, err error) {
	step, names, unit := bent(m)
	if step == nil || step.Kind != data.StepCurves || m.Classes != nil {
		return nil, nil
	}
	d := len(step.Curves)
	values := make([]float32, points*d)
	for j, c := range step.Curves {
		for i := range points {
			if k := len(c.Knots); k > 0 {
				values[i*d+j] = float32(c.Knots[0] + (c.Knots[k-1]-c.Knots[0])*float64(i)/(points-1))
			}
		}
	}
	grid, err := data.NewDense(points, d, values)
	if err != nil {
		return nil, err
	}
	made, err := step.Apply(grid)
	if err != nil {
		return nil, err
	}
	at := 0 // of the column's features
	for j, c := range step.Curves {
		width := 1 + len(c.Bends)
		if len(c.Knots) > 0 {
			of := plot.Curve{Column: names[j], Shared: make([]float64, points)}
			for _, knot := range c.Knots {
				of.Knots = append(of.Knots, unit(j, knot))
			}
			for i := range points {
				of.X = append(of.X, unit(j, float64(values[i*d+j])))
			}
			for t := range m.Tasks {
				y := make([]float64, points)
				for i := range points {
					for l, v := range made.Row(i).Value[at:][:width] {
						y[i] += float64(v) * m.W.At(at+l, t)
					}
				}
				floats.AddConst(-stat.Mean(y, nil), y)
				floats.AddScaled(of.Shared, 1/float64(len(m.Tasks)), y)
				of.Tasks = append(of.Tasks, y)
			}
			curves = append(curves, of)
		}
		at += width
	}
	change := func(c plot.Curve) (sum float64) {
		for _, y := range c.Tasks {
			sum += floats.Max(y) - floats.Min(y)
		}
		return sum
	}
	slices.SortStableFunc(curves, func(a, b plot.Curve) int { return cmp.Compare(change(b), change(a)) })
	return curves, nil
}

// Importance is how much predictions change where the values of a column are shuffled: the
// root mean square over their standard deviation, of the mean of all tasks.
type Importance struct {
	Column string  `json:"column"`
	Change float64 `json:"change"`
}

// mostShuffled bounds the rows that are shuffled.
const mostShuffled = 200

// Importances are those of the columns of a kernel, the largest first, by the landmarks. There
// are none of other models.
func Importances(m *multitask.Saved) (all []Importance, err error) {
	step, names, _ := bent(m)
	if step == nil || step.Kind == data.StepCurves || m.Classes != nil {
		return nil, nil
	}
	rows := step.Landmarks[:min(len(step.Landmarks), mostShuffled)]
	predict := func(values []float32) ([]float64, error) {
		x, err := data.NewDense(len(rows), step.Cols, values)
		if err != nil {
			return nil, err
		}
		made, err := step.Apply(x)
		if err != nil {
			return nil, err
		}
		return m.Linear(multitask.Average).Scores(made), nil
	}
	values := slices.Concat(rows...)
	was, err := predict(values)
	if err != nil {
		return nil, err
	}
	for j, name := range names {
		shuffled := slices.Clone(values)
		for i, from := range data.Stream(0, "importance", uint64(j)).Perm(len(rows)) {
			shuffled[i*step.Cols+j] = rows[from][j]
		}
		is, err := predict(shuffled)
		if err != nil {
			return nil, err
		}
		change := floats.Distance(is, was, 2) / math.Sqrt(float64(len(rows)))
		all = append(all, Importance{name, change / cmp.Or(stat.PopStdDev(was, nil), 1)})
	}
	slices.SortStableFunc(all, func(a, b Importance) int { return cmp.Compare(b.Change, a.Change) })
	return all, nil
}
