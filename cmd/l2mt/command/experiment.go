package command

// An experiment is a TOML file: the flags of the commands that make a run (problems sample,
// collect, train and eval), and what is varied. So a setting has one name, one check and one
// default, here and on the command line.

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"
)

//go:embed experiments/*.toml
var shipped embed.FS

// experiment is such a file.
type experiment struct {
	name, text string
	// Title heads the picture.
	Title string `toml:"title"`
	// Dataset is a path or "digits", the default.
	Dataset string `toml:"dataset"`
	// Head is a file of fully connected layers that make the features, or
	// random:WIDTHS; default none.
	Head string `toml:"head"`
	// Seeds are those of the runs; default 1.
	Seeds []uint64 `toml:"seeds"`
	flags
	// Show lists the methods of the picture, as model or model/variant; default all that
	// learn from the same rows.
	Show []string `toml:"show"`
	// Vary is what is varied, if anything is.
	Vary variation `toml:"vary"`

	store []string // experience to train on, in place of problems drawn
	tests string   // and the file of the test problems, if there is one
}

// flags are those of the commands that make a run, as on the command line.
type flags struct {
	Problems string `toml:"problems"`
	Collect  string `toml:"collect"`
	Train    string `toml:"train"`
	Eval     string `toml:"eval"`
}

// variation is one thing that is varied: a flag by its values, or several at once by cases
// with names.
type variation struct {
	// Label says what it is, on the axis and in the tables.
	Label string `toml:"label"`
	// Flag is a command and the beginning of a flag of it, to which every value is added:
	// "train --set model.hidden=".
	Flag   string `toml:"flag"`
	Values []any  `toml:"values"`
	// Cases are named sets of flags instead.
	Cases []point `toml:"case"`
}

// point is one value of what is varied.
type point struct {
	Name string `toml:"name"`
	flags
}

// experimentNames lists the shipped experiments.
func experimentNames() (names []string) {
	files, _ := fs.Glob(shipped, "experiments/*.toml") // the pattern is right
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".toml"))
	}
	return names
}

// readExperiment reads a file, or the shipped experiment of that name, or none, and makes a
// change.
func readExperiment(from string, change func(*experiment) error) (*experiment, error) {
	if from == "" {
		return parseExperiment("flags", "", change)
	}
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
	x, err := parseExperiment(strings.TrimSuffix(filepath.Base(from), ".toml"), string(raw), change)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return x, nil
}

// parseExperiment fills in the defaults, makes a change, and checks the flags of all points.
func parseExperiment(name, text string, change func(*experiment) error) (*experiment, error) {
	x := &experiment{name: name, text: text, Title: name, Dataset: "digits", Seeds: []uint64{1}, flags: flags{Eval: "--models=stl"}}
	meta, err := toml.Decode(text, x)
	if err != nil {
		return nil, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("there is no %q in an experiment", unknown[0].String())
	}
	if err := change(x); err != nil {
		return nil, err
	}
	if err := x.Vary.complete(); err != nil {
		return nil, fmt.Errorf("[vary] %w", err)
	}
	for _, p := range x.points() {
		if x.store != nil && p.Problems+p.Collect != "" {
			return nil, fmt.Errorf("[vary] %s: with --experience problems and experience are there; only flags of train and eval can be varied", p.Name)
		}
		if _, err := x.stages(&experimentRun{p, 1}, "", ""); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// complete turns values into cases.
func (v *variation) complete() error {
	if (v.Flag == "") != (len(v.Values) == 0) || v.Flag != "" && len(v.Cases) > 0 {
		return errors.New("it needs either a flag with values, or cases with names")
	}
	command, flag, _ := strings.Cut(v.Flag, " ")
	v.Label = cmp.Or(v.Label, strings.Trim(flag, "-= "), "case")
	for _, value := range v.Values {
		p, with := point{Name: fmt.Sprint(value)}, flag+fmt.Sprint(value)
		switch command {
		case "problems":
			p.Problems = with
		case "collect":
			p.Collect = with
		case "train":
			p.Train = with
		case "eval":
			p.Eval = with
		default:
			return fmt.Errorf("flag = %q: it must begin with problems, collect, train or eval", v.Flag)
		}
		v.Cases = append(v.Cases, p)
	}
	for i, p := range v.Cases {
		if p.Name == "" || slices.ContainsFunc(v.Cases[:i], func(other point) bool { return other.Name == p.Name }) {
			return fmt.Errorf("value %d is called %q: every one needs a name of its own", i+1, p.Name)
		}
	}
	return nil
}

// points are those of what is varied, or one without a name.
func (x *experiment) points() []point {
	if len(x.Vary.Cases) == 0 {
		return []point{{}}
	}
	return x.Vary.Cases
}

// experimentRun is an experiment at one point of what is varied, with one seed.
type experimentRun struct {
	point
	seed uint64
}

// name is that of the run, and of its folder.
func (r *experimentRun) name() string {
	return strings.TrimPrefix(fmt.Sprintf("%s,seed-%d", url.QueryEscape(r.Name), r.seed), ",")
}

// runs lists the runs, seed by seed at every point.
func (x *experiment) runs() (runs []*experimentRun) {
	for _, p := range x.points() {
		for _, seed := range x.Seeds {
			runs = append(runs, &experimentRun{p, seed})
		}
	}
	return runs
}

// data are the flags of the problems and the experience of a run. They say its seed, where the
// experiment does not.
func (x *experiment) data(r *experimentRun) (problems, collect string) {
	all := []string{x.Problems + " " + r.Problems, x.Collect + " " + r.Collect}
	for i, flags := range all {
		if !strings.Contains(flags, "--seed") {
			all[i] = fmt.Sprintf("--seed=%d %s", r.seed, flags)
		}
	}
	return all[0], all[1]
}

// stages are the commands that make a run.
type stages struct {
	sample   problemsSampleCmd
	collect  collectCmd
	learn    trainCmd
	evaluate evalCmd
}

// stages are those of a run in a folder. Another one, made, has its problems and experience.
func (x *experiment) stages(r *experimentRun, dir, made string) (*stages, error) {
	s, problems, network := &stages{}, filepath.Join(made, "problems"), filepath.Join(dir, "network")
	experience, tests := x.store, x.tests
	if x.store == nil {
		experience, tests = []string{filepath.Join(made, "experience")}, filepath.Join(problems, "test.json")
	}
	train := []string{"--head=" + x.Head, fmt.Sprint("--seed=", r.seed), "--out=" + network}
	for _, store := range experience {
		train = append(train, "--experience="+store)
	}
	set := func(command string, to any, flags string, own ...string) error {
		return configure(command, to, strings.Fields(flags), append(own, "--dataset="+x.Dataset))
	}
	sample, collect := x.data(r)
	if err := errors.Join(
		set("problems", &s.sample, sample, "--out="+problems),
		set("collect", &s.collect, collect, "--problems="+filepath.Join(problems, "train.json"), "--out="+experience[0], "--head="+x.Head),
		set("train", &s.learn, x.Train+" "+r.Train, train...),
		set("eval", &s.evaluate, x.Eval+" "+r.Eval, "--network="+network, "--problems="+tests, "--out="+filepath.Join(dir, "evaluation")),
	); err != nil {
		return nil, err
	}
	s.evaluate.Problems = tests // of none the parser makes a folder
	if x.store == nil && s.sample.Train == 0 {
		return nil, errors.New("problems: --train=0 leaves nothing to learn from: l2mt eval compares a network that is there")
	}
	return s, nil
}

// configure gives a command its flags, and such as are the experiment's own.
func configure(name string, command any, flags, own []string) error {
	parser, err := kong.New(command, flagVars(), kong.NoDefaultHelp())
	if err != nil {
		return err
	}
	for _, flag := range flags {
		given, _, _ := strings.Cut(flag, "=")
		if slices.ContainsFunc(own, func(arg string) bool { return strings.HasPrefix(arg, given+"=") }) {
			return fmt.Errorf("%s: leave %s out: the experiment says it", name, given)
		}
	}
	if _, err = parser.Parse(slices.Concat(flags, own)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
