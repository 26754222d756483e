package command

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
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
		code, _, stderr := l2mt(t, args...)
		datatest.Need(t, code == exitDone, "%v: %s", args, stderr)
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

// mustL2mt runs one command line in process, which has to succeed.
func mustL2mt(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := l2mt(t, args...)
	datatest.Need(t, code == exitDone, "l2mt %v: exit code %d\n%s%s", args, code, stdout, stderr)
	return stdout
}

func TestPartsOfTheWork(t *testing.T) {
	for flag, want := range map[string]part{"0/1": {0, 1}, "2/5": {2, 5}, "5/5": {}, "-1/5": {}, "2": {}, "a/b": {}, "1/2/3": {}} {
		var got part
		if err := got.UnmarshalText([]byte(flag)); (err == nil) != (want.count > 0) || err == nil && got != want {
			t.Errorf("--shard=%q: %v, %v; want %v", flag, got, err, want)
		}
	}
}

// tinyNetwork trains a network in a directory, and returns it with the file of
// the test problems of its experience.
func tinyNetwork(t testing.TB) (network, test string) {
	t.Helper()
	experience := tinyExperience(t)
	network = filepath.Join(t.TempDir(), "n")
	if code, _, stderr := l2mt(t, "train", "--experience", experience, "--out", network, "--train.epochs=1", "--model.hidden=8"); code != exitDone {
		t.Fatal(stderr)
	}
	return network, filepath.Join(filepath.Dir(experience), "p", "test.json")
}

// What is wrong with a command line ends with 2, what is wrong with files with 1, and
// either says so on stderr alone.
func TestExitCodes(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	network, test := tinyNetwork(t)
	out := filepath.Join(t.TempDir(), "never")
	for _, c := range []struct {
		code int
		line string
		says string
	}{
		{exitUsage, "eval --network N --problems T --models oracle", `there is no model "oracle": the models are amtl, `},
		{exitFailed, "eval --network Nx --problems T", "Nx"},
		{exitUsage, "eval --network N", "missing flags: --problems"},
		{exitFailed, "eval --network N --problems Tx", "no such file"},
		{exitFailed, "eval --network DIR --problems T", "weights.safetensors"},
		{exitUsage, "fit --network N --problems T --name test-0007", `has no such problem; of its 2 the first is "test-0001"`},
		{exitUsage, "fit T --model oracle", `there is no model "oracle"`},
		{exitFailed, "fit Tx", "l2mt: /"},
		{exitUsage, "collect --problems T --out OUT --models mtrl,mtrl", `model "mtrl" is named twice`},
		{exitUsage, "collect --problems T --out OUT --draws 0", "--draws=0 --explore=8 --near=0 --workers=0: --draws must be at least 1"},
		{exitUsage, "collect --problems T --out OUT --explore=-1", "--explore=-1 --near=0 --workers=0: "},
		{exitUsage, "collect --problems T --out OUT --workers=-1", "--workers=-1: --draws must be at least 1, the others at least 0"},
		{exitUsage, "collect --problems T --out OUT --o gold", `--o must be one of "refit","labelled","model"`},
		{exitUsage, "collect --problems T --out OUT --shard 3/3", "--shard: it must be I/N with I in 0..N-1, not 3/3"},
		{exitUsage, "train --out OUT", "missing flags: --experience"},
		{exitUsage, "train --experience N --out OUT --preset=modern", `preset is "modern"; it must be one of default, pairwise, paper`},
		{exitUsage, "train --experience N --out OUT --train.epochs=-3", "train.epochs is -3; it must be a whole number of at least 1"},
		{exitUsage, "train --experience N --out OUT --frobnicate", "unknown flag --frobnicate"},
	} {
		words := strings.NewReplacer("DIR", t.TempDir(), "N", network, "T", test, "OUT", out)
		args := strings.Fields(c.line)
		for i, arg := range args {
			args[i] = words.Replace(arg)
		}
		code, stdout, stderr := l2mt(t, args...)
		datatest.Holds(t, code == c.code && stdout == "" && strings.Contains(stderr, strings.ReplaceAll(c.says, "Nx", network+"x")),
			"%s ends with %d, want %d, and says %q and %q", c.line, code, c.code, stdout, stderr)
		_, err := os.Stat(out)
		datatest.Need(t, errors.Is(err, fs.ErrNotExist), "%s: %s was made", c.line, out)
	}
}

// An interrupted command says so, and leaves what the same command goes on from: the
// libraries have tests of that, and TestFaults for all of it.
func TestInterruptedCommandsEndWith130(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	network, test := tinyNetwork(t)
	experience := filepath.Join(filepath.Dir(filepath.Dir(test)), "e")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"collect", "--problems", test, "--out", filepath.Join(t.TempDir(), "e")},
		{"train", "--experience", experience, "--out", filepath.Join(t.TempDir(), "n")},
		{"eval", "--network", network, "--problems", test, "--out", filepath.Join(t.TempDir(), "v")},
		{"sweep", "fig3-k", "--out", filepath.Join(t.TempDir(), "s")},
		{"data", "features", "--images", pictures(t, 2), "--weights", tinyWeights(t, 1), "--out", filepath.Join(t.TempDir(), "x.npz")},
	} {
		var stdout, stderr bytes.Buffer
		if code := Run(ctx, args, &stdout, &stderr); code != exitInterrupted || stdout.Len() > 0 || !strings.HasSuffix(stderr.String(), "l2mt: interrupted\n") {
			t.Errorf("%v ends with %d and says %q and %q", args, code, &stdout, &stderr)
		}
	}
}
