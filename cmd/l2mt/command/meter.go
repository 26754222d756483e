package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"l2mt/data/progress"
)

// newMeter shows progress on w. A finished stage is one line everywhere; until then there is
// a line that changes on a terminal, and one every ten seconds elsewhere.
func newMeter(w io.Writer) progress.Reporter {
	m := &meter{w: w, now: time.Now, every: 10 * time.Second, end: "\n"}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		m.every, m.begin, m.end = 100*time.Millisecond, "\r\x1b[K", ""
	}
	return m
}

// meter is how far a stage has come.
type meter struct {
	w          io.Writer
	now        func() time.Time
	every      time.Duration // of lines
	begin, end string        // of a line before that of the end of a stage

	mu            sync.Mutex
	stage, status string
	done, total   int
	start, last   time.Time // last is that of the last line
}

func (m *meter) Start(stage string, total int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stage, m.status, m.done, m.total, m.start, m.last = stage, "", 0, total, m.now(), m.now()
}

func (m *meter) Advance(n int, status string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done, m.status = m.done+n, cmp.Or(status, m.status)
	if now := m.now(); n > 0 && now.Sub(m.last) >= m.every { // what is said at the end comes with Finish
		m.last = now
		m.write(m.end)
	}
}

func (m *meter) Finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.write("\n")
}

func (m *meter) write(end string) {
	elapsed := m.now().Sub(m.start)
	text := fmt.Sprintf("%s: %d", m.stage, m.done)
	if m.total > 0 {
		text += fmt.Sprintf("/%d", m.total)
	}
	text += fmt.Sprintf(", %.1f s", elapsed.Seconds())
	if elapsed > 0 && m.done > 0 {
		format, rate := ", %.3g/s", float64(m.done)/elapsed.Seconds()
		if rate >= 100 {
			format = ", %.0f/s"
		}
		text += fmt.Sprintf(format, rate)
	}
	if m.done > 0 && m.done < m.total {
		left := elapsed / time.Duration(m.done) * time.Duration(m.total-m.done)
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	if m.status != "" {
		text += ", " + m.status
	}
	fmt.Fprint(m.w, m.begin, text, end)
}
