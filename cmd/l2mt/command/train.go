package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/infer/solve"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/train"
)

// trainFlags are the choices about a network and its training. What is not
// given comes from the preset.
type trainFlags struct {
	Preset     string             `default:"default" help:"Where the choices not given come from: default, or paper (the paper to the letter)."`
	Readout    *string            `help:"How the rows of a task become its embedding (${readouts})."`
	Unit       *bool              `negatable:"" help:"Scale embeddings to length one."`
	Estimator  *string            `help:"What turns embeddings into an estimate (${estimators})."`
	Link       *string            `help:"Function of the relative error that is estimated (${links})."`
	Layers     *int               `help:"Hidden layers s."`
	Hidden     *int               `help:"Width h of the layers and of the embeddings."`
	Free       *bool              `negatable:"" help:"Give each layer from the second on a matrix of its own."`
	Activation *layers.Activation `help:"Nonlinearity of the layers: relu (the paper), tanh, softplus or identity."`
	K          *int               `help:"Neighbours k of the label graph."`
	Norm       *layers.Norm       `help:"Scaling of the label graph: none, or size (divide by the rows of the task)."`
	Objective  *model.Objective   `help:"paper, or scaled (divided by the spread of what is estimated)."`
	Lambda     *float64           `help:"Weight decay of the layers."`
	Dtype      *layers.DType      `help:"float32 or float64."`
	Lr         *float64           `help:"Adam's rate at the start, falling linearly to zero."`
	LrEmbed    *float64           `help:"The same for the layers below the embeddings."`
	TrainHead  string             `default:"none" enum:"none,last,all" help:"Layers of the head to train along: none, last or all."`
	LrHead     *float64           `help:"The same for the layers of the head."`
	Epochs     *int               `help:"Passes over the tuples."`
	Batch      *train.Batch       `help:"What a step learns from: one tuple (the paper) or all tuples of one problem."`
	Start      *train.Start       `help:"Where the estimator's linear parameters begin: regression, or preset (the paper's values)."`
	HeldOut    *int               `help:"Hold out one problem in so many."`
	Patience   *int               `help:"Stop after so many epochs without a better one; 0 never does."`
	Seed       uint64             `default:"1" help:"Seed of everything random."`
}

// config applies the flags to the preset.
func (f *trainFlags) config(features int) (train.Config, error) {
	c, err := train.Preset(f.Preset, features)
	if err != nil {
		return c, err
	}
	set(&c.Model.Readout, f.Readout)
	set(&c.Model.Unit, f.Unit)
	set(&c.Model.Estimator, f.Estimator)
	set(&c.Model.Link, f.Link)
	set(&c.Model.Layers, f.Layers)
	set(&c.Model.Hidden, f.Hidden)
	set(&c.Model.Free, f.Free)
	set(&c.Model.Activation, f.Activation)
	set(&c.Model.Neighbours, f.K)
	set(&c.Model.Norm, f.Norm)
	set(&c.Model.Objective, f.Objective)
	set(&c.Model.Lambda, f.Lambda)
	set(&c.Model.DType, f.Dtype)
	set(&c.Rate, f.Lr)
	set(&c.EmbeddingRate, f.LrEmbed)
	c.TrainHead = train.TrainHead(f.TrainHead)
	set(&c.HeadRate, f.LrHead)
	set(&c.Epochs, f.Epochs)
	set(&c.Batch, f.Batch)
	set(&c.Start, f.Start)
	set(&c.HeldOut, f.HeldOut)
	set(&c.Patience, f.Patience)
	c.Seed = f.Seed
	c = c.Defaults()
	return c, c.Validate()
}

func set[T any](field, flag *T) {
	if flag != nil {
		*field = *flag
	}
}

type trainCmd struct {
	Experience string          `required:"" type:"existingdir" help:"Directory of the experience."`
	Dataset    string          `help:"Dataset to use instead of the one that the experience names."`
	Head       string          `placeholder:"FILE" help:"Fully connected layers in front of the network, with ReLU between them: .npz or .safetensors with arrays W0, b0, W1, ... (W and b), or 0.weight, 0.bias, ... (also classifier.0.weight); or random:128-64 for random ones of these widths."`
	Out        string          `required:"" type:"path" help:"Directory of the network. A run that is there already is gone on with."`
	Config     kong.ConfigFlag `help:"TOML file with settings named as these flags are; flags win."`
	Resume     bool            `help:"Insist that there is a run to go on with."`
	Seeds      int             `default:"1" help:"Train that many networks, with seeds from --seed on, in folders seed-N."`
	trainFlags `embed:""`
}

func (c *trainCmd) Validate() error {
	switch {
	case c.Seeds < 1:
		return fmt.Errorf("--seeds=%d: there must be at least one", c.Seeds)
	case c.Head == "" && (c.TrainHead != "none" || c.LrHead != nil):
		return errors.New("--train-head and --lr-head need --head: there are no layers to train")
	}
	_, err := c.config(1) // before the experience is read, which says how many features there are
	return err
}

func (c *trainCmd) Run(e *env) error {
	examples, err := openExperience(e, c.Experience, c.Dataset, c.Head)
	if err != nil {
		return err
	}
	first, err := examples.Example(0)
	if err != nil {
		return err
	}
	features := first.Problem.Cols()
	head, err := openHead(c.Head, features)
	if err != nil {
		return err
	}
	if head != nil {
		features = head.Out()
	}
	config, err := c.config(features)
	if err != nil {
		return err
	}
	var results []trained
	for i := range uint64(c.Seeds) {
		config.Seed = c.Seed + i
		out := c.Out
		if c.Seeds > 1 {
			out = filepath.Join(c.Out, fmt.Sprintf("seed-%d", config.Seed))
			e.remark("seed %d, %d of %d", config.Seed, i+1, c.Seeds)
		}
		if i > 0 { // training changes the head
			if head, err = openHead(c.Head, first.Problem.Cols()); err != nil {
				return err
			}
		}
		result, err := c.train(e, out, config, examples, head)
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

// trained is what a training run came to, for print.
type trained struct {
	Dir      string        `json:"dir"`
	Seed     uint64        `json:"seed"`
	Epoch    int           `json:"best_epoch"`
	Best     train.Metrics `json:"best"`
	Warnings []string      `json:"warnings,omitempty"`
}

// usedFile records what a run used, beside its results.
const usedFile = "run.json"

type used struct {
	Experience string       `json:"experience"`
	Head       string       `json:"head,omitempty"`
	Training   train.Config `json:"training"`
	Versions   versions     `json:"versions"`
}

func (c *trainCmd) train(e *env, out string, config train.Config, examples train.Source, head layers.Head) (trained, error) {
	if c.Resume {
		if _, err := os.Stat(filepath.Join(out, train.StateFile)); err != nil {
			return trained{}, fmt.Errorf("--resume: there is no run to go on with: %w", err)
		}
	}
	keep := func(done []train.Metrics) error {
		for _, w := range done[len(done)-1].Warnings {
			e.remark("warning: %s", w)
		}
		return writeMetrics(filepath.Join(out, "metrics.jsonl"), done)
	}
	use := used{Experience: filepath.Base(c.Experience), Training: config, Versions: currentVersions()}
	provenance := map[string]string{"experience": use.Experience, "seed": fmt.Sprint(config.Seed), "l2mt": use.Versions.L2MT}
	if head != nil {
		use.Head = headName(c.Head)
		provenance["head"] = use.Head
	}
	report, err := train.Run(e, config, examples, train.Options{
		Head: head, Out: out, Progress: e.reporter(), Epoch: keep, Provenance: provenance,
	})
	if err != nil {
		return trained{}, err
	}
	text, err := json.MarshalIndent(use, "", "  ")
	if err != nil {
		return trained{}, err
	}
	curves, err := plotTraining(report.Metrics)
	return trained{Dir: out, Seed: config.Seed, Epoch: report.Best, Best: report.Metrics[report.Best], Warnings: report.Warnings}, errors.Join(
		files.WriteFile(filepath.Join(out, usedFile), append(text, '\n')),
		writeMetrics(filepath.Join(out, "metrics.jsonl"), report.Metrics),
		savePicture(filepath.Join(out, "training.png"), curves, err),
		saveAtlas(out, report.Network, examples))
}

// atlasSize bounds the problems of an atlas, all of which are compared with each
// other.
const atlasSize = 1000

// saveAtlas keeps where problems of the experience lie, evenly spread over it,
// beside the network that sees them there.
func saveAtlas(dir string, of *model.Network, examples train.Source) error {
	network, err := solve.NewNetwork(of)
	if err != nil {
		return err
	}
	n := examples.Len()
	size := min(n, atlasSize)
	atlas, err := solve.NewAtlas(network, func(yield func(*data.ProblemData, error) bool) {
		for i := range size {
			x, err := examples.Example(i * n / size)
			if (err != nil || len(x.Tuples) > 0) && !yield(x.Problem, err) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return atlas.Save(dir)
}

func writeMetrics(path string, metrics []train.Metrics) error {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for _, m := range metrics {
		if err := lines.Encode(m); err != nil {
			return err
		}
	}
	return files.WriteFile(path, text.Bytes())
}

func writeTrained(w io.Writer, results []trained) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "seed\tbest epoch\tloss\theld out within\toverall\ttraining within\t  network")
	var within []float64
	for _, r := range results {
		within = append(within, r.Best.HeldOut.Within)
		fmt.Fprintf(t, "%d\t%d\t%.4f\t%.3f\t%.3f\t%.3f\t  %s\n", r.Seed, r.Epoch, r.Best.Loss, r.Best.HeldOut.Within, r.Best.HeldOut.Overall, r.Best.Training.Within, r.Dir)
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

// loadTOML lets a TOML file set the flags of a command by their names. A name
// that is no flag is an error.
func loadTOML(r io.Reader) (kong.Resolver, error) {
	c := configFile{name: "configuration file"}
	if f, ok := r.(*os.File); ok {
		c.name = f.Name()
	}
	if _, err := toml.NewDecoder(r).Decode(&c.settings); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return c, nil
}

// configFile holds the settings of a file.
type configFile struct {
	name     string
	settings map[string]any
}

// Validate checks that every setting is a flag of a command that takes a file.
func (c configFile) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, command := range app.Leaves(false) {
		var names []string
		for _, flag := range command.Flags {
			names = append(names, flag.Name)
		}
		for _, name := range names {
			known[name] = known[name] || slices.Contains(names, "config")
		}
	}
	for _, name := range sortedKeys(c.settings) {
		if !known[strings.ReplaceAll(name, "_", "-")] {
			return fmt.Errorf("%s: there is no setting %q; the settings are the flags of the command without their dashes", c.name, name)
		}
	}
	return nil
}

// Resolve returns the setting of a flag, or nil.
func (c configFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range []string{flag.Name, strings.ReplaceAll(flag.Name, "-", "_")} {
		if v, ok := c.settings[name]; ok {
			return v, nil
		}
	}
	return nil, nil
}
