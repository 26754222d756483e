package multitask

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// Every held-out prediction is that of a fit, from scratch, on the other folds,
// and the final fit is one on all rows.
func TestCrossValidationHoldsOut(t *testing.T) {
	for _, loss := range []Loss{Square, Logistic} {
		p := slopeProblem(shape{3, 4, 20, loss, false}, 2)
		folds, err := p.Folds(4, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"stl", "mtrl"} {
			opt := TuneOptions{Lambda1: []float64{0.3, 0.01}, Tolerance: 1e-13, Iterations: 500, Workers: 2}
			v, err := CrossValidate(t.Context(), registry[name], p, folds, opt)
			if err != nil {
				t.Fatal(err)
			}
			losses := map[float64]float64{}
			for _, lambda1 := range opt.Lambda1 {
				params := Params{Lambda1: lambda1}
				held := make([][]float64, 3)
				for i := range held {
					held[i] = make([]float64, len(p.Tasks[i].TrainSet.Y))
				}
				for _, fold := range folds {
					r := fitOn(t, name, fold.ProblemData, params)
					for i, task := range fold.Tasks {
						w := mat.Col(nil, i, r.W)
						for j, row := range fold.Rows[i] {
							held[i][row] = r.B[i]
							for k, x := range task.ValidationSet.X.Row(j).Value {
								held[i][row] += w[k] * float64(x)
							}
						}
					}
				}
				for i, task := range p.Tasks {
					sum, mean, n := 0.0, 0.0, float64(len(held[i]))
					for _, y := range task.TrainSet.Y {
						mean += y / n
					}
					variance := 0.0
					for j, y := range task.TrainSet.Y {
						variance += (y - mean) * (y - mean) / n
						if loss == Square {
							sum += (held[i][j] - y) * (held[i][j] - y) / n
						} else {
							sum += math.Log(1+math.Exp(-y*held[i][j])) / n
						}
					}
					if loss == Square {
						sum /= variance
					}
					losses[lambda1] += sum / 3
				}
				if lambda1 == v.Params.Lambda1 {
					for i := range held {
						for j := range held[i] {
							near(t, fmt.Sprintf("%s, %s, task %d, row %d", loss, name, i, j), v.Held[i][j], held[i][j], 1e-4)
						}
					}
					all := fitOn(t, name, p, params)
					near(t, "objective on all rows", fitAll(t, v).Objective, all.Objective, 1e-7)
				}
			}
			for _, trial := range v.Trials {
				near(t, fmt.Sprintf("%s, %s, lambda1 = %v", loss, name, trial.Params.Lambda1), trial.Validation, losses[trial.Params.Lambda1], 1e-5)
			}
			if least := math.Min(losses[0.3], losses[0.01]); math.Abs(v.Loss-least) > 1e-5*least || math.Abs(losses[v.Params.Lambda1]-least) > 1e-5*least {
				t.Errorf("%s, %s: loss %v at lambda1 = %v, of %v", loss, name, v.Loss, v.Params.Lambda1, losses)
			}
			one := opt
			one.Workers = 1
			again, err := CrossValidate(t.Context(), registry[name], p, folds, one)
			if err != nil || !slices.Equal(again.Held[1], v.Held[1]) || !mat.Equal(fitAll(t, again).W, fitAll(t, v).W) {
				t.Errorf("%s, %s: one worker differs from two: %v", loss, name, err)
			}
		}
	}
}

// Of many rows the first folds choose, and all judge.
func TestFirstFoldsChooseOfManyRows(t *testing.T) {
	p := slopeProblem(shape{3, 2, 2 * enoughRows, Square, false}, 4) // half of them for training
	folds, err := p.Folds(5, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if k := deciding(folds); k != 2 {
		t.Fatalf("%d of 5 folds of 3 x %d rows decide", k, enoughRows)
	}
	if k := deciding(folds[:1]); k != 1 {
		t.Errorf("%d of one fold decide", k)
	}
	opt := TuneOptions{Lambda1: []float64{10, 0.1}, Tolerance: 1e-12, Iterations: 100}
	var first *CrossValidated
	for _, opt.Workers = range []int{1, 2, 8} {
		v, err := CrossValidate(t.Context(), registry["stl"], p, folds, opt)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = v
		}
		if v.Loss != first.Loss || v.Params.Lambda1 != first.Params.Lambda1 {
			t.Errorf("with %d workers the loss is %v, with one %v", opt.Workers, v.Loss, first.Loss)
		}
	}
	chosen := math.Inf(1)
	for _, trial := range first.Trials {
		held := [3][]float64{}
		for i, task := range p.Tasks {
			held[i] = slices.Repeat([]float64{math.NaN()}, len(task.TrainSet.Y))
		}
		for k, fold := range folds {
			if k >= 2 && trial.Params.Lambda1 != first.Params.Lambda1 {
				continue
			}
			if k == 2 {
				near(t, "loss of the first folds", trial.Validation, heldLoss(held[:], p), 1e-6)
			}
			r := fitOn(t, "stl", fold.ProblemData, trial.Params)
			for i, task := range fold.Tasks {
				for j, f := range r.Scores(i, task.ValidationSet.X) {
					held[i][fold.Rows[i][j]] = f
				}
			}
		}
		chosen = min(chosen, trial.Validation)
		if trial.Params.Lambda1 == first.Params.Lambda1 {
			near(t, "loss of all folds", first.Loss, heldLoss(held[:], p), 1e-6)
			if trial.Validation != chosen {
				t.Errorf("lambda1 = %v was chosen at %v, not the least of %v", first.Params.Lambda1, trial.Validation, first.Trials)
			}
		}
	}
}

// In a metric, along directions and both, what a fold holds out is predicted by the fit in
// the metric of its own training rows, and W is of the features as they are.
func TestCrossValidationInMetrics(t *testing.T) {
	p := slopeProblem(shape{4, 3, 24, Square, false}, 5)
	folds, err := p.Folds(3, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	directions := mat.NewDense(3, 2, []float64{1, 0, 0.5, 1, 0, -2})
	for name, opt := range map[string]TuneOptions{
		"metric": {Ridge: 3}, "directions": {Directions: directions}, "both": {Ridge: 1, Directions: directions},
	} {
		opt.Lambda1, opt.Tolerance, opt.Iterations, opt.Fit.Tolerance = []float64{0.1}, 1e-13, 1000, 1e-13
		v, err := CrossValidate(t.Context(), registry["stl"], p, folds, opt)
		if err != nil {
			t.Fatal(err)
		}
		in := func(p *data.ProblemData) *Result {
			m := (*data.Metric)(nil)
			if opt.Ridge > 0 {
				m = data.NewMetric(p, opt.Ridge)
			}
			m = m.Along(p, opt.Directions)
			return fitOn(t, "stl", m.Problem(p), v.Params).restored(m)
		}
		for k, fold := range folds {
			r, plain := in(fold.ProblemData), fitOn(t, "stl", fold.ProblemData, v.Params)
			for i, task := range fold.Tasks {
				far := 0.0
				for j, f := range r.Scores(i, task.ValidationSet.X) {
					near(t, fmt.Sprintf("%s: fold %d, task %d, row %d", name, k, i, j), v.Held[i][fold.Rows[i][j]], f, 1e-5)
					far = max(far, math.Abs(f-plain.Scores(i, task.ValidationSet.X)[j]))
				}
				if far < 1e-3 {
					t.Errorf("%s: fold %d, task %d: fits of the features as they are predict the same", name, k, i)
				}
			}
		}
		got, want := fitAll(t, v), in(p)
		if !mat.EqualApprox(got.W, want.W, 1e-5) {
			t.Errorf("%s: W is\n%v\nwant\n%v", name, mat.Formatted(got.W), mat.Formatted(want.W))
		}
	}
}

func fitAll(t *testing.T, v *CrossValidated) *Result {
	t.Helper()
	r, err := v.Fit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fitOn(t *testing.T, name string, p *data.ProblemData, params Params) *Result {
	t.Helper()
	train, err := Training(p, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Fit(t.Context(), registry[name], train, params, Options{Tolerance: 1e-13})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A task with a single row of a class is fitted and never held out.
func TestRowsThatAreNeverHeldOut(t *testing.T) {
	p := slopeProblem(shape{3, 4, 20, Logistic, false}, 3)
	y := p.Tasks[1].TrainSet.Y
	for j := range y {
		y[j] = -1
	}
	y[4] = 1
	folds, err := p.Folds(5, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := CrossValidate(t.Context(), registry["stl"], p, folds, TuneOptions{Lambda1: []float64{0.1}})
	if err != nil {
		t.Fatal(err)
	}
	if s := v.Scores[1]; s.Held != 0 || s.Rows != 10 || !math.IsNaN(s.Error) || !math.IsNaN(s.AUC) {
		t.Errorf("score %+v", s)
	}
	if s := v.Scores[0]; s.Held != 10 || math.IsNaN(v.Loss) || math.IsNaN(s.AUC) {
		t.Errorf("score %+v, loss %v", s, v.Loss)
	}
}

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
		s := scoreOf(append(slices.Clone(f), math.NaN()), append(slices.Clone(y), 1), data.Classification)
		near(t, "AUC", s.AUC, won/pairs, 1e-12)
		q := wrong / float64(n)
		near(t, "error", s.Error, q, 1e-12)
		near(t, "standard error", s.StandardError, math.Sqrt(q*(1-q)/float64(n)), 1e-12)
		if s.Rows != n+1 || s.Held != n {
			t.Errorf("%d rows, %d held out", s.Rows, s.Held)
		}
	}
	s := scoreOf([]float64{1, 2, 4}, []float64{1, 3, 2}, data.Regression)
	near(t, "RMSE", s.Error, math.Sqrt(5.0/3), 1e-12)
	near(t, "R^2", s.R2, 1-5.0/2, 1e-12)
	// The squares 0, 1, 4 have the standard deviation sqrt(13/3).
	near(t, "standard error of the RMSE", s.StandardError, math.Sqrt(13.0/3/3)/(2*math.Sqrt(5.0/3)), 1e-12)
}

// Scores that are twice what a logistic model says have the temperature 2, and no
// other temperature has a smaller loss.
func TestTemperature(t *testing.T) {
	random := data.Stream(1, "temperature")
	held, labels := make([][]float64, 2), make([][]float64, 2)
	for i := range held {
		for range 20_000 {
			f, y := 1.5*random.NormFloat64(), -1.0
			if random.Float64() < 1/(1+math.Exp(-f)) {
				y = 1
			}
			held[i] = append(held[i], 2*f)
			labels[i] = append(labels[i], y)
		}
	}
	loss := func(at float64) (sum, brier float64) {
		for i := range held {
			for j, f := range held[i] {
				y := labels[i][j]
				sum += math.Log(1 + math.Exp(-y*f/at))
				brier += math.Pow(1/(1+math.Exp(-f/at))-(1+y)/2, 2) / 40_000
			}
		}
		return sum, brier
	}
	got, brier := Temperature(held, labels)
	near(t, "temperature", got, 2, 0.05)
	best, want := loss(got)
	near(t, "Brier score", brier, want, 1e-9)
	for _, other := range []float64{0.99 * got, 1.01 * got} {
		if l, _ := loss(other); l <= best {
			t.Errorf("loss %v at %v, %v at %v", best, got, l, other)
		}
	}
}
