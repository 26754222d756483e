package evidence

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/files"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// AUC counts pairs, errors have the standard errors of the textbook, and R^2 is
// that of scikit-learn's r2_score: 1 - sum (y-f)^2 / sum (y - mean y)^2.
func TestScores(t *testing.T) {
	random := data.Stream(1, "scores")
	for range 20 {
		n := 3 + random.IntN(30)
		f, y := make([]float64, n), make([]float64, n)
		for j := range f {
			f[j], y[j] = math.Round(3*random.NormFloat64()), float64(2*random.IntN(2)-1)
		}
		y[0], y[1] = 1, -1
		pairs, won, wrong := 0.0, 0.0, 0.0
		for a := range f {
			if (f[a] >= 0) != (y[a] > 0) {
				wrong++
			}
			for b := range f {
				if y[a] > y[b] {
					pairs++
					if f[a] > f[b] {
						won++
					} else if f[a] == f[b] {
						won += 0.5
					}
				}
			}
		}
		s := ScoreOf(data.Classification, f, y, nil, 1, 0)
		near(t, "AUC", float64(s.AUC), won/pairs, 1e-12)
		q := wrong / float64(n)
		near(t, "error", float64(s.Error), q, 1e-12)
		near(t, "standard error", float64(s.StandardError), math.Sqrt(q*(1-q)/float64(n)), 1e-12)
		datatest.Holds(t, s.Held == n && math.IsNaN(float64(s.R2)), "%+v of %d rows", s, n)
	}
	s := ScoreOf(data.Regression, []float64{1, 2, 4}, []float64{1, 3, 2}, nil, 1, 0)
	near(t, "RMSE", float64(s.Error), math.Sqrt(5.0/3), 1e-12)
	near(t, "R^2", float64(s.R2), 1-5.0/2, 1e-12)
	// The squares 0, 1, 4 have the standard deviation sqrt(13/3).
	near(t, "standard error of the RMSE", float64(s.StandardError), math.Sqrt(13.0/3/3)/(2*math.Sqrt(5.0/3)), 1e-12)
}

// Scores that are twice what a logistic model says have the temperature 2. Rows that are all on
// their sides have the temperature of the least loss with its prior, 2 (1/T - 1)^2, which is no bound.
func TestTemperature(t *testing.T) {
	datatest.Long(t)
	random := data.Stream(1, "temperature")
	held, labels := make([][]float64, 2), make([][]float64, 2)
	for i := range held {
		for range 20_000 {
			f := 1.5 * random.NormFloat64()
			held[i], labels[i] = append(held[i], 2*f), append(labels[i], math.Copysign(1, 1/(1+math.Exp(-f))-random.Float64()))
		}
	}
	near(t, "temperature", heldRowsOf(held, labels).Temperature, 2, 0.05)
	for _, rows := range []int{1, 16, 400} {
		f := slices.Repeat([]float64{1.5, -1.5}, rows)
		y := slices.Repeat([]float64{1, -1}, rows)
		want := temperatureByHand([][]float64{f}, [][]float64{y}, 1)
		datatest.Holds(t, want >= 0.1,
			"%d rows on their sides: the least loss is at the temperature %v", 2*rows, want)
		near(t, "temperature of rows on their sides", heldRowsOf([][]float64{f}, [][]float64{y}).Temperature, want, 1e-6)
	}
	// The rule of succession says that one in 42 is wrong.
	sure := slices.Repeat([]float64{30, -30}, 20)
	right := slices.Repeat([]float64{1, -1}, 20)
	t40 := heldRowsOf([][]float64{sure}, [][]float64{right}).Temperature
	near(t, "probability of a wrong row after 40 right ones", 1/(1+math.Exp(30/t40)), 1.0/42, 0.2)
	near(t, "temperature of no rows", heldRowsOf(make([][]float64, 3), make([][]float64, 3)).Temperature, 1, 0)
}

// Temperatures of several classes have the least loss too, also where tasks lack classes.
func TestTemperatureOfClasses(t *testing.T) {
	datatest.Long(t)
	random := data.Stream(2, "temperature")
	for _, sharp := range []float64{0.2, 1, 5} {
		var f, y []float64
		for range 200 {
			right := random.IntN(3)
			row := append(datatest.Normals[float64](random, 3), math.Inf(-1))
			row[right] += 1.5
			floats.Scale(sharp, row)
			f = append(f, row...)
			y = append(y, float64(right))
		}
		want := temperatureByHand([][]float64{f}, [][]float64{y}, 4)
		near(t, "temperature", heldRowsOf([][]float64{f}, [][]float64{y}).Temperature, want, 1e-5)
	}
}

// temperatureByHand has the least sum of losses, with two rows more, and 2 (1/T - 1)^2,
// by search.
func temperatureByHand(scores, y [][]float64, k int) float64 {
	return math.Exp(least(-math.Log(hottest), math.Log(hottest), func(t float64) float64 {
		sum := 2 * math.Pow(math.Exp(-t)-1, 2)
		for i := range y {
			for j, v := range y[i] {
				f := scores[i][j*k:][:k]
				sum += logLoss(f, v, math.Exp(t))
				other := -v
				if k > 1 {
					other = -1
					for class := range f {
						if float64(class) != v && (other < 0 || f[class] > f[int(other)]) {
							other = float64(class)
						}
					}
				}
				rows := float64(len(slices.Concat(y...)))
				sum += (logLoss(f, v, math.Exp(t)) + logLoss(f, other, math.Exp(t))) / rows
			}
		}
		return sum
	}))
}

// Two classes with a score each, one the negative of the other, are the two
// classes that have one score.
func TestTwoClassesAreSeveral(t *testing.T) {
	random := data.Stream(4, "two")
	one, y := datatest.Normals[float64](random, 60), make([]float64, 60)
	var two, of []float64
	for j, f := range one {
		y[j] = math.Copysign(1, f+0.8*random.NormFloat64())
		two, of = append(two, -f, f), append(of, (1+y[j])/2)
	}
	a, b := ScoreOf(data.Classification, one, y, nil, 1, 0), ScoreOf(data.Classification, two, of, nil, 1, 0)
	near(t, "error", float64(b.Error), float64(a.Error), 0)
	near(t, "its standard error", float64(b.StandardError), float64(a.StandardError), 1e-12)
	near(t, "AUC", float64(b.AUC), float64(a.AUC), 1e-12)
	t1, t2 := heldRowsOf([][]float64{one}, [][]float64{y}).Temperature, heldRowsOf([][]float64{two}, [][]float64{of}).Temperature
	near(t, "temperature", t2, t1, 1e-9)
	near(t, "Brier score", float64(b.Brier), float64(a.Brier), 1e-12)
	near(t, "loss of a class that the task lacks", logLosses([]float64{1, math.Inf(-1)}, []float64{1}, 1)[0], -math.Log(1e-6), 1e-12)
	l1, l2 := logLosses(one, y, t1), logLosses(two, of, t1)
	for j := range one {
		near(t, "loss", l2[j], l1[j], 1e-12)
	}
}

// A saved model is told its temperature, and of a regression the RMSE of the tasks that have
// rows held out.
func TestSavedModelsAreTold(t *testing.T) {
	h := heldRowsOf([][]float64{{1, 2, 4}, nil}, [][]float64{{1, 3, 2}, nil})
	s := &saved.Fit{Kind: data.Regression, Tasks: make([]saved.Task, 2)}
	h.Judge(s)
	if near(t, "RMSE", s.Tasks[0].StandardError, math.Sqrt(5.0/3), 1e-12); s.Tasks[1].StandardError != 0 || s.Temperature != 0 {
		t.Errorf("%+v", s)
	}
	h = heldRowsOf([][]float64{{1, 2, 4, -1}, {2}}, [][]float64{{1, 1, -1, -1}, {-1}})
	s = &saved.Fit{Kind: data.Classification, Tasks: make([]saved.Task, 2)}
	h.Judge(s)
	want := h.Temperature
	datatest.Holds(t, s.Temperature == want && s.Tasks[0].StandardError == 0, "%+v, want the temperature %v", s, want)
}

// By hand: scores 4 + 3 - 2 + 1 - have the precisions 1/1, 2/3 at their positive rows, so that the
// average precision is 5/6. Above 1.5 there are both positive rows and one false alarm.
func TestThresholds(t *testing.T) {
	h := heldRowsOf([][]float64{{4, 3}, {2, 1}}, [][]float64{{1, -1}, {1, -1}})
	f, y := []float64{4, 3, 2, 1}, []float64{1, -1, 1, -1}
	for _, c := range []struct{ cost, cut, wrong, precision, recall float64 }{
		{0, 1.5, 1. / 4, 2. / 3, 1},
		{10, 1.5, 1. / 4, 2. / 3, 1},
		{0.5, 3.5, 1. / 4, 1, 1. / 2},
		{1e-3, 3.5, 1. / 4, 1, 1. / 2},
	} {
		threshold := h.Decide(c.cost)
		want := 1 / (1 + math.Exp(-c.cut/h.Temperature))
		s := ScoreOf(data.Classification, f, y, nil, 1, h.Cut)
		datatest.Holds(t, h.Cut == c.cut && math.Abs(threshold-want) <= 1e-12,
			"cost %v: the cut is %v, the threshold %v, want %v, %v", c.cost, h.Cut, threshold, c.cut, want)
		got := []float64{float64(s.Error), float64(s.Precision), float64(s.Recall), float64(s.AveragePrecision)}
		for k, want := range []float64{c.wrong, c.precision, c.recall, 5. / 6} {
			datatest.Holds(t, math.Abs(got[k]-want) <= 1e-12,
				"cost %v: %v, want %v as number %d", c.cost, got[k], want, k)
		}
	}
	h = heldRowsOf([][]float64{{1, 2, 3}}, [][]float64{{1, -1, -1}})
	if h.Decide(1.5); h.Cut != 4 {
		t.Errorf("a positive row below all others is found for two alarms that cost more: cut %v", h.Cut)
	}
	s := ScoreOf(data.Classification, []float64{1, 1}, []float64{1, -1}, nil, 1, 0)
	datatest.Holds(t, s.AveragePrecision == 0.5, "equal scores have the average precision %v", s.AveragePrecision)
}

// A row that counts k is k rows in every score, the temperature, the threshold, and the difference
// of losses.
func TestWeightsAreRowsRepeated(t *testing.T) {
	random := data.Stream(9, "weights")
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		f, y := datatest.Normals[float64](random, 60), datatest.Normals[float64](random, 60)
		var w, often, f2, y2 []float64
		for j := range y {
			if kind == data.Classification {
				y[j] = math.Copysign(1, f[j]+y[j])
			}
			count := 1 + random.IntN(3)
			w = append(w, float64(count))
			often = append(often, slices.Repeat([]float64{1}, count)...)
			f2 = append(f2, slices.Repeat(f[j:j+1], count)...)
			y2 = append(y2, slices.Repeat(y[j:j+1], count)...)
		}
		got := ScoreOf(kind, f, y, w, 1.5, 0.3)
		want := ScoreOf(kind, f2, y2, often, 1.5, 0.3)
		got.Held = want.Held
		got.StandardError = want.StandardError // rows that count more are no more rows
		a, b := reflect.ValueOf(got), reflect.ValueOf(want)
		for k := range a.NumField() {
			if v, is := b.Field(k).Interface().(files.Float); is && !math.IsNaN(float64(v)) {
				near(t, string(kind)+" "+a.Type().Field(k).Name, a.Field(k).Float(), float64(v), 1e-12)
			}
		}
		one := heldRows{kind: kind, scale: []float64{1}}
		zero := make([]float64, 60)
		h := one.heldOut([][]float64{f}, []data.Samples{{Y: y, Weight: w}})
		h2 := one.heldOut([][]float64{f2}, []data.Samples{{Y: y2}})
		near(t, "loss", h.Loss, h2.Loss, 1e-12)
		less := PairedLoss(h, one.heldOut([][]float64{zero}, []data.Samples{{Y: y, Weight: w}}))
		less2 := PairedLoss(h2, one.heldOut([][]float64{make([]float64, len(f2))}, []data.Samples{{Y: y2}}))
		near(t, "difference", less.Loss, less2.Loss, 1e-12)
		if kind == data.Classification {
			near(t, "threshold", h.Decide(3), h2.Decide(3), 1e-12)
		}
	}
	// By hand: weights 3 and 1 tell as much as 1.6 rows.
	s := ScoreOf(data.Classification, []float64{1, 1}, []float64{1, -1}, []float64{3, 1}, 1, 0)
	near(t, "standard error", float64(s.StandardError), math.Sqrt(3./16/1.6), 1e-12)
}

// differing are two sets of losses whose differences are given.
func differing(differences [][]float64, units [][]int) (a, b *HeldOut) {
	a, b = &HeldOut{units: units}, &HeldOut{units: units}
	for _, d := range differences {
		a.weights = append(a.weights, float64(min(1, len(d))))
		ones, sum := make([]float64, len(d)), make([]float64, len(d))
		for j, v := range d {
			ones[j], sum[j] = 1, 1+v
		}
		a.losses, b.losses = append(a.losses, sum), append(b.losses, ones)
		a.Weight = append(a.Weight, ones)
		b.Weight, b.weights = a.Weight, a.weights
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
		half := distuv.StudentsT{Sigma: 1, Nu: float64(units - 1)}.Quantile(0.975) * got.StandardError
		near(t, "low", float64(got.Low), got.Loss-half, 1e-12)
		near(t, "high", float64(got.High), got.Loss+half, 1e-12)
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
	datatest.Holds(t, math.IsInf(v, 1), "without residuals: %v", v)
	heldRowsOf([][]float64{{1, 1, 1, 1}}, [][]float64{{2, 0, 3, 1}}).Judge(s)
	for level, finite := range map[float64]bool{0.5: true, 0.8: true, 0.81: false, 0.9: false} {
		if v := s.Interval(level); math.IsInf(v, 1) == finite || math.IsNaN(v) {
			t.Errorf("of level %v: %v", level, v)
		}
	}
}
