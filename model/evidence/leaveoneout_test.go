package evidence

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model/multitask"
)

// without returns the predictions for every row of the fit whose losses,
// with their weights as they were, lack it: by Newton's method in one dual
// variable a row, which shares no code with the solver or the formula.
func without(p *data.ProblemData, omega *mat.SymDense, lambda1, drawn float64) [][]float64 {
	var x [][]float64
	var y, n []float64
	var task []int
	for i, t := range p.Tasks {
		for j, v := range t.TrainSet.Y {
			row := make([]float64, p.Cols())
			for k, v := range t.TrainSet.X.Row(j).Value {
				row[k] = float64(v)
			}
			x, y, n, task = append(x, row), append(y, v), append(n, float64(len(t.TrainSet.Y))), append(task, i)
		}
	}
	common, biases := slices.Clone(task), len(p.Tasks)
	if drawn > 0 { // there is one, and what a task has of its own is random
		common, biases = make([]int, len(task)), 1
	}
	k := mat.NewSymDense(len(y), nil)
	for a := range y {
		for b := range a + 1 {
			k.SetSym(a, b, omega.At(task[a], task[b])*floats.Dot(x[a], x[b])/lambda1)
			if drawn > 0 && task[a] == task[b] {
				c := map[data.Kind]float64{data.Regression: 2, data.Classification: 0.25}[p.Kind()]
				k.SetSym(a, b, k.At(a, b)+n[a]/(c*drawn))
			}
		}
	}
	scores := make([][]float64, len(p.Tasks))
	all := make([]float64, len(y)+biases)
	for out := -1; out < len(y); out++ {
		// Unknown: c (a row's dual variable) and b with f = K c + Z b,
		// c = -loss'(f)/n, Z'c = 0, and c = 0 for the row left out. First
		// comes the fit of all rows, from which the others start.
		z := slices.Clone(all)
		f := func(a int) float64 {
			sum := z[len(y)+common[a]]
			for b := range y {
				sum += k.At(a, b) * z[b]
			}
			return sum
		}
		for range 60 {
			jacobian, residual := mat.NewDense(len(z), len(z), nil), mat.NewVecDense(len(z), nil)
			for a := range y {
				r, h := 2*(f(a)-y[a]), 2.0
				if p.Kind() == data.Classification {
					s := 1 / (1 + math.Exp(y[a]*f(a)))
					r, h = -y[a]*s, s*(1-s)
				}
				if a == out {
					r, h = 0, 0
				}
				residual.SetVec(a, z[a]+r/n[a])
				residual.SetVec(len(y)+common[a], residual.AtVec(len(y)+common[a])+z[a])
				for b := range y {
					jacobian.Set(a, b, h/n[a]*k.At(a, b))
				}
				jacobian.Set(a, a, jacobian.At(a, a)+1)
				jacobian.Set(a, len(y)+common[a], h/n[a])
				jacobian.Set(len(y)+common[a], a, 1)
			}
			var step mat.VecDense
			if err := step.SolveVec(jacobian, residual); err != nil {
				break // converged to rounding, or no minimum
			}
			for j := range z {
				z[j] -= math.Max(-1, math.Min(1, step.AtVec(j)))
			}
			if mat.Norm(&step, 2) < 1e-13*floats.Norm(z, 2) {
				break
			}
		}
		if out < 0 {
			all = z
			continue
		}
		scores[task[out]] = append(scores[task[out]], f(out))
	}
	return scores
}

// For the squared loss leave-one-out is refitting without each row, whatever the rank of
// Omega and also where it has blocks.
func TestLeaveOneOutIsRefittingWithoutEachRow(t *testing.T) {
	datatest.Long(t)
	blocks := mat.NewSymDense(3, []float64{0.5, 0, 0.2, 0, 0.3, 0, 0.2, 0, 0.2})
	for seed, c := range []struct {
		s     size
		omega *mat.SymDense
	}{
		{sizes[1], covariance(2, 2, 1)},
		{size{data.Regression, 3, 5, 7, 0}, covariance(3, 2, 2)},
		{size{data.Regression, 3, 5, 7, 0}, blocks},
		{size{data.Regression, 4, 20, 6, 0}, covariance(4, 4, 3)},
		{size{data.Regression, 1, 3, 8, 0}, covariance(1, 1, 4)},
	} {
		p := made(c.s, uint64(seed))
		e, drawn := datatest.Must(NewLeaveOneOut(p))(t), float64(seed%3)
		model := datatest.Must(multitask.GivenWith(c.omega, drawn, false))(t)
		got, want := hold(t, e, Of(model), 0.05), without(p, c.omega, 0.05, drawn)
		for i := range want {
			for j := range want[i] {
				near(t, fmt.Sprintf("seed %d, %v, task %d, row %d", seed, c.s, i, j), got.Scores[i][j], want[i][j], 1e-9)
			}
		}
	}
}

// How far the approximation is from refitting, over the root mean square of the predictions
// for the rows of four problems: within 1 % where Lambda1 is not small for the number of rows.
func TestApproximateLeaveOneOut(t *testing.T) {
	datatest.Long(t)
	for _, c := range []struct {
		m, d, n         int
		lambda1, within float64
	}{
		{3, 5, 20, 0.1, 0.01}, {4, 20, 20, 0.2, 0.01}, {3, 5, 40, 0.01, 0.01},
		{3, 5, 20, 0.01, 0.03}, {4, 20, 20, 0.02, 0.03}, {4, 20, 20, 0.002, 0.05},
		{3, 5, 10, 0.1, 0.03}, {3, 5, 5, 0.1, 0.07},
	} {
		off, length := 0.0, 0.0
		for seed := range uint64(2) {
			p := made(size{data.Classification, c.m, c.d, c.n, 0}, seed)
			omega := covariance(c.m, c.m, seed)
			drawn := float64(seed % 2)
			model := datatest.Must(multitask.GivenWith(omega, drawn, false))(t)
			got, want := hold(t, datatest.Must(NewLeaveOneOut(p))(t), Of(model), c.lambda1), without(p, omega, c.lambda1, drawn)
			for i, task := range p.Tasks {
				for j, y := range task.TrainSet.Y {
					if y*floats.Sum(task.TrainSet.Y) == 2-float64(len(task.TrainSet.Y)) {
						continue // the only row of its class: there is no minimum without it
					}
					off += math.Pow(got.Scores[i][j]-want[i][j], 2)
					length += want[i][j] * want[i][j]
				}
			}
		}
		ratio := math.Sqrt(off / length)
		t.Logf("%+v: off by %.4f", c, ratio)
		datatest.Holds(t, ratio <= c.within, "%+v: off by %.4f", c, ratio)
	}
}

// Of several classes each is left out as if it were a problem of its own, a class against
// the rest, of the tasks that have it.
func TestLeaveOneOutOfClasses(t *testing.T) {
	s := sizes[2]
	p, omega := made(s, 1), covariance(3, 3, 1)
	held := hold(t, datatest.Must(NewLeaveOneOut(p))(t), given(t, omega), 0.1)
	for c := range s.classes {
		part := &data.ProblemData{Problem: &data.Problem{Name: "one"}}
		var tasks []int
		for i, task := range p.Tasks {
			if slices.Contains(task.TrainSet.Y, float64(c)) {
				task.TrainSet.Y = multitask.Against(task.TrainSet.Y, c)
				part.Tasks, tasks = append(part.Tasks, task), append(tasks, i)
			}
		}
		of := mat.NewSymDense(len(tasks), nil)
		for a, i := range tasks {
			for b, j := range tasks {
				of.SetSym(a, b, omega.At(i, j))
			}
		}
		scaled := 0.1 / mat.Trace(of) // Given divides by the trace
		want := hold(t, datatest.Must(NewLeaveOneOut(part))(t), given(t, of), scaled)
		for a, i := range tasks {
			for j, f := range want.Scores[a] {
				near(t, fmt.Sprintf("class %d, task %d, row %d", c, i, j), held.Scores[i][s.classes*j+c], f, 1e-5)
			}
		}
	}
	for task, class := range map[int]int{1: 3, 2: 0} {
		want := held.Fits[0].Scores(task, p.Tasks[task].TrainSet.X)[class]
		near(t, "score of a class that the task lacks", held.Scores[task][class], want, 1e-9)
	}
}

// One row of each class is enough for numbers, whatever Lambda1 is and where the loss of a row
// is flat.
func TestOneRowAClass(t *testing.T) {
	p := made(size{data.Classification, 4, 30, 2, 0}, 3)
	e := datatest.Must(NewLeaveOneOut(p))(t)
	for _, lambda1 := range []float64{1e-8, 1e-3, 1, 1e6} {
		h := hold(t, e, given(t, multitask.Uniform(4)), lambda1)
		for _, v := range append(slices.Concat(h.Scores...), h.Loss, h.Error) {
			datatest.Holds(t, !math.IsNaN(v) && !math.IsInf(v, 0), "Lambda1 = %g: %+v", lambda1, h)
		}
	}
	l := e.(*leaveOneOut)
	flat := []float64{1, -1, 2, 800, 0.5, -0.5, 1, 1}
	var first, second []float64
	for i, rows := range l.rows {
		r, h := l.train.Derivatives(i, flat[len(first):][:len(rows.Y)], multitask.Params{})
		first, second = append(first, r...), append(second, h...)
	}
	if second[3] = 0; l.leaveOut(flat, first, second, &multitask.Result{Omega: multitask.Uniform(4), Params: multitask.Params{Lambda1: 0.1}}) != nil || slices.ContainsFunc(flat, math.IsNaN) {
		t.Errorf("predictions %v without rows of which one is flat", flat)
	}
}

// Where tasks tell different classes apart, which class of a task is the positive one changes
// signs alone, of the fit and of rows left out.
func TestPairsOfClassesHaveNoSign(t *testing.T) {
	scores := func(sign float64) [][]float64 {
		p := made(sizes[0], 1)
		omega := covariance(3, 3, 1)
		for i := range 2 {
			omega.SetSym(i, 2, sign*omega.At(i, 2))
		}
		for i := range p.Tasks {
			p.Tasks[i].Positive = fmt.Sprint(i)
		}
		floats.Scale(sign, p.Tasks[2].TrainSet.Y)
		model := datatest.Must(multitask.GivenWith(omega, 5, false))(t)
		held := hold(t, datatest.Must(NewLeaveOneOut(p))(t), Of(model), 0.05)
		floats.Scale(sign, held.Scores[2])
		return append(held.Scores, held.Fits[0].B[:2])
	}
	one, other := scores(1), scores(-1)
	for i := range one {
		datatest.Holds(t, floats.EqualApprox(one[i], other[i], 1e-6),
			"task %d: %v, and with classes that change places %v", i, one[i], other[i])
	}
}
