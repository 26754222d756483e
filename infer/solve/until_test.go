package solve

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/progress"
)

// After the time that is set, the levels of tasks are measured and nothing else, of wide classes the
// first candidate, and all that is left out is counted.
func TestNothingIsTriedLate(t *testing.T) {
	late := Options{Until: time.Now().Add(-time.Second)}
	for _, p := range []*data.ProblemData{made(1, "p", data.Regression, 3), wide(t, 1)} {
		b := bench(t, nil, p, late)
		wanted := b.Candidates(Parts{})
		least, left := "level", len(wanted)-1
		if b.wide() {
			least = wanted[0].Name()
		}
		c := choose(t, b, Parts{})
		tried := slices.Sorted(maps.Keys(b.judged))
		if !slices.Equal(tried, []string{least}) || c.LeftOut != left || !b.Late() {
			t.Errorf("tried %v, want %q; left out %d, want %d", tried, least, c.LeftOut, left)
		}
		datatest.Must(b.Fit(t.Context(), c))(t)
		if _, err := b.Held(t.Context(), wanted[1]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("late %s is measured: %v", wanted[1].Name(), err)
		}
	}
}

// slow lets the time pass in the first fold of a structure.
type slow struct {
	progress.Reporter
	title string
	until time.Time
}

func (s slow) Advance(_ int, title string) {
	if title == s.title {
		time.Sleep(time.Until(s.until) + time.Millisecond)
	}
}

// A structure that is cut off has no say, and is not known afterwards. Of the candidates that were
// measured before, all have one.
func TestWhatIsCutOffHasNoSay(t *testing.T) {
	p := made(1, "p", data.Regression, 3)
	cut := Structure{View: Kernel}
	o := Options{Until: time.Now().Add(time.Second / 2)}
	o.Progress = slow{progress.Silent(), cut.Title(), o.Until}
	b := bench(t, nil, p, o)
	c := choose(t, b, Parts{})
	if _, known := b.judged[cut.Name()]; known || c.LeftOut < len(b.Candidates(Parts{}))-2 {
		t.Errorf("the structure that is cut off is known: %t; %d are left out", known, c.LeftOut)
	}
	for _, w := range c.Weighed {
		if w.View != Curves && w.View != Straight && w.View != Level {
			t.Errorf("%s has a say", w.Called)
		}
	}
}
