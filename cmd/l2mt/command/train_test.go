package command

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"l2mt/data/files"
	"l2mt/model"
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

// stopAt is a stderr that cancels when it sees a text.
type stopAt struct {
	strings.Builder
	text string
	stop func()
}

func (s *stopAt) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.text) {
		s.stop()
	}
	return s.Builder.Write(p)
}

func TestAnInterruptedTrainingGoesOnWithTheSameCommand(t *testing.T) {
	t.Parallel()
	experience := tinyExperience(t)
	command := func(dir string) []string {
		return []string{"train", "--experience", experience, "--out", dir, "--set", "train.epochs=4", "--set", "model.hidden=8"}
	}
	whole, dir := t.TempDir(), t.TempDir()
	if code, _, stderr := l2mt(t, command(whole)...); code != exitDone {
		t.Fatal(stderr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout strings.Builder
	stderr := &stopAt{text: "epoch 2/4", stop: cancel}
	if code := Run(ctx, command(dir), &stdout, stderr); code != exitInterrupted {
		t.Errorf("an interrupted run ends with %d: %s", code, stderr)
	}
	if stdout.Len() > 0 || !strings.Contains(stderr.String(), dir+" has the state of the run; the same command goes on from there") || !strings.HasSuffix(stderr.String(), "l2mt: interrupted\n") {
		t.Errorf("an interrupted run says %q and %q", &stdout, stderr)
	}
	code, _, words := l2mt(t, command(dir)...)
	if code != exitDone || strings.Contains(words, "epoch 2/4") || !strings.Contains(words, "epoch 3/4: 5/5") {
		t.Errorf("the run goes on with %d: %s", code, words)
	}
	for _, name := range []string{"config.json", "weights.safetensors", "state.safetensors", "metrics.jsonl", "training.png", "run.json"} {
		if sum(t, filepath.Join(dir, name)) != sum(t, filepath.Join(whole, name)) {
			t.Errorf("%s has other bytes than that of an uninterrupted run", name)
		}
	}
}

func sum(t testing.TB, path string) string {
	t.Helper()
	s, err := files.SHA256(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWrongUsageOfTrainEndsWithTwo(t *testing.T) {
	experience := t.TempDir() // it is not opened
	for _, c := range []struct{ flag, says string }{
		{"--set=model.estimator=crystal-ball", `estimator is "crystal-ball"; it must be one of ` + strings.Join(model.Estimators(), ", ")},
		{"--set=model.readout=loud", `readout is "loud"; it must be one of mean, signed`},
		{"--set=model.link=chain", `link is "chain"; it must be one of identity, log, tanh`},
		{"--preset=modern", `--preset must be one of "default","pairwise","paper" but got "modern"`},
		{"--set=model.body=soul", `body is "soul"; it must be one of lgnn`},
		{"--set=model.objective=win", `objective is "win"; it must be one of paper, scaled`},
		{"--set=model.norm=big", `norm is "big"`},
		{"--set=model.dtype=float16", `dtype is "float16"; it must be one of float32, float64`},
		{"--set=train.update=all", `update is "all"; it must be one of tuple, problem`},
		{"--set=train.epochs=-3", "train.epochs is -3; it must be a whole number of at least 1"},
		{"--set=train.epochs=many", `train.epochs is "many"; it must be a whole number of at least 1`},
		{"--set=train.rate=-1", "train.rate is -1; it must be a number above 0"},
		{"--set=train.held_out=1", "train.held_out is 1; it must be a whole number of at least 2"},
		{"--frobnicate", "unknown flag --frobnicate"},
	} {
		code, stdout, stderr := l2mt(t, "train", "--experience", experience, "--out", "x", c.flag)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.says) || !strings.Contains(stderr, "--help") {
			t.Errorf("%s: exit %d, %q, want %q", c.flag, code, stderr, c.says)
		}
	}
	if code, _, stderr := l2mt(t, "train", "--out", "x"); code != exitUsage || !strings.Contains(stderr, "missing flags: --experience") {
		t.Errorf("no experience: exit %d, %q", code, stderr)
	}
	code, stdout, stderr := l2mt(t, "train", "--help")
	for _, part := range []string{"--experience", "--set", "--help-settings", "--from"} {
		if code != exitDone || stderr != "" || !strings.Contains(stdout, part) {
			t.Errorf("help ends with %d and lacks %s:\n%s", code, part, stdout)
		}
	}
}
