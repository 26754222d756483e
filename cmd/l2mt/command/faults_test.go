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
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/safetensors"
)

// faultTable has what happens to a command, and returns how often.
var faultTable = []struct {
	name string
	do   func(v *victim) (tries int)
}{
	{"killed (kill -9)", func(v *victim) int {
		hits := 10
		if v.name == "collect" { // what it records takes longest to make
			hits = 50
		}
		return v.struck(hits, -1, func(p *process) error { return p.Process.Kill() })
	}},
	{"terminated (SIGTERM)", func(v *victim) int {
		return v.struck(1, exitInterrupted, func(p *process) error { return p.Process.Signal(syscall.SIGTERM) })
	}},
	{"no more may be written (RLIMIT_FSIZE)", func(v *victim) int {
		return v.struck(1, exitFailed, func(p *process) error {
			return unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{}, nil)
		}, "file too large")
	}},
	{"disk full (a small tmpfs)", (*victim).fullDisk},
	{"directory read-only", (*victim).readOnly},
	{"a file replaced by a directory", func(v *victim) int {
		return v.everyFile(func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) })
	}},
	{"a file cut short", func(v *victim) int {
		return v.everyFile(func(path string) error {
			info, err := os.Stat(path)
			if err != nil || info.Size() == 0 {
				return err
			}
			return os.Truncate(path, v.random.Int64N(info.Size()))
		})
	}},
	{"two processes at once", (*victim).twice},
}

func TestFaults(t *testing.T) {
	t.Parallel()
	dir := tinyStudy(t)
	experiment := write(t, "tiny.toml", `
flags = [
  "problems --train 4 --test 2 --min-tasks 2 --max-tasks 2 --train-fraction 0.03 --validation-fraction 0.03",
  "collect --models stl,snr2 --explore 2",
  "train --train.epochs=2 --train.start=preset",
  "eval --models snr2,rmtl",
]
[vary]
flag = "train --model.hidden="
values = [4, 8]
`)
	reachable(t, experiment) // and so is everything else
	problems := t.TempDir()
	mustL2mt(t, "problems", "sample", "--out", problems, "--train", "4", "--test", "1", "--seed", "4",
		"--min-tasks", "2", "--max-tasks", "4", "--train-fraction", "0.04", "--validation-fraction", "0.1", "--prepare", "unit")
	victims := []*victim{
		{name: "collect", args: []string{"--problems", filepath.Join(problems, "train.json"), "--models", "rmtl,snr2,ssnr2", "--draws", "4", "--explore", "24", "--workers", "2"}},
		{name: "train", args: []string{"--experience", filepath.Join(dir, "e"), "--train.epochs=12", "--model.hidden=8"}},
		{name: "eval", args: []string{"--network", filepath.Join(dir, "n"), "--problems", filepath.Join(dir, "p", "test.json"), "--models", "snr1,snr2,mtrl,cmtl,rmtl", "--workers", "2"}},
		{name: "sweep", args: []string{experiment}},
	}
	tries, recorded, lost := map[string]int{}, map[string]int{}, map[string]int{}
	var count sync.Mutex
	t.Run("side by side", func(t *testing.T) {
		for _, v := range victims {
			t.Run(v.name, func(t *testing.T) {
				t.Parallel()
				v.prepare(t)
				for _, f := range faultTable {
					t.Run(f.name, func(t *testing.T) {
						v.t, v.recorded, v.lost = t, 0, 0
						n := f.do(v)
						count.Lock()
						defer count.Unlock()
						tries[f.name+v.name] = n
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
		for _, v := range victims {
			table += fmt.Sprintf(" %d |", tries[f.name+v.name])
		}
		table += fmt.Sprintf(" %d | %d |\n", recorded[f.name], lost[f.name])
	}
	t.Log("\n" + table)
}

// victim is a command that faults happen to.
type victim struct {
	name   string
	args   []string // without --out
	t      *testing.T
	random *rand.Rand
	want   map[string]string // the results of an undisturbed run
	all    int               // what such a run records
	half   string            // the directory of a run that was stopped halfway

	recorded, lost int // by the fault at hand
}

// prepare makes an undisturbed run, and one that is stopped halfway.
func (v *victim) prepare(t *testing.T) {
	v.t, v.random = t, data.Stream(1, "faults "+v.name)
	dir := t.TempDir()
	mustL2mt(t, v.command(dir)...)
	v.want, v.all = v.results(dir), len(records(t, dir))
	for share := 2; v.half == ""; share++ {
		dir := t.TempDir()
		p := v.start(dir)
		v.await(p, dir, v.all/share)
		_ = p.Process.Signal(syscall.SIGTERM) // it may have ended
		if p.wait() == exitInterrupted {
			v.half = dir
		} else if share > 20 {
			t.Fatalf("%s is too fast to be stopped: %s", v.name, &p.stderr)
		}
	}
}

func (v *victim) command(dir string) []string {
	return append([]string{v.name, "--out", filepath.Join(dir, "out")}, v.args...)
}

// results are what must not depend on what happened: the files with neither times nor passing
// names, and the tuples of a store without their seconds.
func (v *victim) results(dir string) map[string]string {
	v.t.Helper()
	out := filepath.Join(dir, "out")
	if v.name == "collect" {
		tuples := mustL2mt(v.t, "--json", "experience", "check", out)
		return map[string]string{"tuples": regexp.MustCompile(`\s*"seconds":[^,]*,`).ReplaceAllString(tuples, "")}
	}
	found := map[string]string{}
	for _, e := range datatest.Must(os.ReadDir(out))(v.t) {
		if name := e.Name(); !e.IsDir() && !strings.HasPrefix(name, ".") && name != secondsFile && name != "outcomes.jsonl" {
			found[name] = string(datatest.Must(os.ReadFile(filepath.Join(out, name)))(v.t))
		}
	}
	return found
}

// records lists everything in a directory that must not get lost: whole lines of
// files that grow or that have a line an epoch, and files that are written at once. None
// of these may be torn.
func records(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if errors.Is(err, fs.ErrNotExist) { // a file with a passing name
			return nil
		}
		if err != nil || entry.IsDir() || strings.HasPrefix(name, ".") || strings.Contains(name, ".tmp-") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		key := strings.TrimPrefix(path, dir)
		torn := len(raw) == 0 && filepath.Ext(name) != ".jsonl"
		switch filepath.Ext(name) {
		case ".jsonl":
			for line := range bytes.Lines(raw) {
				if bytes.HasSuffix(line, []byte("\n")) { // the last one may be under way
					found[key+": "+string(line)] = true
					torn = torn || !json.Valid(line)
				}
			}
		case ".json":
			torn = !json.Valid(raw)
		case ".safetensors":
			_, _, err := safetensors.Decode(raw)
			torn = err != nil
		}
		datatest.Holds(t, !torn, "%s is torn: %.200q", key, raw)
		found[key] = true
		return nil
	})
	datatest.Check(t, err)
	return found
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

// same checks the results of a command that ended well.
func (v *victim) same(dir string) {
	v.t.Helper()
	if d := cmp.Diff(v.want, v.results(dir)); d != "" {
		v.lost++
		v.t.Errorf("the results have changed: %.2000s", d)
	}
}

// finish runs the command to its end, which must be as if nothing had happened.
func (v *victim) finish(dir string) {
	v.t.Helper()
	before := records(v.t, dir)
	p := v.start(dir)
	if code := p.wait(); code != exitDone {
		v.lost++
		v.t.Fatalf("the command does not go on: exit code %d\n%s", code, &p.stderr)
	}
	v.keeps(dir, before)
	v.same(dir)
}

// fails waits for the end of a command, which must fail and say these words.
func (v *victim) fails(p *process, says ...string) {
	v.t.Helper()
	code := p.wait()
	for _, s := range says {
		if code != exitFailed || !strings.Contains(p.stderr.String(), s) {
			v.t.Errorf("exit code %d, want %d, and stderr is to say %q:\n%s", code, exitFailed, s, &p.stderr)
		}
	}
}

// struck does something to the command at random moments until it has ended with a code so
// often, and lets it go on to its end. One that fails must say these words, and where.
func (v *victim) struck(hits, code int, do func(p *process) error, says ...string) int {
	dir := v.t.TempDir()
	for n := 0; n < hits; {
		p := v.start(dir)
		v.await(p, dir, len(records(v.t, dir))+v.random.IntN(1+v.all/8))
		time.Sleep(time.Duration(v.random.IntN(3000)) * time.Microsecond)
		before := records(v.t, dir)
		_ = do(p) // it may have ended
		got := p.wait()
		v.keeps(dir, before)
		switch got {
		case code:
			n++
			if code == exitFailed {
				v.fails(p, append(says, dir)...)
			}
		case exitDone: // too fast
			dir = v.t.TempDir()
		case -1: // before it listens to signals
		default:
			v.t.Fatalf("exit code %d\n%s", got, &p.stderr)
		}
	}
	v.finish(dir)
	return hits
}

// copyOfHalf is a copy of a directory in which the command was stopped.
func (v *victim) copyOfHalf() string {
	v.t.Helper()
	dir := filepath.Join(v.t.TempDir(), "half")
	datatest.Check(v.t, os.CopyFS(dir, os.DirFS(v.half)))
	return dir
}

// mount makes a small file system, which ends with the test, at a directory.
func mount(t *testing.T, dir, size string) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, size); err != nil {
		t.Skipf("no file system can be mounted: %v", err)
	}
	t.Cleanup(func() { datatest.Check(t, unix.Unmount(dir, 0)) })
}

// fillDisk leaves so many blocks of a file system, and returns the file that takes the others.
func fillDisk(t *testing.T, dir string, blocks int64) (filler string) {
	t.Helper()
	var disk unix.Statfs_t
	datatest.Check(t, unix.Statfs(dir, &disk))
	filler = filepath.Join(dir, ".filler")
	datatest.Check(t, os.WriteFile(filler, make([]byte, (int64(disk.Bavail)-blocks)*disk.Bsize), 0o644))
	return filler
}

func (v *victim) fullDisk() int {
	dir := v.t.TempDir()
	mount(v.t, dir, "size=4m")
	datatest.Check(v.t, os.CopyFS(dir, os.DirFS(v.half)))
	before, filler := records(v.t, dir), fillDisk(v.t, dir, 2)
	v.fails(v.start(dir), "no space left on device", dir)
	v.keeps(dir, before)
	datatest.Check(v.t, os.Remove(filler))
	v.finish(dir)
	return 1
}

// readOnly needs a user whom permissions stop.
func (v *victim) readOnly() int {
	dir := v.copyOfHalf()
	before := records(v.t, dir)
	chmod := func(change string) {
		if out, err := exec.Command("chmod", "-R", change, dir).CombinedOutput(); err != nil {
			v.t.Fatalf("%v: %s", err, out)
		}
	}
	chmod("a+rX,a-w")
	defer chmod("u+w")
	p := newProcess(v.command(dir)...)
	if os.Geteuid() == 0 {
		const nobody = 65534
		p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		reachable(v.t, dir)
		reachable(v.t, datatest.Must(exec.LookPath("l2mt"))(v.t))
	}
	if err := p.begin(v.t); errors.Is(err, fs.ErrPermission) {
		v.t.Skipf("the command cannot be run as another user: %v", err)
	} else if err != nil {
		v.t.Fatal(err)
	}
	v.fails(p, "permission denied", dir)
	v.keeps(dir, before)
	chmod("u+w")
	v.finish(dir)
	return 1
}

// reachable lets everybody pass through the temporary directories above a path.
func reachable(t *testing.T, path string) {
	t.Helper()
	for up := filepath.Dir(path); up != filepath.Clean(os.TempDir()) && up != filepath.Dir(up); up = filepath.Dir(up) {
		datatest.Check(t, os.Chmod(up, 0o755))
	}
}

// everyFile does something to one file after the other of a run that was
// stopped. The command must fail and name the file, or do without it and end
// well. A file that was refused is put back.
func (v *victim) everyFile(do func(path string) error) (tries int) {
	dir := v.copyOfHalf()
	names := slices.Sorted(maps.Keys(records(v.t, dir)))
	names = slices.DeleteFunc(names, func(key string) bool { return strings.Contains(key, ": ") }) // a line

	const most = 6 // a sweep has more
	v.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:min(most, len(names))] {
		path := filepath.Join(dir, name)
		raw, err := os.ReadFile(path)
		datatest.Check(v.t, errors.Join(err, do(path)))
		tries++
		p := v.start(dir)
		if p.wait() == exitDone {
			v.same(dir)
			dir = v.copyOfHalf()
			continue
		}
		v.fails(p, filepath.Base(name))
		datatest.Check(v.t, errors.Join(os.RemoveAll(path), os.WriteFile(path, raw, 0o644)))
	}
	v.finish(dir)
	return tries
}

// twice starts the command again while the first process is stopped halfway: the
// second one says so, or does the rest.
func (v *victim) twice() int {
	dir := v.copyOfHalf()
	before := records(v.t, dir)
	first := v.start(dir)
	v.await(first, dir, len(before)+1)
	_ = first.Process.Signal(syscall.SIGSTOP) // it may have ended
	second := v.start(dir)
	if code := second.wait(); code != exitDone {
		v.fails(second, "another process is")
	}
	_ = first.Process.Signal(syscall.SIGCONT) // it may have ended
	if code := first.wait(); code != exitDone {
		v.t.Errorf("the first process: exit code %d\n%s", code, &first.stderr)
	}
	v.keeps(dir, before)
	v.finish(dir)
	return 1
}

// process is the command at work.
type process struct {
	*exec.Cmd
	ended  chan struct{}
	stderr bytes.Buffer // to be read when it has ended
}

func newProcess(args ...string) *process {
	p := &process{Cmd: exec.Command("l2mt", args...), ended: make(chan struct{})}
	p.Stderr = &p.stderr
	return p
}

// begin starts the command, which ends with the test at the latest.
func (p *process) begin(t *testing.T) error {
	if err := p.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.Wait() // ProcessState has it all
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill() // it may have ended
		<-p.ended
	})
	return nil
}

// start starts the command as a process.
func (v *victim) start(dir string) *process {
	v.t.Helper()
	p := newProcess(v.command(dir)...)
	datatest.Check(v.t, p.begin(v.t))
	return p
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

// wait waits for the end and returns the exit code, -1 for death by a signal.
func (p *process) wait() int {
	<-p.ended
	return p.ProcessState.ExitCode()
}
