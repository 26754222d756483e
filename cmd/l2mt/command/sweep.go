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
)

type sweepCmd struct {
	Experiment string   `arg:"" optional:"" help:"TOML file, or a shipped experiment: ${experiments}. Without one the flags say it all."`
	Show       bool     `help:"Print the experiment, as a file to begin with."`
	Vary       string   `placeholder:"SETTING=VALUES" help:"What to vary instead of what the experiment varies: a setting of the network, such as model.estimator=kernel,linear, or a flag of a command, such as \"problems --train-fraction=0.1,0.3\"."`
	Seeds      int      `placeholder:"N" help:"Repeat with the seeds 1 to N, instead of those of the experiment."`
	Experience []string `sep:"none" type:"existingdir" placeholder:"DIR" help:"Experience to train on, as in l2mt train, instead of problems that are drawn and experience that is made."`
	Problems   string   `type:"existingfile" placeholder:"FILE" help:"Test problems to compare networks on that are trained on --experience. Without any, they are compared on the problems that training holds out."`
	Dataset    string   `help:"Dataset to use instead of the one that the experiment names."`
	Head       string   `placeholder:"FILE" help:"Head to use instead of the one that the experiment names (see l2mt train --head)."`
	Out        string   `type:"path" placeholder:"runs/sweep/NAME" help:"Directory for tables, pictures, and a folder for every run. What is there is not made again."`
	Workers    int      `help:"Fits at a time; 0 means one per CPU."`
}

func (c *sweepCmd) Validate() error {
	switch {
	case c.Experiment == "" && c.Vary == "" && c.Experience == nil:
		return errors.New("give an experiment: a TOML file, the name of a shipped one, or --vary SETTING=VALUES")
	case c.Problems != "" && c.Experience == nil:
		return errors.New("--problems goes with --experience")
	case c.Workers < 0 || c.Seeds < 0:
		return fmt.Errorf("--workers=%d --seeds=%d: they must not be negative", c.Workers, c.Seeds)
	}
	return nil
}

func (c *sweepCmd) Run(e *env) error {
	x, err := readExperiment(c.Experiment, c.change)
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
	if result == nil {
		return (&runsCmd{Dirs: networks, Out: filepath.Join(c.Out, "curves.png")}).Run(e)
	}
	if err := result.Save(c.Out, x.text); err != nil {
		return err
	}
	return e.print(result, result.Write)
}

// change puts the flags over what the experiment says.
func (c *sweepCmd) change(x *experiment) error {
	x.Dataset, x.Head = cmp.Or(c.Dataset, x.Dataset), cmp.Or(c.Head, x.Head)
	if x.store, x.tests = c.Experience, c.Problems; x.store != nil {
		x.Dataset = c.Dataset // else what the experience and the problems name
	}
	if at := strings.LastIndex(c.Vary, "="); at > 0 {
		x.Title, x.Vary = c.Vary, variation{Flag: c.Vary[:at+1]}
		if !strings.Contains(x.Vary.Flag, " ") {
			x.Vary.Label, x.Vary.Flag = c.Vary[:at], "train --set="+x.Vary.Flag
		}
		for value := range strings.SplitSeq(c.Vary[at+1:], ",") {
			x.Vary.Values = append(x.Vary.Values, value)
		}
	} else if c.Vary != "" {
		return fmt.Errorf("%w: --vary=%s: it must be SETTING=VALUE,VALUE", errUsage, c.Vary)
	}
	for i := range c.Seeds {
		x.Seeds = append(x.Seeds[:i:i], uint64(i+1))
	}
	return nil
}

// runs makes the runs one after the other, and brings their tables together, if there are
// test problems. Runs of equal problems and experience share those of the first. What is there
// each command finds, and does not make it again.
func (c *sweepCmd) runs(e *env, x *experiment) (result *sweep.Result, networks []string, err error) {
	if x.store == nil || x.tests != "" {
		result = sweep.New(x.Title, x.Vary.Label, x.Show)
	}
	first := map[string]string{} // the folder of the first run of equal data
	runs := x.runs()
	for i, r := range runs {
		dir := filepath.Join(c.Out, sweep.Runs, r.name())
		made := fmt.Sprint(x.data(r))
		first[made] = cmp.Or(first[made], dir)
		s, err := x.stages(r, dir, first[made])
		if err != nil {
			return nil, nil, err
		}
		e.remark("run %d of %d: %s", i+1, len(runs), r.name())
		s.collect.Workers, s.evaluate.Workers = c.Workers, c.Workers
		if err := s.run(e, x); err != nil {
			return nil, nil, fmt.Errorf("run %s: %w", r.name(), err)
		}
		if networks = append(networks, s.learn.Out); result == nil {
			continue
		}
		table, err1 := run.LoadTable(s.evaluate.Out)
		problems, err2 := data.LoadProblems(s.evaluate.Problems)
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, err
		}
		from := filepath.Base(first[made])
		if x.tests != "" {
			from = filepath.Base(x.tests)
		}
		result.Add(r.Name, from, problems.Problems[0], table)
	}
	if result != nil {
		err = result.Finish()
	}
	return result, networks, err
}

// run makes what is missing of a run.
func (s *stages) run(e *env, x *experiment) error {
	quiet := *e
	quiet.stdout, quiet.json = io.Discard, false
	if x.store == nil {
		if err := s.sample.Run(&quiet); err != nil {
			return err
		}
		if err := s.collect.Run(&quiet); err != nil {
			return err
		}
	}
	brief := quiet // what came of training, without a line an epoch
	if !e.quiet {
		brief.stdout, brief.quiet = e.stderr, true
	}
	if err := s.learn.Run(&brief); err != nil || s.evaluate.Problems == "" {
		return err
	}
	return s.evaluate.Run(&quiet)
}
