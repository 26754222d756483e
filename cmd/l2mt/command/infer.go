package command

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model/evidence"
)

type inferCmd struct {
	Network    string `type:"existingdir" help:"Trained network; by default the pretrained one, which serves all features (l2mt version names it)."`
	Problems   string `required:"" type:"path" help:"Problem file."`
	Name       string `help:"Name of the problem, of several in the file."`
	dataFlags  `embed:""`
	Out        string `type:"path" xor:"out" help:"Directory for the model, for l2mt predict, show and report."`
	OmegaOnly  bool   `xor:"out" help:"Stop at the covariance that the network finds. Needs no validation or test rows."`
	Structures bool   `help:"List what was weighed, with its loss on rows held out and its weight."`
	Workers    int    `help:"Fits at a time; 0 means one per CPU."`
}

func (c *inferCmd) Run(e *env) error {
	if err := apart(c.Out, c.Network); err != nil {
		return err
	}
	network, err := loadNetwork(c.Network)
	if err != nil {
		return err
	}
	p, err := c.open()
	if err != nil {
		return err
	}
	if c.OmegaOnly {
		return printOmega(e, network, p)
	}
	if err := withoutHead(network, c.Network); err != nil && c.Out != "" {
		return err
	}
	b, err := solve.NewBench(network, p,
		solve.Options{Workers: cmp.Or(c.Workers, runtime.GOMAXPROCS(0)),
			Progress: e.reporter()})
	if err != nil {
		return err
	}
	features, err := network.Features(p)
	if err != nil {
		return err
	}
	recipe := table.Numbers(features.Features, features.Cols())
	recipe.Task = "task"
	r := &fitReport{scale: solve.Identity, structures: c.Structures}
	r.table = &table.Table{Problem: features.Labelled(), Recipe: recipe}
	return r.run(e, b, nil, "", c.Out)
}

// open reads the problem that is asked for.
func (c *inferCmd) open() (*data.ProblemData, error) {
	problems, err := c.all(c.Problems)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(problems, func(p *data.ProblemData) bool { return p.Name == c.Name })
	switch {
	case i >= 0:
		return problems[i], nil
	case c.Name != "" || len(problems) > 1:
		return nil, errUsage.Errorf("--name=%q: there is no such one of the %d problems in %s; the first is %q", c.Name, len(problems), c.Problems, problems[0].Name)
	}
	return problems[0], nil
}

// found is what the network finds for a problem.
type found struct {
	Problem  string        `json:"problem"`
	Tasks    []string      `json:"tasks"`
	Omega    [][]float64   `json:"omega"`
	Expected compare.Float `json:"expected_relative_error"`
}

// printOmega prints what a network finds, without a fit.
func printOmega(e *env, network *solve.Finder, p *data.ProblemData) error {
	f, err := network.Omega(p.Labelled())
	if err != nil {
		return err
	}
	result := found{Problem: p.Name, Omega: compare.Entries(f.Omega),
		Expected: compare.Float(f.Estimated)}
	for _, t := range p.Tasks {
		result.Tasks = append(result.Tasks, t.Name)
	}
	return e.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "problem %s, %d tasks\n", result.Problem, len(result.Tasks))
		title := "task correlations that the network finds"
		if result.Expected <= math.MaxFloat64 { // else the network says nothing
			title += fmt.Sprintf("; relative error expected %.4f", result.Expected)
		}
		writeCorrelations(w, title, result.Tasks, correlationOf(f.Omega), nil)
	})
}

// testReport has the errors on test rows, which no choice depends on.
type testReport struct {
	Fit evidence.Errors `json:"fit"`
	STL evidence.Errors `json:"stl"`
}

// writeTest prints the errors on test rows.
func (r *fitReport) writeTest(w io.Writer) {
	what := "error"
	if r.Kind == data.Regression {
		what = "nMSE"
	}
	fmt.Fprintln(w)
	t := newGrid("test "+what, "STL", "relative", "task")
	for i, task := range r.Tasks {
		t.row(r.Test.Fit.Task[i], r.Test.STL.Task[i],
			r.Test.Fit.Task[i]/r.Test.STL.Task[i], task.Task)
	}
	t.row(r.Test.Fit.Mean, r.Test.STL.Mean,
		r.Test.Fit.Mean/r.Test.STL.Mean, "mean")
	t.write(w)
}
