package command

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// bendOf is the step in which a model's columns bend, or nil, and the unit of the table of what
// goes into it.
func bendOf(m *saved.Fit) (bend *data.Step, unit func(j int, v float64) float64) {
	offsets := m.Recipe.Offsets()
	unit = func(j int, v float64) float64 { return v + offsets[j] }
	for i := range m.Recipe.Steps {
		switch s := &m.Recipe.Steps[i]; s.Kind {
		case data.StepViews:
			return s, unit
		case data.StepStandardise:
			entering := unit
			unit = func(j int, v float64) float64 {
				return entering(j, v*s.Deviation[j]+s.Mean[j])
			}
		}
	}
	return nil, unit
}

// points is the number of points of a curve beside its knots.
const points = 41

// curvesOf are what columns add where the others are at their means, the ones that change
// predictions most first. Each is around 0.
func curvesOf(m *saved.Fit, step *data.Step,
	unit func(j int, v float64) float64) (curves []plot.Curve, err error) {
	names := m.Recipe.Features()
	days := map[string]bool{}
	for _, c := range m.Recipe.Columns {
		days[c.Name+"=day"] = c.Date != ""
	}
	for j, c := range step.Parts[0].Curves {
		knots := c.Knots
		if len(knots) == 0 { // a straight line
			knots = []float64{float64(step.Low[j]), float64(step.High[j])}
		}
		low := knots[0]
		high := knots[len(knots)-1]
		if low == high {
			continue
		}
		curve := plot.Curve{Column: names[j], Days: days[names[j]]}
		inTable := func(x float64) float64 {
			v := unit(j, x)
			if math.Abs(v) < 1e-6*(unit(j, high)-unit(j, low)) {
				return 0 // within single precision
			}
			return v
		}
		grid := floats.Span(make([]float64, points), low, high)
		grid = append(grid, knots...)
		slices.Sort(grid)
		values := make([]float32, len(grid)*step.Cols)
		for i, x := range grid {
			values[i*step.Cols+j] = float32(x)
			curve.X = append(curve.X, inTable(x))
		}
		for _, knot := range knots {
			curve.Knots = append(curve.Knots, inTable(knot))
		}
		views, err := apply(step, values)
		if err != nil {
			return nil, err
		}
		for class := range max(1, len(m.Classes)) {
			if curve.Band, err = m.DoubtOf(class).Band(views); err != nil {
				return nil, err
			}
			floats.Scale(1/unitOf(m, len(m.Tasks)), curve.Band)
			curves = append(curves, effects(m, views, class, curve))
		}
	}
	slices.SortStableFunc(curves, func(a, b plot.Curve) int {
		return cmp.Compare(b.Change, a.Change)
	})
	return curves, nil
}

// apply takes rows of values through the step.
func apply(step *data.Step, values []float32) (data.Matrix, error) {
	x, err := data.NewDense(len(values)/step.Cols, step.Cols, values)
	if err != nil {
		return nil, err
	}
	return step.Apply(x)
}

// effects gives a curve the predictions of all tasks for rows of views. Of several classes it
// takes one.
func effects(m *saved.Fit, x data.Matrix, class int, c plot.Curve) plot.Curve {
	if m.Classes != nil {
		c.Column += ": " + m.Classes[class]
	}
	c.Shared = make([]float64, len(c.X))
	for t := range m.Tasks {
		y := effect(m, x, t, class)
		c.Tasks = append(c.Tasks, y)
		c.Change += floats.Max(y) - floats.Min(y)
		floats.AddScaled(c.Shared, 1/float64(len(m.Tasks)), y)
	}
	for _, y := range c.Tasks {
		c.Apart = math.Hypot(c.Apart, floats.Distance(y, c.Shared, 2))
	}
	c.Apart /= math.Sqrt(float64(len(c.X) * len(m.Tasks)))
	if c.Apart < 1e-9*c.Change { // by rounding
		c.Apart = 0
	}
	return c
}

// effect is the prediction of a task for rows that the step has made, less its mean. A task that
// cannot have the class has none.
func effect(m *saved.Fit, x data.Matrix, task, class int) []float64 {
	l := m.Linear(task)
	y := multitask.ClassScores(l.Scores(x), class, len(l.B))
	if math.IsInf(l.B[class], -1) {
		clear(y)
	}
	floats.AddConst(-stat.Mean(y, nil), y)
	floats.Scale(1/unitOf(m, task), y)
	return y
}

// unitOf is the unit of a task's effects, the standard deviation of a target where there are
// several.
func unitOf(m *saved.Fit, task int) float64 {
	if len(m.Recipe.Targets) < 2 || m.Doubt == nil {
		return 1
	}
	return m.Doubt.Tasks[task].Scale
}

// weight is how much a feature counts in predictions, in the unit of the table.
type weight struct {
	Feature string `json:"feature"`
	// Shared is the weight of the mean of all tasks, and Tasks have the weight of each.
	Shared float64   `json:"shared"`
	Tasks  []float64 `json:"tasks"`
	// Deviation is a standard deviation of the feature where the fit was standardised, else 1.
	Deviation float64 `json:"deviation"`
}

// weightsOf are those of the features against the rest of a class, which is 0 where there are
// not more than two. Those come first that count most in a task, or in the saved.Average, by
// their deviations.
func weightsOf(m *saved.Fit, class, task int) []weight {
	weights := make([]weight, len(m.Features))
	for j, name := range m.Features {
		weights[j].Feature = name
		weights[j].Deviation = 1
		if m.Scale != nil {
			weights[j].Deviation = m.Scale.Deviation[j]
		}
	}
	for i := saved.Average; i < len(m.Tasks); i++ {
		l := m.Linear(i)
		for j := range weights {
			if v := l.W[j*len(l.B)+class]; i == saved.Average {
				weights[j].Shared = v
			} else {
				weights[j].Tasks = append(weights[j].Tasks, v)
			}
		}
	}
	counts := func(w weight) float64 { return math.Abs(w.Scaled(w.of(task))) }
	slices.SortStableFunc(weights, func(a, b weight) int {
		return cmp.Compare(counts(b), counts(a))
	})
	return weights
}

// of is the weight of a task, or of the saved.Average.
func (w weight) of(task int) float64 {
	if task == saved.Average {
		return w.Shared
	}
	return w.Tasks[task]
}

// Scaled is a weight for a standard deviation of the feature.
func (w weight) Scaled(v float64) float64 { return v * w.Deviation }
