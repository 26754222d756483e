//go:build faults

package command

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data/files"
)

// The files for clusters at work: a Slurm of two nodes on this machine runs an
// array of four, one of whose tasks is killed half-way and queued again, then
// trains. The store has the records of a single run's.
func TestFaultsOfASlurmArray(t *testing.T) {
	slurm := startSlurm(t)
	scripts := must(filepath.Abs(clusterDir))(t)
	dir := t.TempDir()
	t.Cleanup(func() {
		if t.Failed() {
			tell(t, filepath.Join(dir, "*.log"))
		}
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	tuples := []string{"--models", "stl,snr2,mtrl", "--explore", "40"}
	problems := filepath.Join(at("problems"), "train.json")
	for _, args := range [][]string{
		{"problems", "sample", "--out", at("problems"), "--train", "16", "--test", "1", "--min-tasks", "2", "--max-tasks", "4", "--train-fraction", "0.03"},
		append([]string{"collect", "--problems", problems, "--out", at("single")}, tuples...),
	} {
		if code, _, stderr := l2mt(t, args...); code != exitDone {
			t.Fatalf("%v: %s", args, stderr)
		}
	}

	collect := slurm(dir, "sbatch", append([]string{"--parsable", "--array=0-3", filepath.Join(scripts, "collect.sbatch"), problems, at("experience")}, tuples...)...)
	train := slurm(dir, "sbatch", "--parsable", "--dependency=afterok:"+collect, filepath.Join(scripts, "train.sbatch"), at("experience"), at("network"), "--set", "train.epochs=2")
	kill(t, at("experience"), 2, 4)
	slurm(dir, "scontrol", "requeue", collect+"_2")
	finished(t, func() bool { return slurm(dir, "squeue", "--noheader") == "" })

	if job := slurm(dir, "scontrol", "show", "job", "--oneliner", collect+"_2"); !strings.Contains(job, " Restarts=1 ") || !strings.Contains(job, "JobState=COMPLETED") {
		t.Errorf("the task that was killed: %s", job)
	}
	if job := slurm(dir, "scontrol", "show", "job", "--oneliner", train); !strings.Contains(job, "JobState=COMPLETED") {
		t.Fatalf("training: %s", job)
	}
	log, err := os.ReadFile(at("l2mt-collect-" + collect + "-2.log"))
	if err != nil || !regexp.MustCompile(`made, 0 of them failed; [1-9]\d* were there before`).Match(log) {
		t.Errorf("the second run of the task that was killed says (%v)\n%s", err, log)
	}
	if listed(t, at("single")) != listed(t, at("experience")) {
		t.Error("the records are others than those of a single run")
	}
	if _, err := run.LoadNetwork(at("network")); err != nil {
		t.Error(err)
	}
}

// startSlurm starts a cluster on this machine, which ends with the test, and
// returns what runs its commands in a directory.
func startSlurm(t *testing.T) func(dir, name string, args ...string) string {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, program := range []string{"bash", "munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v: install Debian's slurm-wlm and munge", err)
		}
	}
	// A socket's path may have a hundred bytes, fewer than the test's directory.
	dir := must(os.MkdirTemp("", "slurm"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	here := func(args ...string) {
		t.Helper()
		log, err := os.Create(filepath.Join(dir, "here.log")) // daemons would hold up a pipe
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		c := exec.Command("bash", append([]string{filepath.Join(clusterDir, "slurm-here.sh")}, args...)...)
		c.Stdout, c.Stderr = log, log
		if err := c.Run(); err != nil {
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("slurm-here.sh %v: %v\n%s", args, err, said)
		}
	}
	t.Cleanup(func() {
		here("stop", dir)
		if t.Failed() {
			tell(t, filepath.Join(dir, "slurmctld.log"))
		}
	})
	here("start", dir, strconv.Itoa(freePorts(t, 3)))
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	return func(dir, name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
}

// tell logs the files of a pattern.
func tell(t *testing.T, pattern string) {
	t.Helper()
	logs, _ := filepath.Glob(pattern)
	for _, log := range logs {
		text, err := os.ReadFile(log)
		t.Logf("%s: %v\n%s", filepath.Base(log), err, text)
	}
}

// freePorts finds n ports in a row that nobody uses, and returns the first.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	var err error
	for range 20 {
		var first net.Listener
		if first, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			break
		}
		port := first.Addr().(*net.TCPAddr).Port
		first.Close()
		free := 0
		for ; free < n; free++ {
			var l net.Listener
			if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+free)); err != nil {
				break
			}
			l.Close()
		}
		if free == n {
			return port
		}
	}
	t.Fatal(err)
	return 0
}

// kill ends, with SIGKILL, the l2mt that works on a shard of a store, as soon as
// it has recorded something. Its batch script is stopped before, so that it
// cannot report a failure: the task is as one of a node that died.
func kill(t *testing.T, store string, shard, shards int) {
	t.Helper()
	file := filepath.Join(store, fmt.Sprintf("shard-%d-of-%d.jsonl", shard, shards))
	finished(t, func() bool {
		text, _ := os.ReadFile(file)
		return bytes.Count(text, []byte("\n")) > 5
	})
	processes := must(filepath.Glob("/proc/[0-9]*"))(t)
	for _, dir := range processes {
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if !bytes.Contains(environ, fmt.Appendf(nil, "\x00SLURM_ARRAY_TASK_ID=%d\x00", shard)) || !bytes.HasPrefix(command, []byte("l2mt\x00collect\x00")) || !bytes.Contains(command, []byte("\x00"+store+"\x00")) {
			continue
		}
		stat := must(os.ReadFile(filepath.Join(dir, "stat")))(t)
		var pid, parent int
		var state string
		if _, err := fmt.Sscanf(string(stat), "%d (l2mt) %s %d", &pid, &state, &parent); err != nil {
			t.Fatalf("%s: %v", stat, err)
		}
		if err := errors.Join(syscall.Kill(parent, syscall.SIGSTOP), syscall.Kill(pid, syscall.SIGKILL)); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("nobody works on %s", file)
}

// finished waits until done says so.
func finished(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it takes more than a minute")
		}
	}
}

func sum(t testing.TB, path string) string {
	t.Helper()
	return must(files.SHA256(path))(t)
}
