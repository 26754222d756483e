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
	"math"
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
	choices
	// Compare says which models L2MT is compared with, and what is shown.
	Compare comparison `toml:"compare"`
	// Case replaces the test problems by one of tasks that share a class.
	Case *caseStudy `toml:"case"`
	// Vary has up to two lists of settings; runs are made for all pairs.
	Vary []variation `toml:"vary"`
}

// comparison are flags of eval. Single-task learning is always among the models.
type comparison struct {
	Models   []string `toml:"models" json:"models"`
	Labelled []string `toml:"labelled" json:"labelled"`
	Points   int      `toml:"points" json:"points"`
	// Show lists the methods of the picture, as model or model/variant; default all.
	Show []string `toml:"show" json:"-"`
}

// choices are settings by section: the flags of problems sample and of collect, and
// the settings of train, where the section train may name the preset, and how many
// training problems come first.
type choices struct {
	Problems   map[string]any `toml:"problems"`
	Experience map[string]any `toml:"experience"`
	Model      map[string]any `toml:"model"`
	Train      map[string]any `toml:"train"`
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
	// Log asks for a logarithmic axis.
	Log bool `toml:"log"`
}

// point is one value of what is varied.
type point struct {
	Name string `toml:"name"`
	choices

	at float64 // on a numeric axis, else NaN
}

// settings are those of a run, by section and name.
type settings map[string]map[string]any

// put takes in the settings of one place over those of the places before. As in flags,
// - will do for _.
func (s settings) put(c choices) {
	for section, values := range map[string]map[string]any{
		"problems": c.Problems, "experience": c.Experience, "model": c.Model, "train": c.Train,
	} {
		if s[section] == nil {
			s[section] = map[string]any{}
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			s[section][strings.ReplaceAll(name, "-", "_")] = values[name]
		}
	}
}

// experimentRun is an experiment at one point of what is varied, with one seed.
type experimentRun struct {
	at   []point
	seed uint64
	settings
}

// name is that of the run, and of its folder.
func (r *experimentRun) name() (name string) {
	for _, p := range r.at {
		name += url.QueryEscape(p.Name) + ","
	}
	return fmt.Sprintf("%sseed-%d", name, r.seed)
}

// experimentNames lists the shipped experiments.
func experimentNames() []string {
	files, err := fs.Glob(shipped, "experiments/*.toml")
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
	x, err := parseExperiment(strings.TrimSuffix(filepath.Base(from), ".toml"), string(raw))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return x, nil
}

// parseExperiment fills in the defaults and checks all but what depends on the data.
func parseExperiment(name, text string) (*experiment, error) {
	x := &experiment{name: name, text: text, Title: name, Dataset: "digits", Seeds: []uint64{1}, Compare: comparison{Models: []string{"stl"}, Points: 4}}
	meta, err := toml.Decode(text, x)
	if err != nil {
		return nil, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("there is no setting %q in an experiment", unknown[0].String())
	}
	if len(x.Vary) > 2 {
		return nil, fmt.Errorf("[[vary]]: there are %d; a picture has room for two", len(x.Vary))
	}
	taken := sweep.Columns()
	for i := range x.Vary {
		if err := x.Vary[i].complete(); err != nil {
			return nil, fmt.Errorf("[[vary]] %d: %w", i+1, err)
		}
		if label := x.Vary[i].Label; slices.Contains(taken, label) {
			return nil, fmt.Errorf("[[vary]] %d: label = %q: a column of the results is called so; take another", i+1, label)
		}
		taken = append(taken, x.Vary[i].Label)
	}
	runs, err := x.runs()
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if r.seed != x.Seeds[0] {
			continue // its settings are those of the first
		}
		if _, err := x.stages(r, "", "", 0); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// complete turns values into cases.
func (v *variation) complete() error {
	section, name, ok := strings.Cut(v.Setting, ".")
	byName := v.Setting == "" && len(v.Values) == 0 && len(v.Cases) > 0
	if !byName && (!ok || len(v.Values) == 0 || len(v.Cases) > 0) {
		return errors.New("it needs either a setting, as SECTION.NAME, with values, or cases with names")
	}
	v.Label = cmp.Or(v.Label, name, "case")
	for i := range v.Cases {
		v.Cases[i].at = math.NaN()
	}
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
	seen := map[string]bool{}
	for i, p := range v.Cases {
		if p.Name == "" || seen[p.Name] {
			return fmt.Errorf("value %d is called %q: every one needs a name of its own", i+1, p.Name)
		}
		seen[p.Name] = true
	}
	if v.Log && !v.numeric() {
		return errors.New("log needs numbers as values")
	}
	return nil
}

// numeric reports whether all values are numbers.
func (v *variation) numeric() bool {
	return !slices.ContainsFunc(v.Cases, func(p point) bool { return math.IsNaN(p.at) })
}

// maxRuns bounds the runs of an experiment, each of which takes minutes.
const maxRuns = 10_000

// runs lists the runs, seed by seed at every point, the last of what is varied the
// fastest.
func (x *experiment) runs() (runs []*experimentRun, err error) {
	number := float64(len(x.Seeds))
	for _, v := range x.Vary {
		number *= float64(len(v.Cases))
	}
	if number > maxRuns {
		return nil, fmt.Errorf("%.0f runs; an experiment has at most %d", number, maxRuns)
	}
	points := [][]point{nil}
	for _, v := range x.Vary {
		var longer [][]point
		for _, at := range points {
			for _, p := range v.Cases {
				longer = append(longer, append(slices.Clone(at), p))
			}
		}
		points = longer
	}
	for _, at := range points {
		for _, seed := range x.Seeds {
			r := &experimentRun{at, seed, settings{}}
			r.put(x.choices)
			for _, p := range at {
				r.put(p.choices)
			}
			for _, section := range []string{"problems", "experience"} {
				if _, ok := r.settings[section]["seed"]; !ok {
					r.settings[section]["seed"] = seed
				}
			}
			runs = append(runs, r)
		}
	}
	return runs, nil
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
	at := func(name string) string { return filepath.Join(dir, name) }
	s := &stages{}
	if err := r.flags("problems", &s.sample, map[string]any{"dataset": x.Dataset, "out": at("problems")}); err != nil {
		return nil, err
	}
	if s.sample.Train == 0 && x.Network == "" {
		return nil, errors.New("[problems] train = 0 leaves nothing to learn from: give network = ... at the top of the experiment")
	}
	if err := s.sample.config().Defaults().Validate(); err != nil {
		return nil, fmt.Errorf("[problems] %w", err)
	}
	err := r.flags("experience", &s.collect, map[string]any{
		"problems": filepath.Join(at("problems"), "train.json"), "dataset": x.Dataset, "out": experience, "head": x.Head, "shard": "", "workers": workers,
	})
	if err != nil {
		return nil, err
	}
	if _, err := s.collect.config(); err != nil {
		return nil, fmt.Errorf("[experience] %w", err)
	}
	s.learn = trainCmd{Experience: []string{experience}, Dataset: x.Dataset, Head: x.Head, Out: at("network"), Preset: "default", Seed: r.seed}
	if err := r.learn(&s.learn, s.sample.DisjointRows); err != nil {
		return nil, fmt.Errorf("[train] %w", err)
	}
	s.evaluate = evalCmd{
		Network: cmp.Or(x.Network, at("network")), Problems: filepath.Join(at("problems"), "test.json"), dataFlags: dataFlags{Dataset: x.Dataset},
		Models: x.Compare.Models, Labelled: x.Compare.Labelled, Points: x.Compare.Points,
		Out: at("evaluation"), Workers: workers,
	}
	if _, err := run.Lookup(slices.Concat(x.Compare.Models, x.Compare.Labelled)); err != nil {
		return nil, fmt.Errorf("[compare] models: %w", err)
	}
	return s, nil
}

// flags gives a command the settings of a section, and those that are the
// experiment's own.
func (r *experimentRun) flags(section string, command any, own map[string]any) error {
	parser, err := kong.New(command, flagVars(), kong.NoDefaultHelp())
	if err != nil {
		return err
	}
	all := maps.Clone(own)
	for name, value := range r.settings[section] {
		if _, ours := own[name]; ours {
			return fmt.Errorf("[%s] there is no setting %q: the experiment says it", section, name)
		}
		all[name] = value
	}
	var args []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		values, ok := all[name].([]any)
		if !ok {
			values = []any{all[name]}
		}
		var texts []string
		for _, v := range values {
			texts = append(texts, fmt.Sprint(v))
		}
		args = append(args, fmt.Sprintf("--%s=%s", strings.ReplaceAll(name, "_", "-"), strings.Join(texts, ",")))
	}
	if _, err = parser.Parse(args); err != nil {
		return fmt.Errorf("[%s] %w", section, err)
	}
	return nil
}

// learn gives the command that trains the settings of its two sections. Directions
// would know test rows, unless test problems have rows of their own.
func (r *experimentRun) learn(c *trainCmd, apart bool) error {
	c.Set = map[string]string{}
	if !apart {
		c.Set["train.directions"] = "-1"
	}
	for name, value := range r.settings["model"] {
		c.Set["model."+name] = fmt.Sprint(value)
	}
	for name, value := range r.settings["train"] {
		fits := true
		switch name {
		case "preset":
			c.Preset, fits = value.(string)
		case "first":
			var n int64
			n, fits = value.(int64)
			c.first, fits = int(n), fits && n >= 0
		case "seed":
			return errors.New("seed: give seeds = [...] at the top of the experiment instead")
		default:
			c.Set["train."+name] = fmt.Sprint(value)
		}
		if !fits {
			return fmt.Errorf("%s: %v; preset is a name, and first a number from 0", name, value)
		}
	}
	return c.Validate()
}
