// Package sweep runs experiments: it varies settings, repeats over seeds and
// brings together what comes of it. What it makes it keeps, so that runs share
// what they have in common.
package sweep

// An experiment is a TOML file: which problems, experience, training and models,
// and what is varied. Its sections are the configurations of the libraries that
// do the work, so a setting has one name, one check and one default.

import (
	"cmp"
	"embed"
	"encoding/json"
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

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/files"
	"l2mt/train"
	"l2mt/train/collect"
)

//go:embed experiments/*.toml
var shipped embed.FS

// Experiment is such a file. A zero value means what is said of it.
type Experiment struct {
	name, text string
	// Title heads the pictures, About is a line about it.
	Title string `toml:"title"`
	About string `toml:"about"`
	// Dataset is a path or "digits", the default.
	Dataset string `toml:"dataset"`
	// Head is a file of fully connected layers that make the features, or
	// random:WIDTHS; default none. The training setting train_head says which of
	// them are trained.
	Head string `toml:"head"`
	// Network is a trained network's directory, or "pretrained" for the one in the
	// program: then nothing is collected and trained, and [experience], [model] and
	// [train] say nothing.
	Network string `toml:"network"`
	// Seeds are those of the runs; default 1. A section with a seed of its own
	// keeps it in all runs.
	Seeds []uint64 `toml:"seeds"`
	// The settings of data.SampleConfig, of experience and of train.Config.
	choices
	// Compare says which models L2MT is compared with, and what is shown.
	Compare comparison `toml:"compare"`
	// Case replaces the test problems by one of tasks that share a class.
	Case *caseStudy `toml:"case"`
	// Vary has up to two lists of settings; runs are made for all pairs.
	Vary []variation `toml:"vary"`
}

// comparison are the settings of the evaluation.
type comparison struct {
	// Models are the multitask models; "all" means the paper's ten. Single-task
	// learning is always among them.
	Models []string `toml:"models"`
	// Refit also fits with the covariance of each model fixed, and Labelled names
	// the models that are tuned on all labelled rows too.
	Refit    bool     `toml:"refit"`
	Labelled []string `toml:"labelled"`
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
	// Setting is SECTION.NAME, such as model.hidden.
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
	Name string `toml:"name"`
	choices

	at float64 // on a numeric axis, else NaN
}

// choices are settings by section: those of data.SampleConfig, of experience
// (see collection), and the sections of train.Config, where train has two more
// (see setup).
type choices struct {
	Problems   map[string]any `toml:"problems"`
	Experience map[string]any `toml:"experience"`
	Model      map[string]any `toml:"model"`
	Train      map[string]any `toml:"train"`
}

// Names lists the shipped experiments.
func Names() []string {
	files, err := fs.Glob(shipped, "experiments/*.toml")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".toml")
	}
	return files
}

// Read reads a file, or the shipped experiment of that name.
func Read(from string) (*Experiment, error) {
	raw, err := shipped.ReadFile("experiments/" + from + ".toml")
	if err != nil {
		raw, err = os.ReadFile(from)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no file %s, and the shipped experiments are %s", run.ErrUsage, from, strings.Join(Names(), ", "))
	}
	if err != nil {
		return nil, err
	}
	x, err := parse(strings.TrimSuffix(filepath.Base(from), ".toml"), string(raw))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return x, nil
}

func parse(name, text string) (*Experiment, error) {
	x := &Experiment{name: name, text: text}
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
func (x *Experiment) complete() error {
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
	if _, err := run.Lookup(slices.Concat(x.Compare.Models, x.Compare.Labelled)); err != nil {
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
	section, name, ok := strings.Cut(v.Setting, ".")
	switch {
	case v.Setting == "" && len(v.Values) == 0 && len(v.Cases) > 0:
		for i := range v.Cases {
			v.Cases[i].at = math.NaN()
		}
		v.Label = cmp.Or(v.Label, "case")
		return v.distinct()
	case !ok || len(v.Values) == 0 || len(v.Cases) > 0:
		return errors.New("it needs either a setting, as SECTION.NAME, with values, or cases with names")
	}
	v.Label = cmp.Or(v.Label, name)
	for _, value := range v.Values {
		p := point{Name: fmt.Sprint(value), at: math.NaN()}
		switch n := value.(type) {
		case int64:
			p.at = float64(n)
		case float64:
			p.at = n
		}
		one := map[string]any{name: value}
		switch section {
		case "problems":
			p.Problems = one
		case "experience":
			p.Experience = one
		case "model":
			p.Model = one
		case "train":
			p.Train = one
		default:
			return fmt.Errorf("setting = %q: there is no section %q to vary; there are problems, experience, model and train", v.Setting, section)
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
func (x *Experiment) runs() float64 {
	n := float64(len(x.Seeds))
	for _, v := range x.Vary {
		n *= float64(len(v.Cases))
	}
	return n
}

// points lists the pairs of what is varied, the last varying fastest. An
// experiment that varies nothing has one, of no length.
func (x *Experiment) points() [][]point {
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

// Name is that of the file without its end.
func (x *Experiment) Name() string { return x.name }

// setup is what one run does, resolved.
type setup struct {
	at         []point
	seed       uint64
	sampling   data.SampleConfig
	collection collection
	preset     string
	first      int              // so many training problems only, if not 0
	training   []map[string]any // settings of train.Config, later ones over earlier ones
}

// collection are the settings of experience.
type collection struct {
	Models  []string         `json:"models"`
	Draws   int              `json:"draws"`
	Explore int              `json:"explore"`
	Near    int              `json:"near,omitempty"`
	Slopes  bool             `json:"slopes,omitempty"`
	O       collect.Measured `json:"o"`
	Seed    uint64           `json:"seed"`
}

// config is the configuration of collecting, which is of everything in one part.
func (c collection) config() collect.Config {
	return collect.Config{Models: c.Models, Draws: c.Draws, Explore: c.Explore, Near: c.Near, Slopes: c.Slopes, Measured: c.O, Seed: c.Seed}
}

// setup puts the settings of a point over those of the experiment. The section
// train may name the preset, and how many training problems come first.
func (x *Experiment) setup(at []point, seed uint64) (*setup, error) {
	s := &setup{at: at, seed: seed, preset: "default"}
	s.sampling.Seed, s.collection.Seed = seed, seed
	s.collection.Explore, s.sampling.Train = collect.Config{}.Defaults().Explore, data.SampleConfig{}.Defaults().Train
	layers := []choices{x.choices}
	for _, p := range at {
		layers = append(layers, p.choices)
	}
	for _, c := range layers {
		if err := decode(c.Problems, &s.sampling); err != nil {
			return nil, fmt.Errorf("[problems] %w", err)
		}
		if err := decode(c.Experience, &s.collection); err != nil {
			return nil, fmt.Errorf("[experience] %w", err)
		}
		if err := s.learn(c); err != nil {
			return nil, fmt.Errorf("[train] %w", err)
		}
	}
	switch {
	case s.sampling.Train < 0 || s.sampling.Test < 0:
		return nil, fmt.Errorf("[problems] train = %d, test = %d: they must not be negative", s.sampling.Train, s.sampling.Test)
	case s.sampling.Train == 0 && x.Network == "":
		return nil, errors.New("[problems] train = 0 leaves nothing to learn from: give network = ... at the top of the experiment")
	}
	s.sampling.Train = run.OrNone(s.sampling.Train)
	s.sampling = s.sampling.Defaults()
	if err := s.sampling.Validate(); err != nil {
		return nil, fmt.Errorf("[problems] %w", err)
	}
	s.collection.Explore = run.OrNone(s.collection.Explore)
	c := s.collection.config().Defaults()
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("[experience] %w", err)
	}
	s.collection = collection{c.Models, c.Draws, c.Explore, c.Near, c.Slopes, c.Measured, c.Seed}
	config, err := s.config(1)
	if err != nil {
		return nil, err
	}
	if x.Head == "" && config.TrainHead != train.HeadFrozen {
		return nil, errors.New("[train] head needs a head: give head = ... at the top of the experiment")
	}
	return s, nil
}

// learn takes in the settings of training.
func (s *setup) learn(c choices) error {
	own := map[string]any{}
	for name, value := range c.Train {
		fits := true
		switch name {
		case "preset":
			s.preset, fits = value.(string)
		case "first":
			var n int64
			n, fits = value.(int64)
			s.first, fits = int(n), fits && n >= 0
		case "seed":
			return errors.New("seed: give seeds = [...] at the top of the experiment instead")
		default:
			own[name] = value
		}
		if !fits {
			return fmt.Errorf("%s: %v; preset is a name, and first a number from 0", name, value)
		}
	}
	s.training = append(s.training, map[string]any{"model": c.Model, "train": own})
	return nil
}

// config is the configuration of training for data of so many features.
func (s *setup) config(features int) (train.Config, error) {
	c, err := train.Preset(s.preset, features)
	if err != nil {
		return c, err
	}
	if !s.sampling.DisjointRows && !s.sampling.DisjointClasses {
		c.Directions = -1 // they would know test rows
	}
	for _, some := range s.training {
		if err := c.Settings().Apply(some); err != nil {
			return c, err
		}
	}
	c.Seed = s.seed
	return c, c.Validate()
}

// decode sets the fields of a configuration by the names that they have in JSON.
func decode(settings map[string]any, config any) error {
	raw, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	err = files.DecodeJSON(raw, config)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return fmt.Errorf("%s is a %s; it must be %s", kind.Field, kind.Value, kind.Type)
	}
	if _, name, unknown := strings.Cut(err.Error(), "json: unknown field "); unknown {
		var names []string
		for f := range reflect.TypeOf(config).Elem().Fields() {
			names = append(names, strings.TrimSuffix(f.Tag.Get("json"), ",omitempty"))
		}
		return fmt.Errorf("there is no setting %s; there are %s", name, strings.Join(names, ", "))
	}
	return err
}
