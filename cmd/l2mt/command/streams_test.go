package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/files"
	"l2mt/model/saved"
)

// fifo makes one, or skips where there are none.
func fifo(t *testing.T, name string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip(err)
	}
	return path
}

// A first signal ends the context, and with it a command for whose table nobody comes.
func TestACommandThatWaitsInAFifoCanBeInterrupted(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m")
	mustL2mt(t, fitPupils(pupils(t, 1), "stl", model)...)
	path, temporary := fifo(t, "fifo.csv"), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for _, args := range [][]string{
		{"fit", path},
		{"predict", path, "--model", model},
		{"data", "info", path},
		{"data", "import", path, "--out", filepath.Join(t.TempDir(), "x.npz")},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var stdout, stderr bytes.Buffer
		code := make(chan int)
		go func() { code <- Run(ctx, args, &stdout, &stderr) }()
		time.Sleep(50 * time.Millisecond)
		cancel()
		select {
		case got := <-code:
			datatest.Holds(t, got == exitInterrupted && strings.HasSuffix(stderr.String(), "l2mt: interrupted\n"),
				"%v ends with %d and says %q", args, got, &stderr)
		case <-time.After(20 * time.Second):
			t.Fatalf("%v does not end", args)
		}
	}
	left := datatest.Must(os.ReadDir(temporary))(t)
	datatest.Holds(t, len(left) == 0, "it leaves %v", left)
}

// pupils is a table of three schools, whose targets follow two columns.
func pupils(t testing.TB, slope float64) (path string) {
	t.Helper()
	var text strings.Builder
	text.WriteString("school,x,z,y\n")
	random := data.Stream(1, "pupils")
	for i := range 24 {
		x, z := random.NormFloat64(), random.NormFloat64()
		fmt.Fprintf(&text, "%c,%.4f,%.4f,%.4f\n", "abc"[i%3], x, z, x+slope*z+0.1*random.NormFloat64())
	}
	path = filepath.Join(t.TempDir(), "pupils.csv")
	datatest.Check(t, os.WriteFile(path, []byte(text.String()), 0o644))
	return path
}

// fitPupils is the command line that fits them.
func fitPupils(table, model, out string) []string {
	return []string{"-q", "fit", table, "--task", "school", "--target", "y", "--model", model, "--out", out}
}

// refused checks that a command fails, prints nothing and says why.
func refused(t *testing.T, says string, args ...string) {
	t.Helper()
	code, stdout, stderr := l2mt(t, args...)
	datatest.Holds(t, code == exitFailed && stdout == "" && strings.Contains(stderr, says) && strings.Count(stderr, "\n") == 1,
		"%v: exit code %d, stdout %q, stderr %q; want %q", args, code, stdout, stderr, says)
}

func TestTheFilesOfAModelBelongTogether(t *testing.T) {
	table := pupils(t, 1)
	one, two := t.TempDir(), t.TempDir()
	mustL2mt(t, fitPupils(table, "pooled", one)...)
	mustL2mt(t, fitPupils(pupils(t, 5), "pooled", two)...)
	for _, names := range [][]string{
		{saved.ReportFile},
		{saved.File, saved.WeightsFile},
		{"stl/" + saved.File, "stl/" + saved.WeightsFile},
	} {
		mixed := t.TempDir()
		datatest.Check(t, os.CopyFS(mixed, os.DirFS(one)))
		for _, name := range names {
			raw := datatest.Must(os.ReadFile(filepath.Join(two, name)))(t)
			datatest.Check(t, os.WriteFile(filepath.Join(mixed, name), raw, 0o644))
		}
		refused(t, "is of another fit", "show", mixed)
		refused(t, "is of another fit", "report", mixed)
		refused(t, "is of another fit", "predict", table, "--model", mixed)
	}
}

// A directory takes one fit at a time. What an older model had and the new one has not is gone.
func TestAModelTakesThePlaceOfAnOlderOne(t *testing.T) {
	table, out := pupils(t, 1), t.TempDir()
	folder := datatest.Must(files.Claim(out))(t)
	refused(t, "another process is writing it", fitPupils(table, "stl", out)...)
	datatest.Check(t, folder.Close())
	for _, c := range []struct {
		model, title string
		files        int
	}{{"pooled", "one model for all", 5}, {"stl", "every task on its own", 4}, {"pooled", "one model for all", 5}} {
		mustL2mt(t, fitPupils(table, c.model, out)...)
		entries := datatest.Must(os.ReadDir(out))(t)
		datatest.Holds(t, len(entries) == c.files, "after a fit of %s there are %v", c.model, entries)
		if shown := mustL2mt(t, "show", out); !strings.Contains(shown, "\nthe method: "+c.title+"\n") {
			t.Errorf("after a fit of %s: %s", c.model, shown)
		}
		mustL2mt(t, "-q", "predict", table, "--model", out)
	}
}

// timed keeps what was written, and when.
type timed struct {
	strings.Builder
	times []time.Time
}

func (w *timed) Write(p []byte) (int, error) {
	w.times = append(w.times, time.Now())
	return w.Builder.Write(p)
}

func TestLinesComeAtMostOncePerInterval(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rand := data.Stream(seed, "meter")
			every := time.Duration(1+rand.IntN(20)) * time.Second
			var w timed
			m := &meter{w: &w, now: time.Now, every: every}
			since := time.Now()
			m.Start("working", 500)
			for range 500 {
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
				m.Advance(1, "")
			}
			for i, at := range w.times {
				datatest.Need(t, at.Sub(since) >= every && at.Sub(since) <= every+time.Second,
					"seed %d: line %d comes %v after the one before, not every %v", seed, i, at.Sub(since), every)
				since = at
			}
			during := len(w.times)
			m.Finish()
			datatest.Holds(t, len(w.times) == during+1 && during >= 10,
				"seed %d: %d lines, %d of them at the end", seed, len(w.times), len(w.times)-during)
		})
	}
}

// A line says how far a stage has come, how fast it is and how long it will take, without
// carriage returns and escapes. Every stage counts from nothing.
func TestLinesOfAMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w strings.Builder
		m := newMeter(&w)
		m.Start("fitting", 400)
		time.Sleep(5 * time.Second)
		m.Advance(100, "2 failed")
		time.Sleep(5 * time.Second)
		m.Advance(100, "") // the last status stays
		time.Sleep(10*time.Second - 1)
		m.Advance(199, "3 failed")
		time.Sleep(time.Minute + 1)
		m.Advance(1, "")
		m.Advance(0, "all done")
		m.Finish()
		m.Start("second", 0)
		time.Sleep(time.Second / 2)
		m.Advance(1000, "")
		m.Finish()
		m.Start("third", 5)
		m.Finish() // before its end
		want := "fitting: 200/400, 10.0 s, 20/s, 10s left, 2 failed\n" +
			"fitting: 400/400, 80.0 s, 5/s, 3 failed\n" +
			"fitting: 400/400, 80.0 s, 5/s, all done\n" +
			"second: 1000, 0.5 s, 2000/s\n" +
			"third: 0/5, 0.0 s\n"
		datatest.Equal(t, w.String(), want, "the lines")
	})
}

// A long status would wrap a bar to two lines, which a terminal does not clear.
func TestBarIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w strings.Builder
		m := &meter{w: &w, now: time.Now, terminal: true}
		m.Start("measuring on rows held out", 2)
		for range 2 {
			time.Sleep(120 * time.Millisecond) // a bar is drawn ten times a second
			m.Advance(1, "a curve for every column, in common and for each task")
		}
		datatest.Holds(t, strings.Contains(w.String(), "rows held out") && !strings.Contains(w.String(), "curve"), "the bar is %q", w.String())
	})
}
