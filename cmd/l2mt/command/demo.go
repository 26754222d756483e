package command

import (
	"fmt"
	"io"
	"path/filepath"

	"l2mt/cmd/l2mt/internal/report"
	"l2mt/data"
	"l2mt/train/collect"
)

// demoCmd is the whole of L2MT on one dataset: each stage is the command of
// its own that a user would give, so its directories can be looked at and gone
// on from.
type demoCmd struct {
	Dataset       string   `default:"digits" help:"Dataset: a file or folder, or the embedded \"digits\"."`
	Out           string   `default:"runs/demo" type:"path" help:"Directory for everything. What is there already is not made again."`
	Train         int      `default:"60" help:"Training problems."`
	Test          int      `default:"40" help:"Test problems."`
	TrainFraction float64  `default:"0.05" help:"Share of a task's rows to train on, and as many again to validate. Sharing pays most where there are few."`
	Models        []string `default:"all" help:"Multitask models to compare with (${models}); \"all\" means the paper's ten."`
	Seed          uint64   `default:"1" help:"Seed of everything random."`
}

func (c *demoCmd) Run(e *env) error {
	at := func(name string) string { return filepath.Join(c.Out, name) }
	train, test := filepath.Join(at("problems"), "train.json"), filepath.Join(at("problems"), "test.json")
	// Rows of their own: what experience teaches of rows must not be of test rows.
	sample := &problemsSampleCmd{DisjointRows: true, sampleFlags: sampleFlags{
		Dataset: c.Dataset, Out: at("problems"), Train: c.Train, Test: c.Test, MinTasks: 4, MaxTasks: 8,
		TrainFraction: c.TrainFraction, ValidationFraction: c.TrainFraction, Seed: c.Seed,
	}}
	collect := &collectCmd{Problems: train, Out: at("experience"), Draws: 1, Explore: 2, Near: 6, O: collect.OfLabelled, Seed: c.Seed}
	learn := &trainCmd{Experience: []string{at("experience")}, Out: at("network"), Preset: "pairwise", Seed: c.Seed}
	evaluate := &evalCmd{Network: []string{at("network")}, Problems: test, Models: c.Models, Out: at("evaluation")}
	explain := &inferCmd{Network: at("network"), Out: at("problem")}
	page := &reportCmd{Dir: c.Out}

	stage := *e
	stage.stdout, stage.json = io.Discard, false
	last := *e
	for i, s := range []struct {
		what string
		run  func(*env) error
		e    *env
	}{
		{"drawing multitask problems from " + c.Dataset, sample.Run, &stage},
		{"trying covariances on the training problems", collect.Run, &stage},
		{"training the network on what came of them", learn.Run, &stage},
		{"comparing on the test problems", evaluate.Run, &last},
		{"explaining one test problem", func(e *env) error {
			f, err := data.LoadProblems(test)
			if err != nil {
				return err
			}
			explain.Problems, explain.Name = test, f.Problems[0].Name
			return explain.Run(e)
		}, &last},
		{"writing the report", page.Run, &stage},
	} {
		e.remark("%d/6 %s", i+1, s.what)
		if err := s.run(s.e); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		if s.e == &last && !e.json {
			fmt.Fprintln(e.stdout)
		}
	}
	if !e.json {
		fmt.Fprintf(e.stdout, "report: %s\npictures and tables: %s, %s, %s\n", at(report.File), at("evaluation"), at("problem"), at("network"))
	}
	return nil
}
