//go:build faults

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
)

const shard = "shard-0-of-1.jsonl"

// tuplesAProblem is what collections make of every problem: single-task
// learning, three models and explorations.
const tuplesAProblem = 1 + 3*4 + 24

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

func TestFaultsOfCollectInterrupted(t *testing.T) {
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

func TestFaultsOfCollectorsSideBySide(t *testing.T) {
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
