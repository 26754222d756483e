package command

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"l2mt/data/progress"
)

// newMeter shows progress on w. A finished stage is one line everywhere; until
// then there is a bar on a terminal, and a line now and then elsewhere.
func newMeter(w io.Writer) progress.Reporter {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &bar{meter: meter{w: w, now: time.Now}}
	}
	return &lines{meter: meter{w: w, now: time.Now}, every: 10 * time.Second}
}

// meter is how far a stage has come.
type meter struct {
	w   io.Writer
	now func() time.Time

	mu            sync.Mutex
	stage, status string
	done, total   int
	begin         time.Time
}

func (m *meter) start(stage string, total int) {
	m.stage, m.status, m.done, m.total, m.begin = stage, "", 0, total, m.now()
}

func (m *meter) advance(n int, status string) {
	m.done += n
	if status != "" {
		m.status = status
	}
}

// write writes a line without carriage returns or escapes.
func (m *meter) write() {
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
	fmt.Fprintln(m.w, text)
}

// threeDigits writes a rate to three digits, or whole.
func threeDigits(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// bar draws progress on a terminal.
type bar struct {
	meter
	p *progressbar.ProgressBar
}

func (b *bar) Start(stage string, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start(stage, total)
	if total == 0 {
		total = -1
	}
	b.p = progressbar.NewOptions(total,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetDescription(stage),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
	)
	_ = b.p.RenderBlank() // like Add below, it fails as writing to the terminal does
}

func (b *bar) Advance(n int, status string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance(n, status)
	if n == 0 {
		return // the last word on a stage is too long for the bar
	}
	if status != "" {
		b.p.Describe(b.stage + " (" + status + ")")
	}
	_ = b.p.Add(n)
}

func (b *bar) Finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.p.Clear()
	b.write()
}

// lines writes progress as plain lines, at most one per interval, and one at
// the end of a stage.
type lines struct {
	meter
	every time.Duration
	last  time.Time
}

func (l *lines) Start(stage string, total int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start(stage, total)
	l.last = l.begin
}

func (l *lines) Advance(n int, status string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(n, status)
	if now := l.now(); now.Sub(l.last) >= l.every {
		l.last = now
		l.write()
	}
}

func (l *lines) Finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write()
}
