package command

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"l2mt/data/progress"
)

// newMeter shows progress on w: a line that is written over on a terminal, and a
// line now and then elsewhere. A finished stage is one line everywhere.
func newMeter(w io.Writer) progress.Reporter {
	m := &meter{w: w, now: time.Now, every: 10 * time.Second}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		m.terminal, m.every = f, 100*time.Millisecond
	}
	return m
}

// meter is how far a stage has come.
type meter struct {
	w        io.Writer
	terminal *os.File // nil elsewhere
	now      func() time.Time
	every    time.Duration

	mu            sync.Mutex
	stage, status string
	done, total   int
	begin, last   time.Time
}

func (m *meter) Start(stage string, total int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stage, m.status, m.done, m.total, m.begin = stage, "", 0, total, m.now()
	m.last = m.begin
}

func (m *meter) Advance(n int, status string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += n
	if status != "" {
		m.status = status
	}
	now := m.now()
	if now.Sub(m.last) < m.every {
		return
	}
	m.last = now
	text := m.line()
	if m.terminal == nil {
		fmt.Fprintln(m.w, text)
		return
	}
	if width, _, err := term.GetSize(int(m.terminal.Fd())); err == nil && len(text) >= width && width > 0 {
		text = text[:width-1] // a line that wraps cannot be written over
	}
	fmt.Fprintf(m.w, "\r%s\x1b[K", text)
}

func (m *meter) Finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.terminal != nil {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
	fmt.Fprintln(m.w, m.line())
}

// line says how far the stage has come, how fast, and how long it will take.
func (m *meter) line() string {
	elapsed := m.now().Sub(m.begin)
	text := fmt.Sprintf("%s: %d", m.stage, m.done)
	if m.total > 0 {
		text += fmt.Sprintf("/%d", m.total)
	}
	text += fmt.Sprintf(", %.1f s", elapsed.Seconds())
	if elapsed > 0 && m.done > 0 {
		text += fmt.Sprintf(", %s/s", threeDigits(float64(m.done)/elapsed.Seconds()))
	}
	if m.done > 0 && m.done < m.total {
		left := elapsed / time.Duration(m.done) * time.Duration(m.total-m.done)
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	if m.status != "" {
		text += ", " + m.status
	}
	return text
}

// threeDigits writes a rate to three digits, or whole.
func threeDigits(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
