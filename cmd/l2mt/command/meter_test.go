package command

import (
	"strings"
	"testing"
	"time"

	"l2mt/data"
	"l2mt/data/datatest"
)

// record keeps what was written, and when.
type record struct {
	clock time.Time
	text  strings.Builder
	times []time.Time
}

func (r *record) Write(p []byte) (int, error) {
	r.times = append(r.times, r.clock)
	return r.text.Write(p)
}

func (r *record) sleep(d time.Duration) { r.clock = r.clock.Add(d) }

// newLines returns a meter with a clock of its own, and what it writes.
func newLines(every time.Duration) (*meter, *record) {
	r := &record{clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	return &meter{w: r, now: func() time.Time { return r.clock }, every: every}, r
}

func TestLinesComeAtMostOncePerInterval(t *testing.T) {
	for seed := range uint64(20) {
		rand := data.Stream(seed, "meter")
		every := time.Duration(1+rand.IntN(20)) * time.Second
		m, r := newLines(every)
		since := r.clock
		m.Start("working", 500)
		for range 500 {
			r.sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
			m.Advance(1, "")
		}
		for i, at := range r.times {
			if at.Sub(since) < every || at.Sub(since) > every+time.Second {
				t.Fatalf("seed %d: line %d comes %v after the one before, not every %v", seed, i, at.Sub(since), every)
			}
			since = at
		}
		during := len(r.times)
		m.Finish()
		if len(r.times) != during+1 || during < 10 {
			t.Errorf("seed %d: %d lines, %d of them at the end", seed, len(r.times), len(r.times)-during)
		}
	}
}

// A line says how far a stage has come, how fast it is and how long it will take, without
// carriage returns and escapes. Every stage counts from nothing.
func TestLinesOfAMeter(t *testing.T) {
	m, r := newLines(10 * time.Second)
	m.Start("fitting", 400)
	r.sleep(5 * time.Second)
	m.Advance(100, "2 failed")
	r.sleep(5 * time.Second)
	m.Advance(100, "") // the last status stays
	r.sleep(10*time.Second - 1)
	m.Advance(199, "3 failed")
	r.sleep(time.Minute + 1)
	m.Advance(1, "")
	m.Advance(0, "all done")
	m.Finish()
	m.Start("second", 0)
	r.sleep(time.Second / 2)
	m.Advance(1000, "")
	m.Finish()
	m.Start("third", 5)
	m.Finish() // before its end
	want := "fitting: 200/400, 10.0 s, 20/s, 10s left, 2 failed\n" +
		"fitting: 400/400, 80.0 s, 5/s, 3 failed\n" +
		"fitting: 400/400, 80.0 s, 5/s, all done\n" +
		"second: 1000, 0.5 s, 2000/s\n" +
		"third: 0/5, 0.0 s\n"
	datatest.Equal(t, r.text.String(), want, "the lines")
}

// A long status would wrap a bar to two lines, which a terminal does not clear.
func TestBarIsOneLine(t *testing.T) {
	m, r := newLines(time.Second)
	m.terminal = true
	m.Start("measuring on rows held out", 2)
	for range 2 {
		time.Sleep(120 * time.Millisecond) // a bar is drawn ten times a second
		m.Advance(1, "a curve for every column, in common and for each task")
	}
	if text := r.text.String(); !strings.Contains(text, "rows held out") || strings.Contains(text, "curve") {
		t.Errorf("the bar is %q", text)
	}
}
