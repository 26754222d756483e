//go:build faults

package command

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"
)

// process is the command at work.
type process struct {
	*exec.Cmd
	ended  chan struct{}
	stderr bytes.Buffer // to be read when it has ended
}

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
