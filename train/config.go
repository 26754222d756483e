package train

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"l2mt/data/fault"
	"l2mt/model"
	"l2mt/model/settings"
)

// ErrConfig marks a setting of training that makes no sense.
var ErrConfig = fault.New("invalid training configuration")

// Update is the unit that a step learns from.
type Update string

// The updates.
const (
	// ByTuple takes one tuple a step, as the paper does.
	ByTuple Update = "tuple"
	// ByProblem takes all tuples of one problem, which share its embedding.
	ByProblem Update = "problem"
)

// Start says where the parameters begin.
type Start string

// The starts.
const (
	// FromRegression fits the parameters that f is linear in to the training tuples by least
	// squares, at the untrained embeddings.
	FromRegression Start = "regression"
	// FromPreset takes for them the values that the estimator declares: the paper's.
	FromPreset Start = "preset"
	// FromExperience first gives a body that takes a map of the features the map that the training
	// tasks teach, and then does as FromRegression.
	FromExperience Start = "experience"
)

// schedules are the shares of a rate when a part of a run is done, after a warm-up, by name. They
// are filled by init functions alone.
var schedules = map[string]func(done float64) float64{
	"linear": func(done float64) float64 {
		return 1 - done
	},
	"constant": func(float64) float64 {
		return 1
	},
	"cosine": func(done float64) float64 {
		return (1 + math.Cos(math.Pi*done)) / 2
	},
}

// RegisterSchedule makes a schedule available under a name: the share of the rate when a part
// of the run is done, from 0 to less than 1. It is for init alone.
func RegisterSchedule(name string, share func(done float64) float64) {
	settings.Register(schedules, "schedule", name, share)
}

// share is the part of a rate that a schedule has at a step, from 0, of a run of so many steps,
// which begins with steps to warm up.
func share(schedule string, step, warm, steps int) float64 {
	if step < warm {
		return float64(step+1) / float64(warm)
	}
	return schedules[schedule](float64(step-warm) / float64(steps-warm))
}

// Config holds every choice about training. The zero value of a field means
// its default. Package settings reads the tags, and kong where fields are flags.
type Config struct {
	// Model is the network to train. It has no default.
	Model model.Config `json:"model" kong:"-"`

	Epochs int     `json:"epochs" min:"1" placeholder:"25" help:"Passes over the training tuples."`
	Rate   float64 `json:"rate" above:"0" placeholder:"0.01" help:"Learning rate, which the schedule changes."`
	// The layers below the embeddings have d numbers for each hidden unit, and the
	// more there are the sooner they overfit the experience: 3e-4 was best for 64
	// features, 1e-5 to 5e-5 for 1,000.
	EmbeddingRate float64 `json:"embedding_rate" above:"0" name:"embedding_rate" placeholder:"0.02/d" help:"Learning rate of the layers below the embeddings."`
	Optimiser     string  `json:"optimiser" placeholder:"adam" help:"What turns gradients into steps: adam, momentum, rmsprop, adagrad, or one that the program registers."`
	Schedule      string  `json:"schedule" placeholder:"linear" help:"How rates change: linear (down to zero), constant, cosine (down to zero), or one that the program registers."`
	WarmUp        int     `json:"warm_up" min:"0" name:"warm_up" placeholder:"0" help:"Number of epochs in which rates rise from zero before the schedule begins."`
	Update        Update  `json:"update" names:"tuple problem" placeholder:"problem" help:"What a step learns from: tuple (one tuple, as in the paper) or problem (all tuples of one problem)."`
	Start         Start   `json:"start" names:"regression preset experience" placeholder:"experience" help:"Where parameters begin: experience (a map of the features learned from the training tasks, and the estimator's linear parameters by regression), regression (the linear parameters alone) or preset (the estimator's own values, as in the paper)."`
	HeldOut       int     `json:"held_out" min:"-1" name:"held_out" placeholder:"6" help:"Hold out one problem in this many, to choose the best epoch by; -1 holds out none and keeps the last epoch."`
	Measured      int     `json:"measured" min:"-1" placeholder:"30" help:"Largest number of held-out problems on which each epoch's error is measured, to choose the best epoch; -1 measures none."`
	Patience      int     `json:"patience" min:"0" placeholder:"0" help:"Stop after this many epochs without a better one; 0 never stops early."`
	Seed          uint64  `json:"seed" kong:"-"`
}

// Preset returns the settings of that name, "default", "pairwise" or "paper", for data of
// the given number of features. Zero fields mean their defaults.
func Preset(name string, features int) (Config, error) {
	m, err := model.Preset(name, features)
	c := Config{Model: m}
	if name == "paper" {
		c.Update = ByTuple
		c.Start = FromPreset
		c.EmbeddingRate = 0.01
		c.HeldOut = -1
	}
	if name == "pairwise" {
		c.Epochs = 10
		c.Rate = 0.003
		c.Start = FromRegression
	}
	return c, err
}

// Defaults returns c with zero fields replaced by their defaults, which are the placeholders.
func (c Config) Defaults() Config {
	c.EmbeddingRate = cmp.Or(c.EmbeddingRate,
		0.02/float64(max(1, c.Model.Features)))
	for field, value := range reflect.ValueOf(&c).Elem().Fields() {
		if value.IsZero() { // a field without a placeholder stays
			fmt.Sscan(field.Tag.Get("placeholder"), value.Addr().Interface())
		}
	}
	return c
}

// Validate checks a configuration after Defaults and reports all faults.
func (c Config) Validate() error {
	faults := []error{c.Model.Validate(), c.Model.Trainable()}
	for _, err := range c.own().Faults() {
		faults = append(faults, ErrConfig.Errorf("%w", err))
	}
	if c.HeldOut == 1 {
		faults = append(faults, ErrConfig.Errorf("train.held_out is 1: with every problem held out there is none to train on; -1 holds out none"))
	}
	return errors.Join(faults...)
}

// own are the settings in section "train".
func (c *Config) own() settings.Table {
	return settings.New("train", c, map[string][]string{
		"optimiser": slices.Sorted(maps.Keys(optimisers)),
		"schedule":  slices.Sorted(maps.Keys(schedules)),
	})
}

// Settings is the table of the configuration: sections "model" and "train".
func (c *Config) Settings() settings.Table {
	return append(c.Model.Settings(), c.own()...)
}
