package command

import (
	"io"
	"math"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/model/evidence"
	"l2mt/model/saved"
)

// scoring gathers the predictions of labelled rows.
type scoring struct {
	models  []*saved.Fit
	answers []saved.Answer
}

// meanScores predict the mean of the targets of a task, or the shares of its classes. A task that the model does not know has the mean of the others.
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

// scoreTable is what predict prints of rows with labels.
type scoreTable struct {
	Model string    `json:"model"`
	Kind  data.Kind `json:"kind"`
	measured

	recipe table.Recipe
	every  bool // task is listed
}

// table measures the predictions gathered.
func (s *scoring) table() *scoreTable {
	m := s.models[0]
	columns := max(1, len(m.Classes))
	t := &scoreTable{Model: m.Model, Kind: m.Kind, recipe: m.Recipe}
	means := map[int][]float64{}
	measure := func(name string, answers []saved.Answer) taskReport {
		var y, weights []float64
		scores := map[string][]float64{}
		for _, a := range answers {
			if means[a.Task] == nil {
				means[a.Task] = meanScores(m, a.Task)
			}
			y = append(y, a.Label)
			weights = append(weights, a.Weight)
			scores[byMean] = append(scores[byMean], means[a.Task]...)
			for n, by := range []string{byModel, bySTL}[:len(s.models)] {
				scores[by] = append(scores[by], a.Scores[n*columns:][:columns]...)
			}
		}
		temperature := map[string]float64{byModel: m.Temperature, byMean: 1,
			bySTL: s.models[len(s.models)-1].Temperature}
		report := taskReport{name, map[string]evidence.Score{}}
		for by, f := range scores {
			cut := m.Cut() / m.Temperature * temperature[by]
			score := evidence.ScoreOf(m.Kind, f, y, weights, temperature[by], cut)
			score.Rows = score.Held
			report.By[by] = score
		}
		return report
	}
	byTask := map[int][]saved.Answer{}
	for _, a := range s.answers {
		byTask[a.Task] = append(byTask[a.Task], a)
	}
	for i, task := range m.Tasks {
		if byTask[i] != nil {
			t.add(measure(task.Name, byTask[i]), task.Positive)
		}
	}
	if unknown := byTask[saved.Average]; unknown != nil {
		t.add(measure("(tasks that the model does not know)", unknown), m.Tasks[0].Positive)
	}
	t.Mean = meanOf(t.Tasks)
	t.All = measure("all rows", s.answers)
	return t
}

func (t *scoreTable) write(w io.Writer) {
	rows := count(t.All.By[byModel].Rows, "row")
	wrap(w, t.answer(t.recipe, t.Kind, rows+" with labels")+"\n")
	t.measured.write(w, t.recipe, t.Kind, t.every)
}
