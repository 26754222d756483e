package command

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"l2mt/data/files"
	"l2mt/model"
	"l2mt/train"
)

type trainCmd struct {
	Experience []string `required:"" sep:"none" type:"path" help:"Directory of the experience. Give the flag again for each further one; all count the same. With --preset pairwise their features may differ."`
	Dataset    string   `help:"Dataset to use instead of the one that the experience names."`
	Out        string   `required:"" type:"path" help:"Directory to write the network to. An interrupted run resumes there."`
	Seed       uint64   `default:"1" help:"Seed of all random draws."`
	First      int      `placeholder:"N" help:"Train on the first N problems of the experience only."`
	Preset     string   `default:"default" enum:"${presets}" help:"Values of the settings that are not given: ${enum}. paper follows the paper to the letter."`
	buildFlags `embed:""`
	Model      networkFlags  `embed:"" prefix:"model." group:"Settings of the network, and the values of the default preset:"`
	Training   trainingFlags `embed:"" prefix:"train." group:"Settings of the training:"`
}

// Settings are flags. The configuration is checked when all of them are known.
type (
	networkFlags  model.Config
	trainingFlags train.Config
)

// BeforeApply begins with the preset, before the settings given take their places.
func (c *trainCmd) BeforeApply(ctx *kong.Context) error {
	for _, f := range ctx.Flags() {
		if f.Name == "preset" {
			c.Preset = ctx.FlagValue(f).(string)
		}
	}
	preset, err := train.Preset(c.Preset, 0)
	c.Model = networkFlags(preset.Model)
	c.Training = trainingFlags(preset)
	return err
}

// config is the configuration for problems of so many features.
func (c *trainCmd) config(features int) train.Config {
	config := train.Config(c.Training)
	config.Model = model.Config(c.Model)
	config.Model.Features = features
	config.Seed = c.Seed
	return config.Defaults()
}

func (c *trainCmd) Validate() error {
	return c.config(1).Validate() // before the experience is read, which says how many features there are
}

func (c *trainCmd) Run(e *env) error {
	examples, err := c.examples()
	if err != nil {
		return err
	}
	return c.train(e, c.config(examples[0].Problem.Cols()), examples)
}

// examples opens the experience.
func (c *trainCmd) examples() (examples []train.Example, err error) {
	var sources [][]train.Example
	for _, dir := range c.Experience {
		examples, err = train.Open(dir, c.Dataset)
		if err != nil {
			return nil, err
		}
		sources = append(sources, examples)
	}
	if len(sources) > 1 {
		examples = train.Join(sources...)
	}
	if c.First < 0 || c.First > len(examples) {
		return nil, errUsage.Errorf("--first=%d: the experience has only %d problems",
			c.First, len(examples))
	}
	return examples[:cmp.Or(c.First, len(examples))], nil
}

// train trains a network, and prints the result. Beside the network it keeps its inputs, the
// metrics, and the path of the experience's problems.
func (c *trainCmd) train(e *env, config train.Config, examples []train.Example) error {
	var from []string
	for _, dir := range c.Experience {
		from = append(from, filepath.Base(dir))
	}
	provenance := map[string]string{
		"experience": strings.Join(from, ", "),
		"seed":       fmt.Sprint(config.Seed),
	}
	var used usedRun
	name := func() (err error) {
		used, err = loadUsed(c.Out)
		// The program alone, so that networks of equal sources are equal files after any compiler.
		var programs []string
		for _, b := range used.Builds {
			programs = append(programs, b["program"])
		}
		provenance["l2mt"] = strings.Join(slices.Compact(programs), ", ")
		return err
	}
	if err := name(); err != nil {
		return err
	}
	options := train.Options{
		Out:      c.Out,
		Progress: e.reporter(), Epoch: keepMetrics(c.Out), Provenance: provenance,
	}
	start := time.Now()
	var report *train.Report
	err := c.goOn(e, c.Out, func(begin func() error) (err error) {
		options.Begin = func() error {
			return cmp.Or(begin(), name())
		}
		report, err = train.Run(e, config, examples, options)
		return err
	})
	if err != nil {
		return err
	}
	used.Experience = provenance["experience"]
	used.First = c.First
	used.Training = config
	used.HeldOut = report.HeldOut
	seconds := filepath.Join(c.Out, secondsFile)
	_, err = os.Stat(seconds)
	if err != nil { // a finished run takes no time again
		err = saveJSON(seconds,
			map[string]float64{"training": time.Since(start).Seconds()})
	}
	err = cmp.Or(err, used.save(c.Out), keepMetrics(c.Out)(report.Metrics))
	if err != nil {
		return err
	}
	best := report.Metrics[report.Best]
	return e.print(struct {
		Dir   string        `json:"dir"`
		Seed  uint64        `json:"seed"`
		Epoch int           `json:"best_epoch"`
		Best  train.Metrics `json:"best"`
		// Start is Best.Found before training.
		Start files.Float `json:"start"`
		// Metric is what the rows of the experience have taught.
		Metric   *model.Sigma `json:"metric,omitempty"`
		Warnings []string     `json:"warnings,omitempty"`
	}{c.Out, config.Seed, report.Best, best, report.Metrics[0].Found,
		report.Network.Sigma, report.Warnings}, "train")
}
