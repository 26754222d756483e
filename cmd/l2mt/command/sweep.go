package command

// What a sweep makes is kept in a store, in folders named by the hash of all
// that determines them: problems, experience, networks and outcomes. So runs,
// and experiments, share what they have in common, and an interrupted sweep
// goes on where it was.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"l2mt/data"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/layers"
	"l2mt/model/multitask"
	"l2mt/train"
	"l2mt/train/collect"
)

type sweepCmd struct {
	Experiment string   `arg:"" optional:"" help:"TOML file, or the name of a shipped experiment (see --list)."`
	List       bool     `help:"List the shipped experiments."`
	Dataset    string   `help:"Dataset to use instead of the one that the experiment names."`
	Head       string   `placeholder:"FILE" help:"Head to use instead of the one that the experiment names (see l2mt train --head)."`
	Out        string   `type:"path" placeholder:"runs/sweep/NAME" help:"Directory for tables and pictures."`
	Store      string   `default:"runs/sweep/store" type:"path" help:"Directory of what runs and experiments share: problems, experience, networks and outcomes. What is there is not made again."`
	Seeds      []uint64 `help:"Seeds to use instead of those of the experiment."`
	Workers    int      `help:"Fits at a time; 0 means one per CPU."`
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
	if len(c.Seeds) > 0 {
		x.Seeds = c.Seeds
	}
	if c.Dataset != "" {
		x.Dataset = c.Dataset
	}
	if c.Head != "" {
		x.Head = c.Head
	}
	s, err := newSweep(e, x, c)
	if err != nil {
		return err
	}
	result, err := s.run()
	if errors.Is(err, context.Canceled) {
		e.remark("%s has what is done; the same command goes on from there", c.Store)
	}
	if err != nil {
		return err
	}
	if err := result.save(cmp.Or(c.Out, filepath.Join("runs", "sweep", x.name)), x.text); err != nil {
		return err
	}
	return e.print(result, result.write)
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
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, x := range list {
			fmt.Fprintf(t, "%s\t%s\n", x.Name, x.About)
		}
		t.Flush()
	})
}

// sweep is an experiment at work.
type sweep struct {
	*experiment
	e       *env
	stage   *env // for the commands that do the work
	store   string
	workers int
	data    *data.Dataset
	head    layers.Head // as it is at the start
	models  []multitask.Model
	warned  bool
}

func newSweep(e *env, x *experiment, c *sweepCmd) (s *sweep, err error) {
	s = &sweep{experiment: x, e: e, store: c.Store, workers: cmp.Or(c.Workers, runtime.GOMAXPROCS(0))}
	stage := *e
	stage.stdout, stage.json, s.stage = io.Discard, false, &stage
	if s.data, err = openDataset(x.Dataset); err != nil {
		return nil, err
	}
	if s.head, err = openHead(x.Head, s.data.X.Cols()); err != nil {
		return nil, err
	}
	if x.Case != nil {
		fitted, same := x.Case.on(s.data)
		if x.Case = fitted; !same {
			e.remark("%s does not have the classes of the case study; its tasks tell %s from %q", x.Dataset, strings.Join(fitted.Classes, ", "), fitted.Shared)
		}
	}
	s.models, err = lookupAll(x.Compare.Models)
	return s, err
}

// folder is a place in the store and what determines its content.
type folder struct {
	path, mark string
	of         any
}

// markFile is written into a folder when it is complete.
const markFile = "made.json"

type mark struct {
	Of       any      `json:"of"`
	Versions versions `json:"versions"`
}

// in names a folder of the store by what determines its content.
func (s *sweep) in(kind string, of any) folder {
	return folder{filepath.Join(s.store, kind, hashOf(of)), markFile, of}
}

// hashOf is the same for equal configurations, whatever the machine.
func hashOf(of any) string {
	raw, err := json.Marshal(of)
	if err != nil {
		panic(err) // configurations are numbers and texts
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

func (f folder) complete() (made mark, ok bool, err error) {
	err = loadJSON(filepath.Join(f.path, f.mark), &made)
	if errors.Is(err, fs.ErrNotExist) {
		return made, false, nil
	}
	return made, err == nil, err
}

// task is one folder to be made.
type task struct {
	folder
	what string
	make func() error
}

// plan is where what a run needs is in the store.
type plan struct {
	*setup
	problems, experience, network, baselines, evaluation folder
	tasks                                                []task
}

// plan lists what a run needs, in the order in which it is made.
func (s *sweep) plan(r *setup) (*plan, error) {
	p := &plan{setup: r}
	features, head := s.data.X.Cols(), ""
	if s.head != nil {
		features, head = s.head.Out(), s.head.String()+" "+s.head.Sum()
	}
	config, err := r.config(features)
	if err != nil {
		return nil, err
	}
	collected, err := r.collect.config()
	if err != nil {
		return nil, err
	}
	collected = collected.Defaults()
	p.problems = s.in("problems", struct {
		Dataset  string            `json:"dataset"`
		Sampling data.SampleConfig `json:"sampling"`
		Case     *caseStudy        `json:"case,omitempty"`
	}{s.data.Fingerprint(), r.sample.config().Defaults(), s.Case})
	p.experience = s.in("experience", struct {
		Problems string        `json:"problems"`
		Head     string        `json:"head,omitempty"`
		Models   []string      `json:"models"`
		Draws    int           `json:"draws"`
		Explore  int           `json:"explore"`
		O        collect.Worth `json:"o"`
		Seed     uint64        `json:"seed"`
	}{filepath.Base(p.problems.path), head, collected.Models, collected.Draws, collected.Explore, collected.Worth, collected.Seed})
	p.network = s.in("networks", struct {
		Experience string       `json:"experience"`
		First      int          `json:"first,omitempty"`
		Training   train.Config `json:"training"`
	}{filepath.Base(p.experience.path), r.training.First, config})
	if config.TrainHead != train.HeadFrozen {
		head = filepath.Base(p.network.path) // as it is after training
	}
	p.baselines = s.in("baselines", struct {
		Problems string `json:"problems"`
		Head     string `json:"head,omitempty"`
		Points   int    `json:"points"`
	}{filepath.Base(p.problems.path), head, s.Compare.Points})
	var names []string
	for _, m := range s.models {
		names = append(names, m.Info().Name)
	}
	// More models may come to the same outcomes, so these have a mark for each set.
	p.baselines.mark = "made-" + hashOf(struct {
		Models []string
		Refit  bool
	}{names, s.Compare.Refit}) + ".json"
	p.evaluation = s.in("evaluations", struct {
		Network  string `json:"network"`
		Problems string `json:"problems"`
	}{filepath.Base(p.network.path), filepath.Base(p.problems.path)})
	p.tasks = []task{
		{p.problems, "drawing problems", func() error { return s.draw(p) }},
		{p.experience, "trying covariances", func() error { return s.collect(s.stage, p) }},
		{p.network, "training", func() error { return s.train(p, config) }},
		{p.baselines, "fitting the models", func() error { _, err := s.evaluateModels(p); return err }},
		{p.evaluation, "fitting with the network's covariances", func() error { _, err := s.evaluateNetwork(p); return err }},
	}
	return p, nil
}

// run makes what is missing and brings the results together.
func (s *sweep) run() (*sweepResult, error) {
	var plans []*plan
	var missing []task
	listed := map[string]bool{}
	for _, at := range s.points() {
		for _, seed := range s.Seeds {
			r, err := s.setup(at, seed)
			if err != nil {
				return nil, err
			}
			p, err := s.plan(r)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.title(), err)
			}
			plans = append(plans, p)
			for _, t := range p.tasks {
				made, done, err := t.complete()
				if err != nil {
					return nil, err
				}
				s.warn(done, made)
				if key := filepath.Join(t.path, t.mark); !done && !listed[key] {
					listed[key] = true
					t.what += p.title()
					missing = append(missing, t)
				}
			}
		}
	}
	s.e.remark("%s: %d runs; %d steps to make, what they share is there or made once", s.name, len(plans), len(missing))
	for i, t := range missing {
		s.e.remark("%d/%d %s", i+1, len(missing), t.what)
		if err := s.make(t); err != nil {
			return nil, err
		}
	}
	return s.gather(plans)
}

// warn says once that what is used was made by another version.
func (s *sweep) warn(done bool, made mark) {
	if now := currentVersions().L2MT; done && made.Versions.L2MT != now && !s.warned {
		s.warned = true
		s.e.remark("warning: some of what is in %s was made by l2mt %s; this is %s", s.store, made.Versions.L2MT, now)
	}
}

func (s *sweep) make(t task) error {
	if err := s.e.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(t.path, 0o755); err != nil {
		return err
	}
	if err := t.make(); err != nil {
		return fmt.Errorf("%s: %w", t.what, err)
	}
	return saveJSON(filepath.Join(t.path, t.mark), mark{t.of, currentVersions()})
}

// title says which run it is.
func (r *setup) title() string {
	text := ""
	for _, p := range r.at {
		text += ", " + p.Name
	}
	return fmt.Sprintf("%s, seed %d", text, r.seed)
}

func (p *plan) file(set string) string { return filepath.Join(p.problems.path, set+".json") }

func (s *sweep) draw(p *plan) error {
	f := p.sample
	f.Dataset, f.Out = s.Dataset, p.problems.path
	training, test, err := data.SampleProblems(s.data, f.config())
	if err != nil {
		return err
	}
	if s.Case != nil {
		one, err := s.Case.problem(s.data, f.config())
		if err != nil {
			return err
		}
		training.Problems, test.Problems = s.Case.without(training.Problems), []*data.Problem{one}
	}
	return f.save(s.stage, training, test)
}

func (s *sweep) collect(e *env, p *plan) error {
	c := p.setup.collect
	c.Problems, c.Dataset, c.Head, c.Out, c.Workers = p.file("train"), s.Dataset, s.Head, p.experience.path, s.workers
	return c.Run(e)
}

func (s *sweep) train(p *plan, config train.Config) error {
	quiet := *s.stage
	quiet.quiet = true // a line for every epoch of every network is too much
	// What a file of the experience lost since it was made is made again.
	if err := s.collect(&quiet, p); err != nil {
		return err
	}
	examples, err := openExperience(s.e, p.experience.path, s.Dataset, s.Head)
	if err != nil {
		return err
	}
	if first := p.training.First; first > examples.Len() {
		return fmt.Errorf("%w: [training] first: %d; the experience has %d problems", errUsage, first, examples.Len())
	} else if first > 0 {
		examples = firstOf{examples, first}
	}
	learn := &trainCmd{Experience: p.experience.path, Head: s.Head}
	result, err := learn.train(&quiet, p.network.path, config, examples, s.head.Clone())
	for _, w := range result.Warnings {
		s.e.remark("warning: %s", w)
	}
	return err
}

// firstOf are the first n examples.
type firstOf struct {
	train.Source
	n int
}

func (f firstOf) Len() int { return f.n }

func (s *sweep) evaluateModels(p *plan) ([]compare.Outcome, error) {
	return s.evaluate(p, p.baselines, nil, s.models)
}

// evaluateNetwork has the outcomes of the network alone.
func (s *sweep) evaluateNetwork(p *plan) ([]compare.Outcome, error) {
	network, err := loadNetwork(p.network.path)
	if err != nil {
		return nil, err
	}
	outcomes, err := s.evaluate(p, p.evaluation, network, nil)
	return slices.DeleteFunc(outcomes, func(o compare.Outcome) bool { return o.Model != compare.L2MT }), err
}

// evaluate returns the outcomes in a folder and makes those that are missing.
func (s *sweep) evaluate(p *plan, in folder, network *solve.Network, models []multitask.Model) (outcomes []compare.Outcome, err error) {
	file, err := data.LoadProblems(p.file("test"))
	if err != nil {
		return nil, err
	}
	problems, err := file.Bind(s.data, p.problems.path, nil)
	if err != nil {
		return nil, err
	}
	if s.head != nil && network == nil { // the models are to have the features of the network too
		if problems, err = s.features(p, problems); err != nil {
			return nil, err
		}
	}
	journal, err := compare.OpenJournal(filepath.Join(in.path, "outcomes.jsonl"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	if models == nil {
		models = []multitask.Model{}
	}
	o := compare.EvaluateOptions{
		Models: models, Refit: s.Compare.Refit, Tune: multitask.TuneOptions{Points: s.Compare.Points},
		Workers: s.workers, Journal: journal,
	}
	if _, done, err := in.complete(); err != nil || !done {
		o.Progress = s.stage.reporter()
	}
	return compare.Evaluate(s.e, network, problems, o)
}

// features has the problems with the features that the head of a run's network
// makes.
func (s *sweep) features(p *plan, problems []*data.ProblemData) ([]*data.ProblemData, error) {
	network, err := loadNetwork(p.network.path)
	if err != nil {
		return nil, err
	}
	return network.FeaturesOf(problems)
}

// gather makes the table of every run and brings them together.
func (s *sweep) gather(plans []*plan) (*sweepResult, error) {
	result := newSweepResult(s.experiment)
	for _, p := range plans {
		outcomes, err := s.evaluateModels(p)
		if err != nil {
			return nil, err
		}
		network, err := s.evaluateNetwork(p)
		if err != nil {
			return nil, err
		}
		table, err := compare.Summarise(slices.Concat(outcomes, network))
		if err != nil {
			return nil, err
		}
		result.add(p.setup, table)
		if s.Case != nil && p.seed == s.Seeds[0] {
			if err := result.addCorrelations(p.setup, s.Case, slices.Concat(outcomes, network)); err != nil {
				return nil, err
			}
		}
	}
	result.finish()
	return result, nil
}
