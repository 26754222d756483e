package train

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
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
		"train.epochs": {"25", "10", "25"}, "train.update": {"problem", "problem", "tuple"},
	} {
		for i, preset := range presets {
			c := datatest.Must(Preset(preset, 10))(t).Defaults()
			all := c.Settings()
			at := slices.IndexFunc(all, func(s settings.Setting) bool { return s.Name == name })
			datatest.Holds(t, at >= 0 && all[at].Value() == want[i],
				"preset %s: %s is not %s", preset, name, want[i])
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
		_, err := Run(t.Context(), c, examples, Options{Out: t.TempDir()})
		datatest.Holds(t, (errors.Is(err, ErrConfig) || errors.Is(err, model.ErrConfig)) && strings.Contains(err.Error(), name),
			"%s: the error is %v", name, err)
	}
	datatest.Refused(Preset("modern", 3))(t, model.ErrConfig)
	for i := range examples {
		for q := range examples[i].Tuples {
			examples[i].Tuples[q].O = 1
		}
	}
	datatest.Refused(Run(t.Context(), config(t, "default", examples), examples, Options{Out: t.TempDir()}))(t, model.ErrConfig)
}

func init() {
	RegisterSchedule("test-halves", func(done float64) float64 { return math.Pow(0.5, math.Floor(done*3)) })
	// AdamW: Adam, and the value falls by a part of itself.
	RegisterOptimiser("test-adamw", func(time int, rate float64) Move {
		step := adam(time, rate)
		return func(value, g, m, v float64) (float64, float64, float64) {
			far, m, v := step(value, g, m, v)
			return far - rate*0.01*value, m, v
		}
	})
}

// The part of the rate by the schedules' definitions, at 8 steps, 2 of which warm up.
func TestSchedules(t *testing.T) {
	for schedule, want := range map[string][]float64{
		"linear":      {0.5, 1, 1, 5. / 6, 4. / 6, 3. / 6, 2. / 6, 1. / 6},
		"constant":    {0.5, 1, 1, 1, 1, 1, 1, 1},
		"test-halves": {0.5, 1, 1, 1, 0.5, 0.5, 0.25, 0.25},
		"cosine":      {0.5, 1, 1, 0.5 + math.Sqrt(3)/4, 0.75, 0.5, 0.25, 0.5 - math.Sqrt(3)/4},
	} {
		for step, part := range want {
			datatest.Near(t, share(schedule, step, 2, 8), part, 1e-15, "%s: the share of step %d", schedule, step)
		}
	}
}

// Every optimiser goes on after an interruption to the bytes of a run without one.
func TestEveryOptimiserResumes(t *testing.T) {
	datatest.Long(t)
	for i, name := range []string{"momentum", "rmsprop", "adagrad", "test-adamw"} {
		t.Run(name, func(t *testing.T) {
			examples := small(1)
			c := config(t, "default", examples)
			c.Epochs, c.Rate, c.EmbeddingRate = 3, 1e-3, 1e-4
			c.Optimiser, c.WarmUp, c.Schedule = name, 1, []string{"constant", "cosine"}[i%2]
			whole, parts := t.TempDir(), t.TempDir()
			run(t, c, examples, Options{Out: whole})
			resumed(t, c, examples, Options{Out: parts}, func() int { return 10 })
			compareFiles(t, "cancelled and resumed", parts, whole)
		})
	}
}

// softly is the soft error by its definition: nMSE, or the mean of logistic curves instead of
// steps. These are a tenth as wide as rows are from the boundary in the mean, and what they
// see of several classes is half of the lead of the right one over the best other. A row whose
// class the task lacks is an error.
func softly(scores, y []float64, kind data.Kind) float64 {
	var lead []float64
	n, lost, mean, square := float64(len(y)), 0.0, floats.Sum(y)/float64(len(y)), 0.0
	k := len(scores) / len(y)
	for j, v := range y {
		row := slices.Clone(scores[j*k:][:k])
		switch {
		case kind == data.Regression:
			lost, square = lost+(row[0]-v)*(row[0]-v), square+(v-mean)*(v-mean)
		case k == 1:
			lead = append(lead, v*row[0])
		case math.IsInf(row[int(v)], -1):
			lost++
		default:
			own := row[int(v)]
			row[int(v)] = math.Inf(-1)
			lead = append(lead, (own-floats.Max(row))/2)
		}
	}
	if kind == data.Regression {
		return lost / square
	}
	width := 0.1 * floats.Norm(lead, 1) / float64(len(lead))
	for _, v := range lead {
		lost += 1 / (1 + math.Exp(v/width))
	}
	return lost / n
}

// The soft error of predictions is that by its definition, and differences between
// neighbouring predictions agree with its slopes, of rows that have a class which their task
// lacks too.
func TestSlopesAreThoseOfTheSoftError(t *testing.T) {
	for what, c := range map[string]struct {
		kind    data.Kind
		classes int
	}{"regression": {data.Regression, 0}, "two classes": {data.Classification, 0}, "several": {data.Classification, 4}} {
		r, scores, y := data.Stream(1, what), []float64(nil), make([]float64, 12)
		for j := range y {
			for range max(1, c.classes) {
				scores = append(scores, r.NormFloat64())
			}
			switch y[j] = scores[len(scores)-1] + r.NormFloat64(); {
			case c.classes > 0:
				y[j] = float64(r.IntN(c.classes))
				scores[len(scores)-1] = math.Inf(-1) // the task lacks the last class
			case c.kind == data.Classification:
				y[j] = math.Copysign(1, y[j])
			}
		}
		soft, slopes := softError(scores, y, c.kind)
		datatest.Near(t, soft, softly(scores, y, c.kind), 1e-12, "%s: the soft error", what)
		for j := range scores {
			at := func(h float64) float64 {
				moved := slices.Clone(scores)
				moved[j] += h
				return softly(moved, y, c.kind)
			}
			const step = 1e-6
			datatest.Near(t, slopes[j], (at(step)-at(-step))/(2*step), 1e-6, "%s: slope %d", what, j)
		}
	}
}

// Where every row is on the boundary no direction is better.
func TestSlopeOnTheBoundary(t *testing.T) {
	soft, slopes := softError(make([]float64, 3), []float64{1, -1, 1}, data.Classification)
	datatest.Holds(t, soft == 0.5 && floats.Norm(slopes, 1) == 0,
		"the soft error is %v, the slopes are %v", soft, slopes)
}
