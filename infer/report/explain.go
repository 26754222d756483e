package report

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// Model is a model with the weights of its columns and the correlations of its tasks.
type Model struct {
	*saved.Fit
	Weights     []Weights   `json:"weights,omitempty"` // of columns that do not bend
	Correlation [][]float64 `json:"correlation,omitempty"`
	// Curves are what columns add, of more than two classes to the score of each.
	Curves []Curve `json:"curves,omitempty"`
	// Outcome is the report of the fit, if it is there.
	Outcome Report `json:"-"`
}

// Weights are the largest weights, of a class where there are more than two.
type Weights struct {
	Class    string   `json:"class,omitempty"`
	Features []Weight `json:"features"`
}

// Explain says what counts in a model: so many of the columns that count most in a task, or in the
// saved.Average.
func Explain(fit *saved.Fit, task, top int) (m *Model, err error) {
	m = &Model{Fit: fit, Correlation: Correlation(fit.Omega)}
	if fit.Report != nil {
		if err := json.Unmarshal(fit.Report, &m.Outcome); err != nil {
			return nil, err
		}
	}
	if bend, unit := m.bend(); bend != nil {
		m.Curves, err = m.curves(bend, unit)
		m.Curves = m.Curves[:min(len(m.Curves), top)]
		return m, err
	}
	for class, b := range m.Linear(task).B {
		if math.IsInf(b, -1) {
			continue // the task cannot have the class
		}
		w := Weights{Features: m.weights(class, task)}
		if w.Features = w.Features[:min(len(w.Features), top)]; m.Classes != nil {
			w.Class = m.Classes[class]
		}
		m.Weights = append(m.Weights, w)
	}
	return m, nil
}

// Correlation is a covariance scaled to a diagonal of ones; tasks without
// variance correlate with nothing.
func Correlation(omega *mat.SymDense) [][]float64 {
	c := make([][]float64, omega.SymmetricDim())
	for i := range c {
		c[i] = mat.Row(nil, i, omega)
		for j := range c {
			if scale := math.Sqrt(omega.At(i, i) * omega.At(j, j)); i == j {
				c[i][j] = 1
			} else if scale > 0 {
				c[i][j] /= scale
			}
		}
	}
	return c
}

// Curve is a column's part in predictions: at X, in the unit of the table, for the mean of
// all tasks and for each task.
type Curve struct {
	Column string      `json:"column"`
	X      []float64   `json:"x"`
	Shared []float64   `json:"shared"`
	Tasks  [][]float64 `json:"tasks"`
	// Band has the standard errors of Shared, if they are known.
	Band []float64 `json:"band,omitempty"`
	// Knots are quantiles of the column, where its data are.
	Knots []float64 `json:"knots"`
	// Days says that X counts the days since 1970, as columns of dates do.
	Days bool `json:"days,omitempty"`
	// Change is the difference of the largest and the least value, over all tasks.
	Change float64 `json:"change"`
	// Apart is the tasks' distance from Shared, the root mean square.
	Apart float64 `json:"apart"`
}

// Label writes a value of the column.
func (c Curve) Label(x float64) string {
	if c.Days {
		return Date(x).Format(time.DateOnly)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// Date is the moment of a day since 1970.
func Date(day float64) time.Time {
	return time.Unix(int64(day*24*60*60), 0).UTC()
}

// bend is the step in which columns bend, or nil, and the unit of the table of what goes into it.
func (m *Model) bend() (bend *data.Step, unit func(j int, v float64) float64) {
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

// Unit says what columns add to.
func (m *Model) Unit() string {
	switch {
	case m.Kind == data.Classification:
		return "in the logarithm of the odds"
	case m.Log:
		return "in the logarithm of the target"
	case m.unit(0) != 1:
		return "in standard deviations of each target"
	}
	return "in the unit of the target"
}

// points is the number of points of a curve beside its knots.
const points = 41

// curves are what columns add where the others are at their means, the ones that change
// predictions most first. Each is around 0.
func (m *Model) curves(step *data.Step,
	unit func(j int, v float64) float64) (curves []Curve, err error) {
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
		curve := Curve{Column: names[j], Days: days[names[j]]}
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
		var views data.Matrix
		x, err := data.NewDense(len(grid), step.Cols, values)
		if err == nil {
			views, err = step.Apply(x)
		}
		if err != nil {
			return nil, err
		}
		for class := range max(1, len(m.Classes)) {
			if curve.Band, err = m.DoubtOf(class).Band(views); err != nil {
				return nil, err
			}
			floats.Scale(1/m.unit(len(m.Tasks)), curve.Band)
			curves = append(curves, m.effects(views, class, curve))
		}
	}
	slices.SortStableFunc(curves, func(a, b Curve) int {
		return cmp.Compare(b.Change, a.Change)
	})
	return curves, nil
}

// effects gives a curve the predictions of all tasks for rows of views. Of several classes it
// takes one.
func (m *Model) effects(x data.Matrix, class int, c Curve) Curve {
	if m.Classes != nil {
		c.Column += ": " + m.Classes[class]
	}
	c.Shared = make([]float64, len(c.X))
	for t := range m.Tasks {
		y := m.effect(x, t, class)
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
func (m *Model) effect(x data.Matrix, task, class int) []float64 {
	l := m.Linear(task)
	y := multitask.ClassScores(l.Scores(x), class, len(l.B))
	if math.IsInf(l.B[class], -1) {
		clear(y)
	}
	floats.AddConst(-stat.Mean(y, nil), y)
	floats.Scale(1/m.unit(task), y)
	return y
}

// unit is the unit of a task's effects, the standard deviation of a target where there are
// several.
func (m *Model) unit(task int) float64 {
	if len(m.Recipe.Targets) < 2 || m.Doubt == nil {
		return 1
	}
	return m.Doubt.Tasks[task].Scale
}

// Weight is how much a feature counts in predictions, in the unit of the table.
type Weight struct {
	Feature string `json:"feature"`
	// Shared is the weight of the mean of all tasks, and Tasks have the weight of each.
	Shared float64   `json:"shared"`
	Tasks  []float64 `json:"tasks"`
	// Deviation is a standard deviation of the feature where the fit was standardised, else 1.
	Deviation float64 `json:"deviation"`
}

// weights are the weights of the features against the rest of a class, which is 0 where there are
// not more than two. The features come first that count most in a task, or in the saved.Average, by
// their deviations.
func (m *Model) weights(class, task int) []Weight {
	weights := make([]Weight, len(m.Features))
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
	counts := func(w Weight) float64 { return math.Abs(w.Scaled(w.For(task))) }
	slices.SortStableFunc(weights, func(a, b Weight) int {
		return cmp.Compare(counts(b), counts(a))
	})
	return weights
}

// For is the weight of a task, or of the saved.Average.
func (w Weight) For(task int) float64 {
	if task == saved.Average {
		return w.Shared
	}
	return w.Tasks[task]
}

// Scaled is a weight for a standard deviation of the feature.
func (w Weight) Scaled(v float64) float64 { return v * w.Deviation }
