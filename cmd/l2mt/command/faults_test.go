package command

// What happens to long work on real machines is done to every command that
// records something, with the binary itself: processes are killed and
// terminated, disks fill up, directories become read-only, files are cut short or
// replaced. Nothing recorded may be lost, nothing torn read as good, and in the
// end everything must be as if nothing had happened. The table in the README is
// printed by
//
//	go test ./cmd/l2mt/command -run TestFaults -v

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
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

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
	{"clock set back", (*victim).clockSetBack},
	{"system calls interrupted by signals", (*victim).interrupted},
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
seeds = [1]
problems = {train = 4, test = 2, min_tasks = 2, max_tasks = 2, train_fraction = 0.03}
experience = {models = ["stl", "snr2"], explore = 2}
train = {epochs = 2}
compare = {models = ["snr2", "rmtl"], refit = true}
[[vary]]
setting = "model.hidden"
values = [4, 8]
`), 0o644); err != nil {
		t.Fatal(err)
	}
	reachable(t, experiment) // and so is everything else
	return []command{
		{"collect", func(dir string) []string {
			return []string{"collect", "--problems", problems, "--out", filepath.Join(dir, "e"), "--models", "rmtl,snr2,ssnr2", "--draws", "4", "--explore", "24", "--workers", "2"}
		}, func(t *testing.T, dir string) map[string]string {
			merged := filepath.Join(t.TempDir(), "merged")
			mustL2mt(t, "experience", "merge", filepath.Join(dir, "e"), "--out", merged)
			return filesIn(t, merged)
		}},
		{"train", func(dir string) []string {
			return []string{"train", "--experience", experience, "--out", filepath.Join(dir, "n"), "--epochs", "12", "--set", "model.hidden=8"}
		}, func(t *testing.T, dir string) map[string]string {
			return without(filesIn(t, filepath.Join(dir, "n")), ".lock")
		}},
		{"eval", func(dir string) []string {
			return []string{"eval", "--network", network, "--problems", test, "--baselines", "snr1,snr2,mtrl,cmtl,rmtl", "--refit", "--out", filepath.Join(dir, "v"), "--workers", "2"}
		}, func(t *testing.T, dir string) map[string]string {
			return without(filesIn(t, filepath.Join(dir, "v")), "outcomes.jsonl", run.SecondsFile) // they have times
		}},
		{"sweep", func(dir string) []string {
			return []string{"sweep", experiment, "--store", filepath.Join(dir, "store"), "--out", filepath.Join(dir, "out")}
		}, func(t *testing.T, dir string) map[string]string {
			return without(filesIn(t, filepath.Join(dir, "out")), "sweep.json", "summary.csv") // they have times
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
	if testing.Short() {
		t.Skip("a hundred runs of the binary, which is no quicker for the race detector")
	}
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
		if err != nil || entry.IsDir() || strings.HasPrefix(name, ".") || strings.Contains(name, ".tmp-") || strings.HasSuffix(name, ".tsv") {
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

func (v *victim) killed() (kills int) {
	const longEnough = 2 * time.Second
	least, most := 4, 25
	if v.name == "collect" { // what it records takes longest to make
		least, most = 50, 50
	}
	begin, dir := time.Now(), v.t.TempDir()
	for kills < most && (kills < least || time.Since(begin) < longEnough) {
		before := records(v.t, dir)
		p := v.start(dir)
		v.strike(p, dir, func() { _ = p.Process.Kill() }) // it may have ended
		v.keeps(dir, before)
		switch code := p.ProcessState.ExitCode(); code {
		case -1:
			kills++
		case exitDone: // too fast
			dir = v.t.TempDir()
		default:
			v.t.Fatalf("kill %d: exit code %d\n%s", kills, code, &p.stderr)
		}
	}
	v.finish(dir)
	return kills
}

func (v *victim) terminated() int {
	for {
		dir := v.t.TempDir()
		p := v.start(dir)
		v.strike(p, dir, func() { _ = p.Process.Signal(syscall.SIGTERM) }) // it may have ended
		switch code := p.ProcessState.ExitCode(); code {
		case exitInterrupted:
			v.finish(dir)
			return 1
		case exitDone: // too fast
		case -1: // before it listens to signals
		default:
			v.t.Fatalf("exit code %d\n%s", code, &p.stderr)
		}
	}
}

// limited takes away the right to write from a process at work.
func (v *victim) limited() int {
	for {
		dir := v.t.TempDir()
		p := v.start(dir)
		var before map[string]bool
		v.strike(p, dir, func() {
			_ = unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{}, nil) // it may have ended
			before = records(v.t, dir)
		})
		if p.ProcessState.ExitCode() == exitDone { // too fast
			continue
		}
		v.fails(p, "file too large", dir)
		v.keeps(dir, before)
		v.finish(dir)
		return 1
	}
}

func (v *victim) fullDisk() int {
	dir := v.t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		v.t.Skipf("no file system can be mounted: %v", err)
	}
	v.t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			v.t.Error(err)
		}
	})
	if err := os.CopyFS(dir, os.DirFS(v.half)); err != nil {
		v.t.Fatal(err)
	}
	before, filler := records(v.t, dir), filepath.Join(dir, ".filler")
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		v.t.Fatal(err)
	}
	const left = 2 // blocks
	if err := os.WriteFile(filler, make([]byte, (int64(disk.Bavail)-left)*disk.Bsize), 0o644); err != nil {
		v.t.Fatal(err)
	}
	v.fails(v.start(dir), "no space left on device", dir)
	v.keeps(dir, before)
	if err := os.Remove(filler); err != nil {
		v.t.Fatal(err)
	}
	v.finish(dir)
	return 1
}

// readOnly needs a user whom permissions stop.
func (v *victim) readOnly() int {
	dir := v.copyOfHalf()
	before := records(v.t, dir)
	writable := func(yes bool) {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			mode := fs.FileMode(0o444)
			if entry.IsDir() {
				mode |= 0o111
			}
			if yes {
				mode |= 0o200
			}
			return os.Chmod(path, mode)
		})
		if err != nil {
			v.t.Fatal(err)
		}
	}
	writable(false)
	defer writable(true)
	var as *syscall.SysProcAttr
	if os.Geteuid() == 0 {
		const nobody = 65534
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		binary, err := exec.LookPath("l2mt")
		if err != nil {
			v.t.Fatal(err)
		}
		reachable(v.t, dir)
		reachable(v.t, binary)
	}
	p := newProcess(v.args(dir)...)
	p.SysProcAttr = as
	if err := p.begin(v.t); errors.Is(err, fs.ErrPermission) {
		v.t.Skipf("the command cannot be run as another user: %v", err)
	} else if err != nil {
		v.t.Fatal(err)
	}
	v.fails(p, "permission denied", dir)
	v.keeps(dir, before)
	writable(true)
	v.finish(dir)
	return 1
}

// reachable lets everybody pass through the temporary directories above a path.
func reachable(t *testing.T, path string) {
	t.Helper()
	for up := filepath.Dir(path); up != filepath.Clean(os.TempDir()) && up != filepath.Dir(up); up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// everyFile does something to one file after the other of a run that was
// stopped. The command must fail and name the file, or do without it and end
// well. A file that was refused is put back.
func (v *victim) everyFile(do func(path string) error) (tries int) {
	dir := v.copyOfHalf()
	var names []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		v.t.Fatal(err)
	}
	const most = 6 // a sweep has more
	v.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:min(most, len(names))] {
		path := filepath.Join(dir, name)
		raw, err := os.ReadFile(path)
		if err := errors.Join(err, do(path)); err != nil {
			v.t.Fatal(err)
		}
		tries++
		p := v.start(dir)
		if p.wait() == exitDone {
			if d := cmp.Diff(v.want, v.results(v.t, dir)); d != "" {
				v.lost++
				v.t.Errorf("%s: the results have changed: %.2000s", name, d)
			}
			dir = v.copyOfHalf()
			continue
		}
		v.fails(p, filepath.Base(name))
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, raw, 0o644)); err != nil {
			v.t.Fatal(err)
		}
	}
	v.finish(dir)
	return tries
}

func (v *victim) replaced() int {
	return v.everyFile(func(path string) error {
		return errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
	})
}

func (v *victim) cutShort() int {
	return v.everyFile(func(path string) error {
		info, err := os.Stat(path)
		if err != nil || info.Size() == 0 {
			return err
		}
		return os.Truncate(path, v.random.Int64N(info.Size()))
	})
}

// clockSetBack makes files come from the future, which is all that a command
// could see of it: durations are those of the monotonic clock.
func (v *victim) clockSetBack() int {
	dir := v.copyOfHalf()
	future := time.Now().AddDate(10, 0, 0)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, future, future))
	})
	if err != nil {
		v.t.Fatal(err)
	}
	v.finish(dir)
	return 1
}

// interrupted sends signals that a program ignores, some thousands a second,
// while system calls are under way.
func (v *victim) interrupted() int {
	dir := v.t.TempDir()
	p := v.start(dir)
	for i := 0; ; i++ {
		select {
		case <-p.ended:
			if code := p.ProcessState.ExitCode(); code != exitDone {
				v.t.Errorf("exit code %d after %d signals\n%s", code, i, &p.stderr)
			}
			v.finish(dir)
			return 1
		case <-time.After(100 * time.Microsecond):
			signals := []os.Signal{syscall.SIGURG, syscall.SIGWINCH, syscall.SIGCHLD, syscall.SIGCONT}
			_ = p.Process.Signal(signals[i%len(signals)]) // it may have ended
		}
	}
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
