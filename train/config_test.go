package train

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"l2mt/model"
)

// The values are those of the README and of the paper's sections 3 and 4.
func TestEverySettingIsListedWithItsDefaults(t *testing.T) {
	list := Settings()
	for _, want := range []Setting{
		{"model.body", "", "", map[string]string{"default": "lgnn", "pairwise": "pairwise", "paper": "lgnn"}},
		{"model.hidden", "", "a whole number of at least 1", map[string]string{"default": "200", "pairwise": "16", "paper": "50"}},
		{"model.readout", "", "one of mean, signed", map[string]string{"default": "signed", "pairwise": "signed", "paper": "mean"}},
		{"model.k", "", "", map[string]string{"default": "6", "pairwise": "6", "paper": "6"}},
		{"train.rate", "", "a number above 0", map[string]string{"default": "0.01", "pairwise": "0.003", "paper": "0.01"}},
		{"train.embedding_rate", "", "", map[string]string{"default": "0.02 / d", "pairwise": "0.02 / d", "paper": "0.01"}},
		{"train.epochs", "", "", map[string]string{"default": "25", "pairwise": "10", "paper": "25"}},
		{"train.update", "", "one of tuple, problem", map[string]string{"default": "problem", "pairwise": "problem", "paper": "tuple"}},
		{"train.head", "", "one of none, last, all", map[string]string{"default": "none", "pairwise": "none", "paper": "none"}},
	} {
		i := slices.IndexFunc(list, func(s Setting) bool { return s.Name == want.Name })
		if i < 0 {
			t.Errorf("%s is not listed", want.Name)
			continue
		}
		if got := list[i]; !reflect.DeepEqual(got.Default, want.Default) || want.Valid != "" && got.Valid != want.Valid {
			t.Errorf("%s is %v, %s; want %v, %s", got.Name, got.Default, got.Valid, want.Default, want.Valid)
		}
	}
	for _, s := range list {
		if s.Meaning == "" || s.Valid == "" || len(s.Default) != len(model.Presets()) {
			t.Errorf("something is not said of %+v", s)
		}
		if s.Name == "model.features" || s.Name == "model.head" {
			t.Errorf("%s follows from the data and is listed", s.Name)
		}
	}
}

// What a setting is set to is what the configuration has.
func TestSettingsReachTheConfiguration(t *testing.T) {
	want := must(Preset("default", 7))(t)
	byText := want
	want.Model.Hidden, want.Model.Free, want.Model.Activation, want.Model.Lambda = 100, true, "tanh", 0
	want.Rate, want.Update, want.TrainHead, want.Seed = 0.002, ByTuple, HeadLast, 9
	for name, text := range map[string]string{
		"model.hidden": "100", "model.free": "true", "model.activation": "tanh", "model.lambda": "0",
		"train.rate": "2e-3", "train.update": "tuple", "train.head": "last", "train.seed": "9",
	} {
		if err := byText.Set(name, text); err != nil {
			t.Error(err)
		}
	}
	if byText != want {
		t.Errorf("it is %+v, want %+v", byText, want)
	}
	if err := byText.Validate(); err != nil {
		t.Error(err)
	}
}

func TestSettingsThatThereAreNotAreRefusedWithWhatIsNear(t *testing.T) {
	c := must(Preset("default", 7))(t)
	before := c
	for _, s := range [][3]string{
		{"model.hiden", "3", `there is no setting "model.hiden"; near it: model.hidden`},
		{"hidden", "3", "near it: model.hidden"},
		{"train.estimator", "kernel", "near it: model.estimator"},
		{"model.estimator", "oracle", `model.estimator is "oracle"; it must be one of affine, affine-kernel`},
		{"train.epochs", "0", "train.epochs is 0; it must be a whole number of at least 1"},
		{"model.features", "3", `there is no setting "model.features"`},
	} {
		if err := c.Set(s[0], s[1]); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), s[2]) || c != before {
			t.Errorf("%s=%s: the error is %v, want %q", s[0], s[1], err, s[2])
		}
	}
}

func TestConfigurationsThatMakeNoSenseAreRefused(t *testing.T) {
	examples := small(1)
	for name, change := range map[string]func(c *Config){
		"train.rate":           func(c *Config) { c.Rate = -1 },
		"train.embedding_rate": func(c *Config) { c.EmbeddingRate = math.NaN() },
		"epochs":               func(c *Config) { c.Epochs = -1 },
		"update":               func(c *Config) { c.Update = "all" },
		"start":                func(c *Config) { c.Start = "end" },
		"held_out":             func(c *Config) { c.HeldOut = 1 },
		"patience":             func(c *Config) { c.Patience = -1 },
		"estimator":            func(c *Config) { c.Model.Estimator = "crystal ball" },
	} {
		c := config(t, "default", examples)
		change(&c)
		_, err := Run(t.Context(), c, InMemory(examples), Options{})
		if !(errors.Is(err, ErrConfig) || errors.Is(err, model.ErrConfig)) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if _, err := Preset("modern", 3); !errors.Is(err, model.ErrConfig) {
		t.Errorf("preset modern: the error is %v", err)
	}
	for i := range examples {
		for q := range examples[i].Tuples {
			examples[i].Tuples[q].O = 1
		}
	}
	if _, err := Run(t.Context(), config(t, "default", examples), InMemory(examples), Options{}); !errors.Is(err, model.ErrConfig) {
		t.Errorf("equal outcomes: the error is %v", err)
	}
}
