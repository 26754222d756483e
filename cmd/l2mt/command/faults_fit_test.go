//go:build faults

package command

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"l2mt/data"
	"l2mt/data/datatest"
)

// replacement is a fit over an older model, which something happens to.
type replacement struct {
	t        *testing.T
	old      string // the directory of the older model
	args     []string
	table    string
	wanted   [2]string // what the older model and the new one predict
	shown    [2]string
	out      string
	oldLeft  int
	newThere int
}

func newReplacement(t *testing.T) *replacement {
	t.Helper()
	r := &replacement{t: t, table: pupils(t, 1), old: t.TempDir(), out: filepath.Join(t.TempDir(), "model")}
	mustL2mt(t, fitPupils(r.table, "pooled", r.old)...)
	fresh := t.TempDir()
	table := pupils(t, 5)
	mustL2mt(t, fitPupils(table, "stl", fresh)...)
	r.args = fitPupils(table, "stl", r.out)
	for i, dir := range []string{r.old, fresh} {
		r.wanted[i] = mustL2mt(t, "-q", "predict", r.table, "--model", dir)
		r.shown[i] = mustL2mt(t, "show", dir)
	}
	return r
}

// begin puts the older model back, does what is to happen before, and starts a fit over it.
func (r *replacement) begin(before func()) *process {
	r.t.Helper()
	datatest.Check(r.t, os.RemoveAll(r.out))
	datatest.Check(r.t, os.CopyFS(r.out, os.DirFS(r.old)))
	before()
	p := newProcess(r.args...)
	datatest.Check(r.t, p.begin(r.t))
	return p
}

// whole checks that either model is there, with its page, and counts which.
func (r *replacement) whole(what string) {
	r.t.Helper()
	got := mustL2mt(r.t, "-q", "predict", r.table, "--model", r.out)
	i := slices.Index(r.wanted[:], got)
	if i < 0 {
		r.t.Fatalf("%s: neither model predicts %.200q", what, got)
	}
	datatest.Equal(r.t, mustL2mt(r.t, "show", r.out), r.shown[i], "%s: show", what)
	if (r.oldLeft+r.newThere)%5 == 0 { // a page takes time
		mustL2mt(r.t, "report", r.out)
	}
	if i == 0 {
		r.oldLeft++
	} else {
		r.newThere++
	}
}

// finish fits again and looks for what the fits before have left.
func (r *replacement) finish() {
	r.t.Helper()
	mustL2mt(r.t, r.args...)
	r.whole("at the end")
	for _, e := range datatest.Must(os.ReadDir(r.out))(r.t) {
		if name := e.Name(); strings.HasPrefix(name, ".") && name != ".lock" {
			r.t.Errorf("%s is left", name)
		}
	}
}

// A fit is killed at 200 moments: half of them after so long, half as soon as it writes.
func TestFaultsOfFitKilled(t *testing.T) {
	t.Parallel()
	r := newReplacement(t)
	begin := time.Now()
	r.begin(func() {}).wait()
	span := time.Since(begin)
	random := data.Stream(1, "killed fits")
	for i := range 200 {
		p := r.begin(func() {})
		if i%2 == 0 {
			time.Sleep(span * time.Duration(i) / 200)
		} else {
			r.awaitWriting(p, random)
		}
		_ = p.Process.Kill() // it may have ended
		p.wait()
		r.whole("killed")
	}
	datatest.Holds(t, r.oldLeft >= 20 && r.newThere >= 20,
		"%d old models and %d new ones: the moments are not spread", r.oldLeft, r.newThere)
	t.Logf("200 kills left %d old models and %d new ones", r.oldLeft, r.newThere)
	r.finish()
}

// awaitWriting waits until the fit has begun to write, and a moment. How long writing takes is the
// disk's affair: moments are of 4 ms up to 64 ms.
func (r *replacement) awaitWriting(p *process, random *rand.Rand) {
	for {
		found, _ := filepath.Glob(filepath.Join(r.out, ".[nr]*")) // the pattern is a good one
		if found != nil {
			time.Sleep(time.Duration(random.IntN(4000<<random.IntN(5))) * time.Microsecond)
			return
		}
		select {
		case <-p.ended:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// until fits under more and more room, from none on, until the new model is there. A fit that has
// too little fails, says so, and leaves the older model.
func (r *replacement) until(says string, start func(room int64) *process) {
	r.t.Helper()
	for room := int64(0); r.newThere == 0; room++ {
		p := start(room)
		code := p.wait()
		_ = os.Remove(filepath.Join(filepath.Dir(r.out), ".filler")) // the page needs room
		r.whole(says)
		datatest.Need(r.t, (code == exitDone) == (r.newThere == 1),
			"exit code %d with %d new models: %s", code, r.newThere, &p.stderr)
		datatest.Holds(r.t, code != exitFailed || regexp.MustCompile(says).Match(p.stderr.Bytes()),
			"with room %d it says %s", room, &p.stderr)
	}
	r.t.Logf("%s: %d times the old model is left", says, r.oldLeft)
	r.finish()
}

// No file may be longer than a limit, up to the longest file of the model.
func TestFaultsOfFitThatMayNotWrite(t *testing.T) {
	t.Parallel()
	const step = 150
	r := newReplacement(t)
	r.until("^l2mt: .*file too large\n$", func(room int64) *process {
		limit := step * uint64(room)
		p := r.begin(func() {})
		datatest.Check(t, unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}, nil))
		return p
	})
}

// The disk has room for so many blocks more, until there are enough.
func TestFaultsOfFitOnAFullDisk(t *testing.T) {
	t.Parallel()
	r := newReplacement(t)
	disk := t.TempDir()
	mount(t, disk, "size=1m")
	r.out = filepath.Join(disk, "model")
	r.args[len(r.args)-1] = r.out
	r.until("no space left on device", func(room int64) *process {
		return r.begin(func() { fillDisk(t, disk, room) })
	})
}
