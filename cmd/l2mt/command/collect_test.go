package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"l2mt/data/experience/experiencetest"
)

// tinyProblems samples problems on the digits whose fits take milliseconds.
func tinyProblems(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	mustL2mt(t, "problems", "sample", "--out", dir, "--train", fmt.Sprint(n), "--test", "1", "--seed", "4",
		"--min-tasks", "2", "--max-tasks", "4", "--train-fraction", "0.04", "--validation-fraction", "0.1", "--prepare", "unit")
	return filepath.Join(dir, "train.json")
}

// mustL2mt runs one command line in process, which has to succeed.
func mustL2mt(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := l2mt(t, args...)
	if code != exitDone {
		t.Fatalf("l2mt %v: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout
}

// collection is a run of the command over many small tuples.
type collection struct {
	out  string
	args []string
}

const shard = "shard-0-of-1.jsonl"

// tuplesAProblem is what collections make of every problem: single-task
// learning, three models and explorations.
const tuplesAProblem = 1 + 3*4 + 24

func newCollection(t *testing.T, problems string) collection {
	out := experiencetest.Dir(t)
	return collection{out, []string{"collect", "--problems", problems, "--out", out,
		"--models", "rmtl,snr2,ssnr2", "--draws", "4", "--explore", "24", "--workers", "2"}}
}

// process is the command at work.
type process struct {
	*exec.Cmd
	ended  chan struct{}
	stderr bytes.Buffer // to be read when it has ended
}

func (c collection) start(t *testing.T) *process { return startProcess(t, c.args...) }

// startProcess starts a command line, and ends it with the test at the latest.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := newProcess(args...)
	if err := p.begin(t); err != nil {
		t.Fatal(err)
	}
	return p
}

func newProcess(args ...string) *process {
	p := &process{Cmd: exec.Command("l2mt", args...), ended: make(chan struct{})}
	p.Stderr = &p.stderr
	return p
}

func (p *process) begin(t *testing.T) error {
	t.Helper()
	if err := p.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.Wait() // ProcessState has it all
		close(p.ended)
	}()
	t.Cleanup(func() { p.stop(t, os.Kill) }) // if the test ends early
	return nil
}

// wait waits for the end and returns the exit code.
func (p *process) wait() int {
	<-p.ended
	return p.ProcessState.ExitCode()
}

// stop sends a signal and returns the exit code, -1 for death by the signal.
func (p *process) stop(t *testing.T, s os.Signal) int {
	t.Helper()
	if err := p.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	return p.wait()
}

// grow waits until a shard has grown by so many bytes or the process has ended.
func (c collection) grow(t *testing.T, p *process, shard string, bytes int64) {
	t.Helper()
	size := func() int64 {
		info, err := os.Stat(filepath.Join(c.out, shard))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	for first := size(); size() < first+bytes; {
		select {
		case <-p.ended:
			return
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// whole returns the whole lines of the shard.
func (c collection) whole(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.out, shard))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return raw[:bytes.LastIndexByte(raw, '\n')+1]
}

// files returns what merging the store gives.
func (c collection) filesIn(t *testing.T) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "merged")
	mustL2mt(t, "experience", "merge", c.out, "--out", out)
	return filesIn(t, out)
}

func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = string(raw)
	}
	return found
}

func TestCollectInterrupted(t *testing.T) {
	c := newCollection(t, tinyProblems(t, 12))
	total := 12 * tuplesAProblem
	p := c.start(t)
	c.grow(t, p, shard, 5000)
	if code := p.stop(t, os.Interrupt); code != exitInterrupted {
		t.Fatalf("exit code %d, want %d\n%s", code, exitInterrupted, &p.stderr)
	}
	made := bytes.Count(c.whole(t), []byte("\n"))
	for _, says := range []string{"finishing the tuples at hand", fmt.Sprintf("%d tuples made, 0 of them failed; 0 were there before", made), "l2mt: interrupted"} {
		if !strings.Contains(p.stderr.String(), says) {
			t.Errorf("stderr does not say %q:\n%s", says, &p.stderr)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(c.out, shard)); err != nil || !bytes.Equal(raw, c.whole(t)) {
		t.Errorf("the shard ends in a torn line: %v", err)
	}
	var summary struct{ Made, Failed, Had int }
	if err := json.Unmarshal([]byte(mustL2mt(t, append([]string{"--json"}, c.args...)...)), &summary); err != nil {
		t.Fatal(err)
	}
	if summary.Had != made || summary.Made != total-made || summary.Failed != 0 {
		t.Errorf("the second run: %+v; the first made %d of %d", summary, made, total)
	}
}

func TestCollectorsSideBySide(t *testing.T) {
	problems := tinyProblems(t, 12)
	c := newCollection(t, problems)
	c.args = append(c.args, "--shard", "0/2")
	p := c.start(t)
	c.grow(t, p, "shard-0-of-2.jsonl", 1)
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil { // so that it does not finish meanwhile
		t.Fatal(err)
	}
	code, stdout, stderr := l2mt(t, c.args...)
	if code != exitFailed || stdout != "" || !strings.Contains(stderr, "shard-0-of-2.jsonl: another process is writing it") {
		t.Errorf("the second collector: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	mustL2mt(t, append(c.args, "--shard", "1/2")...)
	if code := p.stop(t, syscall.SIGCONT); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, &p.stderr)
	}
	whole := newCollection(t, problems)
	mustL2mt(t, whole.args...)
	if d := cmp.Diff(whole.filesIn(t), c.filesIn(t)); d != "" {
		t.Error(d)
	}
}

// Stores of something else are left as they are, down to the problem files.
func TestCollectLeavesForeignStoresAlone(t *testing.T) {
	c := newCollection(t, tinyProblems(t, 1))
	mustL2mt(t, c.args...)
	before := filesIn(t, c.out)
	other := t.TempDir()
	rows := "a,label\n"
	for i := range 40 {
		rows += fmt.Sprintf("%d,%c\n", i, 'x'+i%3)
	}
	if err := os.WriteFile(filepath.Join(other, "rows.csv"), []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	mustL2mt(t, "problems", "sample", "--dataset", filepath.Join(other, "rows.csv"), "--out", other, "--train", "1", "--test", "1", "--min-tasks", "1", "--max-tasks", "1")
	for _, run := range []struct {
		args []string
		says string
	}{
		{[]string{"--problems", filepath.Join(other, "train.json")}, "conflict: the dataset's fingerprint is "},
		{[]string{"--seed", "9"}, "conflict: the seed is 1 in "},
		{[]string{"--o", "model"}, `conflict: config.o is "refit" in `},
	} {
		code, stdout, stderr := l2mt(t, append(c.args, run.args...)...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, run.says) {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", run.args, code, stdout, stderr)
		}
		if d := cmp.Diff(before, filesIn(t, c.out)); d != "" {
			t.Errorf("%v: %s", run.args, d)
		}
	}
}

func TestCollectWrongUsage(t *testing.T) {
	problems := tinyProblems(t, 1)
	for _, run := range []struct {
		args []string
		says string
	}{
		{[]string{"--models", "nonsense"}, `model "nonsense": unknown model: the models are amtl, `},
		{[]string{"--models", "mtrl,mtrl"}, `model "mtrl" is named twice`},
		{[]string{"--draws", "0"}, "--draws=0: there must be at least one"},
		{[]string{"--explore=-1"}, "--explore=-1: it must not be negative"},
		{[]string{"--workers=-1"}, "--workers=-1: it must not be negative"},
		{[]string{"--o", "gold"}, `--o must be one of "refit","labelled","model"`},
		{[]string{"--shard", "3/3"}, "--shard=3/3: it must be I/N with I in 0..N-1"},
		{[]string{"--propose", t.TempDir() + "/nowhere"}, "nowhere"},
	} {
		out := filepath.Join(t.TempDir(), "e")
		code, stdout, stderr := l2mt(t, append([]string{"collect", "--problems", problems, "--out", out}, run.args...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, run.says) {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", run.args, code, stdout, stderr)
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %s was made", run.args, out)
		}
	}
}

func TestShardOf(t *testing.T) {
	for _, c := range []struct {
		flag          string
		env           map[string]string
		shard, shards int
		says          string
	}{
		{"", nil, 0, 1, ""},
		{"0/1", nil, 0, 1, ""},
		{"2/5", nil, 2, 5, ""},
		{"5/5", nil, 0, 0, "--shard=5/5"},
		{"-1/5", nil, 0, 0, "--shard=-1/5"},
		{"2", nil, 0, 0, "--shard=2"},
		{"a/b", nil, 0, 0, "--shard=a/b"},
		{"1/2/3", nil, 0, 0, "--shard=1/2/3"},

		{"", slurm("3", "10", "0", "1"), 3, 10, ""},
		{"", slurm("3", "10", "1", "1"), 2, 10, ""},
		{"", slurm("8", "3", "4", "2"), 2, 3, ""}, // --array=4-8:2
		{"", slurm("3", "10", "", ""), 3, 10, ""},
		{"1/2", slurm("3", "10", "0", "1"), 1, 2, ""},
		{"", slurm("7", "3", "1", "1"), 0, 0, "shard 6 (from 0) of 3"}, // --array=1,5,7
		{"", slurm("0", "3", "1", "1"), 0, 0, "shard -1 (from 0) of 3"},
		{"", slurm("3", "", "0", "1"), 0, 0, `SLURM_ARRAY_TASK_COUNT="" in the environment is not a number`},
		{"", slurm("x", "3", "0", "1"), 0, 0, `SLURM_ARRAY_TASK_ID="x" in the environment is not a number`},
		{"0/1", slurm("x", "3", "0", "1"), 0, 1, ""},

		{"", map[string]string{"JOB_COMPLETION_INDEX": "4", "L2MT_SHARDS": "5"}, 4, 5, ""},
		{"", map[string]string{"JOB_COMPLETION_INDEX": "0", "L2MT_SHARDS": "1"}, 0, 1, ""},
		{"", map[string]string{"JOB_COMPLETION_INDEX": "4"}, 0, 0, `L2MT_SHARDS="" in the environment is not a number`},
		{"", map[string]string{"JOB_COMPLETION_INDEX": "5", "L2MT_SHARDS": "5"}, 0, 0, "shard 5 (from 0) of 5"},
		{"", map[string]string{"L2MT_SHARDS": "5"}, 0, 1, ""},
	} {
		shard, shards, err := shardOf(c.flag, func(name string) string { return c.env[name] })
		if c.says != "" {
			if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("--shard=%q in %v: error %v, want %q", c.flag, c.env, err, c.says)
			}
			continue
		}
		if err != nil || shard != c.shard || shards != c.shards {
			t.Errorf("--shard=%q in %v: %d/%d, %v; want %d/%d", c.flag, c.env, shard, shards, err, c.shard, c.shards)
		}
	}
}

func slurm(id, count, first, step string) map[string]string {
	return map[string]string{
		"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_COUNT": count,
		"SLURM_ARRAY_TASK_MIN": first, "SLURM_ARRAY_TASK_STEP": step,
	}
}
