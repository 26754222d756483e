package command

import (
	"fmt"
	"io"
	"path/filepath"

	"l2mt/infer/compare"
)

// demoCmd is the whole of L2MT on one dataset: each stage is the command of its own that a
// user would give, so its directories can be looked at and gone on from.
type demoCmd struct {
	Dataset string `default:"digits" help:"Dataset: a file, or the embedded \"digits\"."`
	Out     string `default:"runs/demo" type:"path" help:"Directory to write all files to. Finished steps there are not repeated."`
	Train   int    `default:"40" help:"Number of training problems."`
	Test    int    `default:"10" help:"Number of test problems, on which all methods are compared; they take most of the time."`
	Seed    uint64 `default:"1" help:"Seed of all random draws."`

	buildFlags `embed:""`
}

const (
	// demoFraction is the share of a task's rows to train on, and as many again to validate.
	// Sharing pays most where there are few.
	demoFraction = 0.05
	// demoDrawn is the number of test problems that are drawn. Pairs of classes and rows are shared
	// out in proportion to the numbers of problems, so that few problems would have few of them.
	demoDrawn = 40
)

func (c *demoCmd) Run(e *env) error {
	if c.Test < 2 {
		return errUsage.Errorf("--test=%d: there must be at least 2 test problems, for the interval of their ratios", c.Test)
	}
	// Rows of their own, as the experience may not teach test rows.
	x := &experiment{Dataset: c.Dataset, Flags: []string{
		fmt.Sprintf("problems --disjoint-rows --train=%d --test=%d", c.Train, max(demoDrawn, c.Test)),
		fmt.Sprintf("problems --train-fraction=%v --validation-fraction=%[1]v", demoFraction),
		"collect --explore=2 --o=labelled", "train --preset=pairwise", "eval --models=all",
	}}
	s, err := x.stages(&experimentRun{seed: c.Seed},
		c.Out, map[string]string{})
	if err != nil {
		return err
	}
	s.guard(c.buildFlags)
	s.evaluate.first = c.Test
	explain := &fitCmd{Network: s.learn.Out, Out: filepath.Join(c.Out, "problem"),
		givenProblem: givenProblem{
			Problems: s.evaluate.Problems,
			Name:     "test-0001",
		}}
	page := &reportCmd{Dir: c.Out}

	stage := *e
	stage.stdout = io.Discard
	for i, part := range []struct {
		what string
		run  func(*env) error
	}{
		{"drawing multitask problems from " + c.Dataset, s.sample.Run},
		{"trying covariances on the training problems", s.collect.Run},
		{"training a network on their errors", s.learn.Run},
		{"comparing it with ten multitask models on the test problems", s.evaluate.Run},
		{"looking at one test problem", explain.Run},
		{"writing the page", page.Run},
	} {
		e.remark("%d/6 %s", i+1, part.what)
		err := part.run(&stage)
		if err != nil {
			return fmt.Errorf("%s: %w", part.what, err)
		}
	}
	table, err := loadTable(s.evaluate.Out)
	if err != nil {
		return err
	}
	return e.print(struct {
		*compare.Table
		Demo *demoCmd `json:"-"`
		Page string   `json:"-"`
	}{table, c, filepath.Join(c.Out, reportFile)}, "demo")
}
