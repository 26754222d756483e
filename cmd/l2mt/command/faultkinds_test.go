//go:build faults

package command

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

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
