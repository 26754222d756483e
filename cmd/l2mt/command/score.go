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

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/infer/compare"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

type scoreCmd struct {
	Model    string `arg:"" type:"path" help:"Directory that fit saved a model to."`
	File     string `arg:"" help:"Labelled rows that the model was not fitted on: CSV, TSV, or - for a table that comes in through stdin."`
	rowFlags `embed:""`
	Target   string `help:"Column of the labels, if it is not called as in the tables fitted."`
}

func (c *scoreCmd) Run(e *env) error {
	models, err := loadBeside(c.Model)
	if err != nil {
		return err
	}
	p, err := newPredictor(c.File, c.rowFlags, models, c.Target, true)
	if err != nil {
		return err
	}
	defer p.close()
	if !p.labelled() {
		return fmt.Errorf("%s: %w: there is no column of labels, %s; say with --target which it is", c.File, data.ErrMismatch, cmp.Or(c.Target, few(models[0].Recipe.Targets)))
	}
	s := newScoring(p)
	if err := p.run(e, func(*rowBlock) {}, func(b *rowBlock) error { s.add(b); return nil }); err != nil {
		return err
	}
	if !s.any() {
		return fmt.Errorf("%s: %w: it has no labelled rows, or the model is of an older program; then fit it anew", c.File, data.ErrInvalid)
	}
	return s.print(e, true)
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

// scoring gathers labelled rows and what is said of them: by the model, by the mean of the
// targets that it was fitted on (of classes their shares), and by single-task learning.
type scoring struct {
	*predictor
	of map[int]*labelledRows // a task, or allRows
}

// allRows stands for all tasks together.
const allRows = -2

type labelledRows struct {
	y      []float64
	scores [3][]float64
}

func newScoring(p *predictor) *scoring { return &scoring{p, map[int]*labelledRows{}} }

// any says that there are labelled rows.
func (s *scoring) any() bool { return s.of[allRows] != nil }

// add takes the labelled rows of a block.
func (s *scoring) add(b *rowBlock) {
	for k, labels := range b.y {
		for j, y := range labels {
			if math.IsNaN(y) || s.models[0].Tasks[0].Mean == nil { // saved by an older program
				continue
			}
			i := b.of[k][j]
			said := [3][]float64{row(b.scores[0][k], j, len(labels)), meanScores(s.models[0], i)}
			if len(s.models) > 1 {
				said[2] = row(b.scores[1][k], j, len(labels))
			}
			for _, i := range []int{i, allRows} {
				if s.of[i] == nil {
					s.of[i] = &labelledRows{}
				}
				rows := s.of[i]
				rows.y = append(rows.y, y)
				for n := range said {
					rows.scores[n] = append(rows.scores[n], said[n]...)
				}
			}
		}
	}
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

// scoreTable is what score says.
type scoreTable struct {
	Model string       `json:"model"`
	Kind  data.Kind    `json:"kind"`
	Tasks []taskReport `json:"tasks"`
	// Mean is that of the tasks, All is of all rows together.
	Mean        taskReport `json:"mean"`
	All         taskReport `json:"all"`
	Reliability []reliable `json:"reliability,omitempty"`
}

// reliable compares probabilities with what came true, of rows that have like ones: of the
// positive class or, of more than two, of the one predicted.
type reliable struct {
	Said float64 `json:"said"`
	Came float64 `json:"came_true"`
	Rows int     `json:"rows"`
}

// table judges what has been gathered.
func (s *scoring) table() *scoreTable {
	m := s.models[0]
	t := &scoreTable{Model: m.Model, Kind: m.Kind}
	var all [3][]evidence.Score
	judge := func(name string, rows *labelledRows) taskReport {
		temperatures := []float64{m.Temperature, 1, s.models[len(s.models)-1].Temperature}
		for n, f := range rows.scores[:1+len(s.models)] {
			all[n] = append(all[n], evidence.ScoreOf(f, rows.y, m.Kind, temperatures[n]))
		}
		return s.report(name, all, func(of []evidence.Score) evidence.Score { return of[len(of)-1] })
	}
	for i := range m.Tasks {
		if s.of[i] != nil {
			t.Tasks = append(t.Tasks, judge(m.Tasks[i].Name, s.of[i]))
		}
	}
	if s.of[saved.Average] != nil {
		t.Tasks = append(t.Tasks, judge("(tasks that the model does not know)", s.of[saved.Average]))
	}
	t.Mean = s.report("mean of tasks", all, evidence.MeanScore)
	rows := s.of[allRows]
	if t.All = judge("all rows", rows); m.Kind == data.Classification {
		t.Reliability = reliability(m.Temperature, max(1, len(m.Classes)), rows.scores[0], rows.y)
	}
	return t
}

// report picks of the scores of each.
func (s *scoring) report(name string, all [3][]evidence.Score, pick func([]evidence.Score) evidence.Score) taskReport {
	fit := pick(all[0])
	t := taskReport{Task: name, Rows: fit.Held, Held: fit.Held, Fit: *reportOf(fit), Mean: reportOf(pick(all[1]))}
	if len(s.models) > 1 {
		t.STL = reportOf(pick(all[2]))
	}
	return t
}

// reliability puts rows of like probabilities together. Each has k scores.
func reliability(temperature float64, k int, f, y []float64) []reliable {
	const bins = 10
	all, p := make([]reliable, bins), make([]float64, max(2, k))
	for j, v := range y {
		scores, class := f[j*k:][:k], 1
		if k > 1 {
			class = multitask.ClassOf(scores)
		}
		multitask.Probabilities(p, scores, temperature)
		at := &all[min(int(p[class]*bins), bins-1)]
		at.Rows++
		at.Said += p[class]
		if multitask.LabelOf(v, k) == class {
			at.Came++
		}
	}
	for k := range all {
		all[k].Said /= float64(all[k].Rows)
		all[k].Came /= float64(all[k].Rows)
	}
	return slices.DeleteFunc(all, func(r reliable) bool { return r.Rows == 0 })
}

// print writes the table, to stdout if that is free.
func (s *scoring) print(e *env, free bool) error {
	t := s.table()
	if free {
		return e.print(t, t.write)
	}
	if !e.quiet {
		t.write(e.stderr)
	}
	return nil
}

func (t *scoreTable) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s of %d tasks, %d labelled rows\n\n", t.Model, t.Kind, len(t.Tasks), t.All.Rows)
	writeTasks(w, t.Kind, t.Tasks, t.Mean, t.All)
	columns := run.Columns(w)
	if t.Reliability != nil {
		fmt.Fprint(columns, "\nprobabilities\tcame true\trows\t\n")
	}
	for _, r := range t.Reliability {
		fmt.Fprintf(columns, "%.3f\t%.3f\t%d\t\n", r.Said, r.Came, r.Rows)
	}
	columns.Flush()
}

// taskReport is how well a task is predicted by the model and its rivals: the mean of the
// targets that it was fitted on (of classes their shares), single-task learning, and one
// model for all tasks.
type taskReport struct {
	Task   string       `json:"task"`
	Rows   int          `json:"rows"`
	Held   int          `json:"held_out"`
	Fit    scoreReport  `json:"fit"`
	Mean   *scoreReport `json:"mean,omitempty"`
	STL    *scoreReport `json:"stl,omitempty"`
	Pooled *scoreReport `json:"pooled,omitempty"`
}

// scoreReport is a Score whose gaps JSON can hold.
type scoreReport struct {
	Error         compare.Float `json:"error"`
	StandardError compare.Float `json:"standard_error"`
	AUC           compare.Float `json:"auc"`
	R2            compare.Float `json:"r2"`
	LogLoss       compare.Float `json:"log_loss"`
	Brier         compare.Float `json:"brier"`
}

func (s scoreReport) good(k data.Kind) compare.Float {
	if k == data.Classification {
		return s.AUC
	}
	return s.R2
}

func reportOf(s evidence.Score) *scoreReport {
	return &scoreReport{compare.Float(s.Error), compare.Float(s.StandardError), compare.Float(s.AUC), compare.Float(s.R2), compare.Float(s.LogLoss), compare.Float(s.Brier)}
}

// mostListed bounds the tasks that are listed as text; JSON has all.
const mostListed = 200

// units are what errors are called.
func units(k data.Kind) (error, good, loss string) {
	if k == data.Classification {
		return "error", "AUC", "log loss"
	}
	return "RMSE", "R^2", "nMSE"
}

// writeTasks lists tasks, and behind them what is of all.
func writeTasks(w io.Writer, kind data.Kind, tasks []taskReport, all ...taskReport) {
	what, good, _ := units(kind)
	t := run.Columns(w)
	fmt.Fprintf(t, "rows\t%s\t+-\t%s", what, good)
	names := []string{"mean", "STL", "pooled"}
	rivals := func(v taskReport) []*scoreReport { return []*scoreReport{v.Mean, v.STL, v.Pooled} }
	for k, s := range rivals(all[0]) {
		if s != nil {
			fmt.Fprintf(t, "\t%s %s\t%s", names[k], what, good)
		}
	}
	if kind == data.Classification {
		fmt.Fprint(t, "\tlog loss\tBrier")
	}
	fmt.Fprint(t, "\t  task\n")
	for _, v := range slices.Concat(tasks[:min(len(tasks), mostListed)], all) {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s", v.Rows, errorGap(v.Fit.Error), errorGap(v.Fit.StandardError), run.Decimals(v.Fit.good(kind)))
		for _, s := range rivals(v) {
			if s != nil {
				fmt.Fprintf(t, "\t%s\t%s", errorGap(s.Error), run.Decimals(s.good(kind)))
			}
		}
		if kind == data.Classification {
			fmt.Fprintf(t, "\t%s\t%s", run.Decimals(v.Fit.LogLoss), run.Decimals(v.Fit.Brier))
		}
		fmt.Fprintf(t, "\t  %s\n", v.Task)
	}
	t.Flush()
	if more := len(tasks) - mostListed; more > 0 {
		fmt.Fprintf(w, "(%d more tasks: --json lists them)\n", more)
	}
}

// errorGap writes an error, very small and large ones with four digits.
func errorGap(v compare.Float) string {
	if v != 0 && v < 5e-4 || v >= 1e6 && v <= math.MaxFloat64 {
		return run.Number(float64(v))
	}
	return run.Decimals(v)
}
