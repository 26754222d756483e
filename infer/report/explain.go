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
	"l2mt/data/view"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// Model is a model with the weights of its columns and the correlations of its tasks.
type Model struct {
	*saved.Fit
	Correlation [][]float64 `json:"correlation,omitempty"`
	// Curves show what each column adds to predictions, or to the score of each of several classes.
	Curves []Curve `json:"curves,omitempty"`
	// Outcome is the report of the fit, if it is there.
	Outcome Report `json:"-"`
}

// Explain returns the curves of the columns that change predictions most, so many of them.
func Explain(fit *saved.Fit, top int) (m *Model, err error) {
	m = &Model{
		Fit:         fit,
		Correlation: Correlation(fit.Omega),
	}
	if fit.Report != nil {
		err := json.Unmarshal(fit.Report, &m.Outcome)
		if err != nil {
			return nil, err
		}
	}
	bend, scales := m.bend()
	if bend == nil {
		m.Curves = m.lines()
	} else {
		m.Curves, err = m.curves(bend, scales)
	}
	slices.SortStableFunc(m.Curves, func(a, b Curve) int {
		return cmp.Compare(b.Change, a.Change)
	})
	m.Curves = m.Curves[:min(len(m.Curves), top)]
	return m, err
}

// Correlation is a covariance scaled to a diagonal of ones; tasks without
// variance correlate with nothing.
func Correlation(omega *mat.SymDense) (rows [][]float64) {
	for i := range omega.SymmetricDim() {
		row := mat.Row(nil, i, omega)
		for j := range row {
			scale := math.Sqrt(omega.At(i, i) * omega.At(j, j))
			if scale > 0 {
				row[j] /= scale
			}
		}
		row[i] = 1
		rows = append(rows, row)
	}
	return rows
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

// Marks are the places in X of five knots, -1 for missing knots. A date is as wide as two numbers.
func (c Curve) Marks() [5]int {
	marks := [5]int{-1, -1, -1, -1, -1}
	knots := c.Knots[:min(len(c.Knots), len(marks))]
	if c.Days && len(knots) == len(marks) {
		knots = slices.Delete(slices.Clone(knots), 2, 3)
	}
	for i, knot := range knots {
		marks[i] = slices.Index(c.X, knot)
	}
	return marks
}

// Date is the moment of a day since 1970.
func Date(day float64) time.Time {
	return time.Unix(int64(day*24*60*60), 0).UTC()
}

// bend is the step in which columns bend, or nil, and the steps that standardise them before, the
// last first.
func (m *Model) bend() (bend *view.Step, scales []*view.Step) {
	for i := range m.Recipe.Steps {
		switch s := &m.Recipe.Steps[i]; s.Kind {
		case view.Views:
			return s, scales
		case view.Standardise:
			scales = slices.Insert(scales, 0, s)
		}
	}
	return nil, nil
}

// Unit names the quantity that columns add to.
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

// curves are what columns add in a step where the others are at their means. Each is around 0.
func (m *Model) curves(
	step *view.Step, scales []*view.Step,
) (curves []Curve, err error) {
	names := m.Recipe.Features()
	offsets := m.Recipe.Offsets()
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
		curve := Curve{
			Column: names[j],
			Days:   days[names[j]],
		}
		unit := 1.0
		zero := 0.0
		for _, s := range scales {
			unit *= s.Deviation[j]
			zero = zero*s.Deviation[j] + s.Mean[j]
		}
		inTable := func(x float64) float64 {
			v := x*unit + zero + offsets[j]
			if math.Abs(v) < 1e-6*unit*(high-low) {
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
			curve.Band, err = m.DoubtOf(class).Band(views)
			if err != nil {
				return nil, err
			}
			floats.Scale(1/m.unit(len(m.Tasks)), curve.Band)
			curve.Tasks = nil
			for t := range m.Tasks {
				curve.Tasks = append(curve.Tasks, m.effect(views, t, class))
			}
			curves = append(curves, m.sum(class, curve))
		}
	}
	return curves, nil
}

// lines are what features add in a model that has a weight for each: from a deviation below the
// mean to one above where the fit was standardised, else from 0 to 1.
func (m *Model) lines() (curves []Curve) {
	var tasks []multitask.Linear
	for t := range m.Tasks {
		tasks = append(tasks, m.Linear(t))
	}
	offsets := m.Recipe.Offsets()
	for j, name := range m.Features {
		x := []float64{0, 1}
		half := 0.5
		if m.Scale != nil {
			mean := offsets[j] + m.Scale.Mean[j]
			half = m.Scale.Deviation[j]
			x = []float64{mean - half, mean + half}
		}
		for class := range max(1, len(m.Classes)) {
			curve := Curve{
				Column: name,
				X:      x,
				Knots:  x,
			}
			for _, l := range tasks {
				y := half * l.W[j*len(l.B)+class]
				if math.IsInf(l.B[class], -1) { // the task cannot have the class
					y = 0
				}
				curve.Tasks = append(curve.Tasks, []float64{-y, y})
			}
			curves = append(curves, m.sum(class, curve))
		}
	}
	return curves
}

// sum completes a curve that has tasks. Of several classes it is of one.
func (m *Model) sum(class int, c Curve) Curve {
	if m.Classes != nil {
		c.Column += ": " + m.Classes[class]
	}
	c.Shared = make([]float64, len(c.X))
	for t, y := range c.Tasks {
		floats.Scale(1/m.unit(t), y)
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
