package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"l2mt/data/progress"
)

// newMeter shows progress on w. A finished stage is one line everywhere; until then there is
// a bar on a terminal, and a line every ten seconds elsewhere.
func newMeter(w io.Writer) progress.Reporter {
	f, ok := w.(*os.File)
	return &meter{w: w, now: time.Now, every: 10 * time.Second,
		terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// mostDescribed bounds the text before a bar, which would wrap to two lines on a narrow terminal.
const mostDescribed = 40

// meter is how far a stage has come.
type meter struct {
	w        io.Writer
	now      func() time.Time
	every    time.Duration // of lines
	terminal bool

	mu  sync.Mutex
	bar *progressbar.ProgressBar // nil where there is no terminal
	stage
}

// stage is a stage of the work and its state.
type stage struct {
	name, status string
	done, total  int
	begin, last  time.Time // of the stage and of the last line
}

func (m *meter) Start(name string, total int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.stage = stage{
		name:  name,
		total: total,
		begin: now,
		last:  now,
	}
	if m.terminal {
		m.bar = progressbar.NewOptions(cmp.Or(total, -1),
			progressbar.OptionSetWriter(m.w),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetDescription(name), progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish())
	}
}

func (m *meter) Advance(n int, status string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += n
	m.status = cmp.Or(status, m.status)
	switch now := m.now(); {
	case m.bar != nil && n > 0: // the last status of a stage is too long for the bar
		text := m.name + " (" + status + ")"
		if status != "" && len(text) <= mostDescribed {
			m.bar.Describe(text)
		}
		_ = m.bar.Add(n) // it fails as writing to the terminal does
	case m.bar == nil && now.Sub(m.last) >= m.every:
		m.last = now
		m.write()
	}
}

func (m *meter) Finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bar != nil {
		_ = m.bar.Clear()
	}
	m.write()
}

// write writes a line without carriage returns or escapes.
func (m *meter) write() {
	elapsed := m.now().Sub(m.begin)
	text := fmt.Sprintf("%s: %d", m.name, m.done)
	if m.total > 0 {
		text += fmt.Sprintf("/%d", m.total)
	}
	text += fmt.Sprintf(", %.1f s", elapsed.Seconds())
	if elapsed > 0 && m.done > 0 {
		format := ", %.3g/s"
		rate := float64(m.done) / elapsed.Seconds()
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
	fmt.Fprintln(m.w, fill(text, "  "))
}
