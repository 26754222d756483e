package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	OmegaOnly    bool   `xor:"out,select" help:"Stop at the covariance that the network finds. Needs no validation or test rows."`
	Select       bool   `xor:"select" help:"Also fit the paper's ten models, tuned, and rank their covariances by the estimated error: which model suits the problem."`
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
		return c.omegas(e, network, problems)
	}
	within, over := e.reporter(), progress.Silent() // of the only problem, or of several
	if len(problems) > 1 {
		within, over = over, within
	}
	over.Start("problems", len(problems))
	defer over.Finish()
	var results []*fitReport
	for _, p := range problems {
		r, err := c.infer(e, network, p, within)
		if err != nil {
			return err
		}
		results = append(results, r)
		if dir := c.Out; dir != "" {
			if len(problems) > 1 {
				dir = filepath.Join(dir, url.PathEscape(p.Name))
			}
			if err := r.saveInferred(dir, network.Head() != ""); err != nil {
				return err
			}
		}
		over.Advance(1, p.Name)
	}
	return e.print(results, func(w io.Writer) {
		for _, r := range results {
			r.write(w)
		}
	})
}

// found is what the network says of a problem.
type found struct {
	Problem     string        `json:"problem"`
	Tasks       []string      `json:"tasks"`
	Omega       [][]float64   `json:"omega"`
	Correlation [][]float64   `json:"correlation"`
	Expected    compare.Float `json:"expected_relative_error"`
}

// omegas finds the covariances, and stops there.
func (c *inferCmd) omegas(e *env, network *solve.Finder, problems []*data.ProblemData) error {
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

// infer solves a problem, and measures that on its test rows.
func (c *inferCmd) infer(ctx context.Context, network *solve.Finder, p *data.ProblemData, progress progress.Reporter) (*fitReport, error) {
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
	r := &fitReport{table: &table.Table{Problem: labelled, Recipe: recipe}, network: c.Network, all: c.Candidates}
	if err := r.fill(ctx, b, nil, ""); err != nil {
		return nil, err
	}
	if len(r.fit.Test.Task) > 0 {
		r.Test = &testReport{Fit: r.fit.Test, STL: r.stl.Test}
	}
	if c.Select {
		err = r.rank(ctx, network, p, seen, compare.EvaluateOptions{Workers: c.Workers, Progress: progress})
	}
	return r, err
}

// testReport has the errors on test rows, which have no say in anything.
type testReport struct {
	Fit evidence.Errors `json:"fit"`
	STL evidence.Errors `json:"stl"`
}

// rankedModel is a model with the error that the network expects of its covariance.
type rankedModel struct {
	Model      string           `json:"model"`
	Title      string           `json:"title"`
	Expected   compare.Float    `json:"expected_relative_error"`
	Validation float64          `json:"validation"`
	Test       float64          `json:"test"`
	Params     multitask.Params `json:"params"`
}

// rank fits the ten models to a problem as the network has seen it, and asks that which of
// their covariances suits the one given.
func (r *fitReport) rank(ctx context.Context, network *solve.Finder, given, seen *data.ProblemData, o compare.EvaluateOptions) error {
	labelled, err := given.Labelled()
	if err != nil {
		return err
	}
	embedding, err := network.Embed(labelled)
	if err != nil {
		return err
	}
	outcomes, err := compare.Evaluate(ctx, nil, []*data.ProblemData{seen}, o)
	if err != nil {
		return err
	}
	for _, m := range outcomes {
		if m.Variant != compare.Plain {
			continue
		}
		omega, err := data.NewCovariance(m.Omega)
		if err != nil {
			return err
		}
		expected, err := embedding.Estimated(omega)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Model, err)
		}
		model, err := multitask.Lookup(m.Model)
		if err != nil {
			return err
		}
		r.Ranked = append(r.Ranked, rankedModel{m.Model, model.Info().Title, compare.Float(expected), m.Validation.Mean, m.Test.Mean, m.Params})
	}
	slices.SortStableFunc(r.Ranked, func(a, b rankedModel) int { return cmp.Compare(a.Expected, b.Expected) })
	return nil
}

// writeTest prints the errors on test rows, and the ranking of the models.
func (r *fitReport) writeTest(w io.Writer) {
	if r.Test != nil {
		fmt.Fprintln(w)
		t := run.Columns(w)
		fmt.Fprintf(t, "test %s\tSTL\trelative\t  task\n", run.ErrorName(w, r.Kind))
		row := func(l2mt, stl float64, name string) {
			fmt.Fprintf(t, "%.4f\t%.4f\t%s\t  %s\n", l2mt, stl, run.Decimals(compare.Float(l2mt/stl)), name)
		}
		for i, task := range r.Tasks {
			row(r.Test.Fit.Task[i], r.Test.STL.Task[i], task.Task)
		}
		row(r.Test.Fit.Mean, r.Test.STL.Mean, "mean")
		t.Flush()
	}
	if r.Ranked != nil {
		fmt.Fprintf(w, "\nof the paper's ten models the network expects most of the covariance of %s\n", r.Ranked[0].Title)
		t := run.Columns(w)
		fmt.Fprintln(t, "expected\ttest error\tvalidation\t  model")
		for _, m := range r.Ranked {
			fmt.Fprintf(t, "%.4f\t%.4f\t%.4f\t  %s\n", m.Expected, m.Test, m.Validation, m.Title)
		}
		t.Flush()
	}
}

// saveInferred writes the model and the predictions of the test rows. Where a head makes the
// features, a model is of no use without that, and there is none.
func (r *fitReport) saveInferred(dir string, head bool) error {
	if !head {
		if err := r.save(dir); err != nil {
			return err
		}
	}
	rows, err := r.predictions()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return run.SaveCSV(filepath.Join(dir, "predictions.csv"), rows)
}

// predictions are those of the test rows, with the score of the class predicted where there
// are more than two. The row counts in the dataset, from 0.
func (r *fitReport) predictions() ([][]string, error) {
	rows := [][]string{{"task", "row", "prediction", "score", "label"}}
	for i, t := range r.table.Problem.Tasks {
		classes := r.Classes
		if classes == nil {
			classes = []string{t.Negative, t.Positive}
		}
		scores, err := r.fit.Predict(i, t.TestSet.X)
		if err != nil {
			return nil, err
		}
		for j, y := range t.TestSet.Y {
			of := row(scores, j, len(t.TestSet.Y))
			predicted, score, label := "", slices.Max(of), ""
			if t.Kind == data.Regression {
				predicted, label = run.Full(score), run.Full(y)
			} else {
				predicted, label = classes[multitask.ClassOf(of)], classes[multitask.LabelOf(y, len(of))]
			}
			rows = append(rows, []string{t.Name, strconv.Itoa(t.Test[j]), predicted, run.Full(score), label})
		}
	}
	return rows, nil
}
