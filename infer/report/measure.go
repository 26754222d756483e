package report

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/table"
	"l2mt/model/evidence"
	"l2mt/model/saved"
)

// Predictors of a task: the model and, beside it, the mean of the targets that it was fitted on
// (for classes their shares), single-task learning, and one model for all tasks.
const (
	ByModel  = "model"
	ByMean   = "mean"
	BySTL    = "STL"
	ByPooled = "pooled"
)

// Task has the scores of a task, by predictor.
type Task struct {
	Task string                    `json:"task"`
	By   map[string]evidence.Score `json:"by"`
}

func newTask(name string) Task {
	return Task{name, map[string]evidence.Score{}}
}

// meanOf is the mean of tasks.
func meanOf(tasks []Task) Task {
	m := newTask("mean of tasks")
	for by := range tasks[0].By {
		var scores []evidence.Score
		for _, t := range tasks {
			scores = append(scores, t.By[by])
		}
		m.By[by] = evidence.MeanScore(scores)
	}
	return m
}

// Good is the measure that is best at 1.
func Good(s evidence.Score, k data.Kind) files.Float {
	if k == data.Classification {
		return s.AUC
	}
	return s.R2
}

// Measured is how well rows are predicted: task by task, as the mean of tasks, and all together.
type Measured struct {
	// Positive is the positive class, if all tasks have the same two.
	Positive string `json:"positive,omitempty"`
	Tasks    []Task `json:"tasks"`
	Mean     Task   `json:"mean"`
	All      Task   `json:"all"`
	// Recipe names the targets and the column of the task.
	Recipe table.Recipe `json:"-"`
	// Labelled is how many rows with labels were predicted, 0 where folds held rows out.
	Labelled int `json:"-"`
}

// Measures reports whether a predictor was measured.
func (m Measured) Measures(by string) bool {
	_, ok := m.Mean.By[by]
	return ok
}

// add adds a task of two classes, one of them positive.
func (m *Measured) add(t Task, positive string) {
	if m.Tasks == nil {
		m.Positive = positive
	} else if m.Positive != positive {
		m.Positive = ""
	}
	m.Tasks = append(m.Tasks, t)
}

// PositiveClass names it to a reader.
func (m Measured) PositiveClass() string {
	if m.Positive == "" {
		return "the positive class"
	}
	return fmt.Sprintf("class %q", m.Positive)
}

// Overall is the score of all tasks: of all rows, or the mean over targets in units of their own.
func (m Measured) Overall() Task {
	if len(m.Recipe.Targets) > 1 {
		return m.Mean
	}
	return m.All
}

// Error is the error of a task, of several targets in their standard deviations, and NaN where
// nothing was measured.
func (m Measured) Error(t Task, by string) float64 {
	s := t.By[by]
	switch {
	case s.Held == 0:
		return math.NaN()
	case len(m.Recipe.Targets) > 1 && s.R2 <= 1: // classes have none
		return s.Relative()
	}
	return float64(s.Error)
}

// meanScores predict the mean of the targets of a task, or the shares of its classes. A task that
// the model does not know has the mean of the others.
func meanScores(m *saved.Fit, i int) []float64 {
	tasks := m.Tasks
	if i != saved.Average {
		tasks = tasks[i : i+1]
	}
	mean := make([]float64, len(tasks[0].Mean))
	for _, t := range tasks {
		floats.Add(mean, t.Mean)
	}
	for c := range mean {
		mean[c] /= float64(len(tasks)) // so a mean of shares is not above 1 either
	}
	if m.Log && m.Counts == 0 {
		mean[0] = math.Exp(mean[0])
	}
	if m.Kind == data.Regression {
		return mean
	}
	for c, share := range mean {
		mean[c] = math.Log(share / (1 - share))
	}
	if m.Classes == nil {
		mean = mean[1:]
	}
	return mean
}

// Scores are how well a model predicts rows with labels.
type Scores struct {
	Model string    `json:"model"`
	Kind  data.Kind `json:"kind"`
	Measured
}

// Score measures the answers that a model, and others beside it, have for labelled rows.
func Score(models []*saved.Fit, answers []saved.Answer) *Scores {
	m := models[0]
	columns := max(1, len(m.Classes))
	t := &Scores{
		Model: m.Model,
		Kind:  m.Kind,
	}
	t.Recipe = m.Recipe
	t.Labelled = len(answers)
	means := map[int][]float64{}
	measure := func(name string, answers []saved.Answer) Task {
		var y, weights []float64
		scores := map[string][]float64{}
		for _, a := range answers {
			if means[a.Task] == nil {
				means[a.Task] = meanScores(m, a.Task)
			}
			y = append(y, a.Label)
			weights = append(weights, a.Weight)
			scores[ByMean] = append(scores[ByMean], means[a.Task]...)
			for n, by := range []string{ByModel, BySTL}[:len(models)] {
				scores[by] = append(scores[by],
					a.Scores[n*columns:][:columns]...)
			}
		}
		temperature := map[string]float64{ByModel: m.Temperature, ByMean: 1,
			BySTL: models[len(models)-1].Temperature}
		report := newTask(name)
		for by, f := range scores {
			cut := m.Cut() / m.Temperature * temperature[by]
			score := evidence.ScoreOf(m.Kind, f,
				y, weights, temperature[by], cut)
			score.Rows = score.Held
			report.By[by] = score
		}
		return report
	}
	byTask := map[int][]saved.Answer{}
	for _, a := range answers {
		byTask[a.Task] = append(byTask[a.Task], a)
	}
	for i, task := range m.Tasks {
		if byTask[i] != nil {
			t.add(measure(task.Name, byTask[i]), task.Positive)
		}
	}
	unknown := byTask[saved.Average]
	if unknown != nil {
		t.add(measure("(tasks that the model does not know)", unknown),
			m.Tasks[0].Positive)
	}
	t.Mean = meanOf(t.Tasks)
	t.All = measure("all rows", answers)
	return t
}
