package command

import (
	"strings"
	"testing"
	"time"

	"l2mt/data"
)

// record keeps what was written, and when.
type record struct {
	clock *time.Time
	text  strings.Builder
	times []time.Time
}

func (r *record) Write(p []byte) (int, error) {
	r.times = append(r.times, *r.clock)
	return r.text.Write(p)
}

// newLines returns a meter with a clock of its own, and what it writes.
func newLines(every time.Duration) (*meter, *record) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &record{clock: &clock}
	return &meter{w: r, now: func() time.Time { return clock }, every: every}, r
}

func (r *record) sleep(d time.Duration) { *r.clock = r.clock.Add(d) }

func TestLinesComeAtMostOncePerInterval(t *testing.T) {
	for seed := range uint64(20) {
		rand := data.Stream(seed, "meter")
		every := time.Duration(1+rand.IntN(20)) * time.Second
		m, r := newLines(every)
		begin := *r.clock
		const items = 500
		m.Start("working", items)
		for range items {
			r.sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
			m.Advance(1, "")
		}
		during := len(r.times)
		m.Finish()
		for i, at := range r.times[:during] {
			since := begin
			if i > 0 {
				since = r.times[i-1]
			}
			if at.Sub(since) < every || at.Sub(since) > every+time.Second {
				t.Fatalf("seed %d: line %d comes %v after the one before, not every %v", seed, i, at.Sub(since), every)
			}
		}
		if len(r.times) != during+1 || during < 10 {
			t.Errorf("seed %d: %d lines, %d of them at the end", seed, len(r.times), len(r.times)-during)
		}
		if text := r.text.String(); strings.ContainsAny(text, "\r\x1b\b") || strings.Count(text, "\n") != len(r.times) {
			t.Errorf("seed %d: the lines are not plain: %q", seed, text)
		}
	}
}

func TestALineSaysHowFarHowFastAndHowLong(t *testing.T) {
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
	want := "fitting: 200/400, 10.0 s, 20/s, 10s left, 2 failed\n" +
		"fitting: 400/400, 80.0 s, 5/s, 3 failed\n" +
		"fitting: 400/400, 80.0 s, 5/s, all done\n"
	if got := r.text.String(); got != want {
		t.Errorf("the lines are\n%swant\n%s", got, want)
	}
}

// Every stage counts from nothing, whatever the one before came to.
func TestAStageBeginsAnew(t *testing.T) {
	m, r := newLines(time.Hour)
	m.Start("first", 10)
	r.sleep(2 * time.Second)
	m.Advance(7, "late")
	m.Finish() // before its end
	m.Start("second", 0)
	r.sleep(time.Second / 2)
	m.Advance(1000, "")
	m.Finish()
	m.Start("third", 5)
	m.Finish()
	want := "first: 7/10, 2.0 s, 3.5/s, 1s left, late\n" +
		"second: 1000, 0.5 s, 2000/s\n" +
		"third: 0/5, 0.0 s\n"
	if got := r.text.String(); got != want {
		t.Errorf("the lines are\n%swant\n%s", got, want)
	}
}
