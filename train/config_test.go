package train

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"l2mt/data/datatest"
	"l2mt/model"
	"l2mt/model/settings"
)

// The values are those of the README and of the paper's sections 3 and 4.
func TestPresetsAreWhatTheReadmeSays(t *testing.T) {
	presets := []string{"default", "pairwise", "paper"}
	for name, want := range map[string][3]string{
		"model.body": {"lgnn", "pairwise", "lgnn"}, "model.hidden": {"200", "16", "50"}, "model.readout": {"signed", "signed", "mean"},
		"model.k": {"6", "6", "6"}, "train.rate": {"0.01", "0.003", "0.01"}, "train.embedding_rate": {"0.002", "0.002", "0.01"},
		"train.epochs": {"25", "10", "25"}, "train.update": {"problem", "problem", "tuple"}, "train.head": {"none", "none", "none"},
	} {
		for i, preset := range presets {
			c := datatest.Must(Preset(preset, 10))(t).Defaults()
			all := c.Settings()
			at := slices.IndexFunc(all, func(s settings.Setting) bool { return s.Name == name })
			if at < 0 || all[at].Value() != want[i] {
				t.Errorf("preset %s: %s is not %s", preset, name, want[i])
			}
		}
	}
}

// Help shows what the tags say.
func TestPlaceholdersAreTheDefaults(t *testing.T) {
	c := datatest.Must(Preset("default", 7))(t).Defaults()
	for _, part := range []any{c, c.Model} {
		v := reflect.ValueOf(part)
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag
			want := fmt.Sprint(v.Field(i).Interface())
			if got, ok := tag.Lookup("placeholder"); ok && got != want && got != "0.02/d" {
				t.Errorf("the placeholder of %s is %s, the default %s", tag.Get("json"), got, want)
			}
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
	datatest.Refused(Preset("modern", 3))(t, model.ErrConfig)
	for i := range examples {
		for q := range examples[i].Tuples {
			examples[i].Tuples[q].O = 1
		}
	}
	datatest.Refused(Run(t.Context(), config(t, "default", examples), InMemory(examples), Options{}))(t, model.ErrConfig)
}
