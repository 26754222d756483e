package evidence

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// byHand is what evidence says of predictions for the rows y of every task: the mean loss of all
// rows, and the mean error of the tasks. Squares are divided by the variance of scale.
func byHand(s size, scores, y, scale [][]float64) (loss, wrong float64) {
	k := max(1, s.classes)
	temperature := temperatureByHand(scores, y, k)
	tasks, rows := 0.0, 0.0
	for i := range y {
		n := float64(len(y[i]))
		if n == 0 {
			continue
		}
		tasks++
		rows += n
		for j, v := range y[i] {
			f := scores[i][j*k:][:k]
			switch {
			case s.kind == data.Regression:
				square := (f[0] - v) * (f[0] - v) / stat.PopVariance(scale[i], nil)
				loss += square
				wrong += square / n
				continue
			case k == 1 && f[0]*v < 0, k > 1 && f[int(v)] < slices.Max(f):
				wrong += 1 / n
			}
			loss += logLoss(f, v, temperature)
		}
	}
	return loss / rows, wrong / tasks
}

// logLoss is -ln of the probability of a row's class: of two 1/(1 + exp(-y f/T)), of several
// the same for each against the rest, over their sum.
func logLoss(f []float64, y, temperature float64) float64 {
	sigmoid := func(f float64) float64 { return 1 / (1 + math.Exp(-f/temperature)) }
	if len(f) == 1 {
		return -math.Log(sigmoid(y * f[0]))
	}
	sum := 0.0
	for _, v := range f {
		sum += sigmoid(v)
	}
	return -math.Log(max(1e-6, sigmoid(f[int(y)])/sum))
}

func targets(p *data.ProblemData, of func(data.TaskData) data.Samples) (y [][]float64) {
	for _, t := range p.Tasks {
		y = append(y, of(t).Y)
	}
	return y
}

func training(t data.TaskData) data.Samples   { return t.TrainSet }
func validation(t data.TaskData) data.Samples { return t.ValidationSet }

// What is held out is predicted by a fit, from scratch, on the other rows, and the loss and
// the error are those of these predictions: of folds, of the first ones alone, of a model of
// its own for each, and of a split.
func TestHeldOutIsPredictedByOtherRows(t *testing.T) {
	datatest.Long(t)
	for seed, s := range sizes {
		p := made(s, uint64(3+seed))
		folds := datatest.Must(p.Folds(4, 1, nil))(t)
		e := datatest.Must(NewFolds(p, folds, nil))(t)
		e.deciding = 2
		stl, mtrl := named(t, "stl"), named(t, "mtrl")
		each := mtrl
		for k := range folds {
			each.Folds = append(each.Folds, datatest.Must(multitask.Given(covariance(s.m, s.m, uint64(k))))(t))
		}
		split := datatest.Must(NewSplit(p))(t)
		for what, c := range map[string]struct {
			of    Subject
			judge bool
			folds []data.Fold
			hold  func() (*HeldOut, error)
		}{
			"all folds": {stl, true, folds, func() (*HeldOut, error) {
				return e.Whole().Hold(t.Context(), stl, multitask.Params{Lambda1: 0.1}, nil, close)
			}},
			"first folds": {mtrl, true, folds[:2], func() (*HeldOut, error) {
				return e.Hold(t.Context(), mtrl, multitask.Params{Lambda1: 0.1}, nil, close)
			}},
			"a model each": {each, true, folds, func() (*HeldOut, error) {
				return e.Whole().Hold(t.Context(), each, multitask.Params{Lambda1: 0.1}, nil, close)
			}},
			"split": {mtrl, false, []data.Fold{{ProblemData: p}}, func() (*HeldOut, error) {
				return split.Hold(t.Context(), mtrl, multitask.Params{Lambda1: 0.1}, nil, close)
			}},
		} {
			what = fmt.Sprintf("%v, %s", s, what)
			got := datatest.Must(c.hold())(t)
			scores, y := make([][]float64, s.m), make([][]float64, s.m)
			for k, fold := range c.folds {
				r := fitted(t, c.of.fold(k), fold.ProblemData, multitask.Params{Lambda1: 0.1})
				for i, task := range fold.Tasks {
					y[i] = append(y[i], task.ValidationSet.Y...)
					for j := range task.ValidationSet.Y {
						scores[i] = append(scores[i], predicted(r, i, task.ValidationSet.X.Row(j))...)
					}
				}
			}
			rows := 0
			for i := range scores {
				rows += len(y[i])
				if !slices.Equal(got.Y[i], y[i]) || len(got.Scores[i]) != len(scores[i]) {
					t.Fatalf("%s: task %d is %v with %d scores, want %v with %d", what, i, got.Y[i], len(got.Scores[i]), y[i], len(scores[i]))
				}
				for j, f := range scores[i] {
					if got.Scores[i][j] != f { // both may be -Inf
						near(t, fmt.Sprintf("%s: task %d, score %d", what, i, j), got.Scores[i][j], f, 1e-4)
					}
				}
			}
			scale := targets(p, training)
			switch {
			case !c.judge:
				scale = targets(p, validation)
			case s.kind == data.Regression:
				all := slices.Concat(scale...)
				for i := range scale {
					scale[i] = all
				}
			}
			loss, wrong := byHand(s, scores, y, scale)
			if !c.judge { // as the paper has it
				loss = wrong
			}
			near(t, what+": loss", got.Loss, loss, 1e-4)
			near(t, what+": error", got.Error, wrong, 1e-4)
			datatest.Holds(t, got.Rows == rows && len(got.Fits) == len(c.folds),
				"%s: %d rows of %d fits, want %d of %d", what, got.Rows, len(got.Fits), rows, len(c.folds))
		}
	}
}

// predicted is X W + b of one row.
func predicted(r *multitask.Result, task int, row data.Row) []float64 {
	d, m := len(row.Value), len(r.B)
	_, tasks := r.W.Dims()
	k := m / tasks
	f := slices.Clone(r.B[task*k:][:k])
	for c := range f {
		for j, v := range row.Value {
			f[c] += r.W.At(c*d+j, task) * float64(v)
		}
	}
	return f
}

// Where rows are many, as many of the first folds as hold out 5,000 of them decide, and all
// judge what is chosen.
func TestFirstFoldsDecideOfManyRows(t *testing.T) {
	datatest.Long(t)
	for _, c := range []struct{ n, folds, deciding int }{{enoughRows, 5, 2}, {enoughRows, 1, 1}, {20, 5, 5}} {
		p := made(size{data.Regression, 3, 2, c.n, 0}, 4)
		e := datatest.Must(NewFolds(p, datatest.Must(p.Folds(5, 1, nil))(t)[:c.folds], nil))(t)
		datatest.Holds(t, e.deciding == c.deciding, "%d of %d folds decide, want %d", e.deciding, c.folds, c.deciding)
		o := Options{Lambda1: []float64{0.1}, fit: close}
		chosen := datatest.Must(Held(t.Context(), named(t, "stl"), e, o))(t)
		rows := 3 * c.n * c.folds / 5
		datatest.Holds(t, chosen.Rows == rows, "%d of %d rows judge what is chosen", chosen.Rows, rows)
		first := tried(t, named(t, "stl"), e, o)[0].loss
		if same := math.Abs(first-chosen.Loss) < 1e-6*chosen.Loss; same != (c.deciding == c.folds) {
			t.Errorf("%d of %d folds decide by the loss %v, all say %v", c.deciding, c.folds, first, chosen.Loss)
		}
	}
}

// Leave-one-out of up to 400 rows, times the classes, and five folds of more; of all rows
// but those to test.
func TestLabelledChoosesTheKind(t *testing.T) {
	datatest.Long(t)
	for _, c := range []struct {
		s     size
		folds bool
	}{
		{size{data.Classification, 2, 3, 100, 0}, false},
		{size{data.Classification, 2, 3, 101, 0}, true},
		{size{data.Classification, 3, 3, 16, 4}, false},
		{size{data.Classification, 3, 3, 17, 4}, true},
	} {
		e := datatest.Must(Labelled(made(c.s, 1)))(t)
		folds, ok := e.(*Folds)
		datatest.Holds(t, ok == c.folds && (!ok || len(folds.parts) == 5),
			"%v: %T", c.s, e)
		if h := hold(t, e, given(t, multitask.Uniform(c.s.m)), 0.1); h.Rows != 2*c.s.n*c.s.m {
			t.Errorf("%v: %d rows held out", c.s, h.Rows)
		}
	}
}

// Tasks of one class, of one row and of none have their rows held out like all others.
func TestRowsOfPoorTasksAreHeldOut(t *testing.T) {
	p := made(size{data.Classification, 4, 4, 10, 0}, 3)
	for i, n := range []int{10, 10, 1, 0} {
		set := &p.Tasks[i].TrainSet
		*set = data.Samples{X: set.X.Take([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}[:n]), Y: set.Y[:n]}
	}
	y := p.Tasks[1].TrainSet.Y
	for j := range y {
		y[j] = -1
	}
	h := hold(t, datatest.Must(NewFolds(p, datatest.Must(p.Folds(5, 1, nil))(t), nil))(t), named(t, "stl"), 0.1)
	scores, _ := h.ScoresOf(p)
	for i, rows := range []int{10, 10, 1, 0} {
		s := scores[i]
		datatest.Holds(t, s.Held == rows && s.Rows == rows && math.IsNaN(float64(s.Error)) == (rows == 0) && math.IsNaN(float64(s.AUC)) == (i > 0),
			"score %+v of %d rows", s, rows)
	}
	datatest.Holds(t, h.Rows == 21 && !math.IsNaN(h.Loss) && !math.IsInf(h.Loss, 0),
		"%d rows have the loss %v", h.Rows, h.Loss)
	mean := MeanScore(scores)
	near(t, "mean error", float64(mean.Error), float64(scores[0].Error+scores[1].Error+scores[2].Error)/3, 1e-12)
	variance := 0.0
	for _, s := range scores[:3] {
		variance += math.Pow(float64(s.StandardError), 2)
	}
	near(t, "its standard error", float64(mean.StandardError), math.Sqrt(variance)/3, 1e-12)
	datatest.Holds(t, mean.Held == 21 && mean.Rows == 21 && math.IsNaN(float64(mean.R2)),
		"mean %+v", mean)
}

// What keeps rows from being held out is an error that says which.
func TestEvidenceSaysWhatIsMissing(t *testing.T) {
	classes, regression := sizes[0], sizes[1]
	for _, c := range []struct {
		s      size
		change func(t *data.TaskData)
		make   func(p *data.ProblemData) (Evidence, error)
		says   string
	}{
		{classes, func(t *data.TaskData) { t.ValidationSet = data.Samples{} }, split, `task "b": it needs validation rows with 6 features`},
		{classes, func(t *data.TaskData) { t.TrainSet = data.Samples{} }, split, `task "b", features: there are none`},
		{regression, func(t *data.TaskData) {}, func(p *data.ProblemData) (Evidence, error) {
			return NewFolds(p, []data.Fold{{ProblemData: p.TrainingOnly(), Rows: make([][]int, 2)}}, nil)
		}, "no fold has rows"},
	} {
		p := made(c.s, 1)
		c.change(&p.Tasks[1])
		datatest.Refused(c.make(p))(t, multitask.ErrInvalidData, c.says)
	}
}

// Squares are measured by one variance of all targets, around one mean, and every row counts once.
// Targets of different meaning have variances of their own, and count the same however many rows
// they have.
func TestLossOfTargets(t *testing.T) {
	y := [][]float64{{1, 2, 3, 4}, {10, 30}, {5}, nil}
	scores := [][]float64{{1, 2, 3, 2}, {14, 30}, {6}, nil}
	squares := [][]float64{{0, 0, 0, 4}, {16, 0}, {1}, nil}
	all := stat.PopVariance(slices.Concat(y...), nil)
	for _, c := range []struct {
		own  bool
		loss float64
	}{
		{false, (4 + 16 + 1) / all / 7},
		{true, (4/1.25/4 + 16/100./2 + 1/all) / 3},
	} {
		e := heldRows{kind: data.Regression, same: c.own, scale: datatest.Must(scales(y, c.own))(t)}
		h := e.heldOut(scores, samplesOf(y))
		near(t, fmt.Sprintf("own units %t: loss", c.own), h.Loss, c.loss, 1e-12)
		for i, row := range squares {
			for j, v := range row {
				near(t, fmt.Sprintf("own units %t: loss of row %d of task %d", c.own, j, i), h.losses[i][j]*e.scale[i], v, 1e-12)
			}
		}
		none := e.heldOut(make([][]float64, 4), make([]data.Samples, 4))
		datatest.Holds(t, math.IsNaN(none.Loss) && none.Rows == 0, "no rows have the loss %v", none.Loss)
	}
	for _, own := range []bool{false, true} {
		if v, err := scales([][]float64{{1, 1}, {1}, nil}, own); !errors.Is(err, multitask.ErrInvalidData) {
			t.Errorf("targets that are all equal have the variances %v, %v", v, err)
		}
	}
}

// Problems say themselves whether their targets have units of their own: then other units of one
// task change no loss.
func TestOwnUnitsOfProblems(t *testing.T) {
	for _, own := range []bool{false, true} {
		var losses []float64
		for _, unit := range []float64{1, 100} {
			p := made(sizes[1], 1)
			p.OwnUnits = own
			floats.Scale(unit, p.Tasks[0].TrainSet.Y)
			losses = append(losses, hold(t, datatest.Must(folds(p))(t), named(t, "stl"), 0.1).Loss)
		}
		same := math.Abs(losses[1]-losses[0]) < 1e-4*losses[0]
		datatest.Holds(t, same == own, "own units %t: the loss is %v, and %v in other units", own, losses[0], losses[1])
	}
}

// Predictions of whatever model are measured as those of fits are, fold after fold.
func TestPredictedIsMeasuredAlike(t *testing.T) {
	for seed, s := range sizes {
		p := made(s, uint64(seed))
		e := datatest.Must(NewFolds(p, datatest.Must(p.Folds(4, 1, nil))(t), nil))(t)
		want := datatest.Must(e.Whole().Hold(t.Context(), named(t, "stl"), multitask.Params{Lambda1: 0.1}, nil, close))(t)
		got := e.Predicted(want.Scores)
		got.Fits = want.Fits
		datatest.Equal(t, got, want, "%v", s)
	}
}

// Where no rows are held out nothing is known, and nothing panics.
func TestNoneKnowsNothing(t *testing.T) {
	for _, s := range sizes {
		p := made(s, 1)
		h := None(s.m)
		scores, _ := h.ScoresOf(p)
		for _, score := range scores {
			datatest.Holds(t, score.Held == 0 && score.Rows == s.n && math.IsNaN(float64(score.Error)),
				"%v: score %+v", s, score)
		}
		fit := &saved.Fit{Kind: s.kind, Tasks: make([]saved.Task, s.m)}
		h.Judge(fit)
		datatest.Holds(t, math.IsNaN(h.Loss) && math.IsNaN(h.Error) && math.IsInf(fit.Interval(0.5), 1) && (s.kind != data.Classification || fit.Temperature == 1),
			"%v: loss %v, error %v, temperature %v", s, h.Loss, h.Error, fit.Temperature)
		pair := PairedLoss(h, None(s.m))
		datatest.Holds(t, math.IsNaN(pair.Loss) && pair.Sign() == 0, "%v: compared with none: %+v", s, pair)
	}
}

func split(p *data.ProblemData) (Evidence, error) { return NewSplit(p) }

func folds(p *data.ProblemData) (Evidence, error) {
	folds, err := p.Folds(3, 1, nil)
	if err != nil {
		return nil, err
	}
	return NewFolds(p, folds, nil)
}

// A fold of equal targets is no more than a poor fold, and a row that is alone in its task is
// predicted by what the others say of that.
func TestPoorFolds(t *testing.T) {
	p := made(sizes[1], 1)
	y := p.Tasks[1].TrainSet.Y
	for j := range y[:14] {
		y[j] = 0.1
	}
	p.Tasks[0].TrainSet = data.Samples{X: p.Tasks[0].TrainSet.X.Take([]int{0}), Y: []float64{1}}
	h := hold(t, datatest.Must(folds(p))(t), named(t, "stl"), 0.1)
	datatest.Holds(t, h.Rows == 16 && len(h.Scores[0]) == 1 && h.Loss > 0 && !math.IsInf(h.Loss, 0),
		"%+v", h)
}
