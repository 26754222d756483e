package main

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

// newMeter shows progress on w: a bar on a terminal, a line now and then
// elsewhere.
func newMeter(w io.Writer) progress.Reporter {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &bar{w: w}
	}
	return &lines{w: w, every: 10 * time.Second, now: time.Now}
}

// bar draws progress on a terminal.
type bar struct {
	w  io.Writer
	mu sync.Mutex
	p  *progressbar.ProgressBar
	// stage is the description without its status.
	stage string
}

func (b *bar) Start(stage string, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if total == 0 {
		total = -1
	}
	b.stage = stage
	b.p = progressbar.NewOptions(total,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetDescription(stage),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionFullWidth(),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(b.w) }),
	)
}

func (b *bar) Advance(n int, status string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if status != "" {
		b.p.Describe(b.stage + " (" + status + ")")
	}
	_ = b.p.Add(n) // it fails only past the total, which harms nothing
}

func (b *bar) Finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.p.IsFinished() {
		_ = b.p.Exit()
		fmt.Fprintln(b.w)
	}
}

// lines writes progress as plain lines, with neither carriage returns nor
// escapes: at most one per interval, and one at the end of a stage.
type lines struct {
	w     io.Writer
	every time.Duration
	now   func() time.Time

	mu            sync.Mutex
	stage, status string
	done, total   int
	begin, last   time.Time
}

func (l *lines) Start(stage string, total int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stage, l.status, l.done, l.total = stage, "", 0, total
	l.begin = l.now()
	l.last = l.begin
}

func (l *lines) Advance(n int, status string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done += n
	if status != "" {
		l.status = status
	}
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

func (l *lines) write() {
	seconds := l.now().Sub(l.begin).Seconds()
	text := fmt.Sprintf("%s: %d", l.stage, l.done)
	if l.total > 0 {
		text += fmt.Sprintf("/%d", l.total)
	}
	text += fmt.Sprintf(", %.1f s", seconds)
	if seconds > 0 && l.done > 0 {
		text += fmt.Sprintf(", %.3g/s", float64(l.done)/seconds)
	}
	if l.done > 0 && l.done < l.total {
		text += fmt.Sprintf(", %.0f s left", seconds/float64(l.done)*float64(l.total-l.done))
	}
	if l.status != "" {
		text += ", " + l.status
	}
	fmt.Fprintln(l.w, text)
}
