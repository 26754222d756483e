package evidence

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/model/multitask"
)

// byHand is what evidence says of predictions for the rows y of every task: the mean loss
// and the mean error of the tasks. Those of a regression are divided by the variance of scale.
func byHand(s size, scores, y, scale [][]float64) (loss, wrong float64) {
	k := max(1, s.classes)
	temperature := math.Exp(least(-math.Log(hottest), math.Log(hottest), func(t float64) (sum float64) {
		for i := range y {
			for j, v := range y[i] {
				sum += logLoss(scores[i][j*k:][:k], v, math.Exp(t))
			}
		}
		return sum
	}))
	tasks := 0.0
	for i := range y {
		n, mean := float64(len(y[i])), 0.0
		if n == 0 {
			continue
		}
		tasks++
		for _, v := range scale[i] {
			mean += v / float64(len(scale[i]))
		}
		variance := 0.0
		for _, v := range scale[i] {
			variance += (v - mean) * (v - mean) / float64(len(scale[i]))
		}
		for j, v := range y[i] {
			f := scores[i][j*k:][:k]
			switch {
			case s.kind == data.Regression:
				square := (f[0] - v) * (f[0] - v) / variance / n
				loss, wrong = loss+square, wrong+square
				continue
			case k == 1 && f[0]*v < 0, k > 1 && f[int(v)] < slices.Max(f):
				wrong += 1 / n
			}
			loss += logLoss(f, v, temperature) / n
		}
	}
	return loss / tasks, wrong / tasks
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

// moveByHand adds to the scores of rows of k classes c T ln((n_c + 1/2) / (n - n_c + 1/2)), of
// two that of the second, with a T and c of the least sum of losses and c^2/2.
func moveByHand(scores, y, labels [][]float64, k int) {
	at := func(cold, c float64) (moved [][]float64, loss float64) {
		loss, moved = c*c/2, make([][]float64, len(scores))
		for i, f := range scores {
			for j, v := range f {
				class, n := float64(max(j%k, 2-k)), 0.5
				for _, label := range labels[i] {
					if label == class {
						n++
					}
				}
				moved[i] = append(moved[i], cold*v+c*math.Log(n/(float64(len(labels[i]))-n+1)))
			}
			for j, v := range y[i] {
				loss += logLoss(moved[i][j*k:][:k], v, 1)
			}
		}
		return moved, loss
	}
	span := math.Log(hottest)
	colder := func(c float64) float64 {
		return math.Exp(least(-span, span, func(l float64) float64 { _, loss := at(math.Exp(l), c); return loss }))
	}
	c := least(-10, 10, func(c float64) float64 { _, loss := at(colder(c), c); return loss })
	cold := colder(c)
	moved, _ := at(cold, c)
	for i := range scores {
		floats.ScaleTo(scores[i], 1/cold, moved[i])
	}
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
	for seed, s := range sizes {
		p := made(s, uint64(3+seed))
		folds := must(p.Folds(4, 1, nil))(t)
		e := must(NewFolds(p, folds, nil))(t)
		e.deciding = 2
		stl, mtrl := named(t, "stl"), named(t, "mtrl")
		each := mtrl
		for k := range folds {
			each.Folds = append(each.Folds, must(multitask.Given(covariance(s.m, s.m, uint64(k))))(t))
		}
		split := must(NewSplit(p))(t)
		for what, c := range map[string]struct {
			of    Subject
			judge bool
			folds []data.Fold
			hold  func() (*HeldOut, error)
		}{
			"all folds": {stl, true, folds, func() (*HeldOut, error) {
				return e.Judge(t.Context(), stl, multitask.Params{Lambda1: 0.1}, nil, close)
			}},
			"first folds": {mtrl, true, folds[:2], func() (*HeldOut, error) {
				return e.Hold(t.Context(), mtrl, multitask.Params{Lambda1: 0.1}, nil, close)
			}},
			"a model each": {each, true, folds, func() (*HeldOut, error) {
				return e.Judge(t.Context(), each, multitask.Params{Lambda1: 0.1}, nil, close)
			}},
			"split": {mtrl, false, []data.Fold{{ProblemData: p}}, func() (*HeldOut, error) {
				return split.Hold(t.Context(), mtrl, multitask.Params{Lambda1: 0.1}, nil, close)
			}},
		} {
			what = fmt.Sprintf("%v, %s", s, what)
			got := must(c.hold())(t)
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
			if c.judge && s.kind == data.Classification {
				moveByHand(scores, y, targets(p, training), max(1, s.classes))
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
				for i, v := range must(scales(scale))(t) {
					scale[i] = []float64{-math.Sqrt(v), math.Sqrt(v)}
				}
			}
			loss, wrong := byHand(s, scores, y, scale)
			if !c.judge { // as the paper has it
				loss = wrong
			}
			near(t, what+": loss", got.Loss, loss, 1e-4)
			near(t, what+": error", got.Error, wrong, 1e-4)
			if got.Rows != rows || len(got.Fits) != len(c.folds) {
				t.Errorf("%s: %d rows of %d fits, want %d of %d", what, got.Rows, len(got.Fits), rows, len(c.folds))
			}
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
	for _, c := range []struct{ n, folds, deciding int }{{enoughRows, 5, 2}, {enoughRows, 1, 1}, {20, 5, 5}} {
		p := made(size{data.Regression, 3, 2, c.n, 0}, 4)
		e := must(NewFolds(p, must(p.Folds(5, 1, nil))(t)[:c.folds], nil))(t)
		if e.deciding != c.deciding {
			t.Errorf("%d of %d folds decide, want %d", e.deciding, c.folds, c.deciding)
		}
		o := Options{Lambda1: []float64{0.1}, fit: close}
		chosen := must(Held(t.Context(), named(t, "stl"), e, o))(t)
		if rows := 3 * c.n * c.folds / 5; chosen.Rows != rows {
			t.Errorf("%d of %d rows judge what is chosen", chosen.Rows, rows)
		}
		first := tried(t, named(t, "stl"), e, o)[0].loss
		if same := math.Abs(first-chosen.Loss) < 1e-6*chosen.Loss; same != (c.deciding == c.folds) {
			t.Errorf("%d of %d folds decide by the loss %v, all say %v", c.deciding, c.folds, first, chosen.Loss)
		}
	}
}

// Leave-one-out of up to 400 rows, times the classes, and five folds of more; of all rows
// but those to test.
func TestLabelledChoosesTheKind(t *testing.T) {
	for _, c := range []struct {
		s     size
		folds bool
	}{
		{size{data.Classification, 2, 3, 100, 0}, false},
		{size{data.Classification, 2, 3, 101, 0}, true},
		{size{data.Classification, 3, 3, 16, 4}, false},
		{size{data.Classification, 3, 3, 17, 4}, true},
	} {
		e := must(Labelled(made(c.s, 1), 7))(t)
		folds, ok := e.(*Folds)
		if ok != c.folds || ok && len(folds.parts) != 5 {
			t.Errorf("%v: %T", c.s, e)
		}
		if h := hold(t, e, given(t, multitask.Uniform(c.s.m)), 0.1); h.Rows != 2*c.s.n*c.s.m {
			t.Errorf("%v: %d rows held out", c.s, h.Rows)
		}
	}
}

// A task with a single row of a class is fitted and never held out: its loss has no part.
func TestRowsThatAreNeverHeldOut(t *testing.T) {
	p := made(size{data.Classification, 3, 4, 10, 0}, 3)
	y := p.Tasks[1].TrainSet.Y
	for j := range y {
		y[j] = -1
	}
	y[4] = 1
	h := hold(t, must(NewFolds(p, must(p.Folds(5, 1, nil))(t), nil))(t), named(t, "stl"), 0.1)
	scores := h.ScoresOf(p)
	if s := scores[1]; s.Held != 0 || s.Rows != 10 || !math.IsNaN(float64(s.Error)) || !math.IsNaN(float64(s.AUC)) || !math.IsNaN(float64(s.StandardError)) {
		t.Errorf("score %+v", s)
	}
	if s := scores[0]; s.Held != 10 || s.Rows != 10 || math.IsNaN(h.Loss) || math.IsNaN(float64(s.AUC)) {
		t.Errorf("score %+v, loss %v", s, h.Loss)
	}
	mean := MeanScore(scores)
	near(t, "mean error", float64(mean.Error), float64(scores[0].Error+scores[2].Error)/2, 1e-12)
	near(t, "its standard error", float64(mean.StandardError), math.Hypot(float64(scores[0].StandardError), float64(scores[2].StandardError))/2, 1e-12)
	if mean.Held != 20 || mean.Rows != 30 || !math.IsNaN(float64(mean.R2)) {
		t.Errorf("mean %+v", mean)
	}
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
		{classes, func(t *data.TaskData) { t.TrainSet = data.Samples{} }, split, `task "b": features: it needs at least one feature`},
		{regression, func(t *data.TaskData) {}, func(p *data.ProblemData) (Evidence, error) {
			return NewFolds(p, []data.Fold{{ProblemData: p.TrainingOnly(), Rows: make([][]int, 2)}}, nil)
		}, "no fold has rows"},
	} {
		p := made(c.s, 1)
		c.change(&p.Tasks[1])
		if _, err := c.make(p); !errors.Is(err, multitask.ErrInvalidData) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
}

// Variances of few rows that differ by chance are drawn together, those that do differ hardly,
// and equal targets have the mean of all.
func TestScales(t *testing.T) {
	random, same, other := data.Stream(1, "scales"), make([][]float64, 300), make([][]float64, 300)
	for i := range same {
		same[i], other[i] = normals(random, 3), normals(random, 100)
		floats.Scale(math.Pow(10, float64(i%7)), other[i])
	}
	same[0] = []float64{2, 2, 2}
	for i, v := range must(scales(same))(t) {
		near(t, fmt.Sprintf("variance of task %d, of all 1", i), v, 1, 0.4)
	}
	for i, v := range must(scales(other))(t) {
		near(t, fmt.Sprintf("variance of task %d", i), v, math.Pow(deviation(other[i]), 2), 0.03)
	}
	if v, err := scales([][]float64{{1, 1}, {2}, nil}); !errors.Is(err, multitask.ErrInvalidData) {
		t.Errorf("targets that are all equal have the variances %v, %v", v, err)
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
	h := hold(t, must(folds(p))(t), named(t, "stl"), 0.1)
	if h.Rows != 16 || len(h.Scores[0]) != 1 || !(h.Loss > 0) || math.IsInf(h.Loss, 0) {
		t.Errorf("%+v", h)
	}
}
