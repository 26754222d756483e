package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/infer/compare"
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

type fitCmd struct {
	Files      []string `arg:"" optional:"" name:"table" help:"Labelled tables: CSV, TSV, or datasets with groups."`
	tableFlags `embed:""`
	Problems   string `type:"path" help:"Problem file, instead of tables."`
	Name       string `help:"Name of one problem of the file; by default all are taken."`
	dataFlags  `embed:""`
	Network    string             `type:"existingdir" help:"Trained network: of tables the one that l2mt asks in place of the pretrained one, with features as they are; of problems one whose head makes the features."`
	Model      string             `help:"A multitask model (${models}), or \"all\" for the table of the paper's ten. Of tables also \"pooled\", one model for all tasks, \"best\" of all by cross-validation, or \"l2mt\", the default there."`
	Tune       bool               `help:"Choose the hyperparameters on the validation rows. Implied unless --lambda1 is given."`
	Lambda1    float64            `name:"lambda1" help:"Strength of tr(W Omega^-1 W')/2."`
	Lambda2    float64            `name:"lambda2" help:"Strength of g(Omega); 0 means the model's default."`
	Hyper      map[string]float64 `mapsep:"," help:"A model's own hyperparameters, as r=2."`
	Points     int                `default:"4" help:"Grid points for each hyperparameter beside Lambda1 when tuning."`
	Workers    int                `help:"Fits at a time; 0 means one per CPU."`
}

func (c *fitCmd) Validate() error {
	if len(c.Files) > 0 {
		return c.validateTables()
	}
	c.Model = cmp.Or(c.Model, "all")
	switch {
	case c.Problems == "":
		return fmt.Errorf("give tables to fit, or --problems=FILE")
	case c.tableFlags.given():
		return fmt.Errorf("--problems says itself what its tasks are and what splits they have; flags of tables need tables")
	case c.Lambda1 != 0 && c.Tune:
		return fmt.Errorf("--lambda1 and --tune exclude each other: give the hyperparameters or have them chosen")
	case c.Model == "all" && c.Lambda1 != 0:
		return fmt.Errorf("--lambda1 needs one --model: strengths are not comparable between models")
	case c.Lambda1 < 0:
		return fmt.Errorf("--lambda1=%v: it must be positive", c.Lambda1)
	case c.Lambda1 == 0 && (c.Lambda2 != 0 || len(c.Hyper) > 0):
		return fmt.Errorf("--lambda2 and --hyper need --lambda1: hyperparameters are all given or all chosen")
	}
	return nil
}

func (c *fitCmd) Run(e *env) error {
	if len(c.Files) > 0 {
		return c.fitTables(e)
	}
	file := problemFlags{Problems: c.Problems, Name: c.Name, dataFlags: c.dataFlags}
	problems, err := file.open()
	if err != nil {
		return err
	}
	if err := (compare.EvaluateOptions{}).Check(problems); err != nil {
		return err
	}
	if c.Network != "" {
		network, err := run.LoadNetwork(c.Network)
		if err != nil {
			return err
		}
		if problems, err = network.FeaturesOf(problems); err != nil {
			return err
		}
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Model == "all" {
		return c.compare(e, problems)
	}
	m, err := multitask.Lookup(c.Model)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	fits, err := c.solveAll(e, m, problems)
	if err != nil {
		return err
	}
	return e.print(fits, func(w io.Writer) {
		for _, f := range fits {
			f.write(w)
		}
	})
}

// compare makes the table of the paper's ten models.
func (c *fitCmd) compare(e *env, problems []*data.ProblemData) error {
	outcomes, err := compare.Evaluate(e, nil, problems, compare.EvaluateOptions{
		Tune: multitask.TuneOptions{Points: c.Points}, Workers: c.Workers, Progress: e.reporter(),
	})
	if err != nil {
		return err
	}
	table, err := compare.Summarise(outcomes)
	if err != nil {
		return err
	}
	return e.print(table, func(w io.Writer) { run.WriteTable(w, table) })
}

func (c *fitCmd) solveAll(e *env, m multitask.Model, problems []*data.ProblemData) (fits []problemFit, err error) {
	report := e.reporter()
	report.Start("fitting "+m.Info().Title, len(problems))
	defer report.Finish()
	for _, p := range problems {
		fit, err := c.solve(e, m, p)
		if err != nil {
			return nil, fmt.Errorf("problem %q: %w", p.Name, err)
		}
		fits = append(fits, fit)
		report.Advance(1, p.Name)
	}
	return fits, nil
}

// solve fits a model to a problem, beside single-task learning.
func (c *fitCmd) solve(e *env, m multitask.Model, p *data.ProblemData) (f problemFit, err error) {
	o := multitask.TuneOptions{Workers: c.Workers, Points: c.Points}
	if o.STL, err = multitask.Tune(e, run.MustModel(compare.STL), p, o); err != nil {
		return f, err
	}
	tuned, err := c.fit(e, m, p, o)
	if err != nil {
		return f, err
	}
	return newProblemFit(m, p, tuned, o.STL), nil
}

// fit fits one model with the hyperparameters given, or tunes them.
func (c *fitCmd) fit(e *env, m multitask.Model, p *data.ProblemData, o multitask.TuneOptions) (*multitask.Tuned, error) {
	if c.Lambda1 == 0 {
		return multitask.Tune(e, m, p, o)
	}
	train, err := multitask.Training(p, "")
	if err != nil {
		return nil, err
	}
	params := multitask.Params{Lambda1: c.Lambda1, Lambda2: c.Lambda2, Hyper: c.Hyper}
	fit, err := multitask.Fit(e, m, train, params, multitask.Options{Workers: c.Workers})
	if err != nil {
		return nil, err
	}
	return multitask.Report(fit, p, o.STL)
}

// problemFit is a model fitted to a problem, for print.
type problemFit struct {
	Problem     string           `json:"problem"`
	Model       string           `json:"model"`
	Title       string           `json:"-"`
	Params      multitask.Params `json:"params"`
	Status      multitask.Status `json:"status"`
	Objective   float64          `json:"objective"`
	Gap         float64          `json:"gap"`
	Iterations  int              `json:"iterations"`
	Trace       []float64        `json:"trace"`
	Tasks       []string         `json:"tasks"`
	Test        multitask.Errors `json:"test"`
	Validation  multitask.Errors `json:"validation"`
	STL         multitask.Errors `json:"stl"`
	Relative    *float64         `json:"relative"`
	Correlation [][]float64      `json:"correlation"`
	Omega       [][]float64      `json:"omega"`
	Seconds     float64          `json:"seconds"`
	kind        data.Kind        `json:"-"`
}

func newProblemFit(m multitask.Model, p *data.ProblemData, t, stl *multitask.Tuned) problemFit {
	f := problemFit{
		Problem: p.Name, Model: m.Info().Name, Title: m.Info().Title, Params: t.Params, Status: t.Result.Status,
		Objective: t.Result.Objective, Gap: t.Result.Gap, Iterations: t.Result.Iterations, Trace: t.Result.Trace,
		Test: t.Test, Validation: t.Validation, STL: stl.Test, Correlation: run.Correlation(t.Omega), Omega: compare.Entries(t.Omega),
		Seconds: t.Seconds, kind: p.Kind(),
	}
	if !math.IsNaN(t.Relative) {
		f.Relative = &t.Relative
	}
	for _, task := range p.Tasks {
		f.Tasks = append(f.Tasks, task.Name)
	}
	return f
}

func (f problemFit) write(w io.Writer) {
	fmt.Fprintf(w, "%s on %s: %s after %d iterations, gap %.2g, %.3g s\n", f.Title, f.Problem, f.Status, f.Iterations, f.Gap, f.Seconds)
	hyper := []string{"lambda1 = " + run.Number(f.Params.Lambda1)}
	if f.Params.Lambda2 != 0 {
		hyper = append(hyper, "lambda2 = "+run.Number(f.Params.Lambda2))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Params.Hyper)) {
		hyper = append(hyper, name+" = "+run.Number(f.Params.Hyper[name]))
	}
	fmt.Fprintf(w, "%s\nobjective after each iteration: %s\n\n", strings.Join(hyper, ", "), trace(f.Trace))
	what := run.ErrorName(w, f.kind)
	t := run.Columns(w)
	fmt.Fprintf(t, "%s\tSTL %s\t  task\n", f.Title+" "+what, what)
	for i, name := range f.Tasks {
		fmt.Fprintf(t, "%.4f\t%.4f\t  %s\n", f.Test.Task[i], f.STL.Task[i], name)
	}
	fmt.Fprintf(t, "%.4f\t%.4f\t  mean\n", f.Test.Mean, f.STL.Mean)
	t.Flush()
	if f.Relative != nil {
		fmt.Fprintf(w, "relative error %.4f\n", *f.Relative)
	}
	fmt.Fprintln(w, "\ntask correlations")
	run.WriteMatrix(w, f.Correlation, f.Tasks)
	fmt.Fprintln(w)
}

// trace shortens a list of objective values to its ends.
func trace(values []float64) string {
	const ends = 4
	var parts []string
	for i, v := range values {
		switch {
		case i < ends || i >= len(values)-1:
			parts = append(parts, strconv.FormatFloat(v, 'g', 7, 64))
		case i == ends:
			parts = append(parts, "...")
		}
	}
	return strings.Join(parts, " ")
}
