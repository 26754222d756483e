// Package sweep runs experiments: it varies settings, repeats over seeds and
// brings together what comes of it. What it makes it keeps, so that runs share
// what they have in common.
package sweep

// An experiment is a TOML file: which problems, experience, training and models,
// and what is varied. Its sections are the configurations of the libraries that
// do the work, so a setting has one name, one check and one default.

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
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
	// Seeds are those of the runs; default 1. A section with a seed of its own
	// keeps it in all runs.
	Seeds []uint64 `toml:"seeds"`
	// The settings of data.SampleConfig, of experience and of train.Config.
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
	// Setting is SECTION.NAME, such as training.model.hidden.
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

// sections have settings of their own.
var sections = []string{"problems", "experience", "training"}

func parse(name, text string) (*Experiment, error) {
	x := &Experiment{name: name, text: text}
	meta, err := toml.Decode(text, x)
	if err != nil {
		return nil, err
	}
	for _, key := range meta.Undecoded() {
		if !slices.ContainsFunc(sections, func(name string) bool { return slices.Contains(key, name) }) { // which setup checks
			return nil, fmt.Errorf("there is no setting %q in an experiment", key.String())
		}
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
	if _, err := run.Lookup(x.Compare.Models); err != nil {
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
		one := nested(name, value)
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

// settings are values by the names that a configuration has for them in JSON,
// for which dashes do as well as underscores.
type settings map[string]any

// nested is the setting of a name such as model.hidden.
func nested(name string, value any) settings {
	outer, inner, deep := strings.Cut(name, ".")
	if deep {
		value = map[string]any(nested(inner, value))
	}
	return settings{outer: value}
}

// onto sets the fields of a configuration.
func (s settings) onto(config any) error {
	plain, err := underscored(s)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err = d.Decode(config)
	var mistaken *json.UnmarshalTypeError
	if errors.As(err, &mistaken) {
		return fmt.Errorf("%s is a %s; it must be %s", mistaken.Field, mistaken.Value, mistaken.Type)
	}
	if err != nil {
		return errors.New(strings.Replace(err.Error(), "json: unknown field", "there is no setting", 1))
	}
	return nil
}

// underscored has the names as they are in JSON. A name may not be there in both
// ways.
func underscored(s map[string]any) (map[string]any, error) {
	all := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		field := strings.ReplaceAll(name, "-", "_")
		if _, twice := all[field]; twice {
			return nil, fmt.Errorf("%s is there twice, with dashes and with underscores", field)
		}
		all[field] = s[name]
		if inner, ok := s[name].(map[string]any); ok {
			var err error
			if all[field], err = underscored(inner); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// setup is what one run does, resolved.
type setup struct {
	at         []point
	seed       uint64
	sampling   data.SampleConfig
	collection collection
	training   []settings // of the experiment, and of the point over them
	first      int
}

// collection are the settings of experience.
type collection struct {
	Models  []string      `json:"models"`
	Draws   int           `json:"draws"`
	Explore int           `json:"explore"`
	O       collect.Worth `json:"o"`
	Seed    uint64        `json:"seed"`
}

// config is the configuration of collecting, which is of everything in one part.
func (c collection) config() collect.Config {
	return collect.Config{Models: c.Models, Draws: c.Draws, Explore: c.Explore, Worth: c.O, Seed: c.Seed}
}

// learning are the settings of training, and two more.
type learning struct {
	Preset string `json:"preset"`
	// First limits the training problems to so many; 0 means all.
	First int `json:"first"`
	train.Config
}

// setup puts the settings of a point over those of the experiment.
func (x *Experiment) setup(at []point, seed uint64) (*setup, error) {
	s := &setup{at: at, seed: seed, training: []settings{x.Training}}
	s.sampling.Seed, s.collection.Seed = seed, seed
	problems, experience := []settings{x.Problems}, []settings{x.Experience}
	for _, p := range at {
		problems, experience, s.training = append(problems, p.Problems), append(experience, p.Experience), append(s.training, p.Training)
	}
	for _, some := range problems {
		if err := some.onto(&s.sampling); err != nil {
			return nil, fmt.Errorf("[problems] %w", err)
		}
	}
	s.sampling = s.sampling.Defaults()
	if err := s.sampling.Validate(); err != nil {
		return nil, fmt.Errorf("[problems] %w", err)
	}
	s.collection.Explore = collect.Config{}.Defaults().Explore
	for _, some := range experience {
		if err := some.onto(&s.collection); err != nil {
			return nil, fmt.Errorf("[experience] %w", err)
		}
	}
	if s.collection.Explore == 0 {
		s.collection.Explore = -1
	}
	c := s.collection.config().Defaults()
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("[experience] %w", err)
	}
	s.collection = collection{c.Models, c.Draws, c.Explore, c.Worth, c.Seed}
	for _, some := range s.training {
		if some["seed"] != nil {
			return nil, errors.New("[training] seed: give seeds = [...] at the top of the experiment instead")
		}
	}
	config, err := s.config(1)
	if err != nil {
		return nil, fmt.Errorf("[training] %w", err)
	}
	if x.Head == "" && (config.TrainHead != train.HeadFrozen || config.HeadRate != 0) {
		return nil, errors.New("[training] train_head and lr_head need a head: give head = ... at the top of the experiment")
	}
	return s, nil
}

// config is the configuration of training for data of so many features.
func (s *setup) config(features int) (train.Config, error) {
	all := learning{Preset: "default"}
	for _, some := range s.training { // the preset is under everything else
		if err := some.onto(&all); err != nil {
			return train.Config{}, err
		}
	}
	preset, err := train.Preset(all.Preset, features)
	if err != nil {
		return preset, err
	}
	all.Config = preset
	for _, some := range s.training {
		if err := some.onto(&all); err != nil {
			return train.Config{}, err
		}
	}
	if s.first = all.First; s.first < 0 {
		return preset, fmt.Errorf("first: %d; it must not be negative", s.first)
	}
	all.Seed = s.seed
	c := all.Config.Defaults()
	return c, c.Validate()
}
