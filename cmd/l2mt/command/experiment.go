package command

// An experiment is a TOML file: which problems, experience, training and models,
// and what is varied. A section has the flags of the command that does the work,
// so that a setting has one name, one check and one default.

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/cmd/l2mt/internal/sweep"
)

//go:embed experiments/*.toml
var shipped embed.FS

// experiment is such a file.
type experiment struct {
	name, text string
	// Title heads the picture, About is a line about it.
	Title string `toml:"title"`
	About string `toml:"about"`
	// Dataset is a path or "digits", the default.
	Dataset string `toml:"dataset"`
	// Head is a file of fully connected layers that make the features, or
	// random:WIDTHS; default none.
	Head string `toml:"head"`
	// Network is a trained network's directory, or "pretrained" for the one in the
	// program: then nothing is collected and trained, and [experience], [model] and
	// [train] say nothing.
	Network string `toml:"network"`
	// Seeds are those of the runs; default 1.
	Seeds []uint64 `toml:"seeds"`
	sections
	// Compare says which models L2MT is compared with, and what is shown.
	Compare comparison `toml:"compare"`
	// Case replaces the test problems by one of tasks that share a class.
	Case *caseStudy `toml:"case"`
	// Vary is what is varied, if anything is.
	Vary variation `toml:"vary"`

	store []string // experience to train on, in place of problems drawn
	tests string   // and the file of the test problems, if there is one
}

// comparison are flags of eval. Single-task learning is always among the models.
type comparison struct {
	Models   []string `toml:"models"`
	Labelled []string `toml:"labelled"`
	Points   int      `toml:"points"`
	// Show lists the methods of the picture, as model or model/variant; default all that
	// learn from the same rows.
	Show []string `toml:"show"`
}

// sections have settings by name: the flags of problems sample, of collect and of train
// (preset and first), and the settings of train.
type sections struct {
	Problems   map[string]any `toml:"problems"`
	Experience map[string]any `toml:"experience"`
	Model      map[string]any `toml:"model"`
	Train      map[string]any `toml:"train"`
}

func (s *sections) byName() map[string]*map[string]any {
	return map[string]*map[string]any{"problems": &s.Problems, "experience": &s.Experience, "model": &s.Model, "train": &s.Train}
}

// put takes in settings over those that are there. As in flags, - will do for _.
func (s *sections) put(over sections) {
	for section, from := range over.byName() {
		to := s.byName()[section]
		*to = maps.Clone(*to)
		if *to == nil {
			*to = map[string]any{}
		}
		for _, name := range slices.Sorted(maps.Keys(*from)) {
			(*to)[strings.ReplaceAll(name, "-", "_")] = (*from)[name]
		}
	}
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
}

// point is one value of what is varied.
type point struct {
	Name string `toml:"name"`
	sections
}

// experimentRun is an experiment at one point of what is varied, with one seed.
type experimentRun struct {
	point string
	seed  uint64
	sections
}

// name is that of the run, and of its folder.
func (r *experimentRun) name() string {
	if r.point == "" {
		return fmt.Sprintf("seed-%d", r.seed)
	}
	return fmt.Sprintf("%s,seed-%d", url.QueryEscape(r.point), r.seed)
}

// experimentNames lists the shipped experiments.
func experimentNames() (names []string) {
	files, _ := fs.Glob(shipped, "experiments/*.toml") // the pattern is right
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".toml"))
	}
	return names
}

// readExperiment reads a file, or the shipped experiment of that name.
func readExperiment(from string, changes ...func(*experiment)) (*experiment, error) {
	raw, err := shipped.ReadFile("experiments/" + from + ".toml")
	if err != nil {
		raw, err = os.ReadFile(from)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no file %s, and the shipped experiments are %s", errUsage, from, strings.Join(experimentNames(), ", "))
	}
	if err != nil {
		return nil, err
	}
	x, err := parseExperiment(strings.TrimSuffix(filepath.Base(from), ".toml"), string(raw), changes...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return x, nil
}

// parseExperiment fills in the defaults, makes changes, and checks all but what depends on the
// data.
func parseExperiment(name, text string, changes ...func(*experiment)) (*experiment, error) {
	x := &experiment{name: name, text: text, Title: name, Dataset: "digits", Seeds: []uint64{1}, Compare: comparison{Models: []string{"stl"}, Points: 4}}
	meta, err := toml.Decode(text, x)
	if err != nil {
		return nil, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("there is no setting %q in an experiment", unknown[0].String())
	}
	for _, change := range changes {
		change(x)
	}
	return x, x.check()
}

func (x *experiment) check() error {
	if err := x.Vary.complete(); err != nil {
		return fmt.Errorf("[vary] %w", err)
	}
	for _, p := range x.Vary.Cases {
		if x.store != nil && len(p.Problems)+len(p.Experience) > 0 {
			return fmt.Errorf("[vary] %s = %s: with --experience problems and experience are there, and only model and train can be varied", x.Vary.Label, p.Name)
		}
	}
	for _, r := range x.runs() {
		if r.seed != x.Seeds[0] {
			continue // its settings are those of the first
		}
		if _, err := x.stages(r, "", "", 0); err != nil {
			return err
		}
	}
	return nil
}

// complete turns values into cases.
func (v *variation) complete() error {
	section, name, ok := strings.Cut(v.Setting, ".")
	if byName := v.Setting == "" && len(v.Values) == 0; !byName && (!ok || len(v.Values) == 0 || len(v.Cases) > 0) {
		return errors.New("it needs either a setting, as SECTION.NAME, with values, or cases with names")
	}
	if v.Label = cmp.Or(v.Label, name, "case"); slices.Contains(sweep.Columns(), v.Label) {
		return fmt.Errorf("label = %q: a column of the results is called so; take another", v.Label)
	}
	for _, value := range v.Values {
		p := point{Name: fmt.Sprint(value)}
		settings := p.byName()[section]
		if settings == nil {
			return fmt.Errorf("setting = %q: there is no section %q to vary; there are problems, experience, model and train", v.Setting, section)
		}
		*settings = map[string]any{name: value}
		v.Cases = append(v.Cases, p)
	}
	for i, p := range v.Cases {
		if p.Name == "" || slices.ContainsFunc(v.Cases[:i], func(other point) bool { return other.Name == p.Name }) {
			return fmt.Errorf("value %d is called %q: every one needs a name of its own", i+1, p.Name)
		}
	}
	return nil
}

// runs lists the runs, seed by seed at every point.
func (x *experiment) runs() (runs []*experimentRun) {
	points := x.Vary.Cases
	if len(points) == 0 {
		points = []point{{}}
	}
	for _, p := range points {
		for _, seed := range x.Seeds {
			r := &experimentRun{point: p.Name, seed: seed}
			r.put(sections{Problems: map[string]any{"seed": seed}, Experience: map[string]any{"seed": seed}})
			r.put(x.sections)
			r.put(p.sections)
			runs = append(runs, r)
		}
	}
	return runs
}

// stages are the commands that make a run.
type stages struct {
	sample   problemsSampleCmd
	collect  collectCmd
	learn    trainCmd
	evaluate evalCmd
}

// stages are those of a run in a folder, with its experience in another one.
func (x *experiment) stages(r *experimentRun, dir, experience string, workers int) (*stages, error) {
	s, problems, network, shared := &stages{}, filepath.Join(dir, "problems"), filepath.Join(dir, "network"), fmt.Sprint("--workers=", workers)
	err := configure("problems", &s.sample, r.Problems, "--dataset="+x.Dataset, "--out="+problems)
	if err == nil && s.sample.Train == 0 && x.Network == "" {
		err = errors.New("[problems] train = 0 leaves nothing to learn from: give network = ... at the top of the experiment")
	}
	if err == nil {
		err = s.sample.config().Defaults().Validate()
	}
	if err != nil {
		return nil, err
	}
	if err := configure("experience", &s.collect, r.Experience, "--problems="+filepath.Join(problems, "train.json"), "--dataset="+x.Dataset, "--out="+experience, "--head="+x.Head, "--shard=", shared); err != nil {
		return nil, err
	}
	if _, err := s.collect.config(); err != nil {
		return nil, fmt.Errorf("[experience] %w", err)
	}
	if err := x.train(r, &s.learn); err != nil {
		return nil, err
	}
	s.learn.Experience, s.learn.Out = []string{experience}, network
	s.evaluate = evalCmd{
		Network: []string{cmp.Or(x.Network, network)}, Problems: filepath.Join(problems, "test.json"), dataFlags: dataFlags{Dataset: x.Dataset},
		Models: x.Compare.Models, Labelled: x.Compare.Labelled, Points: x.Compare.Points, Out: filepath.Join(dir, "evaluation"), Workers: workers,
	}
	if x.store != nil {
		s.learn.Experience, s.evaluate.Problems = x.store, x.tests
	}
	if _, err := run.Lookup(slices.Concat(x.Compare.Models, x.Compare.Labelled)); err != nil {
		return nil, fmt.Errorf("[compare] models: %w", err)
	}
	return s, nil
}

// train gives the command that trains the settings of its two sections.
func (x *experiment) train(r *experimentRun, c *trainCmd) error {
	flags, settings := map[string]any{}, map[string]string{}
	for name, value := range r.Train {
		switch name {
		case "preset", "first":
			flags[name] = value
		case "seed":
			return errors.New("[train] seed: give seeds = [...] at the top of the experiment instead")
		default:
			settings["train."+name] = fmt.Sprint(value)
		}
	}
	for name, value := range r.Model {
		settings["model."+name] = fmt.Sprint(value)
	}
	own := []string{"--experience=.", "--out=.", "--dataset=" + x.Dataset, "--head=" + x.Head, fmt.Sprint("--seed=", r.seed)}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		own = append(own, "--set="+name+"="+settings[name])
	}
	return configure("train", c, flags, own...)
}

// configure gives a command the settings of a section, and flags that are the experiment's own.
func configure(section string, command any, settings map[string]any, own ...string) error {
	parser, err := kong.New(command, flagVars(), kong.NoDefaultHelp())
	if err != nil {
		return err
	}
	args := slices.Clone(own)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		flag := "--" + strings.ReplaceAll(name, "_", "-") + "="
		if slices.ContainsFunc(own, func(arg string) bool { return strings.HasPrefix(arg, flag) }) {
			return fmt.Errorf("[%s] there is no setting %q: the experiment says it", section, name)
		}
		values, ok := settings[name].([]any)
		if !ok {
			values = []any{settings[name]}
		}
		var texts []string
		for _, v := range values {
			texts = append(texts, fmt.Sprint(v))
		}
		args = append(args, flag+strings.Join(texts, ","))
	}
	if _, err = parser.Parse(args); err != nil {
		return fmt.Errorf("[%s] %w", section, err)
	}
	return nil
}
