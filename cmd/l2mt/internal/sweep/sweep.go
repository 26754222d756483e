package sweep

// What a sweep makes is kept in a store, in folders named by the hash of all
// that determines them: problems, experience, networks and outcomes. So runs,
// and experiments, share what they have in common, and an interrupted sweep
// goes on where it was.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/data/experience"
	"l2mt/data/progress"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/layers"
	"l2mt/model/multitask"
	"l2mt/train"
)

// Options say how an experiment is run.
type Options struct {
	// Store is the directory of what runs and experiments share.
	Store    string
	Workers  int
	Progress progress.Reporter
	Remark   run.Remark
}

// Run runs an experiment. What is in the store already is not made again.
func Run(ctx context.Context, x *Experiment, o Options) (*Result, error) {
	s, err := newSweep(x, o)
	if err != nil {
		return nil, err
	}
	return s.run(ctx)
}

// sweep is an experiment at work.
type sweep struct {
	*Experiment
	Options
	data   *data.Dataset
	head   layers.Head // as it is at the start
	models []multitask.Model
	// labelled are tuned on all labelled rows too.
	labelled []multitask.Model
	warned   bool
}

func newSweep(x *Experiment, o Options) (s *sweep, err error) {
	s = &sweep{Experiment: x, Options: o}
	if s.data, err = digits.Open(x.Dataset); err != nil {
		return nil, err
	}
	if s.head, err = run.OpenHead(x.Head); err != nil {
		return nil, err
	}
	if x.Case != nil {
		fitted, same := x.Case.on(s.data)
		if x.Case = fitted; !same {
			s.Remark("%s does not have the classes of the case study; its tasks tell %s from %q", x.Dataset, strings.Join(fitted.Classes, ", "), fitted.Shared)
		}
	}
	if s.models, err = run.Lookup(x.Compare.Models); err != nil {
		return nil, err
	}
	s.labelled, err = run.Lookup(x.Compare.Labelled)
	return s, err
}

// folder is one of the store and what determines its content.
type folder struct {
	path, mark string
	of         any
}

// MarkFile is written into a folder of the store when it is complete.
const MarkFile = "made.json"

type mark struct {
	Of       any          `json:"of"`
	Versions run.Versions `json:"versions"`
}

// in names a folder of the store by what determines its content.
func (s *sweep) in(kind string, of any) folder {
	return folder{filepath.Join(s.Store, kind, hashOf(of)), MarkFile, of}
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
	err = run.LoadJSON(filepath.Join(f.path, f.mark), &made)
	if errors.Is(err, fs.ErrNotExist) {
		return made, false, nil
	}
	return made, err == nil, err
}

// task is one folder to be made.
type task struct {
	folder
	what string
	make func(ctx context.Context) error
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
	p.problems = s.in("problems", struct {
		Dataset  string            `json:"dataset"`
		Sampling data.SampleConfig `json:"sampling"`
		Case     *caseStudy        `json:"case,omitempty"`
	}{s.data.Fingerprint(), r.sampling, s.Case})
	p.experience = s.in("experience", struct {
		Problems string `json:"problems"`
		Head     string `json:"head,omitempty"`
		collection
	}{filepath.Base(p.problems.path), head, r.collection})
	p.network = s.in("networks", struct {
		Experience string       `json:"experience"`
		First      int          `json:"first,omitempty"`
		Training   train.Config `json:"training"`
	}{filepath.Base(p.experience.path), r.first, config})
	if config.TrainHead != train.HeadFrozen {
		head = filepath.Base(p.network.path) // as it is after training
	}
	p.baselines = s.in("baselines", struct {
		Problems string `json:"problems"`
		Head     string `json:"head,omitempty"`
		Points   int    `json:"points"`
	}{filepath.Base(p.problems.path), head, s.Compare.Points})
	names := func(models []multitask.Model) (names []string) {
		for _, m := range models {
			names = append(names, m.Info().Name)
		}
		return names
	}
	// More models may come to the same outcomes, so these have a mark for each set.
	p.baselines.mark = "made-" + hashOf(struct {
		Models, Labelled []string
		Refit            bool
	}{names(s.models), names(s.labelled), s.Compare.Refit}) + ".json"
	network := filepath.Base(p.network.path)
	if s.Network != "" {
		p.network.path = s.Network
		if network, err = run.NetworkSum(s.Network); err != nil {
			return nil, fmt.Errorf("network %q is neither %q nor a trained network's directory: %w", s.Network, run.PretrainedNetwork, err)
		}
	}
	p.evaluation = s.in("evaluations", struct {
		Network  string `json:"network"`
		Problems string `json:"problems"`
	}{network, filepath.Base(p.problems.path)})
	p.tasks = append(p.tasks, task{p.problems, "drawing problems", func(context.Context) error { return s.draw(p) }})
	if s.Network == "" {
		p.tasks = append(p.tasks,
			task{p.experience, "trying covariances", func(ctx context.Context) error { return s.collect(ctx, p, false) }},
			task{p.network, "training", func(ctx context.Context) error { return s.train(ctx, p, config) }})
	}
	p.tasks = append(p.tasks,
		task{p.baselines, "fitting the models", func(ctx context.Context) error { _, err := s.evaluateModels(ctx, p); return err }},
		task{p.evaluation, "fitting with the network's covariances", func(ctx context.Context) error { _, err := s.evaluateNetwork(ctx, p); return err }})
	return p, nil
}

// run makes what is missing and brings the results together.
func (s *sweep) run(ctx context.Context) (*Result, error) {
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
				return nil, fmt.Errorf("run%s: %w", r.title(), err)
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
	s.Remark("%s: %d runs; %d steps to make, what they share is there or made once", s.name, len(plans), len(missing))
	for i, t := range missing {
		s.Remark("%d/%d %s", i+1, len(missing), t.what)
		if err := s.make(ctx, t); err != nil {
			return nil, err
		}
	}
	return s.gather(ctx, plans)
}

// warn says once that what is used was made by another version.
func (s *sweep) warn(done bool, made mark) {
	if now := run.CurrentVersions().L2MT; done && made.Versions.L2MT != now && !s.warned {
		s.warned = true
		s.Remark("warning: some of what is in %s was made by l2mt %s; this is %s", s.Store, made.Versions.L2MT, now)
	}
}

func (s *sweep) make(ctx context.Context, t task) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(t.path, 0o755); err != nil {
		return err
	}
	if err := t.make(ctx); err != nil {
		return fmt.Errorf("%s: %w", t.what, err)
	}
	return run.SaveJSON(filepath.Join(t.path, t.mark), mark{t.of, run.CurrentVersions()})
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
	training, test, err := data.SampleProblems(s.data, p.sampling)
	if err != nil {
		return err
	}
	if s.Case != nil {
		one, err := s.Case.problem(s.data, p.sampling)
		if err != nil {
			return err
		}
		if test.Problems = []*data.Problem{one}; training != nil {
			training.Problems = s.Case.without(training.Problems)
		}
	}
	_, err = run.SaveProblems(p.problems.path, s.Dataset, training, test)
	return err
}

func (s *sweep) collect(ctx context.Context, p *plan, quiet bool) error {
	problems, err := experience.OpenProblems(p.file("train"), experience.DataOptions{Dataset: s.Dataset})
	if err != nil {
		return err
	}
	if problems, err = run.Through(problems, s.Head); err != nil {
		return err
	}
	report, remark := s.Progress, s.Remark
	if quiet {
		report, remark = progress.Silent(), unheard
	}
	_, err = run.Collect(ctx, run.Collection{
		Out: p.experience.path, Problems: problems, Config: p.collection.config(), Workers: s.Workers, Progress: report, Remark: remark,
	})
	return err
}

// unheard is what a stage of many says.
func unheard(string, ...any) {}

// train is silent but for warnings: a line for every epoch of every network is
// too much.
func (s *sweep) train(ctx context.Context, p *plan, config train.Config) error {
	// What a file of the experience lost since it was made is made again.
	if err := s.collect(ctx, p, true); err != nil {
		return err
	}
	examples, err := run.OpenExperience(p.experience.path, s.Dataset, s.head, s.Remark)
	if err != nil {
		return err
	}
	if p.first > examples.Len() {
		return fmt.Errorf("%w: [training] first: %d; the experience has %d problems", run.ErrUsage, p.first, examples.Len())
	} else if p.first > 0 {
		examples = firstOf{examples, p.first}
	}
	result, err := run.Train(ctx, run.Training{
		Out: p.network.path, Experience: filepath.Base(p.experience.path), Head: s.head.Clone(), HeadName: s.Head,
		Config: config, Progress: progress.Silent(), Remark: unheard,
	}, examples)
	for _, w := range result.Warnings {
		s.Remark("warning: %s", w)
	}
	return err
}

// firstOf are the first n examples.
type firstOf struct {
	train.Source
	n int
}

func (f firstOf) Len() int { return f.n }

func (s *sweep) evaluateModels(ctx context.Context, p *plan) ([]compare.Outcome, error) {
	return s.evaluate(ctx, p, p.baselines, nil, s.models)
}

// evaluateNetwork has the outcomes of the network alone.
func (s *sweep) evaluateNetwork(ctx context.Context, p *plan) ([]compare.Outcome, error) {
	network, err := run.LoadNetwork(p.network.path)
	if err != nil {
		return nil, err
	}
	outcomes, err := s.evaluate(ctx, p, p.evaluation, network, nil)
	return slices.DeleteFunc(outcomes, func(o compare.Outcome) bool { return o.Model != compare.L2MT }), err
}

// evaluate returns the outcomes in a folder and makes those that are missing.
func (s *sweep) evaluate(ctx context.Context, p *plan, in folder, network *solve.Finder, models []multitask.Model) (outcomes []compare.Outcome, err error) {
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
	labelled := s.labelled
	if models == nil {
		models, labelled = []multitask.Model{}, nil
	}
	o := compare.EvaluateOptions{
		Models: models, Refit: s.Compare.Refit, Labelled: labelled, Points: s.Compare.Points,
		Workers: s.Workers, Journal: journal,
	}
	if _, done, err := in.complete(); err != nil || !done {
		o.Progress = s.Progress
	}
	return compare.Evaluate(ctx, network, problems, o)
}

// features has the problems with the features that the head of a run's network
// makes.
func (s *sweep) features(p *plan, problems []*data.ProblemData) ([]*data.ProblemData, error) {
	network, err := run.LoadNetwork(p.network.path)
	if err != nil {
		return nil, err
	}
	return network.FeaturesOf(problems)
}

// gather makes the table of every run and brings them together.
func (s *sweep) gather(ctx context.Context, plans []*plan) (*Result, error) {
	result := newResult(s.Experiment)
	for _, p := range plans {
		outcomes, err := s.evaluateModels(ctx, p)
		if err != nil {
			return nil, err
		}
		network, err := s.evaluateNetwork(ctx, p)
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
