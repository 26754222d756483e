package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data/datatest"
)

// tinyNetwork trains a network in a directory, and returns it with the file of
// the test problems of its experience.
func tinyNetwork(t testing.TB) (network, test string) {
	t.Helper()
	experience := tinyExperience(t)
	network = filepath.Join(t.TempDir(), "n")
	if code, _, stderr := l2mt(t, "train", "--experience", experience, "--out", network, "--set", "train.epochs=1", "--set", "model.hidden=8"); code != exitDone {
		t.Fatal(stderr)
	}
	return network, filepath.Join(filepath.Dir(experience), "p", "test.json")
}

// results are the files of an evaluation that do not depend on time.
func results(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := filesIn(t, dir)
	delete(found, "outcomes.jsonl")
	delete(found, run.SecondsFile)
	return found
}

// An evaluation that is stopped keeps what it has; the same command goes on,
// and comes to the same bytes as one that was not stopped. A line that was cut
// off is made again.
func TestAnInterruptedEvaluationGoesOnWithTheSameCommand(t *testing.T) {
	t.Parallel()
	network, test := tinyNetwork(t)
	command := func(dir, workers string) []string {
		return []string{"eval", "--network", network, "--problems", test, "--models", "snr1,snr2,mtrl,cmtl", "--refit", "--out", dir, "--workers", workers}
	}
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "v")
	mustL2mt(t, command(whole, "2")...)

	journal := filepath.Join(dir, "outcomes.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // stop as soon as there is something to keep
		defer cancel()
		for range 10_000 {
			if info, err := os.Stat(journal); err == nil && info.Size() > 0 {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var stdout, stderr bytes.Buffer
	if code := Run(ctx, command(dir, "1"), &stdout, &stderr); code != exitInterrupted {
		t.Fatalf("an interrupted evaluation ends with %d: %s", code, &stderr)
	}
	if stdout.Len() > 0 || !strings.Contains(stderr.String(), "the same command goes on") {
		t.Errorf("an interrupted evaluation says %q and %q", &stdout, &stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "table.json")); err == nil {
		t.Error("an interrupted evaluation leaves a table")
	}
	raw, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal, raw[:len(raw)-20], 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, words := l2mt(t, command(dir, "2")...)
	if code != exitDone || !strings.Contains(words, "the last line of outcomes.jsonl was cut off") {
		t.Errorf("the evaluation goes on with %d: %s", code, words)
	}
	for name, want := range results(t, whole) {
		if got := results(t, dir)[name]; got != want {
			t.Errorf("%s has other bytes than that of an evaluation that was not interrupted", name)
		}
	}
}

func TestExitCodesOfEvalAndInfer(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	network, test := tinyNetwork(t)
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitDone, []string{"eval", "--network", network, "--problems", test, "--models", "stl"}},
		{exitUsage, []string{"eval", "--network", network, "--problems", test, "--models", "oracle"}},
		{exitUsage, []string{"eval", "--network", network + "x", "--problems", test}},
		{exitUsage, []string{"eval", "--network", network}},
		{exitFailed, []string{"eval", "--network", network, "--problems", test + "x"}},
		{exitFailed, []string{"eval", "--network", t.TempDir(), "--problems", test}},
		{exitUsage, []string{"infer", "--network", network, "--problems", test, "--name", "test-0007"}},
		{exitUsage, []string{"infer", "--network", network, "--problems", test, "--nearest", "-1"}},
		{exitUsage, []string{"infer", "--network", network, "--problems", test, "--select", "--omega-only"}},
		{exitFailed, []string{"infer", "--network", t.TempDir(), "--problems", test}},
		{exitFailed, []string{"infer", "--network", network, "--problems", test, "--score", test}},
		{exitUsage, []string{"fit", "--problems", test, "--model", "oracle"}},
		{exitFailed, []string{"fit", "--problems", test + "x"}},
	} {
		code, stdout, stderr := l2mt(t, c.args...)
		if code != c.code {
			t.Errorf("%v ends with %d, want %d: %s", c.args, code, c.code, stderr)
		}
		if code != exitDone && (stdout != "" || stderr == "") {
			t.Errorf("%v fails and says %q and %q", c.args, stdout, stderr)
		}
	}
}
