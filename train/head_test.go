package train

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/layers"
	"l2mt/model"
)

// headConfig trains the given layers of a head that makes 5 features.
func headConfig(t testing.TB, train TrainHead, examples []Example) Config {
	t.Helper()
	c := config(t, "default", examples)
	c.Model.Features, c.Model.DType = 5, layers.Float32
	c.TrainHead = train
	if train != HeadFrozen {
		c.HeadRate = 1e-3
	}
	return c
}

func widths(examples []Example) []int { return []int{examples[0].Problem.Cols(), 7, 5} }

// With a rate of almost zero nothing is learned by the layers in the graph, and
// training goes the way that it goes with a frozen head, bit for bit.
func TestATrainedHeadThatStandsStillIsAFrozenOne(t *testing.T) {
	examples := small(3)
	frozen := run(t, headConfig(t, HeadFrozen, examples), examples, Options{Head: layers.RandomHead(1, widths(examples)...)})
	for _, train := range []TrainHead{HeadLast, HeadAll} {
		c := headConfig(t, train, examples)
		c.HeadRate = 1e-30
		got := run(t, c, examples, Options{Head: layers.RandomHead(1, widths(examples)...)})
		datatest.Holds(t, fmt.Sprintf("%#v", got.Metrics) == fmt.Sprintf("%#v", frozen.Metrics) && reflect.DeepEqual(got.Network.Params, frozen.Network.Params) && got.Network.Config == frozen.Network.Config,
			"%s: the metrics are\n%v, with the frozen head\n%v", train, got.Metrics, frozen.Metrics)
	}
}

// A frozen head is the same as features that were made before.
func TestAFrozenHeadMakesFeatures(t *testing.T) {
	examples := small(4)
	head := layers.RandomHead(1, widths(examples)...)
	c := headConfig(t, HeadFrozen, examples)
	got := run(t, c, examples, Options{Head: head})
	var made []Example
	for _, e := range examples {
		p := datatest.Must(model.Through(head, len(head), e.Problem))(t)
		made = append(made, Example{Problem: p, Tuples: e.Tuples})
	}
	if want := run(t, c, made, Options{}); fmt.Sprintf("%#v", got.Metrics) != fmt.Sprintf("%#v", want.Metrics) {
		t.Errorf("the metrics are %v, with features made before %v", got.Metrics, want.Metrics)
	}
	datatest.Holds(t, got.Network.Config.Head == head.String() && reflect.DeepEqual(got.Network.Head, head),
		"the network's head is %v, %q", got.Network.Head, got.Network.Config.Head)
}

// Only the layers that are to be trained change, and they lower the loss.
func TestTheHeadLearns(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	examples := small(5)
	loss := map[TrainHead]float64{}
	for _, train := range []TrainHead{HeadFrozen, HeadLast, HeadAll} {
		c := headConfig(t, train, examples)
		c.Epochs, c.Rate, c.EmbeddingRate = 30, 1e-9, 1e-9
		if train != HeadFrozen {
			c.HeadRate = 0.02
		}
		start, head := layers.RandomHead(1, widths(examples)...), layers.RandomHead(1, widths(examples)...)
		report := run(t, c, examples, Options{Head: head})
		loss[train] = report.Metrics[len(report.Metrics)-1].Loss
		best := report.Network.Head
		if changed := !slices.Equal(best[0].W, start[0].W); changed != (train == HeadAll && report.Best > 0) {
			t.Errorf("%s: the first layer has changed: %v", train, changed)
		}
		if changed := !slices.Equal(best[1].B, start[1].B); changed != (train != HeadFrozen && report.Best > 0) {
			t.Errorf("%s: the last layer has changed: %v", train, changed)
		}
	}
	datatest.Holds(t, loss[HeadLast] < 0.97*loss[HeadFrozen] && loss[HeadAll] < 0.97*loss[HeadFrozen],
		"the losses are %v; training the head must lower them", loss)
}

// A run of one piece, one that was interrupted at every other step and gone on
// with, and one that keeps nothing come to the same network.
func TestATrainedHeadIsGoneOnWith(t *testing.T) {
	t.Parallel()
	examples := small(6)
	for train, second := range map[TrainHead]int{HeadLast: len(examples) + 2, HeadAll: 2} { // frozen layers come first
		c := headConfig(t, train, examples)
		c.Epochs = 3
		start := func() layers.Head { return layers.RandomHead(2, widths(examples)...) }
		whole, cut := t.TempDir(), t.TempDir()
		want := run(t, c, examples, Options{Out: whole, Head: start()})
		resumed(t, c, examples, Options{Out: cut, Head: start()}, func() int { return second })
		got := run(t, c, examples, Options{Out: cut, Head: start()})
		for name, r := range map[string]*Report{"interrupted": got, "in memory": run(t, c, examples, Options{Head: start()})} {
			datatest.Holds(t, fmt.Sprintf("%#v", r.Metrics) == fmt.Sprintf("%#v", want.Metrics) && reflect.DeepEqual(r.Network, want.Network),
				"%s, %s: another network or other metrics", train, name)
		}
		compareFiles(t, string(train), cut, whole)
		saved, err := model.Load(whole)
		datatest.Holds(t, err == nil && reflect.DeepEqual(saved.Head, want.Network.Head),
			"%s: the head saved is not that of the report (%v)", train, err)

		// What the run depends on must be the same.
		datatest.Refused(Run(t.Context(), c, InMemory(examples), Options{Out: cut, Head: layers.RandomHead(3, widths(examples)...)}))(t, ErrResume, "another head")
		c.HeadRate *= 2
		datatest.Refused(Run(t.Context(), c, InMemory(examples), Options{Out: cut, Head: start()}))(t, ErrResume, "train.head_rate is 0.001 there and 0.002 here")
	}
}

func TestHeadSettingsThatCannotBeAreRefused(t *testing.T) {
	examples := small(7)
	good := func() layers.Head { return layers.RandomHead(1, widths(examples)...) }
	for name, c := range map[string]struct {
		change func(c *Config, head *layers.Head)
		want   error
		text   string
	}{
		"unknown layers":   {func(c *Config, _ *layers.Head) { c.TrainHead = "first" }, ErrConfig, `train.head is "first"; it must be one of none, last, all`},
		"negative rate":    {func(c *Config, _ *layers.Head) { c.HeadRate = -1 }, ErrConfig, "train.head_rate is -1; it must be a number above 0"},
		"no head":          {func(_ *Config, h *layers.Head) { *h = nil }, ErrConfig, "no head is given"},
		"another head":     {func(c *Config, _ *layers.Head) { c.Model.Head = "9-5" }, ErrConfig, `head is "9-5", but the head given is "5-7-5"`},
		"other input":      {func(_ *Config, h *layers.Head) { *h = layers.RandomHead(1, 4, 5) }, data.ErrMismatch, "it has 5 features, but the head takes 4"},
		"other output":     {func(_ *Config, h *layers.Head) { *h = layers.RandomHead(1, 5, 4) }, model.ErrConfig, "features 5"},
		"NaN":              {func(_ *Config, h *layers.Head) { (*h)[0].W[3] = float32(math.NaN()) }, data.ErrInvalid, "NaN"},
		"layers unchained": {func(_ *Config, h *layers.Head) { (*h)[1].In = 6 }, data.ErrInvalid, "layer 1"},
	} {
		for _, train := range []TrainHead{HeadLast, HeadAll} {
			t.Run(name, func(t *testing.T) {
				config, head := headConfig(t, train, examples), good()
				c.change(&config, &head)
				datatest.Refused(Run(t.Context(), config, InMemory(examples), Options{Head: head}))(t, c.want, c.text)
			})
		}
	}
}

func TestADivergingHeadIsNoticed(t *testing.T) {
	examples := small(8)
	c := headConfig(t, HeadLast, examples)
	c.HeadRate = 1e38
	datatest.Refused(Run(t.Context(), c, InMemory(examples), Options{Head: layers.RandomHead(1, widths(examples)...)}))(t, ErrDiverged, "train.head_rate 1e+38")
}
