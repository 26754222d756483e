package command

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"

	"l2mt/data/datatest"
	"l2mt/train"
)

// tests are the tests of this package, which share a directory.
type tests struct{ *testing.M }

var (
	shared    string
	makeStudy sync.Once
)

// Run runs the tests.
func (m tests) Run() int {
	shared, _ = os.MkdirTemp("", "l2mt-tests") // without it tests fail that make something there
	defer os.RemoveAll(shared)
	return m.M.Run()
}

// tinyStudy is a directory of its own with tiny problems p, experience e on them and a network n.
func tinyStudy(t *testing.T) (dir string) {
	t.Helper()
	makeStudy.Do(func() {
		for _, line := range []string{
			"problems sample --out DIR/p --train 6 --test 2 --min-tasks 2 --max-tasks 3 --train-fraction 0.03 --validation-fraction 0.05",
			"collect --problems DIR/p/train.json --out DIR/e --models stl,snr2 --explore 4",
			"train --experience DIR/e --out DIR/n --train.epochs=1 --model.hidden=8",
		} {
			mustL2mt(t, strings.Fields(strings.ReplaceAll(line, "DIR", shared))...)
		}
	})
	dir = t.TempDir()
	datatest.Check(t, os.CopyFS(dir, os.DirFS(shared)))
	return dir
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
	datatest.Equal(t, parsed(flags).config(64), want, "the settings")
	got := parsed("--model.unit=false").config(64)
	datatest.Holds(t, !got.Model.Unit && got.EmbeddingRate == 0.02/64, "the default is %+v", got)
}

// mustL2mt runs one command line in process, which has to succeed.
func mustL2mt(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := l2mt(t, args...)
	datatest.Need(t, code == exitDone, "l2mt %v: exit code %d\n%s%s", args, code, stdout, stderr)
	return stdout
}

// What is wrong with a command line ends with 2, what is wrong with files with 1, and
// either says so on stderr alone.
func TestExitCodes(t *testing.T) {
	datatest.Long(t)
	t.Chdir(tinyStudy(t))
	for _, c := range []struct {
		code int
		line string
		says string
	}{
		{exitUsage, "eval --network n --problems p/test.json --models oracle", `there is no model "oracle": the models are amtl, `},
		{exitFailed, "eval --network nowhere --problems p/test.json", "nowhere"},
		{exitUsage, "eval --network n", "missing flags: --problems"},
		{exitFailed, "eval --network n --problems nowhere", "no such file"},
		{exitFailed, "eval --network p --problems p/test.json", "weights.safetensors"},
		{exitUsage, "fit --network n --problems p/test.json --name test-0007", `has no such problem; of its 2 the first is "test-0001"`},
		{exitUsage, "fit p/test.json --model oracle", `there is no model "oracle"`},
		{exitFailed, "fit nowhere", "l2mt: nowhere: no such file"},
		{exitUsage, "collect --problems p/test.json --out never --models mtrl,mtrl", `model "mtrl" is named twice`},
		{exitUsage, "collect --problems p/test.json --out never --draws 0", "--draws=0 --explore=8 --near=0 --workers=0: --draws must be at least 1"},
		{exitUsage, "collect --problems p/test.json --out never --explore=-1", "--explore=-1 --near=0 --workers=0: "},
		{exitUsage, "collect --problems p/test.json --out never --workers=-1", "--workers=-1: --draws must be at least 1, the others at least 0"},
		{exitUsage, "collect --problems p/test.json --out never --o gold", `--o must be one of "refit","labelled","model"`},
		{exitUsage, "collect --problems p/test.json --out never --shard 3/3", "--shard: it must be I/N with I in 0..N-1, not 3/3"},
		{exitUsage, "collect --problems p/test.json --out never --shard=-1/5", "--shard: it must be I/N with I in 0..N-1, not -1/5"},
		{exitUsage, "collect --problems p/test.json --out never --shard 2", "--shard: it must be I/N with I in 0..N-1, not 2"},
		{exitUsage, "collect --problems p/test.json --out never --shard a/b", "--shard: it must be I/N with I in 0..N-1, not a/b"},
		{exitUsage, "collect --problems p/test.json --out never --shard 1/2/3", "--shard: it must be I/N with I in 0..N-1, not 1/2/3"},
		{exitUsage, "train --out never", "missing flags: --experience"},
		{exitUsage, "train --experience e --out never --preset=modern", `preset is "modern"; it must be one of default, pairwise, paper`},
		{exitUsage, "train --experience e --out never --train.epochs=-3", "train.epochs is -3; it must be a whole number of at least 1"},
		{exitUsage, "train --experience e --out never --frobnicate", "unknown flag --frobnicate"},
	} {
		code, stdout, stderr := l2mt(t, strings.Fields(c.line)...)
		_, err := os.Stat("never")
		datatest.Holds(t, code == c.code && stdout == "" && strings.Contains(stderr, c.says) && errors.Is(err, fs.ErrNotExist),
			"%s ends with %d, want %d, and says %q and %q; what it makes: %v", c.line, code, c.code, stdout, stderr, err)
	}
}

// An interrupted command says so, and what becomes of its work, and leaves what the same command goes
// on from: the libraries have tests of that, and TestFaults for all of it.
func TestInterruptedCommandsEndWith130(t *testing.T) {
	datatest.Long(t)
	t.Chdir(tinyStudy(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"collect", "--problems", "p/test.json", "--out", "made"},
		{"train", "--experience", "e", "--out", "made"},
		{"eval", "--network", "n", "--problems", "p/test.json", "--out", "made"},
		{"sweep", "fig3-k", "--out", "made"},
		{"fit", write(t, "alike.csv", alike()), "--task", "task", "--target", "y"},
	} {
		consequence := "resumes there\n"
		if args[0] == "fit" {
			consequence = "is lost, and no file has changed\n"
		}
		var stdout bytes.Buffer
		stderr := datatest.Must(os.Create("stderr"))(t) // two goroutines write
		code := Run(ctx, args, &stdout, stderr)
		datatest.Check(t, stderr.Close())
		said := string(datatest.Must(os.ReadFile("stderr"))(t))
		datatest.Holds(t, code == exitInterrupted && stdout.Len() == 0 && strings.HasSuffix(said, "l2mt: interrupted\n") && strings.Contains(said, consequence),
			"%v ends with %d and says %q and %q", args, code, &stdout, said)
	}
}
