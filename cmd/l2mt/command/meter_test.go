package command

import (
	"strings"
	"testing"
	"time"
)

// A line says how far a stage has come, how fast it is and how long it will take, and comes at
// most once per interval. Every stage counts from nothing.
func TestLinesOfAMeter(t *testing.T) {
	for _, c := range []struct{ begin, end string }{{"", "\n"}, {"\r\x1b[K", ""}} { // on a terminal a line replaces the one before
		var text strings.Builder
		clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		m := &meter{w: &text, now: func() time.Time { return clock }, every: 10 * time.Second, begin: c.begin, end: c.end}
		sleep := func(d time.Duration) { clock = clock.Add(d) }
		m.Start("fitting", 400)
		sleep(5 * time.Second)
		m.Advance(100, "2 failed")
		sleep(5 * time.Second)
		m.Advance(100, "") // the last status stays
		sleep(10*time.Second - 1)
		m.Advance(199, "3 failed")
		sleep(time.Minute + 1)
		m.Advance(1, "")
		m.Advance(0, "all done")
		m.Finish()
		m.Start("second", 0)
		sleep(time.Second / 2)
		m.Advance(1000, "")
		m.Finish()
		m.Start("third", 5)
		m.Finish() // before its end
		want := ""
		for _, line := range []struct{ text, end string }{
			{"fitting: 200/400, 10.0 s, 20/s, 10s left, 2 failed", c.end},
			{"fitting: 400/400, 80.0 s, 5/s, 3 failed", c.end},
			{"fitting: 400/400, 80.0 s, 5/s, all done", "\n"},
			{"second: 1000, 0.5 s, 2000/s", "\n"},
			{"third: 0/5, 0.0 s", "\n"},
		} {
			want += c.begin + line.text + line.end
		}
		if got := text.String(); got != want {
			t.Errorf("the lines are\n%qwant\n%q", got, want)
		}
	}
}
