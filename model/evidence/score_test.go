package evidence

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/files"
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
	random := data.Stream(1, "temperature")
	held, labels := make([][]float64, 2), make([][]float64, 2)
	for i := range held {
		for range 20_000 {
			f := 1.5 * random.NormFloat64()
			held[i], labels[i] = append(held[i], 2*f), append(labels[i], math.Copysign(1, 1/(1+math.Exp(-f))-random.Float64()))
		}
	}
	near(t, "temperature", heldRowsOf(held, labels).Temperature(), 2, 0.05)
	for _, rows := range []int{1, 16, 400} {
		f := slices.Repeat([]float64{1.5, -1.5}, rows)
		y := slices.Repeat([]float64{1, -1}, rows)
		want := temperatureByHand([][]float64{f}, [][]float64{y}, 1)
		datatest.Holds(t, want >= 0.1,
			"%d rows on their sides: the least loss is at the temperature %v", 2*rows, want)
		near(t, "temperature of rows on their sides", heldRowsOf([][]float64{f}, [][]float64{y}).Temperature(), want, 1e-6)
	}
	// The rule of succession says that one in 42 is wrong.
	sure := slices.Repeat([]float64{30, -30}, 20)
	right := slices.Repeat([]float64{1, -1}, 20)
	t40 := heldRowsOf([][]float64{sure}, [][]float64{right}).Temperature()
	near(t, "probability of a wrong row after 40 right ones", 1/(1+math.Exp(30/t40)), 1.0/42, 0.2)
	near(t, "temperature of no rows", heldRowsOf(make([][]float64, 3), make([][]float64, 3)).Temperature(), 1, 0)
}

// Temperatures of several classes have the least loss too, also where tasks lack classes.
func TestTemperatureOfClasses(t *testing.T) {
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
		near(t, "temperature", heldRowsOf([][]float64{f}, [][]float64{y}).Temperature(), want, 1e-5)
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
	t1, t2 := heldRowsOf([][]float64{one}, [][]float64{y}).Temperature(), heldRowsOf([][]float64{two}, [][]float64{of}).Temperature()
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
	want := h.Temperature()
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
		want := 1 / (1 + math.Exp(-c.cut/h.Temperature()))
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
