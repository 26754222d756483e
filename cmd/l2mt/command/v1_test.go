package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"l2mt/data/safetensors"
	"l2mt/infer/compare"
	"l2mt/model"
	"l2mt/train"
)

// oldFiles is a copy of the files of version 1, which must load for ever.
func oldFiles(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "v1")
	if err := os.CopyFS(dir, os.DirFS("../../../testdata/v1")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// says decodes what a command prints with --json.
func says(t *testing.T, v any, args ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(mustL2mt(t, append([]string{"-q", "--json"}, args...)...)), v); err != nil {
		t.Fatal(err)
	}
}

// near compares with a number that the program printed when the files were made.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %v, and was %v", what, got, want)
	}
}

// The numbers here are those that the program of testdata/v1/README.md printed.
func TestOldFilesLoad(t *testing.T) {
	dir := oldFiles(t)
	at := func(name string) string { return filepath.Join(dir, name) }

	t.Run("problems", func(t *testing.T) {
		var got []problemSummary
		says(t, &got, "problems", "check", at("problems/train.json"), at("problems/test.json"))
		train, test := got[0], got[1]
		if train.Problems != 4 || train.Tasks != 9 || train.TrainRows != 90 || train.Validation != 321 || train.TestRows != 2817 {
			t.Errorf("the training problems are %+v", train)
		}
		if test.Problems != 1 || test.Tasks != 3 || test.TrainRows != 30 || test.Validation != 108 || test.TestRows != 938 {
			t.Errorf("the test problems are %+v", test)
		}
	})
	t.Run("experience", func(t *testing.T) {
		mustL2mt(t, "experience", "check", at("experience"))
		var stats []sourceStats
		says(t, &stats, "experience", "stats", at("experience"))
		means := map[string]float64{"explore/low-rank": 3.6623665539616064, "explore/rank-one": 3.870878515690707, "snr2": 0.963570551724077, "stl": 1}
		if len(stats) != len(means) {
			t.Errorf("there are %d sources, and were %d", len(stats), len(means))
		}
		for _, s := range stats {
			if s.Tuples != 4 || s.Failed != 0 || s.Mean == nil {
				t.Fatalf("%+v", s)
			}
			near(t, "mean o of "+s.Source, *s.Mean, means[s.Source], 1e-12)
		}
		var again struct{ Made, Failed, Had int }
		says(t, &again, "collect", "--problems", at("problems/train.json"), "--out", at("experience"), "--models", "snr2", "--explore", "2")
		if again.Made != 0 || again.Had != 16 {
			t.Errorf("collecting again makes %+v", again)
		}
	})
	t.Run("network", func(t *testing.T) {
		var got, want inferred
		if err := loadJSON(at("inference/result.json"), &want); err != nil {
			t.Fatal(err)
		}
		var all []inferred
		says(t, &all, "infer", "--network", at("network"), "--problem", at("problems/test.json"), "--omega-only")
		got = all[0]
		for i, row := range want.Found.Omega {
			for j, v := range row {
				near(t, "an entry of Omega", got.Found.Omega[i][j], v, 1e-4)
			}
		}
		near(t, "rho", float64(got.Found.Rho), float64(want.Found.Rho), 1e-5)
		near(t, "the error expected", float64(got.Found.Expected), float64(want.Found.Expected), 1e-5)
		near(t, "the radius", float64(got.Radius), float64(want.Radius), 1e-4)
		for i, n := range want.Nearest {
			if got.Nearest[i].Name != n.Name {
				t.Errorf("the nearest problems are %v, and were %v", got.Nearest, want.Nearest)
				break
			}
			near(t, "the distance of "+n.Name, got.Nearest[i].Distance, n.Distance, 1e-4)
		}
	})
	t.Run("evaluation", func(t *testing.T) {
		code, stdout, stderr := l2mt(t, "--json", "eval", "--network", at("network"), "--problems", at("problems/test.json"), "--baselines", "snr2", "--out", at("evaluation"))
		if code != exitDone || !strings.Contains(stderr, "going on from ") {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		var table compare.Table
		if err := json.Unmarshal([]byte(stdout), &table); err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(table.Rows, func(r compare.Row) bool { return r.Title == "SNR2" }); i < 0 {
			t.Errorf("SNR2 is not in the table: %s", stdout)
		} else {
			near(t, "the error of SNR2", table.Rows[i].Error, 0.012820512820512818, 1e-12)
		}
		for _, picture := range [][]string{{"table", at("evaluation")}, {"correlation", at("inference")}, {"training", at("network")}, {"embedding", at("network")}} {
			mustL2mt(t, "plot", picture[0], picture[1], "--out", at(picture[0]+".svg"))
		}
	})
}

// A format to come may mean anything by the fields that this program knows, so
// none of them is read: the version is refused, and both are named.
func TestNewerFilesAreRefused(t *testing.T) {
	replace := func(old, new string) func(raw []byte) []byte {
		return func(raw []byte) []byte { return bytes.Replace(raw, []byte(old), []byte(new), 1) }
	}
	newState := func(raw []byte) []byte {
		tensors, metadata, err := safetensors.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		metadata["state"] = strings.Replace(metadata["state"], `"schema":1`, `"schema":9,"new":1`, 1)
		sum := sha256.Sum256([]byte(metadata["state"]))
		metadata["state_sha256"] = hex.EncodeToString(sum[:])
		if raw, err = safetensors.Encode(tensors, metadata); err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for _, c := range []struct {
		file   string
		change func(raw []byte) []byte
		says   string
		args   []string
	}{
		{"problems/test.json", replace(`"schema":1`, `"schema":9,"new":1`), "schema 9; this version reads 1", []string{"problems", "check", "problems/test.json"}},
		{"experience/manifest.json", replace(`"schema": 1`, `"schema": 9, "new": 1`), "the store has schema 9; this program knows schema 1", []string{"experience", "check", "experience"}},
		{"network/" + model.ConfigFile, replace(`"schema": 1`, `"schema": 9, "new": 1`), "schema 9; this program reads 1", []string{"infer", "--network", "network", "--problem", "problems/test.json"}},
		{"checkpoint/" + train.StateFile, newState, "schema 9; this program reads 2", []string{"train", "--experience", "experience", "--out", "checkpoint", "--epochs", "30", "--hidden", "4"}},
	} {
		dir := oldFiles(t)
		path := filepath.Join(dir, c.file)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		newer := c.change(raw)
		if bytes.Equal(newer, raw) {
			t.Fatalf("%s is unchanged", c.file)
		}
		if err := os.WriteFile(path, newer, 0o644); err != nil {
			t.Fatal(err)
		}
		args := slices.Clone(c.args)
		for i, arg := range args {
			if _, err := os.Stat(filepath.Join(dir, arg)); err == nil && i > 0 {
				args[i] = filepath.Join(dir, arg)
			}
		}
		code, stdout, stderr := l2mt(t, args...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, c.says) || !strings.Contains(stderr, filepath.Base(c.file)) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %q", c.file, code, stdout, stderr, c.says)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, newer) {
			t.Errorf("%s has been changed: %v", c.file, err)
		}
	}
}
