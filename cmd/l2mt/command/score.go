package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/format"
	"l2mt/model/evidence"
	"l2mt/model/saved"
)

type scoreCmd struct {
	Model    string `arg:"" type:"path" help:"Directory that fit or infer saved a model to."`
	File     string `arg:"" help:"Labelled rows that the model was not fitted on: CSV, TSV, or - for a table that comes in through stdin."`
	rowFlags `embed:""`
}

func (c *scoreCmd) Run(e *env) error {
	p, err := loadPredictor(c.Model, c.File, c.rowFlags)
	if err != nil {
		return err
	}
	defer p.rows.Close()
	if !p.labelled() {
		return fmt.Errorf("%s: %w: there is no column of labels, %s; say with --target which it is", c.File, data.ErrMismatch, cmp.Or(c.Target, format.Abridge(p.Recipe.Targets)))
	}
	s := p.scoring()
	if err := p.run(e, func(*rowBlock) {}, s.add); err != nil {
		return err
	}
	if len(s.of) == 0 {
		return fmt.Errorf("%s: %w: it has no labelled rows", c.File, data.ErrInvalid)
	}
	t := s.table()
	return e.print(t, t.write)
}

// besideSTL is the folder in that of a saved model with single-task learning on the same
// rows.
const besideSTL = "stl"

// loadBeside loads a model and, behind it, single-task learning if that is beside it.
func loadBeside(dir string) ([]*saved.Fit, error) {
	m, err := saved.Load(dir)
	if err != nil {
		return nil, err
	}
	stl, err := saved.Load(filepath.Join(dir, besideSTL))
	if errors.Is(err, fs.ErrNotExist) {
		return []*saved.Fit{m}, nil
	}
	return []*saved.Fit{m, stl}, err
}

// scoring gathers labelled rows, by their tasks, with what they are predicted.
type scoring struct {
	models []*saved.Fit
	of     map[int]*labelledRows
}

func (p *predictor) scoring() *scoring {
	return &scoring{models: p.models, of: map[int]*labelledRows{}}
}

// labelledRows are the labels of rows, with scores by what predicts them.
type labelledRows struct {
	y      []float64
	scores map[string][]float64
}

// add takes the labelled rows of a block.
func (s *scoring) add(b *rowBlock) error {
	for k, labels := range b.y {
		for j, y := range labels {
			if math.IsNaN(y) {
				continue
			}
			rows := s.of[b.of[k][j]]
			if rows == nil {
				rows = &labelledRows{scores: map[string][]float64{}}
				s.of[b.of[k][j]] = rows
			}
			rows.y = append(rows.y, y)
			for n, by := range []string{byModel, bySTL}[:len(s.models)] {
				rows.scores[by] = append(rows.scores[by], row(b.scores[n][k], j, b.size)...)
			}
		}
	}
	return nil
}

// meanScores are those that say the mean of the targets of a task, or the shares of its
// classes. A task that the model does not know has the mean of the others.
func meanScores(m *saved.Fit, i int) []float64 {
	tasks := m.Tasks
	if i != saved.Average {
		tasks = tasks[i : i+1]
	}
	mean := make([]float64, len(tasks[0].Mean))
	for _, t := range tasks {
		floats.AddScaled(mean, 1/float64(len(tasks)), t.Mean)
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

// scoreTable is what score prints.
type scoreTable struct {
	Model string       `json:"model"`
	Kind  data.Kind    `json:"kind"`
	Tasks []taskReport `json:"tasks"`
	Mean  taskReport   `json:"mean"` // of the tasks
	All   taskReport   `json:"all"`  // rows together
}

// table measures what has been gathered.
func (s *scoring) table() *scoreTable {
	m := s.models[0]
	temperature := map[string]float64{byModel: m.Temperature, byMean: 1, bySTL: s.models[len(s.models)-1].Temperature}
	t, measured := &scoreTable{Model: m.Model, Kind: m.Kind}, measures{}
	measure := func(name string, rows *labelledRows) taskReport {
		for by, f := range rows.scores {
			score := evidence.ScoreOf(f, rows.y, m.Kind, temperature[by])
			score.Rows = score.Held
			measured[by] = append(measured[by], score)
		}
		return measured.report(name, func(of []evidence.Score) evidence.Score { return of[len(of)-1] })
	}
	all := &labelledRows{scores: map[string][]float64{}}
	names := append(taskNames(m), "(tasks that the model does not know)")
	for k, name := range names {
		i := k
		if k == len(m.Tasks) {
			i = saved.Average
		}
		rows := s.of[i]
		if rows == nil {
			continue
		}
		rows.scores[byMean] = slices.Repeat(meanScores(m, i), len(rows.y))
		t.Tasks = append(t.Tasks, measure(name, rows))
		all.y = append(all.y, rows.y...)
		for by, f := range rows.scores {
			all.scores[by] = append(all.scores[by], f...)
		}
	}
	t.Mean = measured.report("mean of tasks", evidence.MeanScore)
	t.All = measure("all rows", all)
	return t
}

func (t *scoreTable) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s of %d tasks, %d labelled rows\n\n", t.Model, t.Kind, len(t.Tasks), t.All.Rows)
	writeTasks(w, t.Kind, t.Tasks, t.Mean, t.All)
}
