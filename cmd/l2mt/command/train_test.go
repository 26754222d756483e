package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"l2mt/data/datatest"
	"l2mt/train"
)

// tinyExperience makes experience in a directory, and returns it.
func tinyExperience(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	problems, experience := filepath.Join(dir, "p"), filepath.Join(dir, "e")
	for _, args := range [][]string{
		{"problems", "sample", "--out", problems, "--train", "6", "--test", "2", "--min-tasks", "2", "--max-tasks", "3", "--train-fraction", "0.03", "--validation-fraction", "0.05"},
		{"collect", "--problems", filepath.Join(problems, "train.json"), "--out", experience, "--models", "stl,snr2", "--explore", "4"},
	} {
		if code, _, stderr := l2mt(t, args...); code != exitDone {
			t.Fatalf("%v: %s", args, stderr)
		}
	}
	return experience
}

// Settings that are given take the place of those of the preset, wherever they stand.
func TestSettingsAreFlags(t *testing.T) {
	parsed := func(args string) *trainCmd {
		var c trainCmd
		parser := datatest.Must(kong.New(&c, flagVars()))(t)
		datatest.Must(parser.Parse(append(strings.Fields(args), "--experience=e", "--out=o")))(t)
		return &c
	}
	want := datatest.Must(train.Preset("paper", 64))(t).Defaults()
	want.Model.Hidden, want.Model.Free, want.Model.Unit, want.Model.Lambda = 100, true, true, 0
	want.Rate, want.Update, want.EmbeddingRate, want.Seed = 0.002, train.ByProblem, 0.5, 9
	flags := "--train.rate=2e-3 --model.hidden 100 --model.free --preset=paper --seed=9 --model.unit --model.lambda=0 --train.update=problem --train.embedding_rate=.5"
	datatest.Equal(t, datatest.Must(parsed(flags).config(64))(t), want, "the settings")
	if got, err := parsed("--model.unit=false").config(64); err != nil || got.Model.Unit || got.EmbeddingRate != 0.02/64 {
		t.Errorf("the default is %+v (%v)", got, err)
	}
}
