package evidence

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/files"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// differing are two sets of losses whose differences are given.
func differing(differences [][]float64, units [][]int) (a, b *HeldOut) {
	ones := slices.Repeat([]float64{1}, len(differences)) // of the tasks
	a, b = &HeldOut{units: units, weights: ones}, &HeldOut{units: units, weights: ones}
	for _, d := range differences {
		ones, sum := make([]float64, len(d)), make([]float64, len(d))
		for j, v := range d {
			ones[j], sum[j] = 1, 1+v
		}
		a.losses, b.losses = append(a.losses, sum), append(b.losses, ones)
		a.Weight = append(a.Weight, ones)
		b.Weight = a.Weight
	}
	return a, b
}

// The numbers are by hand: means of tasks, and (s^2/n + ...) / tasks^2 where rows are on
// their own, of units the sum of squares of what they move; and the same bits every time.
func TestPairedLoss(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		differences [][]float64
		units       [][]int
		loss, se    float64
		sign        int
	}{
		// Means 2 and 4, variances 16/3 and 0.
		"worse":  {[][]float64{{4, 0, 4, 0}, {4, 4}}, nil, 3, math.Sqrt(16./3/4) / 2, 1},
		"better": {[][]float64{{-4, 0, -4, 0}, {-4, -4}}, nil, -3, math.Sqrt(16./3/4) / 2, -1},
		// The mean is 1/2.
		"noise":    {[][]float64{{4, -4, 4, -2}}, nil, 0.5, math.Sqrt((2*3.5*3.5 + 4.5*4.5 + 2.5*2.5) / 3 / 4), 0},
		"the same": {[][]float64{{0, 0}}, nil, 0, 0, 0},
		// The row of the second task is 1 from the mean of the tasks, half of which it makes.
		"a single row":      {[][]float64{{4, 0, 4, 0}, {4}}, nil, 3, math.Sqrt(16./3/4/4 + 1./4), 1},
		"one row in all":    {[][]float64{{4}, {}}, nil, 4, nan, 0},
		"none":              {[][]float64{{}, {}}, nil, nan, nan, 0},
		"rows on their own": {[][]float64{{4, 0, 4, 0}, {4, 4}}, [][]int{{1, 2, 3, 4}, {5, 6}}, 3, math.Sqrt(16./3/4) / 2, 1},
		// Pairs of equal rows: each moves the mean by 2 sqrt(4/3) 2/4.
		"pairs": {[][]float64{{4, 4, 0, 0}}, [][]int{{7, 7, 8, 8}}, 2, math.Sqrt(2) * 2 * math.Sqrt(4./3) * 2 / 4, 0},
		// A unit with a row of each task moves the mean by twice 2 sqrt(2) / 4.
		"units across tasks": {[][]float64{{4, 0}, {4, 0}}, [][]int{{1, 2}, {1, 2}}, 2, 2, 0},
		// Tasks of one unit have the means 2 and 4, each 1 from the mean of all.
		"a unit for each task": {[][]float64{{4, 0}, {6, 2}}, [][]int{{1, 1}, {2, 2}}, 3, math.Sqrt(1./4 + 1./4), 0},
		"one unit":             {[][]float64{{4, 0}, {4, 4}}, [][]int{{1, 1}, {1, 1}}, 3, nan, 0},
	} {
		a, b := differing(c.differences, c.units)
		p := PairedLoss(a, b)
		same := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 || math.IsNaN(a) && math.IsNaN(b) }
		datatest.Holds(t, same(p.Loss, c.loss) && same(p.StandardError, c.se) && p.Sign() == c.sign,
			"%s: %+v of sign %d, want %v, %v and %d", name, p, p.Sign(), c.loss, c.se, c.sign)
		if back := PairedLoss(b, a); !same(back.Loss, -p.Loss) || !same(back.StandardError, p.StandardError) {
			t.Errorf("%s: the other way %+v, not %+v", name, back, p)
		}
		for range 20 {
			again := PairedLoss(a, b)
			datatest.Need(t, math.IsNaN(c.se) || again == p, "%s: %+v, and then %+v", name, p, again)
		}
	}
}

// Where two fits are as good, one in twenty comparisons says otherwise, also of rows that
// belong together; taken for rows on their own these would tell of a difference far more often.
func TestOneInTwentyComparisonsIsWrong(t *testing.T) {
	datatest.Long(t)
	random := data.Stream(3, "paired")
	const trials = 2000
	told, told1 := 0, 0
	for range trials {
		differences, units := make([][]float64, 3), make([][]int, 3)
		shared := datatest.Normals[float64](random, 15)
		for i := range differences {
			for j := range 30 {
				differences[i], units[i] = append(differences[i], shared[j/2]+random.NormFloat64()), append(units[i], j/2)
			}
		}
		a, b := differing(differences, units)
		if PairedLoss(a, b).Sign() != 0 {
			told++
		}
		a, b = differing(differences, nil)
		if PairedLoss(a, b).Sign() != 0 {
			told1++
		}
	}
	t.Logf("%d of %d comparisons tell of a difference, %d of rows on their own", told, trials, told1)
	datatest.Holds(t, told >= trials*3/100 && told <= trials*7/100 && told1 >= trials*15/100,
		"%d of %d comparisons tell of a difference, %d of rows on their own", told, trials, told1)
}

// What folds hold out of a problem is compared row by row: the loss is the difference of the
// losses, and rows with one number are one unit.
func TestPairedLossOfFolds(t *testing.T) {
	p := made(size{data.Classification, 3, 5, 20, 0}, 1)
	together := make([][]int, 3)
	for i := range together {
		for j := range 20 {
			together[i] = append(together[i], j/2)
		}
	}
	for units, together := range map[int][][]int{60: nil, 10: together} {
		e := datatest.Must(NewFolds(p, datatest.Must(p.Folds(4, 1, together))(t), together))(t)
		a, b := hold(t, e, given(t, multitask.Uniform(3)), 1), hold(t, e, given(t, multitask.Uniform(3)), 0.01)
		got := PairedLoss(a, b)
		near(t, "loss", got.Loss, a.Loss-b.Loss, 1e-9)
		loss := files.Float(got.Loss)
		datatest.Holds(t, got.units == units && (got.Low < loss && loss < got.High), "%+v; want %d units", got, units)
	}
}

// A difference that is printed as 0.0000 is none, however sure.
func TestNobodyIsAheadByNothing(t *testing.T) {
	for loss, want := range map[float64]int{4e-5: 0, -4e-5: 0, 6e-5: 1, -6e-5: -1} {
		p := Paired{Loss: loss, Low: files.Float(loss - 1e-6), High: files.Float(loss + 1e-6)}
		datatest.Equal(t, p.Sign(), want, "a difference of %g has the sign", loss)
	}
}

// Intervals hold as many fresh rows as they say, of all tasks and of the smallest, however
// much the tasks differ in their noise.
func TestIntervalsHoldWhatTheySay(t *testing.T) {
	for _, differ := range []float64{0, 1} {
		random := data.Stream(3, fmt.Sprint("intervals ", differ))
		h, s := &HeldOut{}, &saved.Fit{Kind: data.Regression}
		var deviation []float64
		noise := func(i, n int) []float64 {
			y := make([]float64, n)
			for j := range y {
				y[j] = deviation[i] * random.NormFloat64()
			}
			return y
		}
		const m, smallest = 90, 30
		for i := range m {
			n := 3
			if i >= smallest {
				n = 5 + i%40
			}
			deviation = append(deviation, 100*math.Exp(differ*random.NormFloat64()))
			h.Y, h.Scores = append(h.Y, noise(i, n)), append(h.Scores, make([]float64, n))
			s.Tasks = append(s.Tasks, saved.Task{Name: fmt.Sprint(i)})
		}
		h.Weight = make([][]float64, len(h.Y))
		h.Judge(s)
		n := len(s.Residuals)
		datatest.Holds(t, n == mostResiduals-1 && slices.IsSorted(s.Residuals), "%d residuals", n)
		for level, within := range map[float64]float64{0.5: 0.1, 0.9: 0.03} {
			inside := make([]float64, 2) // of the smallest tasks and of all
			const fresh = 200
			for i := range m {
				for _, y := range noise(i, fresh) {
					if math.Abs(y) > s.Interval(level)*s.Tasks[i].Spread {
						continue
					}
					inside[1] += 1. / (m * fresh)
					if i < smallest {
						inside[0] += 1. / (smallest * fresh)
					}
				}
			}
			for k, share := range inside {
				datatest.Holds(t, math.Abs(share-level) <= within,
					"noise that differs by %v: %.3f of the rows lie in intervals of %v (%d)", differ, share, level, k)
			}
		}
	}
}

// Where a model expects a variance of each row, intervals hold as many of the rows that it is sure
// of as of the others.
func TestIntervalsFollowTheVariance(t *testing.T) {
	random := data.Stream(5, "variance")
	h, s := &HeldOut{}, &saved.Fit{Kind: data.Regression}
	row := func() (variance, y float64) {
		variance = math.Exp(2 * random.NormFloat64())
		return variance, 3 * math.Sqrt(variance) * random.NormFloat64()
	}
	const m = 40
	for i := range m {
		n := 2 + i
		variance, y := make([]float64, n), make([]float64, n)
		for j := range y {
			variance[j], y[j] = row()
		}
		h.Variance = append(h.Variance, variance)
		h.Y = append(h.Y, y)
		h.Scores = append(h.Scores, make([]float64, n))
		s.Tasks = append(s.Tasks, saved.Task{Name: fmt.Sprint(i)})
	}
	h.Weight = make([][]float64, len(h.Y))
	h.Judge(s)
	near(t, "spread of all tasks, in units of the deviation that is expected", s.Spread, 3, 0.1)
	for _, sure := range []bool{true, false} {
		inside, all := 0.0, 0.0
		for all < 20_000 {
			variance, y := row()
			if sure != (variance < 1) {
				continue
			}
			all++
			if math.Abs(y) <= s.Interval(0.9)*s.Tasks[int(all)%m].Spread*math.Sqrt(variance) {
				inside++
			}
		}
		datatest.Near(t, inside/all, 0.9, 0.03, "small variances %t", sure)
	}
}

// Few residuals do not tell what is rare, and none tell nothing.
func TestIntervalsThatAreNotKnown(t *testing.T) {
	s := &saved.Fit{Kind: data.Regression, Tasks: make([]saved.Task, 1)}
	v := s.Interval(0.9)
	datatest.Holds(t, math.IsNaN(v), "without residuals: %v", v)
	heldRowsOf([][]float64{{1, 1, 1, 1}}, [][]float64{{2, 0, 3, 1}}).Judge(s)
	for level, finite := range map[float64]bool{0.5: true, 0.8: true, 0.81: false, 0.9: false} {
		if v := s.Interval(level); math.IsInf(v, 1) == finite || math.IsNaN(v) {
			t.Errorf("of level %v: %v", level, v)
		}
	}
}
