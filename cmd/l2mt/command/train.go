package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"gonum.org/v1/gonum/stat"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/train"
)

type trainCmd struct {
	Experience []string          `required:"" sep:"none" type:"existingdir" help:"Directory of the experience. Of several, given one by one, all count for the same; their datasets may differ in their features if the network is free of these (--preset pairwise)."`
	Dataset    string            `help:"Dataset to use instead of the one that the experience names."`
	Head       string            `placeholder:"FILE" help:"Fully connected layers in front of the network, with ReLU between them: .npz or .safetensors with arrays W0, b0, W1, ... (W and b), or 0.weight, 0.bias, ... (also classifier.0.weight); or random:64-32-16 for random ones of these widths, from the features on."`
	TrainHead  *string           `help:"Layers of the head to train along: none (the default), last or all."`
	Out        string            `required:"" type:"path" help:"Directory of the network. A run that is there already is gone on with."`
	Resume     bool              `help:"Insist that there is a run to go on with."`
	Seed       *uint64           `help:"Seed of everything random; by default 1."`
	Seeds      int               `default:"1" help:"Train that many networks, with seeds from --seed on, in folders seed-N."`
	From       string            `placeholder:"NETWORK" help:"Network to go on from, its settings, parameters and head: a directory, or \"pretrained\"."`
	Preset     string            `default:"default" enum:"${presets}" help:"Where the settings that are not given come from: ${enum} (paper: to the letter)."`
	Epochs     *int              `help:"Passes over the tuples."`
	Body       *string           `help:"What turns a task's rows into hidden features (${bodies})."`
	Readout    *string           `help:"How the rows of a task become its embedding (${readouts})."`
	Estimator  *string           `help:"What turns embeddings into an estimate (${estimators})."`
	Link       *string           `help:"Function of the relative error that is estimated (${links})."`
	Set        map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Any setting, such as model.hidden=100; --help-settings lists them. Can be given several times."`
	Config     string            `type:"existingfile" placeholder:"FILE" help:"TOML file of settings, in sections [model] and [train]. --set and the other flags win."`

	from *model.Network // nil without From

	HelpSettings helpSettings `help:"List all settings, with their defaults, meanings and valid values."`
}

// config puts the configuration file over the preset, and the flags over both.
func (c *trainCmd) config(features int) (train.Config, error) {
	config, err := c.preset(features)
	if err != nil {
		return config, err
	}
	config.Seed = defaultSeed
	if c.Config != "" {
		file, err := os.Open(c.Config)
		if err != nil {
			return config, err
		}
		defer file.Close()
		if err := config.Load(file); err != nil {
			return config, fmt.Errorf("%s: %w", c.Config, err)
		}
	}
	flags := map[string]string{}
	for name, flag := range map[string]*string{"train.head": c.TrainHead, "model.body": c.Body, "model.readout": c.Readout, "model.estimator": c.Estimator, "model.link": c.Link} {
		if flag != nil {
			flags[name] = *flag
		}
	}
	if c.Epochs != nil {
		flags["train.epochs"] = fmt.Sprint(*c.Epochs)
	}
	if c.Seed != nil {
		flags["train.seed"] = fmt.Sprint(*c.Seed)
	}
	for _, some := range []map[string]string{c.Set, flags} {
		for _, name := range slices.Sorted(maps.Keys(some)) {
			if err := config.Set(name, some[name]); err != nil {
				return config, err
			}
		}
	}
	if config.TrainHead != train.HeadFrozen && c.Head == "" && (c.from == nil || c.from.Head == nil) {
		return config, errors.New("train.head needs --head: there are no layers to train")
	}
	return config, config.Validate()
}

// preset has the settings of the network to go on from, and those of training that
// its body is best trained with.
func (c *trainCmd) preset(features int) (train.Config, error) {
	if c.from == nil {
		return train.Preset(c.Preset, features)
	}
	name := c.Preset
	if c.from.Config.Body == pairs {
		name = pairs
	}
	config, err := train.Preset(name, features)
	config.Model = c.from.Config
	return config, err
}

// pairs is the name of a body and of its preset.
const pairs = "pairwise"

// defaultSeed is that of all commands.
const defaultSeed = 1

// helpSettings lists the settings as --help lists the flags.
type helpSettings bool

// BeforeReset is called before anything is checked, as for --help.
func (helpSettings) BeforeReset(app *kong.Kong) error {
	for _, s := range train.Settings() {
		if s.Name == "train.seed" {
			s.Default["default"], s.Default["paper"] = fmt.Sprint(defaultSeed), fmt.Sprint(defaultSeed)
		}
		fmt.Fprintf(app.Stdout, "%s = %s", s.Name, s.Default["default"])
		if paper := s.Default["paper"]; paper != s.Default["default"] {
			fmt.Fprintf(app.Stdout, " (paper: %s)", paper)
		}
		fmt.Fprintf(app.Stdout, "\n    %s\n    It is %s.\n", s.Meaning, s.Valid)
	}
	app.Exit(exitDone)
	return nil
}

func (c *trainCmd) Validate() error {
	if c.Seeds < 1 {
		return fmt.Errorf("--seeds=%d: there must be at least one", c.Seeds)
	}
	if c.From != "" {
		var err error
		if c.from, err = run.OpenNetwork(c.From); err != nil {
			return fmt.Errorf("--from=%s: it is neither %q nor a network's directory: %w", c.From, run.PretrainedNetwork, err)
		}
	}
	_, err := c.config(1) // before the experience is read, which says how many features there are
	return err
}

// head is the one given, or that of the network to go on from.
func (c *trainCmd) head() (layers.Head, error) {
	if c.from != nil && c.Head == "" {
		return c.from.Head, nil
	}
	return run.OpenHead(c.Head)
}

func (c *trainCmd) Run(e *env) error {
	head, err := c.head()
	if err != nil {
		return err
	}
	examples, err := run.OpenExperiences(c.Experience, c.Dataset, head, e.remark)
	if err != nil {
		return err
	}
	example, err := examples.Example(0)
	if err != nil {
		return err
	}
	features := example.Problem.Cols()
	if head != nil && head.In() != features {
		return fmt.Errorf("%w: --head=%s takes %d features, but the problems have %d", errUsage, c.Head, head.In(), features)
	} else if head != nil {
		features = head.Out()
	}
	config, err := c.config(features)
	if err != nil {
		return err
	}
	var results []run.Trained
	first := config.Seed
	for i := range uint64(c.Seeds) {
		config.Seed = first + i
		out := c.Out
		if c.Seeds > 1 {
			out = filepath.Join(c.Out, fmt.Sprintf("seed-%d", config.Seed))
			e.remark("seed %d, %d of %d", config.Seed, i+1, c.Seeds)
		}
		result, err := run.Train(e, run.Training{
			Out: out, Experience: strings.Join(names(c.Experience), ", "), Head: head.Clone(), HeadName: c.Head, Config: config,
			From: c.from, FromName: c.From, Resume: c.Resume, Progress: e.reporter(), Remark: e.remark,
		}, examples)
		if errors.Is(err, context.Canceled) {
			e.remark("%s has the state of the run; the same command goes on from there", out)
		}
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	return e.print(results, func(w io.Writer) { writeTrained(w, results) })
}

func writeTrained(w io.Writer, results []run.Trained) {
	t := run.Columns(w)
	fmt.Fprintln(t, "seed\tbest epoch\tloss\theld out within\toverall\ttraining within\tdirections\t  network")
	var within []float64
	for _, r := range results {
		within = append(within, r.Best.HeldOut.Within)
		fmt.Fprintf(t, "%d\t%d\t%.4f\t%.3f\t%.3f\t%.3f\t%d\t  %s\n", r.Seed, r.Epoch, r.Best.Loss, r.Best.HeldOut.Within, r.Best.HeldOut.Overall, r.Best.Training.Within, r.Directions, r.Dir)
	}
	t.Flush()
	if len(results) > 1 {
		mean, variance := stat.MeanVariance(within, nil)
		fmt.Fprintf(w, "held out within: mean %.3f, standard deviation %.3f over %d seeds\n", mean, math.Sqrt(variance), len(results))
	}
	for _, r := range results {
		for _, warning := range r.Warnings {
			fmt.Fprintf(w, "warning, seed %d: %s\n", r.Seed, warning)
		}
	}
}

// names are the last elements of paths.
func names(paths []string) (last []string) {
	for _, p := range paths {
		last = append(last, filepath.Base(p))
	}
	return last
}
