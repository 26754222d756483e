//go:build faults

package command

// What happens to long work on real machines is done to every command that
// records something, with the binary itself: processes are killed and
// terminated, disks fill up, directories become read-only, files are cut short or
// replaced. Nothing recorded may be lost, nothing torn read as good, and in the
// end everything must be as if nothing had happened. The table in
// docs/reliability.md is printed by
//
//	go test -tags faults ./cmd/l2mt/command -run TestFaults$ -v

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/safetensors"
	"l2mt/train"
)

// fault is something that happens to a command.
type fault struct {
	name string
	do   func(v *victim) (tries int)
}

var faultTable = []fault{
	{"killed (kill -9)", (*victim).killed},
	{"terminated (SIGTERM)", (*victim).terminated},
	{"no more may be written (RLIMIT_FSIZE)", (*victim).limited},
	{"disk full (a small tmpfs)", (*victim).fullDisk},
	{"directory read-only", (*victim).readOnly},
	{"a file replaced by a directory", (*victim).replaced},
	{"a file cut short", (*victim).cutShort},
	{"two processes at once", (*victim).twice},
}

// command is a command line that records something in a directory.
type command struct {
	name string
	args func(dir string) []string
	// results are the files that must not depend on what happened.
	results func(t *testing.T, dir string) map[string]string
}

func faultCommands(t *testing.T) []command {
	problems, experience := tinyProblems(t, 4), tinyExperience(t)
	network, test := tinyNetwork(t)
	experiment := filepath.Join(t.TempDir(), "tiny.toml")
	if err := os.WriteFile(experiment, []byte(`
flags = [
  "problems --train 4 --test 2 --min-tasks 2 --max-tasks 2 --train-fraction 0.03 --validation-fraction 0.03",
  "collect --models stl,snr2 --explore 2",
  "train --set train.epochs=2",
  "eval --models snr2,rmtl",
]
[vary]
flag = "train --set=model.hidden="
values = [4, 8]
`), 0o644); err != nil {
		t.Fatal(err)
	}
	reachable(t, experiment) // and so is everything else
	return []command{
		{"collect", func(dir string) []string {
			return []string{"collect", "--problems", problems, "--out", filepath.Join(dir, "e"), "--models", "rmtl,snr2,ssnr2", "--draws", "4", "--explore", "24", "--workers", "2"}
		}, func(t *testing.T, dir string) map[string]string {
			return map[string]string{"records": listed(t, filepath.Join(dir, "e"))}
		}},
		{"train", func(dir string) []string {
			return []string{"train", "--experience", experience, "--out", filepath.Join(dir, "n"), "--set", "train.epochs=12", "--set", "model.hidden=8"}
		}, func(t *testing.T, dir string) map[string]string {
			return without(filesIn(t, filepath.Join(dir, "n")), ".lock", run.SecondsFile) // which has times
		}},
		{"eval", func(dir string) []string {
			return []string{"eval", "--network", network, "--problems", test, "--models", "snr1,snr2,mtrl,cmtl,rmtl", "--out", filepath.Join(dir, "v"), "--workers", "2"}
		}, func(t *testing.T, dir string) map[string]string {
			return without(filesIn(t, filepath.Join(dir, "v")), "outcomes.jsonl", run.SecondsFile) // they have times
		}},
		{"sweep", func(dir string) []string {
			return []string{"sweep", experiment, "--out", filepath.Join(dir, "out")}
		}, func(t *testing.T, dir string) map[string]string {
			return filesIn(t, filepath.Join(dir, "out"))
		}},
	}
}

func without(files map[string]string, names ...string) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool {
		return slices.Contains(names, name) || strings.HasPrefix(name, ".") // never finished
	})
	return files
}

func TestFaults(t *testing.T) {
	commands := faultCommands(t)
	var mu sync.Mutex
	tries := map[string]map[string]int{}
	recorded, lost := map[string]int{}, map[string]int{}
	t.Run("commands", func(t *testing.T) {
		for _, c := range commands {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				v := newVictim(t, c)
				for _, f := range faultTable {
					t.Run(f.name, func(t *testing.T) {
						v.t, v.recorded, v.lost = t, 0, 0
						n := f.do(v)
						mu.Lock()
						defer mu.Unlock()
						if tries[f.name] == nil {
							tries[f.name] = map[string]int{}
						}
						tries[f.name][c.name] += n
						recorded[f.name] += v.recorded
						lost[f.name] += v.lost
					})
				}
			})
		}
	})
	table := "| fault | collect | train | eval | sweep | records there | data lost |\n|---|--:|--:|--:|--:|--:|--:|\n"
	for _, f := range faultTable {
		table += "| " + f.name + " |"
		for _, c := range commands {
			table += fmt.Sprintf(" %d |", tries[f.name][c.name])
		}
		table += fmt.Sprintf(" %d | %d |\n", recorded[f.name], lost[f.name])
	}
	t.Log("\n" + table)
}

// victim is a command that faults happen to.
type victim struct {
	command
	t      *testing.T
	random *rand.Rand
	want   map[string]string // the results of an undisturbed run
	all    int               // what such a run records
	half   string            // the directory of a run that was stopped halfway

	recorded, lost int // by the fault at hand
}

func newVictim(t *testing.T, c command) *victim {
	v := &victim{command: c, t: t, random: data.Stream(1, "faults "+c.name)}
	dir := t.TempDir()
	mustL2mt(t, c.args(dir)...)
	v.want, v.all = c.results(t, dir), len(records(t, dir))
	for share := 2; v.half == ""; share++ {
		dir := t.TempDir()
		p := v.start(dir)
		v.await(p, dir, v.all/share)
		if p.stop(t, syscall.SIGTERM) == exitInterrupted {
			v.half = dir
		} else if share > 20 {
			t.Fatalf("%s is too fast to be stopped: %s", c.name, &p.stderr)
		}
	}
	return v
}

// start starts the command as a process.
func (v *victim) start(dir string) *process { return startProcess(v.t, v.args(dir)...) }

// records lists everything in a directory that must not get lost: whole lines of
// files that grow, epochs of a training, and files that are written at once. None
// of these may be torn.
func records(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || entry.IsDir() || strings.HasPrefix(name, ".") || strings.Contains(name, ".tmp-") {
			if errors.Is(err, fs.ErrNotExist) { // a file with a passing name
				err = nil
			}
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		key, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch filepath.Ext(name) {
		case ".jsonl":
			for line := range bytes.Lines(raw) {
				switch whole := bytes.HasSuffix(line, []byte("\n")); {
				case whole && json.Valid(line):
					found[key+": "+string(line)] = true
				case whole:
					t.Errorf("%s has a torn line: %s", key, line)
				}
			}
			return nil
		case ".json":
			if !json.Valid(raw) {
				t.Errorf("%s is torn: %s", key, raw)
			}
		case ".safetensors":
			_, metadata, err := safetensors.Decode(raw)
			if err != nil {
				t.Errorf("%s is torn: %v", key, err)
			}
			var state struct{ Metrics []struct{} }
			if name == train.StateFile {
				if err := json.Unmarshal([]byte(metadata["state"]), &state); err != nil {
					t.Errorf("%s is torn: %v", key, err)
				}
			}
			for epoch := range state.Metrics {
				found[fmt.Sprint(key, ": epoch ", epoch)] = true
			}
		}
		if len(raw) == 0 {
			t.Errorf("%s is torn: it is empty", key)
		}
		found[key] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// await waits until so much is recorded, or the process has ended.
func (v *victim) await(p *process, dir string, count int) {
	for len(records(v.t, dir)) < count {
		select {
		case <-p.ended:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// strike does something to a process at a random moment and waits for its end.
func (v *victim) strike(p *process, dir string, do func()) {
	v.await(p, dir, len(records(v.t, dir))+v.random.IntN(1+v.all/8))
	time.Sleep(time.Duration(v.random.IntN(3000)) * time.Microsecond)
	do()
	<-p.ended
}

// keeps checks that what was recorded before is still there.
func (v *victim) keeps(dir string, before map[string]bool) {
	v.t.Helper()
	now := records(v.t, dir)
	for key := range before {
		v.recorded++
		if !now[key] {
			v.lost++
			v.t.Errorf("lost: %s", key)
		}
	}
}

// finish runs the command to its end, which must be as if nothing had happened.
func (v *victim) finish(dir string) {
	v.t.Helper()
	before := records(v.t, dir)
	p := v.start(dir)
	if code := p.wait(); code != exitDone {
		v.t.Errorf("the command does not go on: exit code %d\n%s", code, &p.stderr)
		v.lost++
		return
	}
	v.keeps(dir, before)
	if d := cmp.Diff(v.want, v.results(v.t, dir)); d != "" {
		v.lost++
		v.t.Errorf("the results have changed: %.2000s", d)
	}
}

// fails runs the command, which must fail and say these words.
func (v *victim) fails(p *process, says ...string) {
	v.t.Helper()
	code := p.wait()
	for _, s := range says {
		if !strings.Contains(p.stderr.String(), s) {
			v.t.Errorf("exit code %d, and stderr does not say %q:\n%s", code, s, &p.stderr)
		}
	}
	if code != exitFailed {
		v.t.Errorf("exit code %d, want %d\n%s", code, exitFailed, &p.stderr)
	}
}

// copyOfHalf is a copy of a directory in which the command was stopped.
func (v *victim) copyOfHalf() string {
	v.t.Helper()
	dir := filepath.Join(v.t.TempDir(), "half")
	if err := os.CopyFS(dir, os.DirFS(v.half)); err != nil {
		v.t.Fatal(err)
	}
	return dir
}

// tinyProblems samples problems on the digits whose fits take milliseconds.
func tinyProblems(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	mustL2mt(t, "problems", "sample", "--out", dir, "--train", fmt.Sprint(n), "--test", "1", "--seed", "4",
		"--min-tasks", "2", "--max-tasks", "4", "--train-fraction", "0.04", "--validation-fraction", "0.1", "--prepare", "unit")
	return filepath.Join(dir, "train.json")
}

// listed are the records of a store, without their seconds.
func listed(t *testing.T, store string) string {
	t.Helper()
	return regexp.MustCompile(`"seconds":[^,]*,`).ReplaceAllString(mustL2mt(t, "--json", "experience", "list", store), "")
}

// filesIn has the files of a directory, not of those below it.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries := must(os.ReadDir(dir))(t)
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		raw := must(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		found[e.Name()] = string(raw)
	}
	return found
}
