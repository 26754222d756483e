package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/data/files"
	"l2mt/infer/compare"
	"l2mt/infer/report"
)

type sweepCmd struct {
	Experiment string   `arg:"" optional:"" help:"TOML file of an experiment, or the name of a shipped one: ${experiments}. Not needed with --vary."`
	Show       bool     `help:"Print the experiment as a TOML file to start from, and run nothing."`
	Vary       []string `sep:"none" placeholder:"SETTING=VALUES" help:"Setting to vary, in place of the experiment's: one of the network, such as model.estimator=kernel,linear, or a flag of a command, such as \"problems --train-fraction=0.1,0.3\". Given again for further settings, all combinations are run."`
	Set        []string `sep:"none" placeholder:"SETTING=VALUE" help:"Setting of all runs, written as for --vary."`
	Seeds      uint     `placeholder:"N" help:"Repeat each run with the seeds 1 to N, in place of the experiment's seeds."`
	Experience []string `sep:"none" type:"existingdir" placeholder:"DIR" help:"Directory of experience to train on (see l2mt train). No problems are then drawn and no experience is made."`
	Problems   string   `type:"existingfile" placeholder:"FILE" help:"File of test problems for networks trained on --experience. By default they are compared on the problems that training holds out."`
	Dataset    string   `help:"Dataset to use instead of the one that the experiment names."`
	Out        string   `type:"path" placeholder:"runs/sweep/NAME" help:"Directory for tables, pictures and a folder for each run. Finished runs there are not repeated."`
	Part       part     `name:"shard" placeholder:"I/N" help:"Make part I of N of the runs, counted from 0; runs that share experience are in one part. A run without --shard makes missing runs, and the tables of all."`
	buildFlags `embed:""`
	Workers    uint `help:"Number of fits at the same time; 0 means one per CPU."`
}

func (c *sweepCmd) Validate() error {
	switch {
	case c.Experiment == "" && c.Vary == nil && c.Experience == nil:
		return errors.New("give an experiment: a TOML file, the name of a shipped one, or --vary SETTING=VALUES")
	case c.Problems != "" && c.Experience == nil:
		return errors.New("--problems goes with --experience")
	}
	return nil
}

func (c *sweepCmd) Run(e *env) error {
	x, err := c.read()
	if err != nil {
		return err
	}
	if c.Show {
		_, err := io.WriteString(e.stdout, x.text)
		return err
	}
	err = c.goOn(e, c.Out, func(begin func() error) error {
		return c.make(e, x, buildFlags{c.AnyBuild, begin})
	})
	if err != nil {
		return err
	}
	if c.Part.count > 0 {
		e.remark("part %s of the runs is in %s; sweep without --shard makes the tables of all parts", c.Part, c.Out)
		return nil
	}
	if x.store != nil && x.tests == "" {
		comparison := &runsCmd{}
		for _, r := range x.runs {
			comparison.Dirs = append(comparison.Dirs, r.learn.Out)
		}
		return comparison.Run(e)
	}
	result, err := x.gather()
	if err == nil {
		err = c.save(x, result)
	}
	if err != nil {
		return err
	}
	return e.print(result, "sweep")
}

// make makes the runs one after the other. Runs of equal problems and experience share the files
// of the first. Each command finds files that are there, and does not make them again.
func (c *sweepCmd) make(e *env, x *experiment, build buildFlags) error {
	var stores []string
	for i, r := range x.runs {
		store := slices.Index(stores, r.folder)
		if store < 0 {
			store = len(stores)
			stores = append(stores, r.folder)
		}
		if !c.Part.has(store) {
			continue
		}
		e.remark("run %d of %d: %s", i+1, len(x.runs), r.name())
		r.collect.Workers = int(c.Workers)
		r.evaluate.Workers = int(c.Workers)
		r.guard(build)
		if err := r.run(e, x); err != nil {
			return fmt.Errorf("run %s: %w", r.name(), err)
		}
		r.from = filepath.Base(cmp.Or(x.tests, r.folder))
		if r.evaluate.Problems == "" {
			continue
		}
		problems, err := data.LoadProblems(r.evaluate.Problems)
		if err != nil {
			return err
		}
		for _, t := range problems.Problems[0].Tasks {
			r.tasks = append(r.tasks, t.Name)
		}
		r.table, err = loadTable(r.evaluate.Out)
		if err != nil {
			return err
		}
	}
	return nil
}

// guard lets the stages go on with the files of a build.
func (s *stages) guard(build buildFlags) {
	s.collect.buildFlags = build
	s.learn.buildFlags = build
	s.evaluate.buildFlags = build
}

// run makes the missing files of a run.
func (s *stages) run(e *env, x *experiment) error {
	quiet := *e
	quiet.stdout = io.Discard
	quiet.json = false
	if x.store == nil {
		err := s.sample.Run(&quiet)
		if err != nil {
			return err
		}
		err = s.collect.Run(&quiet)
		if err != nil {
			return err
		}
	}
	brief := quiet // the results of training, without a line an epoch
	if !e.quiet {
		brief.stdout = e.stderr
		brief.quiet = true
	}
	err := s.learn.Run(&brief)
	if err != nil || s.evaluate.Problems == "" {
		return err
	}
	return s.evaluate.Run(&quiet)
}

// gather makes the tables of the points over their seeds, and compares L2MT at points that have
// problems in common.
func (x *experiment) gather() (*swept, error) {
	result := &swept{
		Title: x.Title,
		Axis:  x.Vary.Label,
	}
	for _, p := range x.Vary.Cases {
		cases := slices.DeleteFunc(slices.Clone(x.runs),
			func(r *experimentRun) bool {
				return r.Name != p.Name
			})
		table, err := compare.Summarise(overSeeds(cases))
		if err != nil {
			return nil, err
		}
		rows := x.shown(table)
		result.Points = append(result.Points, plot.Point{
			Name: p.Name,
			Rows: rows,
		})
		for _, row := range rows {
			if row.Omega == nil || row.Model == compare.STL {
				continue
			}
			omega, err := data.NewCovariance(row.Omega)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", row.Title, err)
			}
			title := strings.TrimSuffix(row.Title+", "+p.Name, ", ")
			result.Correlations = append(result.Correlations,
				plot.Correlation{
					Title:       title,
					Tasks:       cases[0].tasks,
					Correlation: report.Correlation(omega),
				})
		}
		for i, other := range result.tables {
			if slices.Equal(table.Problems, other.Problems) {
				paired := compare.Against(
					find(other, compare.L2MT, compare.Plain).Test,
					find(table, compare.L2MT, compare.Plain).Test,
					find(other, compare.STL, compare.Labelled).Error)
				result.Pairs = append(result.Pairs,
					compare.Pair{A: x.Vary.Cases[i].Name, B: p.Name, Paired: paired})
			}
		}
		result.tables = append(result.tables, table)
	}
	return result, nil
}

// overSeeds are the outcomes of runs. Errors of several seeds on one problem count as their mean.
func overSeeds(runs []*experimentRun) (outcomes []compare.Outcome) {
	var seeds []float64 // so many are the mean in each
	for _, r := range runs {
		for _, row := range r.table.Rows {
			if row.Model == compare.Best { // it is chosen again
				continue
			}
			method := row.Method
			method.Network = "" // all networks are one method's
			for k, name := range r.table.Problems {
				problem := r.from + " " + name
				i := slices.IndexFunc(outcomes, func(o compare.Outcome) bool {
					return o.Problem == problem && o.Method == method
				})
				if i < 0 {
					i = len(outcomes)
					seeds = append(seeds, 0)
					outcomes = append(outcomes, compare.Outcome{Problem: problem,
						Method: method, Omega: row.Omega})
				}
				seeds[i]++
				mean := func(to *float64, v float64) {
					*to += (v - *to) / seeds[i]
				}
				mean(&outcomes[i].Validation.Mean, row.Validation[k])
				mean(&outcomes[i].Test.Mean, row.Test[k])
			}
		}
	}
	return outcomes
}

func find(table *compare.Table, model string, v compare.Variant) *compare.Row {
	for i, row := range table.Rows {
		if row.Model == model && row.Variant == v {
			return &table.Rows[i]
		}
	}
	return nil
}

// shown are the rows of a table that the picture shows, in its order.
func (x *experiment) shown(table *compare.Table) (rows []compare.Row) {
	for _, name := range x.Show {
		model, variant, _ := strings.Cut(name, "/")
		row := find(table, model, compare.Variant(variant))
		if row != nil {
			rows = append(rows, *row)
		}
	}
	if x.Show == nil {
		rows = slices.DeleteFunc(slices.Clone(table.Rows),
			func(row compare.Row) bool {
				return row.Published
			})
	}
	return rows
}

// save writes tables and pictures, each file whole or not at all, and the experiment's text.
func (c *sweepCmd) save(x *experiment, result *swept) error {
	for i, p := range result.Points {
		dir := filepath.Join(c.Out, "points", url.QueryEscape(p.Name))
		if err := errors.Join(os.MkdirAll(dir, 0o755),
			saveTable(dir, result.tables[i])); err != nil {
			return err
		}
	}
	return errors.Join(
		files.WriteFile(filepath.Join(c.Out, "experiment.toml"),
			[]byte(x.text)),
		saveJSON(filepath.Join(c.Out, sweepFile), result),
		result.Picture().Save(filepath.Join(c.Out, "sweep.png")),
		plot.Correlations(result.Correlations).Save(filepath.Join(c.Out, "correlation.png")))
}
