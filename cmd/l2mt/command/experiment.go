package command

// An experiment is a TOML file: the flags of the commands that make a run (problems sample,
// collect, train and eval), and a setting to vary. So a setting has one name, one check and one
// default, here and on the command line.

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"

	"l2mt/data"
	"l2mt/infer/compare"
)

//go:embed experiments/*.toml
var shipped embed.FS

// experiment is the content of an experiment's file.
type experiment struct {
	text string
	// Title heads the picture.
	Title string `toml:"title"`
	// Dataset is a path or "digits", the default.
	Dataset string `toml:"dataset"`
	// Seeds of the runs; default 1.
	Seeds []uint64 `toml:"seeds"`
	// Flags of the commands that make a run, each after the name of its command.
	Flags []string `toml:"flags"`
	// Show lists the methods of the picture, as model or model/variant; default all that
	// learn from the same rows.
	Show []string `toml:"show"`
	// Vary names a setting and its values, if the experiment varies one.
	Vary variation `toml:"vary"`

	store []string // experience to train on, in place of problems drawn
	tests string   // and the file of the test problems, if there is one
	runs  []*experimentRun
}

// variation is one thing that is varied: a flag by its values, or several at once by cases
// with names.
type variation struct {
	// Label names the setting on the axis and in the tables.
	Label string `toml:"label"`
	// Flag is a command and the beginning of one of its flags, to which every value is added:
	// "train --model.hidden=".
	Flag   string `toml:"flag"`
	Values []any  `toml:"values"`
	// Cases are named flags instead.
	Cases []point `toml:"case"`
}

// point is one value of the varied setting.
type point struct {
	Name  string   `toml:"name"`
	Flags []string `toml:"flags"`
}

// maxExperiment bounds a file in bytes, and so how deep it nests: each bracket takes stack.
const maxExperiment = 64 << 10

// experimentNames lists the shipped experiments.
func experimentNames() (names []string) {
	files, _ := shipped.ReadDir("experiments") // is there
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".toml"))
	}
	return names
}

// read reads the experiment: a file, a shipped experiment of that name, or the flags alone.
func (c *sweepCmd) read() (*experiment, error) {
	if c.Experiment == "" {
		return c.parse("flags", `flags = ["eval --models stl"]`)
	}
	raw, err := shipped.ReadFile("experiments/" + c.Experiment + ".toml")
	if err != nil {
		raw, err = os.ReadFile(c.Experiment)
	}
	if len(raw) > maxExperiment {
		return nil, data.Malformed("%s: it has %d bytes; an experiment has at most %d",
			c.Experiment, len(raw), maxExperiment)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errUsage.Errorf("there is no file %s, nor a shipped experiment of this name; there are %s",
			c.Experiment, strings.Join(experimentNames(), ", "))
	}
	if err != nil {
		return nil, err
	}
	x, err := c.parse(strings.TrimSuffix(filepath.Base(c.Experiment), ".toml"),
		string(raw))
	if err != nil {
		err = fmt.Errorf("%s: %w", c.Experiment, err)
	}
	return x, err
}

// parse fills in the defaults, puts the flags of the command over the text, and lists the runs, seed
// by seed at every point.
func (c *sweepCmd) parse(name, text string) (*experiment, error) {
	x := &experiment{text: text, Title: name, Dataset: "digits",
		Seeds: []uint64{1}, store: c.Experience, tests: c.Problems}
	meta, err := toml.Decode(text, x)
	if err != nil {
		return nil, err
	}
	unknown := meta.Undecoded()
	if len(unknown) > 0 {
		return nil, fmt.Errorf("an experiment has no field %q; l2mt sweep --show prints one with its fields",
			unknown[0].String())
	}
	if x.store != nil {
		x.Dataset = "" // the dataset of the experience and the problems
	}
	x.Dataset = cmp.Or(c.Dataset, x.Dataset)
	for i := range c.Seeds {
		x.Seeds = append(x.Seeds[:i:i], uint64(i+1))
	}
	for _, set := range c.Set {
		flag, value, err := setting("set", set)
		if err != nil {
			return nil, err
		}
		x.Flags = append(x.Flags, flag+value)
	}
	if c.Vary != nil {
		x.Title = strings.Join(c.Vary, " ")
	} else if err := x.Vary.complete(); err != nil {
		return nil, fmt.Errorf("[vary] %w", err)
	}
	for i, vary := range c.Vary {
		flag, values, err := setting("vary", vary)
		if err != nil {
			return nil, err
		}
		v := variation{Flag: flag}
		for value := range strings.SplitSeq(values, ",") {
			v.Values = append(v.Values, value)
		}
		if err := v.complete(); err != nil {
			return nil, fmt.Errorf("--vary=%s: %w", vary, err)
		}
		if i > 0 {
			v = x.Vary.times(v)
		}
		x.Vary = v
	}
	c.Out = cmp.Or(c.Out, filepath.Join("runs", "sweep", name))
	first := map[string]string{}
	for _, p := range x.Vary.Cases {
		for _, seed := range x.Seeds {
			r := &experimentRun{point: p, seed: seed}
			dir := filepath.Join(c.Out, sweepRuns, r.name())
			r.stages, err = x.stages(r, dir, first)
			if err != nil {
				return nil, err
			}
			x.runs = append(x.runs, r)
		}
	}
	return x, nil
}

// setting splits the text of a flag into the beginning of a command's flag and its value. A setting
// of the network is a flag of train.
func setting(flag, text string) (begin, value string, err error) {
	sign := strings.LastIndex(text, "=")
	if sign <= 0 {
		return "", "", errUsage.Errorf("--%s=%s: it must be SETTING=VALUE", flag, text)
	}
	begin = text[:sign+1]
	if !strings.Contains(begin, " ") {
		begin = "train --" + begin
	}
	return begin, text[sign+1:], nil
}

// times has every case of v with every case of w.
func (v variation) times(w variation) variation {
	grid := variation{Label: v.Label + ", " + w.Label}
	for _, a := range v.Cases {
		for _, b := range w.Cases {
			grid.Cases = append(grid.Cases,
				point{a.Name + ", " + b.Name, slices.Concat(a.Flags, b.Flags)})
		}
	}
	return grid
}

// complete turns values into cases. Where nothing is varied there is one case without a name.
func (v *variation) complete() error {
	if (v.Flag == "") != (len(v.Values) == 0) ||
		v.Flag != "" && len(v.Cases) > 0 {
		return errors.New("it needs either a flag with values, or cases with names")
	}
	_, flag, _ := strings.Cut(v.Flag, " ")
	v.Label = cmp.Or(v.Label, strings.Trim(flag, "-= "), "case")
	for _, value := range v.Values {
		v.Cases = append(v.Cases,
			point{fmt.Sprint(value), []string{v.Flag + fmt.Sprint(value)}})
	}
	taken := map[string]bool{"": true}
	for i, p := range v.Cases {
		if taken[p.Name] {
			return fmt.Errorf("value %d is called %q; every value needs a name of its own", i+1, p.Name)
		}
		taken[p.Name] = true
	}
	if v.Cases == nil {
		v.Cases = []point{{}}
	}
	return nil
}

// experimentRun is an experiment at one value of the varied setting, with one seed.
type experimentRun struct {
	point
	seed uint64
	*stages

	// Where there are test problems, and the run is made:

	from  string // tells problems of one name apart
	tasks []string
	table *compare.Table
}

// name is the name of the run and of its folder.
func (r *experimentRun) name() string {
	return strings.TrimPrefix(
		fmt.Sprintf("%s,seed-%d", url.QueryEscape(r.Name), r.seed), ",")
}

// stages are the commands that make a run.
type stages struct {
	sample   problemsSampleCmd
	collect  collectCmd
	learn    trainCmd
	evaluate evalCmd
	folder   string // the folder with its problems and experience
}

// stages are the commands of a run in a folder. Runs whose flags make the same problems and
// experience share the folder of the first.
func (x *experiment) stages(r *experimentRun, dir string, first map[string]string) (*stages, error) {
	given := map[string][]string{}
	for i, line := range slices.Concat(x.Flags, r.Flags) {
		command, flags, _ := strings.Cut(line, " ")
		if !slices.Contains(
			[]string{"problems", "collect", "train", "eval"}, command) {
			return nil, fmt.Errorf("%q: flags must begin with a command, one of problems, collect, train and eval", command)
		}
		if x.store != nil && i >= len(x.Flags) && command != "train" && command != "eval" {
			return nil, fmt.Errorf("[vary] %s: with --experience only flags of train and eval can be varied, as problems and experience are given", r.Name)
		}
		given[command] = append(given[command], strings.Fields(flags)...)
	}
	seed := fmt.Sprint("--seed=", r.seed)
	for _, command := range []string{"problems", "collect"} { // which may say another seed
		if !strings.Contains(strings.Join(given[command], " "), "--seed") {
			given[command] = append(given[command], seed)
		}
	}
	data := fmt.Sprint(given["problems"], given["collect"])
	_, ok := first[data]
	if !ok || x.store != nil {
		first[data] = dir
	}
	s := &stages{folder: first[data]}
	problems := filepath.Join(s.folder, "problems")
	network := filepath.Join(dir, "network")
	experience := x.store
	tests := x.tests
	if x.store == nil {
		experience = []string{filepath.Join(s.folder, "experience")}
		tests = filepath.Join(problems, "test.json")
	}
	train := []string{seed, "--out=" + network}
	for _, store := range experience {
		train = append(train, "--experience="+store)
	}
	for _, c := range []struct {
		name  string
		flags any
		fixed []string
	}{
		{"problems", &s.sample, []string{"--out=" + problems}},
		{"collect", &s.collect,
			[]string{"--problems=" + filepath.Join(problems, "train.json"), "--out=" + experience[0]}},
		{"train", &s.learn, train},
		{"eval", &s.evaluate,
			[]string{"--network=" + network, "--problems=" + tests, "--out=" + filepath.Join(dir, "evaluation")}},
	} {
		fixed := append(c.fixed, "--dataset="+x.Dataset)
		for _, flag := range given[c.name] {
			name, _, _ := strings.Cut(flag, "=")
			if slices.ContainsFunc(fixed, func(arg string) bool {
				return strings.HasPrefix(arg, name+"=")
			}) {
				return nil, fmt.Errorf("%s: leave %s out; sweep gives it itself", c.name, name)
			}
		}
		parser := kong.Must(c.flags, flagVars(), kong.NoDefaultHelp())
		_, err := parser.Parse(slices.Concat(given[c.name], fixed))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	s.evaluate.Problems = tests // of none the parser makes a folder
	if x.store == nil && s.sample.Train <= 0 {
		return nil, errors.New("problems: --train=0 leaves nothing to learn from; to compare a trained network, run l2mt eval")
	}
	return s, nil
}
