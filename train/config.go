package train

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"l2mt/model"
)

// ErrConfig marks a setting of training that makes no sense.
var ErrConfig = errors.New("invalid training configuration")

// Batch says what a step learns from.
type Batch string

// The batches.
const (
	// ByTuple takes one tuple a step, as the paper does.
	ByTuple Batch = "tuple"
	// ByProblem takes all tuples of one problem, which share its embedding.
	ByProblem Batch = "problem"
)

// Start says where the parameters that f is linear in begin.
type Start string

// The starts.
const (
	// FromRegression fits them to the training tuples by least squares, at the
	// untrained embeddings.
	FromRegression Start = "regression"
	// FromPreset takes the values that the estimator declares: the paper's.
	FromPreset Start = "preset"
)

// Config holds every choice about training. The zero value of a field means
// its default.
type Config struct {
	// Model is the network to train. It has no default.
	Model model.Config `json:"model"`
	// Epochs is the number of passes over the training tuples; default 25.
	Epochs int `json:"epochs"`
	// Rate is Adam's rate at the first step, from which it falls linearly to
	// zero at the end; default 0.01.
	Rate float64 `json:"lr"`
	// EmbeddingRate is the rate of the layers below the embeddings; default
	// 0.02 / d. They have d numbers for each hidden unit, and the more there are
	// the sooner they overfit the experience: 3e-4 was best for 64 features, 1e-5
	// to 5e-5 for 1,000.
	EmbeddingRate float64 `json:"lr_embed"`
	// TrainHead says which layers of the head, if there is one, are trained;
	// default HeadFrozen.
	TrainHead TrainHead `json:"train_head,omitempty"`
	// HeadRate is the rate of these layers; default 1e-5.
	HeadRate float64 `json:"lr_head,omitempty"`
	// Batch is what a step learns from; default ByProblem.
	Batch Batch `json:"batch"`
	// Start is where the linear parameters begin; default FromRegression.
	Start Start `json:"start"`
	// HeldOut keeps one problem in so many out of training, to choose the
	// epoch by; default 6.
	HeldOut int `json:"held_out"`
	// Patience ends training after so many epochs without a better one; 0
	// never does.
	Patience int `json:"patience"`
	// Seed selects the initial parameters, the held-out problems and the order.
	Seed uint64 `json:"seed"`
}

// Preset returns the settings of that name, "default" or "paper", for data of
// the given number of features.
func Preset(name string, features int) (Config, error) {
	m, err := model.Preset(name, features)
	if err != nil {
		return Config{}, err
	}
	c := Config{Model: m}
	if name == "paper" {
		c.Batch, c.Start, c.EmbeddingRate = ByTuple, FromPreset, 0.01
	}
	return c.Defaults(), nil
}

// Defaults returns c with zero fields replaced by their defaults.
func (c Config) Defaults() Config {
	c.Epochs = cmp.Or(c.Epochs, 25)
	c.Rate = cmp.Or(c.Rate, 0.01)
	c.EmbeddingRate = cmp.Or(c.EmbeddingRate, 0.02/float64(max(1, c.Model.Features)))
	if c.TrainHead != HeadFrozen {
		c.HeadRate = cmp.Or(c.HeadRate, 1e-5)
	}
	c.Batch = cmp.Or(c.Batch, ByProblem)
	c.Start = cmp.Or(c.Start, FromRegression)
	c.HeldOut = cmp.Or(c.HeldOut, 6)
	return c
}

// Validate checks a configuration after Defaults and reports all faults.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("train: %w: "+format, append([]any{ErrConfig}, args...)...))
	}
	if err := c.Model.Validate(); err != nil {
		faults = append(faults, err)
	}
	if c.Epochs < 1 {
		fault("%d epochs; there must be at least 1", c.Epochs)
	}
	rates := map[string]float64{"lr": c.Rate, "lr_embed": c.EmbeddingRate}
	if c.TrainHead != HeadFrozen || c.HeadRate != 0 {
		rates["lr_head"] = c.HeadRate
	}
	for name, rate := range rates {
		if !(rate > 0) || math.IsInf(rate, 0) {
			fault("%s is %v; it must be positive and finite", name, rate)
		}
	}
	if c.TrainHead != HeadFrozen && c.TrainHead != HeadLast && c.TrainHead != HeadAll {
		fault("train_head is %q; it must be %q, %q, or empty for none", c.TrainHead, HeadLast, HeadAll)
	}
	if c.Batch != ByTuple && c.Batch != ByProblem {
		fault("batch is %q; it must be %s or %s", c.Batch, ByTuple, ByProblem)
	}
	if c.Start != FromRegression && c.Start != FromPreset {
		fault("start is %q; it must be %s or %s", c.Start, FromRegression, FromPreset)
	}
	if c.HeldOut < 2 {
		fault("one problem in %d is held out; it must be one in at least 2", c.HeldOut)
	}
	if c.Patience < 0 {
		fault("patience is %d; it must not be negative", c.Patience)
	}
	return errors.Join(faults...)
}
