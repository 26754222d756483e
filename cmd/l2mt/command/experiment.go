package command

// An experiment is a TOML file: which problems, experience, training and
// models, and what is varied. Its sections are the flags of the commands that
// do the work, so a setting has one name, one check and one default.

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"

	"l2mt/data"
	"l2mt/train"
)

//go:embed experiments/*.toml
var shippedExperiments embed.FS

// experiment is such a file. A zero value means what is said of it.
type experiment struct {
	name, text string
	// Title heads the pictures, About is the line of --list.
	Title string `toml:"title"`
	About string `toml:"about"`
	// Dataset is a path or "digits", the default.
	Dataset string `toml:"dataset"`
	// Head is a file of fully connected layers that make the features, or
	// random:WIDTHS; default none. The training setting train-head says which of
	// them are trained.
	Head string `toml:"head"`
	// Seeds are those of the runs; default 1. A section with a seed of its own
	// keeps it in all runs.
	Seeds []uint64 `toml:"seeds"`
	// The flags of l2mt problems sample, collect and train.
	Problems   settings `toml:"problems"`
	Experience settings `toml:"experience"`
	Training   settings `toml:"training"`
	// Compare says which models L2MT is compared with, and what is shown.
	Compare comparison `toml:"compare"`
	// Case replaces the test problems by one of tasks that share a class.
	Case *caseStudy `toml:"case"`
	// Vary has up to two lists of settings; runs are made for all pairs.
	Vary []variation `toml:"vary"`
}

type settings map[string]any

// comparison are the settings of the evaluation.
type comparison struct {
	// Models are the multitask models; "all" means the paper's ten. Single-task
	// learning is always among them.
	Models []string `toml:"models"`
	// Refit also fits with the covariance of each model fixed.
	Refit bool `toml:"refit"`
	// Points is the number of grid points of a hyperparameter; default 4.
	Points int `toml:"points"`
	// Show lists what the pictures show, as model or model/variant; default
	// everything.
	Show []string `toml:"show"`
}

// variation is one thing that is varied: a setting by its values, or several
// at once by cases with names.
type variation struct {
	// Label says what it is, on the axis and in the tables.
	Label string `toml:"label"`
	// Setting is SECTION.FLAG.
	Setting string `toml:"setting"`
	Values  []any  `toml:"values"`
	// Cases are named sets of settings instead.
	Cases []point `toml:"case"`
	// Log asks for a logarithmic axis, Fit for the curve a + b q^-1/2.
	Log bool `toml:"log"`
	Fit bool `toml:"fit"`
	// Change asks how much the test errors change from those of the first value.
	Change bool `toml:"change"`
}

// point is one value of what is varied.
type point struct {
	Name       string   `toml:"name"`
	Problems   settings `toml:"problems"`
	Experience settings `toml:"experience"`
	Training   settings `toml:"training"`

	at float64 // on a numeric axis, else NaN
}

// experimentNames lists the shipped experiments.
func experimentNames() []string {
	files, err := fs.Glob(shippedExperiments, "experiments/*.toml")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".toml")
	}
	return files
}

// readExperiment reads a file, or the shipped experiment of that name.
func readExperiment(from string) (*experiment, error) {
	raw, err := shippedExperiments.ReadFile("experiments/" + from + ".toml")
	if err != nil {
		raw, err = os.ReadFile(from)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no file %s, and the shipped experiments are %s", errUsage, from, strings.Join(experimentNames(), ", "))
	}
	if err != nil {
		return nil, err
	}
	x, err := parseExperiment(strings.TrimSuffix(filepath.Base(from), ".toml"), string(raw))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return x, nil
}

func parseExperiment(name, text string) (*experiment, error) {
	x := &experiment{name: name, text: text}
	meta, err := toml.Decode(text, x)
	if err != nil {
		return nil, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("there is no setting %q in an experiment", unknown[0].String())
	}
	return x, x.complete()
}

// complete fills in the defaults and checks all but what depends on the data.
func (x *experiment) complete() error {
	x.Title, x.Dataset = cmp.Or(x.Title, x.name), cmp.Or(x.Dataset, "digits")
	x.Compare.Points = cmp.Or(x.Compare.Points, 4)
	if len(x.Seeds) == 0 {
		x.Seeds = []uint64{1}
	}
	switch {
	case len(x.Vary) > 2:
		return fmt.Errorf("[[vary]]: there are %d; a picture has room for two", len(x.Vary))
	case x.Compare.Points < 1:
		return fmt.Errorf("[compare] points: %d; there must be at least 1", x.Compare.Points)
	}
	if _, err := lookupAll(x.Compare.Models); err != nil {
		return fmt.Errorf("[compare] models: %w", err)
	}
	for i := range x.Vary {
		if err := x.Vary[i].complete(); err != nil {
			return fmt.Errorf("[[vary]] %d: %w", i+1, err)
		}
	}
	if runs := x.runs(); runs > maxRuns {
		return fmt.Errorf("%.0f runs; an experiment has at most %d", runs, maxRuns)
	}
	for _, at := range x.points() {
		if _, err := x.setup(at, x.Seeds[0]); err != nil {
			return err
		}
	}
	return nil
}

// complete turns values into cases.
func (v *variation) complete() error {
	section, flag, ok := strings.Cut(v.Setting, ".")
	switch {
	case v.Setting == "" && len(v.Values) == 0 && len(v.Cases) > 0:
		for i := range v.Cases {
			v.Cases[i].at = math.NaN()
		}
		v.Label = cmp.Or(v.Label, "case")
		return v.distinct()
	case !ok || len(v.Values) == 0 || len(v.Cases) > 0:
		return errors.New("it needs either a setting, as SECTION.FLAG, with values, or cases with names")
	}
	v.Label = cmp.Or(v.Label, flag)
	for _, value := range v.Values {
		p := point{Name: fmt.Sprint(value), at: math.NaN()}
		switch n := value.(type) {
		case int64:
			p.at = float64(n)
		case float64:
			p.at = n
		}
		one := settings{flag: value}
		switch section {
		case "problems":
			p.Problems = one
		case "experience":
			p.Experience = one
		case "training":
			p.Training = one
		default:
			return fmt.Errorf("setting = %q: there is no section %q to vary; there are problems, experience and training", v.Setting, section)
		}
		v.Cases = append(v.Cases, p)
	}
	return v.distinct()
}

func (v *variation) distinct() error {
	seen := map[string]bool{}
	for i, p := range v.Cases {
		if p.Name == "" || seen[p.Name] {
			return fmt.Errorf("value %d is called %q: every one needs a name of its own", i+1, p.Name)
		}
		seen[p.Name] = true
	}
	if v.numeric() {
		return nil
	}
	if v.Log || v.Fit {
		return errors.New("log and fit need numbers as values")
	}
	return nil
}

// numeric reports whether all values are numbers.
func (v *variation) numeric() bool {
	return !slices.ContainsFunc(v.Cases, func(p point) bool { return math.IsNaN(p.at) })
}

// maxRuns bounds the runs of an experiment, each of which takes minutes.
const maxRuns = 10_000

// runs is the number of runs.
func (x *experiment) runs() float64 {
	n := float64(len(x.Seeds))
	for _, v := range x.Vary {
		n *= float64(len(v.Cases))
	}
	return n
}

// points lists the pairs of what is varied, the last varying fastest. An
// experiment that varies nothing has one, of no length.
func (x *experiment) points() [][]point {
	all := [][]point{nil}
	for _, v := range x.Vary {
		var longer [][]point
		for _, at := range all {
			for _, p := range v.Cases {
				longer = append(longer, append(slices.Clone(at), p))
			}
		}
		all = longer
	}
	return all
}

// sweepTraining are the flags of l2mt train, and one of the sweep's own.
type sweepTraining struct {
	trainFlags `embed:""`
	First      int `help:"Learn from the first so many training problems only; 0 means all."`
}

// setup is what one run does: the flags of the commands, resolved.
type setup struct {
	at       []point
	seed     uint64
	sample   sampleFlags
	collect  collectCmd
	training sweepTraining
}

// setup puts the settings of a point over those of the experiment.
func (x *experiment) setup(at []point, seed uint64) (*setup, error) {
	s := &setup{at: at, seed: seed}
	problems, collected, training := []settings{{"seed": seed}, x.Problems}, []settings{{"seed": seed}, x.Experience}, []settings{x.Training}
	for _, p := range at {
		problems, collected, training = append(problems, p.Problems), append(collected, p.Experience), append(training, p.Training)
	}
	training = append(training, settings{"seed": seed})
	if err := decodeFlags(&s.sample, problems, "dataset", "out"); err != nil {
		return nil, fmt.Errorf("[problems] %w", err)
	}
	if err := s.sample.config().Defaults().Validate(); err != nil {
		return nil, fmt.Errorf("[problems] %w", err)
	}
	if err := decodeFlags(&s.collect, collected, "problems", "dataset", "allow-outside", "out", "shard", "propose", "workers", "head"); err != nil {
		return nil, fmt.Errorf("[experience] %w", err)
	}
	s.collect.Shard = "0/1"
	if _, err := s.collect.config(); err != nil {
		return nil, fmt.Errorf("[experience] %w", err)
	}
	if own, err := merged(training[:len(training)-1]); err == nil && own["seed"] != nil {
		return nil, errors.New("[training] seed: give seeds = [...] at the top of the experiment instead")
	}
	if err := decodeFlags(&s.training, training); err != nil {
		return nil, fmt.Errorf("[training] %w", err)
	}
	if x.Head == "" && (s.training.TrainHead != "none" || s.training.LrHead != nil) {
		return nil, errors.New("[training] train-head and lr-head need a head: give head = ... at the top of the experiment")
	}
	if s.training.First < 0 {
		return nil, fmt.Errorf("[training] first: %d; it must not be negative", s.training.First)
	}
	if _, err := s.training.config(1); err != nil {
		return nil, fmt.Errorf("[training] %w", err)
	}
	return s, nil
}

// config is the configuration of training for data of so many features.
func (s *setup) config(features int) (train.Config, error) { return s.training.config(features) }

// merged puts later settings over earlier ones. Flags may be written with
// underscores, but not in both ways at once.
func merged(layers []settings) (settings, error) {
	all := settings{}
	for _, layer := range layers {
		for name, v := range layer {
			dashed := strings.ReplaceAll(name, "_", "-")
			if _, twice := layer[dashed]; twice && dashed != name {
				return nil, fmt.Errorf("%s and %s are the same setting; give one of them", dashed, name)
			}
			all[dashed] = v
		}
	}
	return all, nil
}

// decodeFlags sets the flags of a command from settings. The reserved ones are
// the sweep's to set.
func decodeFlags(into any, layers []settings, reserved ...string) error {
	all, err := merged(layers)
	if err != nil {
		return err
	}
	for _, name := range reserved {
		if _, given := all[name]; given {
			return fmt.Errorf("%s: the sweep sets it", name)
		}
	}
	parser, err := kong.New(into, flagVars(), kong.Name(""), kong.NoDefaultHelp())
	if err != nil {
		return err
	}
	var args []string
	for _, flag := range parser.Model.Flags {
		if flag.Required {
			args = append(args, "--"+flag.Name+"=.") // the sweep sets it later
		}
	}
	for _, name := range sortedKeys(all) {
		args = append(args, fmt.Sprintf("--%s=%s", name, flagText(all[name])))
	}
	_, err = parser.Parse(args)
	return err
}

// flagText writes a value as it would be on the command line.
func flagText(v any) string {
	list := reflect.ValueOf(v)
	if list.Kind() != reflect.Slice {
		return fmt.Sprint(v)
	}
	texts := make([]string, list.Len())
	for i := range texts {
		texts[i] = fmt.Sprint(list.Index(i))
	}
	return strings.Join(texts, ",")
}

// caseStudy is a problem whose tasks tell some classes from a shared one.
type caseStudy struct {
	Shared  string   `toml:"shared" json:"shared"`
	Classes []string `toml:"classes" json:"classes"`
}

// caseProblem is the name of the case study's problem.
const caseProblem = "case study"

// problem makes the problem of the case study with splits as c says.
func (s *caseStudy) problem(d *data.Dataset, c data.SampleConfig) (*data.Problem, error) {
	c = c.Defaults()
	p := &data.Problem{Name: caseProblem, Prepare: c.Prepare}
	for i, class := range s.Classes {
		t := &data.Task{Name: class + " vs " + s.Shared, Kind: data.Classification, Positive: class, Negative: s.Shared}
		r := data.Stream(c.Seed, caseProblem, uint64(i))
		for _, name := range []string{class, s.Shared} {
			label := slices.Index(d.Classes, name)
			if label < 0 {
				return nil, fmt.Errorf("[case] %w: %s has no class %q; its classes are %q", data.ErrInvalid, d.Name, name, d.Classes)
			}
			var rows []int
			for row, l := range d.Label {
				if int(l) == label {
					rows = append(rows, row)
				}
			}
			r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			training := max(1, int(math.Round(c.TrainFraction*float64(len(rows)))))
			validation := max(1, int(math.Round(c.ValidationFraction*float64(len(rows)))))
			if training+validation >= len(rows) {
				return nil, fmt.Errorf("[case] %w: %d rows of class %q are too few to split", data.ErrInvalid, len(rows), name)
			}
			t.Train = append(t.Train, rows[:training]...)
			t.Validation = append(t.Validation, rows[training:training+validation]...)
			t.Test = append(t.Test, rows[training+validation:]...)
		}
		for _, rows := range [][]int{t.Train, t.Validation, t.Test} {
			slices.Sort(rows)
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p, nil
}

// without removes the tasks of the case study from training problems, and
// problems of which less than two tasks remain.
func (s *caseStudy) without(problems []*data.Problem) []*data.Problem {
	ours := func(t *data.Task) bool {
		return t.Negative == s.Shared && slices.Contains(s.Classes, t.Positive) ||
			t.Positive == s.Shared && slices.Contains(s.Classes, t.Negative)
	}
	var rest []*data.Problem
	for _, p := range problems {
		p.Tasks = slices.DeleteFunc(p.Tasks, ours)
		if len(p.Tasks) > 1 {
			rest = append(rest, p)
		}
	}
	return rest
}

// on fits the case study to a dataset: where that has other classes, its last
// one is shared, and its first ones are told from it.
func (s *caseStudy) on(d *data.Dataset) (fitted *caseStudy, same bool) {
	if !slices.ContainsFunc(slices.Concat(s.Classes, []string{s.Shared}), func(c string) bool { return !slices.Contains(d.Classes, c) }) {
		return s, true
	}
	n := min(len(s.Classes), len(d.Classes)-1)
	return &caseStudy{Shared: d.Classes[len(d.Classes)-1], Classes: d.Classes[:n]}, false
}
