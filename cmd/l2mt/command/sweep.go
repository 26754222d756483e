package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/cmd/l2mt/internal/sweep"
	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/data/files"
	"l2mt/infer/compare"
)

type sweepCmd struct {
	Experiment string `arg:"" optional:"" help:"TOML file, or the name of a shipped experiment (see --list)."`
	List       bool   `help:"List the shipped experiments."`
	Show       bool   `help:"Print the experiment, as a file to begin with."`
	Dataset    string `help:"Dataset to use instead of the one that the experiment names."`
	Head       string `placeholder:"FILE" help:"Head to use instead of the one that the experiment names (see l2mt train --head)."`
	Network    string `placeholder:"DIR" help:"Trained network to use instead of the one that the experiment names or trains."`
	Out        string `type:"path" placeholder:"runs/sweep/NAME" help:"Directory for the table, the picture, and a folder for every run. What is there is not made again."`
	Workers    int    `help:"Fits at a time; 0 means one per CPU."`
}

func (c *sweepCmd) Validate() error {
	switch {
	case c.List && c.Experiment != "":
		return errors.New("--list goes with no experiment")
	case !c.List && c.Experiment == "":
		return errors.New("give an experiment: a TOML file, or a name from --list")
	case c.Workers < 0:
		return fmt.Errorf("--workers=%d: it must not be negative", c.Workers)
	}
	return nil
}

func (c *sweepCmd) Run(e *env) error {
	if c.List {
		return listExperiments(e)
	}
	x, err := readExperiment(c.Experiment)
	if err != nil {
		return err
	}
	if c.Show {
		return e.print(x.text, func(w io.Writer) { fmt.Fprint(w, x.text) })
	}
	x.Dataset, x.Network, x.Head = cmp.Or(c.Dataset, x.Dataset), cmp.Or(c.Network, x.Network), cmp.Or(c.Head, x.Head)
	c.Out = cmp.Or(c.Out, filepath.Join("runs", "sweep", x.name))
	result, err := c.runs(e, x)
	if errors.Is(err, context.Canceled) {
		e.remark("%s has what is done; the same command goes on from there", c.Out)
	}
	if err != nil {
		return err
	}
	if err := result.Save(c.Out); err != nil {
		return err
	}
	return e.print(result, result.Write)
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

// madeOf is all that decides what a run comes to. It is kept in the run's folder.
type madeOf struct {
	Dataset  string     `json:"dataset"` // its checksum, as of the others
	Head     string     `json:"head,omitempty"`
	Network  string     `json:"network,omitempty"`
	Case     *caseStudy `json:"case,omitempty"`
	Compare  comparison `json:"compare"`
	Seed     uint64     `json:"seed"`
	Settings settings   `json:"settings"`
	L2MT     string     `json:"l2mt"`
}

// runs makes the runs that are missing, one after the other, and brings all together.
// Those of equal problems and experience share that of the first.
func (c *sweepCmd) runs(e *env, x *experiment) (*sweep.Result, error) {
	d, err := digits.Open(x.Dataset)
	if err != nil {
		return nil, err
	}
	same := madeOf{Dataset: d.Fingerprint(), Case: x.Case, Compare: x.Compare, L2MT: run.CurrentVersions().L2MT}
	if head, err := openHead(x.Head); err != nil {
		return nil, err
	} else if head != nil {
		same.Head = head.Sum()
	}
	if x.Network != "" {
		if same.Network, err = run.NetworkSum(x.Network); err != nil {
			return nil, fmt.Errorf("network %q is neither %q nor a trained network's directory: %w", x.Network, run.PretrainedNetwork, err)
		}
	}
	runs, err := x.runs()
	if err != nil {
		return nil, err
	}
	result := x.result()
	experience := map[string]string{}
	for i, r := range runs {
		dir := filepath.Join(c.Out, "runs", r.name())
		key, err := json.Marshal([]any{r.settings["problems"], r.settings["experience"]})
		if err != nil {
			return nil, err
		}
		if experience[string(key)] == "" {
			experience[string(key)] = filepath.Join(dir, "experience")
		}
		s, err := x.stages(r, dir, experience[string(key)], c.Workers)
		if err != nil {
			return nil, err
		}
		of := same
		of.Seed, of.Settings = r.seed, r.settings
		e.remark("run %d of %d: %s", i+1, len(runs), r.name())
		if err := s.make(e, x, d, of, dir); err != nil {
			return nil, fmt.Errorf("run %s: %w", r.name(), err)
		}
		table, err := run.LoadTable(s.evaluate.Out)
		if err != nil {
			return nil, err
		}
		at, number := r.point()
		result.Add(at, number, r.seed, table)
		if x.Case != nil && r.seed == x.Seeds[0] {
			all, err := outcomes(filepath.Join(s.evaluate.Out, "outcomes.jsonl"))
			if err != nil {
				return nil, err
			}
			if err := result.AddCorrelations(at, x.Case.tasks(), all); err != nil {
				return nil, err
			}
		}
	}
	result.Finish()
	return result, nil
}

// make makes a run, or what is missing of it. Its last file says what it was made of:
// where that is there and the same, nothing is done.
func (s *stages) make(e *env, x *experiment, d *data.Dataset, of madeOf, dir string) error {
	path := filepath.Join(dir, sweep.DoneFile)
	want, err := json.Marshal(of)
	if err != nil {
		return err
	}
	var now, done madeOf
	if err := errors.Join(json.Unmarshal(want, &now), run.Optional(run.LoadJSON(path, &done))); err != nil {
		return err
	}
	if by := done.L2MT; by != "" && by != now.L2MT {
		e.remark("warning: %s was made by l2mt %s; this is %s", dir, by, now.L2MT)
		done.L2MT = now.L2MT
	}
	if reflect.DeepEqual(now, done) {
		return nil
	}
	stage := *e
	stage.stdout, stage.json = io.Discard, false
	if err := s.draw(&stage, x, d); err != nil {
		return err
	}
	if x.Network == "" {
		if err := s.collect.Run(&stage); err != nil {
			return err
		}
		brief := stage // what came of it, without a line an epoch
		if brief.quiet = true; !e.quiet {
			brief.stdout = e.stderr
		}
		if err := s.learn.Run(&brief); err != nil {
			return err
		}
	}
	if err := s.evaluate.Run(&stage); err != nil {
		return err
	}
	return run.SaveJSON(path, of)
}

// draw draws the problems. A case study takes the place of the test problems.
func (s *stages) draw(e *env, x *experiment, d *data.Dataset) error {
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

// point names where a run is, and has the number on the first axis or NaN.
func (r *experimentRun) point() (at []string, number float64) {
	at, number = []string{}, math.NaN()
	for i, p := range r.at {
		at = append(at, p.Name)
		if i == 0 {
			number = p.at
		}
	}
	return at, number
}

// result is that of an experiment without a run.
func (x *experiment) result() *sweep.Result {
	r := &sweep.Result{
		Name: x.name, Title: x.Title, Dataset: filepath.Base(x.Dataset), Seeds: x.Seeds, Show: x.Compare.Show,
		Versions: run.CurrentVersions(), Experiment: x.text,
	}
	for _, v := range x.Vary {
		r.Axes = append(r.Axes, sweep.Axis{Label: v.Label, Numeric: v.numeric(), Log: v.Log})
	}
	return r
}

// outcomes are those that an evaluation keeps.
func outcomes(path string) (all []compare.Outcome, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(raw)) {
		var o compare.Outcome
		if err := files.DecodeJSON([]byte(line), &o); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, o)
	}
	return all, nil
}
