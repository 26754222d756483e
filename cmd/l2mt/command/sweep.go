package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/cmd/l2mt/internal/sweep"
	"l2mt/data"
	"l2mt/data/digits"
)

type sweepCmd struct {
	Experiment string   `arg:"" optional:"" help:"TOML file, or the name of a shipped experiment (see --list). Without one the flags say it all."`
	List       bool     `help:"List the shipped experiments."`
	Show       bool     `help:"Print the experiment, as a file to begin with."`
	Vary       string   `placeholder:"SETTING=VALUES" help:"Setting to vary in place of what the experiment varies, such as model.estimator=kernel,linear."`
	Seeds      int      `placeholder:"N" help:"Repeat with the seeds 1 to N, instead of those of the experiment."`
	Experience []string `sep:"none" type:"existingdir" placeholder:"DIR" help:"Experience to train on, as in l2mt train, instead of problems that are drawn and experience that is made."`
	Problems   string   `type:"existingfile" placeholder:"FILE" help:"Test problems to compare networks on that are trained on --experience. Without any, they are compared on the problems that training holds out."`
	Dataset    string   `help:"Dataset to use instead of the one that the experiment names."`
	Head       string   `placeholder:"FILE" help:"Head to use instead of the one that the experiment names (see l2mt train --head)."`
	Network    string   `placeholder:"DIR" help:"Trained network to use instead of the one that the experiment names or trains."`
	Out        string   `type:"path" placeholder:"runs/sweep/NAME" help:"Directory for the table, the picture, and a folder for every run. What is there is not made again."`
	Workers    int      `help:"Fits at a time; 0 means one per CPU."`
}

func (c *sweepCmd) Validate() error {
	switch {
	case c.List && c.Experiment != "":
		return errors.New("--list goes with no experiment")
	case !c.List && c.Experiment == "" && c.Vary == "" && c.Experience == nil:
		return errors.New("give an experiment: a TOML file, a name from --list, or --vary SETTING=VALUES")
	case c.Vary != "" && !strings.Contains(c.Vary, "="):
		return fmt.Errorf("--vary=%s: it must be SECTION.NAME=VALUE,VALUE", c.Vary)
	case c.Problems != "" && c.Experience == nil:
		return errors.New("--problems goes with --experience")
	case c.Workers < 0 || c.Seeds < 0:
		return fmt.Errorf("--workers=%d --seeds=%d: they must not be negative", c.Workers, c.Seeds)
	}
	return nil
}

func (c *sweepCmd) Run(e *env) error {
	if c.List {
		return listExperiments(e)
	}
	x, err := c.experiment()
	if err != nil {
		return err
	}
	if c.Show {
		return e.print(x.text, func(w io.Writer) { fmt.Fprint(w, x.text) })
	}
	c.Out = cmp.Or(c.Out, filepath.Join("runs", "sweep", x.name))
	result, networks, err := c.runs(e, x)
	if errors.Is(err, context.Canceled) {
		e.remark("%s has what is done; the same command goes on from there", c.Out)
	}
	if err != nil {
		return err
	}
	if x.store != nil && x.tests == "" {
		return (&runsCmd{Dirs: networks, Out: filepath.Join(c.Out, "curves.png")}).Run(e)
	}
	if err := result.Save(c.Out); err != nil {
		return err
	}
	return e.print(result, result.Write)
}

// experiment is the one that is named, or one of the flags alone.
func (c *sweepCmd) experiment() (*experiment, error) {
	flags := func(x *experiment) {
		x.Dataset, x.Network, x.Head = cmp.Or(c.Dataset, x.Dataset), cmp.Or(c.Network, x.Network), cmp.Or(c.Head, x.Head)
		if x.store, x.tests = c.Experience, c.Problems; x.store != nil {
			x.Dataset = c.Dataset // else what the experience and the problems name
		}
		if setting, values, ok := strings.Cut(c.Vary, "="); ok {
			x.Title, x.Vary = c.Vary, variation{Setting: setting}
			for _, value := range strings.Split(values, ",") {
				x.Vary.Values = append(x.Vary.Values, value)
			}
		}
		for i := range c.Seeds {
			x.Seeds = append(x.Seeds[:i:i], uint64(i+1))
		}
	}
	if c.Experiment == "" {
		return parseExperiment("flags", "", flags)
	}
	return readExperiment(c.Experiment, flags)
}

func listExperiments(e *env) error {
	type entry struct {
		Name  string `json:"name"`
		About string `json:"about"`
	}
	var list []entry
	for _, name := range experimentNames() {
		x, err := readExperiment(name)
		if err != nil {
			return err
		}
		list = append(list, entry{name, x.About})
	}
	return e.print(list, func(w io.Writer) {
		t := run.Fields(w)
		for _, x := range list {
			fmt.Fprintf(t, "%s\t%s\n", x.Name, x.About)
		}
		t.Flush()
	})
}

// runs makes the runs one after the other, and brings all together. Those of equal problems
// and experience share that of the first. What a command finds made it does not make again.
func (c *sweepCmd) runs(e *env, x *experiment) (result *sweep.Result, networks []string, err error) {
	if x.Network != "" {
		if _, err := run.NetworkSum(x.Network); err != nil {
			return nil, nil, fmt.Errorf("network %q is neither %q nor a trained network's directory: %w", x.Network, run.PretrainedNetwork, err)
		}
	}
	result = &sweep.Result{
		Name: x.name, Title: x.Title, Dataset: filepath.Base(cmp.Or(x.Dataset, strings.Join(x.store, ", "))), Seeds: x.Seeds, Show: x.Compare.Show,
		Versions: run.CurrentVersions(), Experiment: x.text, Label: x.Vary.Label,
	}
	experience := map[string]string{}
	runs := x.runs()
	for i, r := range runs {
		dir := filepath.Join(c.Out, sweep.Runs, r.name())
		made := fmt.Sprint(r.Problems, r.Experience)
		if experience[made] == "" {
			experience[made] = filepath.Join(dir, "experience")
		}
		s, err := x.stages(r, dir, experience[made], c.Workers)
		if err != nil {
			return nil, nil, err
		}
		e.remark("run %d of %d: %s", i+1, len(runs), r.name())
		if err := s.run(e, x); err != nil {
			return nil, nil, fmt.Errorf("run %s: %w", r.name(), err)
		}
		networks = append(networks, s.learn.Out)
		if s.evaluate.Problems == "" {
			continue
		}
		table, err := run.LoadTable(s.evaluate.Out)
		if err != nil {
			return nil, nil, err
		}
		problems := x.tests
		if problems == "" {
			problems = fmt.Sprint(r.Problems)
		}
		result.Add(r.point, r.seed, problems, table)
	}
	var tasks []string
	if x.Case != nil {
		tasks = x.Case.tasks()
	}
	return result, networks, result.Finish(tasks)
}

// run makes what is missing of a run.
func (s *stages) run(e *env, x *experiment) error {
	stage := *e
	stage.stdout, stage.json = io.Discard, false
	if x.store == nil {
		if err := s.draw(&stage, x); err != nil {
			return err
		}
	}
	if x.store == nil && x.Network == "" {
		if err := s.collect.Run(&stage); err != nil {
			return err
		}
	}
	if x.Network == "" {
		brief := stage // what came of it, without a line an epoch
		if brief.quiet = true; !e.quiet {
			brief.stdout = e.stderr
		}
		if err := s.learn.Run(&brief); err != nil {
			return err
		}
	}
	if s.evaluate.Problems == "" {
		return nil
	}
	return s.evaluate.Run(&stage)
}

// draw draws the problems. A case study takes the place of the test problems.
func (s *stages) draw(e *env, x *experiment) error {
	d, err := digits.Open(x.Dataset)
	if err != nil {
		return err
	}
	train, test, err := data.SampleProblems(d, s.sample.config())
	if err != nil {
		return err
	}
	if x.Case != nil {
		one, err := x.Case.problem(d, s.sample.config())
		if err != nil {
			return err
		}
		if test.Problems = []*data.Problem{one}; train != nil {
			train.Problems = x.Case.without(train.Problems)
		}
	}
	return s.sample.save(e, train, test)
}
