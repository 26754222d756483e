package solve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model/evidence"
)

// nothing is a table without anything to share: unrelated tasks, or noise; classes and
// regressions in turn.
func nothing(t *testing.T, k uint64) (p *data.ProblemData, noise bool) {
	t.Helper()
	kind := data.Kind(data.Classification)
	if k%2 == 1 {
		kind = data.Regression
	}
	r := data.Stream(7, "nothing", k)
	tasks := 4 + r.IntN(13)
	columns := 5 + r.IntN(36)
	rows := int(10 * math.Pow(10, r.Float64()))
	p = family{kind, false, tasks, rows, columns, k, 6}.problem(t)
	noise = k/2%2 == 1
	if noise {
		p = shuffled(p, k)
	}
	return p, noise
}

// shuffled is a problem whose labels say nothing.
func shuffled(p *data.ProblemData, seed uint64) *data.ProblemData {
	q := &data.ProblemData{Problem: p.Problem}
	for i, task := range p.Tasks {
		r := data.Stream(seed, "shuffled", uint64(i))
		for _, s := range []*data.Samples{&task.TrainSet, &task.TestSet} {
			s.Y = append([]float64(nil), s.Y...)
			r.Shuffle(len(s.Y), func(a, b int) { s.Y[a], s.Y[b] = s.Y[b], s.Y[a] })
		}
		q.Tasks = append(q.Tasks, task)
	}
	return q
}

// testLoss is what test rows lose: log loss, or squared errors.
func testLoss(t *testing.T, f *Fitted) float64 {
	t.Helper()
	var scores, y []float64
	for i, s := range predictions(t, f) {
		scores = append(scores, s...)
		y = append(y, f.problem.Tasks[i].TestSet.Y...)
	}
	return lossOf(scores, y, f)
}

func lossOf(scores, y []float64, f *Fitted) float64 {
	if f.problem.Kind() == data.Regression {
		return math.Pow(float64(evidence.ScoreOf(data.Regression, scores, y, nil, 1, 0).Error), 2)
	}
	temperature := f.HeldOut.Temperature
	return float64(evidence.ScoreOf(data.Classification, scores, y, nil, temperature, 0).LogLoss)
}

// constantLoss is what test rows lose to the mean of all labelled rows, or to the share of a class.
func constantLoss(p *data.ProblemData) float64 {
	var train, test []float64
	for _, task := range p.Tasks {
		train = append(train, task.TrainSet.Y...)
		test = append(test, task.TestSet.Y...)
	}
	mean := stat.Mean(train, nil)
	loss := 0.0
	for _, y := range test {
		if p.Kind() == data.Regression {
			loss += (y - mean) * (y - mean)
		} else {
			loss -= math.Log((1 + y*mean) / 2)
		}
	}
	return loss / float64(len(test))
}

// overNothing fits tables from which there is nothing to gain. It returns the geometric means of
// the test loss over that of the mean, for noise, and over that of tasks on their own, for
// unrelated tasks; and of the loss that held-out rows promise of noise over that of the mean.
func overNothing(t *testing.T, tables uint64) (noise, promised, unrelated float64) {
	t.Helper()
	n := map[bool]float64{}
	for k := range tables {
		p, isNoise := nothing(t, k)
		b := bench(t, nil, p, Options{Seed: k, Workers: 2})
		choice := choose(t, b, Parts{})
		got := testLoss(t, datatest.Must(b.Fit(t.Context(), choice))(t))
		n[isNoise]++
		if isNoise {
			mean := datatest.Must(b.Held(t.Context(), Candidate{Structure: Structure{View: Level}}))(t)
			ratio := got / constantLoss(p)
			noise += math.Log(ratio)
			promised += math.Log(choice.Loss / mean.Loss)
			t.Logf("table %d, %s: noise has %.3f of the mean's test loss, and %.3f of its held-out loss: %s", k, p.Kind(), ratio, choice.Loss/mean.Loss, choice.Name())
			continue
		}
		alone, _ := b.Rivals(choice)
		ratio := got / testLoss(t, fit(t, b, alone))
		unrelated += math.Log(ratio)
		t.Logf("table %d, %s: unrelated tasks have %.3f of the test loss of each on its own: %s", k, p.Kind(), ratio, choice.Name())
	}
	return math.Exp(noise / n[true]), math.Exp(promised / n[true]), math.Exp(unrelated / n[false])
}

// Where there is nothing to learn, or to share, looking for it costs next to nothing.
func TestNothingIsSharedWhereThereIsNothing(t *testing.T) {
	datatest.Long(t)
	noise, promised, unrelated := overNothing(t, 8)
	datatest.Holds(t, noise <= 1.01 && promised <= 1.01 && unrelated <= 1.01,
		"of the mean's loss noise has %.3f on test rows, and %.3f on rows held out; unrelated tasks have %.3f of the loss of each on its own", noise, promised, unrelated)
}

// Related tasks help each other where rows are few: the test loss is clearly below that of tasks
// on their own.
func TestRelatedTasksAreShared(t *testing.T) {
	datatest.Long(t)
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		for seed := range uint64(2) {
			p := family{kind, true, 6, 20, 10, seed, 7}.problem(t)
			b := bench(t, nil, p, Options{Seed: seed, Workers: 2})
			choice := choose(t, b, Parts{})
			alone, _ := b.Rivals(choice)
			got := testLoss(t, datatest.Must(b.Fit(t.Context(), choice))(t))
			own := testLoss(t, fit(t, b, alone))
			if !choice.Shares() || got > 0.9*own || choice.Loss > 0.95*judge(t, b, alone).Loss {
				t.Errorf("%s, seed %d: %s shares %t, with a test loss of %.3f; tasks on their own have %.3f", kind, seed, choice.Name(), choice.Shares(), got, own)
			}
		}
	}
}

// bending has tasks whose targets are a function of six columns, and noise of deviation 0.1.
func bending(t *testing.T, rows int, f func(slope float64, x []float32) float64) *data.ProblemData {
	t.Helper()
	p := &data.ProblemData{Problem: &data.Problem{Name: "p"}}
	for i := range 4 {
		r := data.Stream(0, "bending", uint64(i))
		set := func(n int) data.Samples {
			x := make([]float32, 6*n)
			y := make([]float64, n)
			for j := range y {
				row := x[6*j:][:6]
				for k := range row {
					row[k] = float32(r.NormFloat64())
				}
				y[j] = f(1+0.1*float64(i), row) + 0.1*r.NormFloat64()
			}
			return data.Samples{X: datatest.Must(data.NewDense(n, 6, x))(t), Y: y}
		}
		task := &data.Task{Name: string('a' + rune(i)), Kind: data.Regression}
		p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: set(rows), TestSet: set(200)})
	}
	return p
}

// Columns that bend, and columns that depend on each other, are predicted far better than straight
// ones would, and straight ones no worse.
func TestColumnsBendWhereRowsSaySo(t *testing.T) {
	datatest.Long(t)
	for _, c := range []struct {
		name   string
		f      func(slope float64, x []float32) float64
		target float64 // test error, relative to straight columns
	}{
		{"straight", func(slope float64, x []float32) float64 { return float64(x[0]) + slope*float64(x[1]) }, 1.05},
		{"curves", func(slope float64, x []float32) (y float64) {
			for _, v := range x {
				y += slope * math.Abs(float64(v))
			}
			return y
		}, 0.2},
		{"together", func(slope float64, x []float32) float64 { return slope * float64(x[0]*x[1]) }, 0.7},
	} {
		p := bending(t, 60, c.f)
		straight := solved(t, nil, p, Options{Workers: 2}, Parts{View: Straight})
		got := solved(t, nil, p, Options{Workers: 2}, Parts{})
		if got.Test.Mean > c.target*straight.Test.Mean {
			t.Errorf("%s: %s has a test error of %.4f; straight columns have %.4f", c.name, got.Choice.Name(), got.Test.Mean, straight.Test.Mean)
		}
	}
}

// family says how problems are drawn of which the truth is known: the weights of the tasks are
// drawn with the same correlation of any two,
//
//	W = Z U,  U'U = Omega,  Z of independent normal entries, d x m,
//
// rows with an expected square of their length of 1, and labels
//
//	y = x'w_i + 0.3 e,  for classes its sign.
//
// So Omega is what the best covariance of such a problem has to be like.
type family struct {
	kind  data.Kind
	alike bool // a correlation of 0.9, not 0
	// rows are those of a task to learn from, two at least.
	tasks, rows, features int
	// seed and number tell problems apart.
	seed, number uint64
}

const noiseOfRows = 0.3

// problem draws a problem.
func (f family) problem(t *testing.T) *data.ProblemData {
	t.Helper()
	name, correlation := "unrelated", 0.0
	if f.alike {
		name, correlation = "alike", 0.9
	}
	r := data.Stream(f.seed, "family "+name, f.number)
	r.Uint64() // the draws that docs/results.md tells of begin with the second
	omega := mat.NewSymDense(f.tasks, nil)
	for i := range f.tasks {
		omega.SetSym(i, i, 1)
		for j := range i {
			omega.SetSym(i, j, correlation)
		}
	}
	var l mat.Cholesky
	datatest.Need(t, l.Factorize(omega), "the covariance of %+v is not positive definite", f)
	w := mat.NewDense(f.features, f.tasks, nil)
	w.Apply(func(_, _ int, _ float64) float64 { return r.NormFloat64() }, w)
	w.Mul(w, l.RawU())
	p := &data.ProblemData{Problem: &data.Problem{Name: "generated"}}
	for i := range f.tasks {
		task := data.TaskData{Task: &data.Task{Name: fmt.Sprintf("task %d", i+1), Kind: f.kind}}
		if f.kind == data.Classification {
			task.Positive, task.Negative = "yes", "no"
		}
		wi := mat.Col(nil, i, w)
		task.TrainSet = f.draw(t, r, wi, f.rows)
		task.TestSet = f.draw(t, data.Stream(f.seed, "test rows", f.number, uint64(i)), wi, 200)
		f.draw(t, r, wi, 2) // as many as were drawn before
		task.ValidationSet = data.Samples{X: task.TrainSet.X.Take(nil)}
		p.Problem.Tasks, p.Tasks = append(p.Problem.Tasks, task.Task), append(p.Tasks, task)
	}
	return p
}

// draw draws n rows of a task, of both classes.
func (f family) draw(t *testing.T, r *rand.Rand, w []float64, n int) data.Samples {
	var s data.Samples
	var value []float32
	for range n {
		y, product := noiseOfRows*r.NormFloat64(), 0.0
		for _, v := range w {
			x := r.NormFloat64() / math.Sqrt(float64(len(w)))
			value, product = append(value, float32(x)), product+x*v
		}
		y += product
		if f.kind == data.Classification {
			y = math.Copysign(1, y)
		}
		s.Y = append(s.Y, y)
	}
	if f.kind == data.Classification && !slices.Contains(s.Y, -s.Y[0]) {
		s.Y[0] = -s.Y[0]
	}
	s.X = datatest.Must(data.NewDense(n, f.features, value))(t)
	return s
}
