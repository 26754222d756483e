package saved

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/format"
	"l2mt/data/table"
	"l2mt/model/multitask"
)

// doubted gives a fit random doubts and a random shared part.
func doubted(s *Fit, r *rand.Rand) *Fit {
	d := len(s.Features)
	k := max(1, len(s.Classes))
	random := func(n int, deviation float64) []float64 {
		v := datatest.Normals[float64](r, n)
		floats.Scale(deviation, v)
		return v
	}
	s.Shared = &multitask.Linear{W: random(k*d, 0.01), B: random(k, 1)}
	s.Doubt = &Doubt{Noise: 0.3, Common: random(4*(d+1), 0.1), Own: random(2*(d+1), 0.2)}
	for range len(s.Tasks) + 1 {
		s.Doubt.Tasks = append(s.Doubt.Tasks, TaskDoubt{Left: r.Float64(), Loading: r.NormFloat64(), Scale: 1 + r.Float64()})
	}
	s.Spread = 1.5
	for i := range s.Tasks {
		s.Tasks[i].Spread = 1 + float64(i)
	}
	return s
}

// randomRows draws seven rows of features.
func randomRows(t *testing.T, r *rand.Rand, d int) data.Matrix {
	values := datatest.Normals[float32](r, 7*d)
	return datatest.Must(data.NewDense(7, d, values))(t)
}

// TestVariancesFollowTheFormula sums s^2 (noise + left (l^2 |C (1, x)|^2 + |O (1, x)|^2)) by hand.
func TestVariancesFollowTheFormula(t *testing.T) {
	r := data.Stream(1, t.Name())
	s, _ := fitOf(t, read(t, towns(), table.None))
	doubted(s, r)
	x := randomRows(t, r, len(s.Features))
	square := func(m []float64, row []float32) (sum float64) {
		for line := range slices.Chunk(m, len(row)+1) {
			v := line[0]
			for j, f := range row {
				v += line[1+j] * float64(f)
			}
			sum += v * v
		}
		return sum
	}
	for task := Average; task < len(s.Tasks); task++ {
		number := task
		spread := s.Spread
		if task == Average {
			number = len(s.Tasks)
		} else {
			spread = s.Tasks[task].Spread
		}
		of := s.Doubt.Tasks[number]
		deviations := s.Deviations(task, x)
		for i, got := range s.Doubt.Variances(task, x)[0] {
			row := x.Row(i).Value
			f := of.Loading*of.Loading*square(s.Doubt.Common, row) + square(s.Doubt.Own, row)
			want := of.Scale * of.Scale * (s.Doubt.Noise + of.Left*f)
			near(t, fmt.Sprintf("variance of row %d of task %d", i, task), got, want, 1e-6)
			near(t, fmt.Sprintf("deviation of row %d of task %d", i, task), deviations[i], spread*math.Sqrt(want), 1e-6)
		}
	}
	s.Doubt = nil
	v := s.Doubt.Variances(0, x)[0]
	datatest.Holds(t, v == nil, "without doubt: %v", v)
	datatest.Equal(t, s.Deviations(1, x), slices.Repeat([]float64{2}, 7), "deviations without doubt")
	datatest.Equal(t, s.Deviations(Average, x), slices.Repeat([]float64{1.5}, 7), "deviations of a new task without doubt")
}

// TestSharedAndDoubtAreKept wants the same bits of a model that was saved and loaded.
func TestSharedAndDoubtAreKept(t *testing.T) {
	for what, text := range map[string]string{"regression": towns(), "classes": animals()} {
		r := data.Stream(3, what)
		made, _ := fitOf(t, read(t, text, table.None))
		doubted(made, r)
		if made.Classes != nil {
			made.Doubt = nil // of several classes there is none
		}
		dir := t.TempDir()
		datatest.Check(t, made.Save(dir))
		loaded := datatest.Must(Load(dir))(t)
		x := randomRows(t, r, len(made.Features))
		for task := Average; task < len(made.Tasks); task++ {
			if got, want := loaded.scores(task, x), made.scores(task, x); !slices.Equal(got, want) {
				t.Errorf("%s: loaded scores %v of task %d, saved %v", what, got, task, want)
			}
			if got, want := loaded.Deviations(task, x), made.Deviations(task, x); !slices.Equal(got, want) {
				t.Errorf("%s: loaded deviations %v of task %d, saved %v", what, got, task, want)
			}
		}
		if got := loaded.Linear(Average); !slices.Equal(got.W, made.Shared.W) || !slices.Equal(got.B, made.Shared.B) {
			t.Errorf("%s: a new task has %v, want %v", what, got, *made.Shared)
		}
	}
}

// TestRowsOfANewTask wants the shared part, with the deviation of a new task.
func TestRowsOfANewTask(t *testing.T) {
	r := data.Stream(4, t.Name())
	s, _ := fitOf(t, read(t, towns(), table.None))
	doubted(s, r)
	offsets := s.Recipe.Offsets()
	rows := datatest.Must(s.OpenRows("new", RowOptions{Format: format.Options{From: stream("task,small,large,none\nwest,0.5,5100,7\neast,0.5,5100,7\n")}}))(t)
	defer rows.Close()
	var answers []Answer
	err := rows.Each(t.Context(), nil, func(b *Block) error {
		answers = append(answers, b.Answers...)
		return nil
	})
	datatest.Need(t, err == nil && len(answers) == 2, "%d answers, %v", len(answers), err)
	row := []float64{0.5, 5100, 7}
	want := s.Shared.B[0] + floats.Dot(s.Shared.W, row)
	near(t, "prediction for a new task", answers[0].Scores[0], want, 1e-6)
	floats.Sub(row, offsets)
	x := datatest.Must(data.NewDense(1, 3, []float32{float32(row[0]), float32(row[1]), float32(row[2])}))(t)
	near(t, "deviation of a new task", answers[0].Error, s.Deviations(Average, x)[0], 1e-6)
	near(t, "deviation of a task", answers[1].Error, s.Deviations(datatest.Must(s.Task("east"))(t), x)[0], 1e-6)
}

// TestModeratedProbabilitiesAreMeans integrates the probability over what the score may be.
func TestModeratedProbabilitiesAreMeans(t *testing.T) {
	sigmoid := func(f float64) float64 { return 1 / (1 + math.Exp(-f)) }
	for _, score := range []float64{-4, -1, 0, 0.5, 3} {
		for _, variance := range []float64{0, 0.3, 2, 10} {
			mean := sigmoid(score)
			if variance > 0 {
				f := distuv.Normal{Mu: score, Sigma: math.Sqrt(variance)}
				mean = quad.Fixed(func(v float64) float64 { return f.Prob(v) * sigmoid(v) }, score-8*f.Sigma, score+8*f.Sigma, 400, nil, 0)
			}
			moderate := []float64{score}
			Moderate(moderate, []float64{variance})
			datatest.Near(t, sigmoid(moderate[0]), mean, 0.02, "score %g of variance %g: probability", score, variance)
		}
	}
}

// TestClassesOfDoubtfulRows wants classes that stay and probabilities that are nearer to 1/2, the
// more so for a new task.
func TestClassesOfDoubtfulRows(t *testing.T) {
	s := &Fit{Kind: data.Classification, Temperature: 1, Tasks: make([]Task, 1), W: mat.NewDense(1, 1, []float64{2}), B: []float64{-1}}
	s.Recipe = table.Numbers(nil, 1)
	s.Shared = &multitask.Linear{W: []float64{2}, B: []float64{-1}}
	x := datatest.Must(data.NewDense(3, 1, []float32{-3, 0, 2}))(t)
	sure := s.scores(0, x)
	s.Doubt = &Doubt{Common: []float64{1, 0, 0, 0.5}, Own: []float64{0.7, 0}, Tasks: []TaskDoubt{{0.2, 1, 1}, {1, 1, 1}}}
	known, unknown := s.scores(0, x), s.scores(Average, x)
	for i, f := range sure {
		a, b := known[i]/f, unknown[i]/f
		datatest.Holds(t, 0 < b && b < a && a < 1,
			"row %d: the score is %g without doubt, %g with it, %g in a new task", i, f, known[i], unknown[i])
	}
}

// TestBandFollowsTheFormula has the covariance of weights as one matrix, C'C + O'O (mean left) / m,
// in which differences of rows from their mean have a variance, wherever zero is.
func TestBandFollowsTheFormula(t *testing.T) {
	const d = 3
	r := data.Stream(2, t.Name())
	root := func(rows int) *mat.Dense {
		v := datatest.Normals[float64](r, rows*(d+1))
		return mat.NewDense(rows, d+1, v)
	}
	common := root(4)
	own := root(2)
	doubt := &Doubt{Common: common.RawMatrix().Data, Own: own.RawMatrix().Data, Tasks: []TaskDoubt{{0.2, 1, 1}, {0.6, 2, 5}, {1, 1, 3}}}
	var covariance, part mat.Dense
	covariance.Mul(common.T(), common)
	covariance.Scale((1.+2)/2*(1.+2)/2, &covariance)
	part.Mul(own.T(), own)
	part.Scale((0.2+0.6)/4, &part)
	covariance.Add(&covariance, &part)
	x := randomRows(t, r, d)
	mean := make([]float64, d)
	for i := range x.Rows() {
		for j, v := range x.Row(i).Value {
			mean[j] += float64(v) / float64(x.Rows())
		}
	}
	for _, shift := range []float32{0, 2} {
		moved := make([]float32, 0, x.Rows()*d)
		for i := range x.Rows() {
			for _, v := range x.Row(i).Value {
				moved = append(moved, v+shift)
			}
		}
		band := datatest.Must(doubt.Band(datatest.Must(data.NewDense(x.Rows(), d, moved))(t)))(t)
		for i, got := range band {
			g := mat.NewVecDense(d+1, nil)
			for j, v := range x.Row(i).Value {
				g.SetVec(j+1, float64(v)-mean[j])
			}
			want := 3 * math.Sqrt(mat.Inner(g, &covariance, g))
			datatest.Holds(t, math.Abs(got-want) < 1e-5*want, "row %d, shifted by %v: %v, want %v", i, shift, got, want)
		}
	}
}

// TestIntervalIsARank wants, of n residuals, the one of rank level (n + 1), rounded up.
func TestIntervalIsARank(t *testing.T) {
	s := &Fit{Residuals: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}}
	for level, want := range map[float64]float64{0: 1, 0.05: 1, 0.5: 5, 0.51: 6, 0.9: 9, 0.91: math.Inf(1)} {
		datatest.Equal(t, s.Interval(level), want, "level %g", level)
	}
	got := (&Fit{}).Interval(0.9)
	datatest.Holds(t, math.IsInf(got, 1), "without residuals: %g", got)
}

// TestTasksWithoutRows are kept with the mean of all rows.
func TestTasksWithoutRows(t *testing.T) {
	for what, text := range map[string]string{"regression": towns(), "classes": animals()} {
		tab := read(t, text)
		whole, r := fitOf(t, tab)
		p := *tab.Problem
		p.Tasks = slices.Clone(p.Tasks)
		set := p.Tasks[0].TrainSet
		p.Tasks[0].TrainSet = data.Samples{X: set.X.Take(nil)}
		s := datatest.Must(New(r, &p, tab.Recipe))(t)
		n, sum := 0.0, make([]float64, len(whole.Tasks[0].Mean))
		for _, task := range whole.Tasks[1:] {
			n += float64(task.Rows)
			floats.AddScaled(sum, float64(task.Rows), task.Mean)
		}
		for c, v := range s.Tasks[0].Mean {
			near(t, what+": mean of a task without rows", v, sum[c]/n, 1e-12)
		}
		datatest.Equal(t, s.Tasks[0].Rows, 0, "%s: rows", what)
		err := s.Save(t.TempDir())
		datatest.Holds(t, err == nil, "%s: %v", what, err)
	}
}
