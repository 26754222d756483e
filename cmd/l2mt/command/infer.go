package command

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/data/table"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// problemFlags name the problems that a command works on.
type problemFlags struct {
	Problems  string `required:"" type:"path" help:"Problem file."`
	Name      string `help:"Name of one problem of the file; by default all are taken."`
	dataFlags `embed:""`
}

func (f *problemFlags) open() ([]*data.ProblemData, error) {
	problems, err := f.all(f.Problems)
	if err != nil || f.Name == "" {
		return problems, err
	}
	for _, p := range problems {
		if p.Name == f.Name {
			return []*data.ProblemData{p}, nil
		}
	}
	return nil, fmt.Errorf("%w: %s has no problem %q; the first is %q", errUsage, f.Problems, f.Name, problems[0].Name)
}

type inferCmd struct {
	Network      string `type:"existingdir" help:"Trained network; by default the pretrained one, which serves all features (l2mt version names it)."`
	problemFlags `embed:""`
	Out          string `type:"path" xor:"out" help:"Directory for the model, for l2mt predict, show and report, and for predictions.csv, those of the test rows; with several problems, one folder for each."`
	OmegaOnly    bool   `xor:"out" help:"Stop at the covariance that the network finds. Needs no validation or test rows."`
	Candidates   bool   `help:"List every candidate in the order in which they were tried."`
	Workers      int    `help:"Fits at a time; 0 means one per CPU."`
}

func (c *inferCmd) Run(e *env) error {
	network, err := run.LoadNetwork(c.Network)
	if err != nil {
		return err
	}
	problems, err := c.open()
	if err != nil {
		return err
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.OmegaOnly {
		return omegas(e, network, problems)
	}
	within, over := e.reporter(), progress.Silent() // of the only problem, or of several
	if len(problems) > 1 {
		within, over = over, within
	}
	over.Start("problems", len(problems))
	defer over.Finish()
	var results []*fitReport
	for _, p := range problems {
		dir := c.Out
		if dir != "" && len(problems) > 1 {
			dir = filepath.Join(dir, url.PathEscape(p.Name))
		}
		r, err := c.infer(e, network, p, within, dir)
		if err != nil {
			return err
		}
		results = append(results, r)
		over.Advance(1, p.Name)
	}
	return e.print(results, func(w io.Writer) {
		for _, r := range results {
			r.write(w, c.Candidates)
		}
	})
}

// found is what the network finds for a problem.
type found struct {
	Problem     string        `json:"problem"`
	Tasks       []string      `json:"tasks"`
	Omega       [][]float64   `json:"omega"`
	Correlation [][]float64   `json:"correlation"`
	Expected    compare.Float `json:"expected_relative_error"`
}

// omegas finds the covariances, and stops there.
func omegas(e *env, network *solve.Finder, problems []*data.ProblemData) error {
	var all []found
	for _, p := range problems {
		labelled, err := p.Labelled()
		if err != nil {
			return err
		}
		f, err := network.Omega(labelled)
		if err != nil {
			return err
		}
		of := found{Problem: p.Name, Omega: compare.Entries(f.Omega), Correlation: run.Correlation(f.Omega), Expected: compare.Float(f.Estimated)}
		for _, t := range p.Tasks {
			of.Tasks = append(of.Tasks, t.Name)
		}
		all = append(all, of)
	}
	return e.print(all, func(w io.Writer) {
		for _, f := range all {
			fmt.Fprintf(w, "problem %s, %d tasks\n", f.Problem, len(f.Tasks))
			writeCorrelations(w, fmt.Sprintf("task correlations that the network finds; relative error expected %.4f", f.Expected), f.Tasks, f.Correlation)
			fmt.Fprintln(w)
		}
	})
}

// infer solves a problem, measures that on its test rows, and writes what came of it to a
// directory if there is one. Where a head makes the features, a model is of no use without
// that, and predictions are all that is written.
func (c *inferCmd) infer(ctx context.Context, network *solve.Finder, p *data.ProblemData, progress progress.Reporter, dir string) (*fitReport, error) {
	b, err := solve.NewBench(network, p, solve.Options{Workers: c.Workers, Progress: progress})
	if err != nil {
		return nil, err
	}
	seen, err := network.Features(p)
	if err != nil {
		return nil, err
	}
	labelled, err := seen.Labelled()
	if err != nil {
		return nil, err
	}
	recipe := table.Numbers(seen.Features, seen.Cols())
	recipe.Task = "task"
	recipe.Sparse = data.IsSparse(seen.Tasks[0].TrainSet.X)
	r := &fitReport{table: &table.Table{Problem: labelled, Recipe: recipe}}
	if err := r.fill(ctx, b, nil, ""); err != nil {
		return nil, err
	}
	if len(r.fit.Test.Task) > 0 {
		r.Test = &testReport{Fit: r.fit.Test, STL: r.stl.Test}
	}
	if dir == "" {
		return r, nil
	}
	rows, err := r.predictions()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := run.SaveCSV(filepath.Join(dir, "predictions.csv"), rows); err != nil || network.Head() != "" {
		return r, err
	}
	return r, r.save(dir)
}

// testReport has the errors on test rows, which no choice depends on.
type testReport struct {
	Fit evidence.Errors `json:"fit"`
	STL evidence.Errors `json:"stl"`
}

// write prints the errors on test rows.
func (t *testReport) write(w io.Writer, r *fitReport) {
	what := "error"
	if r.Kind == data.Regression {
		what = "nMSE"
	}
	fmt.Fprintln(w)
	rows := run.NewTable(w, "test "+what, "STL", "relative", "task")
	for i, task := range r.Tasks {
		rows.Row(t.Fit.Task[i], t.STL.Task[i], t.Fit.Task[i]/t.STL.Task[i], task.Task)
	}
	rows.Row(t.Fit.Mean, t.STL.Mean, t.Fit.Mean/t.STL.Mean, "mean")
	rows.Flush()
}

// predictions are those of the test rows, as predict writes them, with the number of the row
// in the dataset, from 0, and its label.
func (r *fitReport) predictions() ([][]string, error) {
	m, err := r.fit.Saved(r.table.Recipe)
	if err != nil {
		return nil, err
	}
	l := &lineWriter{Fit: m, heads: []string{"row", "label"}}
	l.predictions([]asked{{}})
	rows := [][]string{l.heads}
	for i, t := range r.table.Problem.Tasks {
		scores, err := m.Predict(t.Name, t.TestSet.X)
		if err != nil {
			return nil, err
		}
		for j, y := range t.TestSet.Y {
			label := run.Full(y)
			if classes := m.ClassesOf(i); classes != nil {
				label = classes[multitask.LabelOf(y, len(m.Classes))]
			}
			rows = append(rows, append([]string{strconv.Itoa(t.Test[j]), label}, l.cells(answer{task: i, name: t.Name, scores: scores[j*len(scores)/len(t.TestSet.Y):]})...))
		}
	}
	return rows, nil
}
