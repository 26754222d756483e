package evidence

import (
	"math"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/files"
	"l2mt/model/multitask"
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
		if !same(p.Loss, c.loss) || !same(p.StandardError, c.se) || p.Sign() != c.sign {
			t.Errorf("%s: %+v of sign %d, want %v, %v and %d", name, p, p.Sign(), c.loss, c.se, c.sign)
		}
		if back := PairedLoss(b, a); !same(back.Loss, -p.Loss) || !same(back.StandardError, p.StandardError) {
			t.Errorf("%s: the other way %+v, not %+v", name, back, p)
		}
		for range 20 {
			if again := PairedLoss(a, b); !math.IsNaN(c.se) && again != p {
				t.Fatalf("%s: %+v, and then %+v", name, p, again)
			}
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
		shared := normals(random, 15)
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
	if told < trials*3/100 || told > trials*7/100 || told1 < trials*15/100 {
		t.Errorf("%d of %d comparisons tell of a difference, %d of rows on their own", told, trials, told1)
	}
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
		if loss := files.Float(got.Loss); got.units != units || !(got.Low < loss && loss < got.High) {
			t.Errorf("%+v; want %d units", got, units)
		}
	}
}

// A difference that is printed as 0.0000 is none, however sure.
func TestNobodyIsAheadByNothing(t *testing.T) {
	for loss, want := range map[float64]int{4e-5: 0, -4e-5: 0, 6e-5: 1, -6e-5: -1} {
		p := Paired{Loss: loss, Low: files.Float(loss - 1e-6), High: files.Float(loss + 1e-6)}
		datatest.Equal(t, p.Sign(), want, "a difference of %g has the sign", loss)
	}
}
