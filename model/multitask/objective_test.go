package multitask

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// objective is problem (1) at a point.
func objective(t *testing.T, model Model, problem *TrainingSet, w *mat.Dense, b []float64, c *Covariance, p Params) Value {
	t.Helper()
	return datatest.Must(problem.Evaluate(model, p, w, b, c))(t)
}

// The best bias of the squared loss is the mean of what scores leave, however far
// from zero that is: rounding errors of the sum of the slopes are no direction.
func TestBiasFarFromZero(t *testing.T) {
	random := data.Stream(1, "bias")
	for range 200 {
		score, y := datatest.Normals[float64](random, 30), datatest.Normals[float64](random, 30)
		mean := 0.0
		for j := range y {
			y[j] += 1e4
			mean += (y[j] - score[j]) / 30
		}
		r, h := make([]float64, 30), make([]float64, 30)
		b := Square.bias(r, h, score, y, 0, 0, 0, slices.Repeat([]float64{1. / 30}, 30))
		for range 3 {
			b = Square.bias(r, h, score, y, b, 0, 0, slices.Repeat([]float64{1. / 30}, 30))
		}
		near(t, "bias", b, mean, 1e-12)
	}
}

// TestShiftedFeatures: biases are not penalised, so a constant added to a feature
// moves them and nothing else.
func TestShiftedFeatures(t *testing.T) {
	for _, loss := range []Loss{Square, Logistic} {
		s := shape{3, 5, 30, loss, false}
		for _, name := range []string{"stl", "snr2"} {
			fit := func(shift float32) *Result {
				tasks := samples(s, 1)
				for _, x := range tasks {
					for j := range x.Y {
						x.X.Row(j).Value[0] = float32(int(16*x.X.Row(j).Value[0]))/16 + shift // exactly
					}
				}
				return mustFit(t, registry[name], mustProblem(t, loss, tasks), Params{Lambda1: 1e-2}, Options{Tolerance: 1e-7})
			}
			want := fit(0)
			for _, shift := range []float32{30, 1000} {
				r := fit(shift)
				datatest.Equal(t, r.Status, Converged, "%s, %s, shift %v", name, loss, shift)
				near(t, name+": objective", r.Objective, want.Objective, 1e-6)
				nearMatrix(t, name+": W", r.W, want.W, 1e-3)
			}
		}
	}
}

// Classes that count the same are rows of the smaller class that stand there several times.
// The intercepts are best with the weights: the slopes of each task add up to nothing.
func TestBalancedRowsAreRowsRepeated(t *testing.T) {
	s := shape{3, 4, 12, Logistic, false}
	tasks, repeated := samples(s, 7), make([]data.Samples, s.m)
	for i := range tasks {
		var rows []int
		for j := range s.n { // the first 3 are of one class, 9 of the other
			if tasks[i].Y[j] = -1; j < 3 {
				tasks[i].Y[j] = 1
				rows = append(rows, j, j)
			}
			rows = append(rows, j)
		}
		repeated[i] = data.Samples{X: tasks[i].X.Take(rows)}
		for _, j := range rows {
			repeated[i].Y = append(repeated[i].Y, tasks[i].Y[j])
		}
	}
	omega := mat.NewSymDense(3, []float64{1, 0.5, 0.2, 0.5, 1, 0.1, 0.2, 0.1, 1})
	given, balanced := datatest.Must(Given(omega))(t), datatest.Must(GivenWith(omega, 0, true))(t)
	problem, p, o := mustProblem(t, Logistic, tasks), Params{Lambda1: 0.05}, Options{Tolerance: 1e-13}
	got, want := mustFit(t, balanced, problem, p, o), mustFit(t, given, mustProblem(t, Logistic, repeated), p, o)
	nearMatrix(t, "W", got.W, want.W, 1e-5)
	for i, task := range tasks {
		near(t, "b", got.B[i], want.B[i], 1e-5)
		first, second := problem.Derivatives(i, got.Scores(i, task.X), got.Params)
		if sum := floats.Sum(first); math.Abs(sum) > 1e-8 || floats.Min(second) <= 0 {
			t.Errorf("task %d: the slopes are %v, curvatures %v", i, first, second)
		}
	}
}

// A row that counts k is k rows: of few rows and of many, which become fewer, and of classes that
// count the same.
func TestWeightsAreRowsRepeated(t *testing.T) {
	omega := mat.NewSymDense(3, []float64{1, 0.5, 0.2, 0.5, 1, 0.1, 0.2, 0.1, 1})
	for _, loss := range []Loss{Square, Logistic} {
		for _, n := range []int{7, 40} {
			weighted := samples(shape{3, 4, n, loss, false}, 7)
			repeated := make([]data.Samples, 3)
			for i := range weighted {
				var rows []int
				for j := range n {
					for range 1 + j%3 {
						rows = append(rows, j)
					}
					weighted[i].Weight = append(weighted[i].Weight, float64(1+j%3))
				}
				repeated[i] = data.Samples{X: weighted[i].X.Take(rows)}
				for _, j := range rows {
					repeated[i].Y = append(repeated[i].Y, weighted[i].Y[j])
				}
			}
			for _, balanced := range []bool{false, true} {
				model := datatest.Must(GivenWith(omega, 3, balanced && loss == Logistic))(t)
				p, o := Params{Lambda1: 0.05}, Options{Tolerance: 1e-13}
				got := mustFit(t, model, mustProblem(t, loss, weighted), p, o)
				want := mustFit(t, model, mustProblem(t, loss, repeated), p, o)
				nearMatrix(t, fmt.Sprintf("%s, %d rows, balanced %t: W", loss, n, balanced), got.W, want.W, 1e-5)
				for i := range want.B {
					near(t, "b", got.B[i], want.B[i], 1e-5)
				}
			}
		}
	}
}

// Differences of a function of the scores between fits for neighbouring covariances agree
// with the slope, at regular covariances and at the edge, and of several classes.
func TestSlope(t *testing.T) {
	type trial struct {
		train *TrainingSet
		rows  []data.Samples
	}
	trials := map[string]trial{}
	for i, s := range shapes {
		other := s
		other.n = 7
		trials[fmt.Sprint(s)] = trial{mustProblem(t, s.loss, samples(s, uint64(i))), samples(other, uint64(i))}
	}
	classes := classesProblem(3, 24)
	train := datatest.Must(Training(classes))(t)
	rows := []data.Samples{classes.Tasks[0].TestSet, {X: classes.Tasks[1].TestSet.X.Take(nil)}, classes.Tasks[2].TestSet}
	trials["classes"] = trial{train, rows}
	for what, c := range trials {
		m := c.train.Tasks()
		random := data.Stream(1, "slope")
		weights := make([][]float64, m)
		for i, s := range c.rows {
			weights[i] = datatest.Normals[float64](random, len(s.Y)*c.train.classes)
		}
		for k, rank := range []int{m, (m + 1) / 2, m} {
			drawn := 3 * float64(k/2)
			omega, lambda1, h, accuracy := gramOf(datatest.Normals[float64](random, m*rank), m, rank), 0.1, 2e-4, 1e-4
			if rank < m { // it bends fast where a direction opens
				lambda1, h, accuracy = 0.3, 2e-5, 0.02
			} else {
				for i := range m {
					omega.SetSym(i, i, omega.At(i, i)+1)
				}
			}
			direction := gramOf(datatest.Normals[float64](random, m), m, 1)
			direction.ScaleSym(mat.Trace(omega)/mat.Trace(direction), direction)
			fit := func(h float64) *Result {
				o := mat.NewSymDense(m, nil)
				o.ScaleSym(h, direction)
				o.AddSym(o, omega)
				return mustFit(t, fixed(o, drawn), c.train, Params{Lambda1: lambda1}, Options{Tolerance: 1e-14})
			}
			sum := func(r *Result) (sum float64) {
				for i, s := range c.rows {
					for j, f := range r.Scores(i, s.X) {
						sum += weights[i][j] * math.Sin(f)
					}
				}
				return sum
			}
			at := fit(0)
			derivatives := make([][]float64, m)
			for i, s := range c.rows {
				for j, f := range at.Scores(i, s.X) {
					derivatives[i] = append(derivatives[i], weights[i][j]*math.Cos(f))
				}
			}
			slope := datatest.Must(c.train.Slope(at, c.rows, derivatives))(t)
			// Third order, one-sided: the other side may not be feasible.
			got, want := dot(slope, direction), (-11*sum(at)+18*sum(fit(h))-9*sum(fit(2*h))+2*sum(fit(3*h)))/(6*h)
			datatest.Near(t, got, want, accuracy*math.Max(math.Abs(want), 1), "%s, rank %d: slope", what, rank)
		}
	}
}

// unrelated draws rows and classes that have nothing to do with each other, or targets.
func unrelated(t *testing.T, r *rand.Rand, n, d, classes int) *data.Dataset {
	values := make([]float32, n*d)
	for i := range values {
		values[i] = float32(r.IntN(3))
	}
	values[0] = 50 // some variances are far from others
	set := &data.Dataset{Name: "made", X: datatest.Must(data.NewDense(n, d, values))(t)}
	for i := range n {
		if classes == 0 {
			set.Target = append(set.Target, 5+r.NormFloat64())
		} else {
			set.Label = append(set.Label, int32(i%classes))
		}
	}
	for c := range classes {
		set.Classes = append(set.Classes, fmt.Sprint(c))
	}
	return set
}

// choleskyScores solves the ridge problems by their normal equations.
func choleskyScores(t *testing.T, set *data.Dataset) []float64 {
	n, d := set.X.Rows(), set.X.Cols()
	x := mat.NewDense(n, d, nil)
	variance := make([]float64, d)
	for i := range n {
		set.X.Row(i).AddTo(x.RawRowView(i), 1)
	}
	for j := range d {
		column := mat.Col(nil, j, x)
		floats.AddConst(-stat.Mean(column, nil), column)
		variance[j] = floats.Dot(column, column) / float64(n)
		x.SetCol(j, column)
	}
	var gram mat.SymDense
	gram.SymOuterK(1, x.T())
	for j := range d {
		gram.SetSym(j, j, gram.At(j, j)+1)
	}
	var chol mat.Cholesky
	datatest.Need(t, chol.Factorize(&gram), "the normal equations are not positive definite")
	score := make([]float64, d)
	for c := range max(1, len(set.Classes)) {
		y := mat.NewVecDense(n, slices.Clone(set.Target))
		for i, class := range set.Label {
			if int(class) == c {
				y.SetVec(i, 1)
			}
		}
		floats.AddConst(-stat.Mean(y.RawVector().Data, nil), y.RawVector().Data)
		var right, w mat.VecDense
		right.MulVec(x.T(), y)
		datatest.Check(t, chol.SolveVecTo(&w, &right))
		for j := range score {
			score[j] += w.AtVec(j) * w.AtVec(j) * variance[j]
		}
	}
	return score
}

// What is kept has the best scores of the normal equations, beyond the tolerance: of more features
// than rows and fewer, of two classes and more, and of targets.
func TestSelectionKeepsTheBest(t *testing.T) {
	for seed := range uint64(20) {
		r := data.Stream(seed, "ridge")
		classes := r.IntN(6)
		if classes == 1 {
			classes = 0
		}
		set := unrelated(t, r, 10+r.IntN(50), 2+r.IntN(60), classes)
		want := choleskyScores(t, set)
		k := 1 + r.IntN(set.X.Cols())
		s := datatest.Must(SelectByRidge(t.Context(), set, k, 2))(t)
		datatest.Need(t, len(s.Columns) == k && s.Cols == set.X.Cols() && slices.IsSorted(s.Columns),
			"seed %d: %d of %d columns %v", seed, k, s.Cols, s.Columns)
		for _, in := range s.Columns {
			for out := range want {
				datatest.Holds(t, slices.Contains(s.Columns, out) || want[out] <= want[in]+0.02*slices.Max(want),
					"seed %d: k = %d keeps column %d (%v) and drops %d (%v)", seed, k, in, want[in], out, want[out])
			}
		}
	}
}

// Of equal columns the lower one is kept, by any number of workers.
func TestSelectionBreaksTiesByColumn(t *testing.T) {
	set := unrelated(t, data.Stream(7, "ridge ties"), 30, 6, 3)
	values := make([]float32, 0, 30*12)
	for i := range 30 {
		row := set.X.Row(i).Value
		values = append(append(values, row...), row...)
	}
	set.X = datatest.Must(data.NewDense(30, 12, values))(t)
	for k := 1; k <= 12; k++ {
		s := datatest.Must(SelectByRidge(t.Context(), set, k, 1))(t)
		for _, j := range s.Columns {
			datatest.Holds(t, j < 6 || slices.Contains(s.Columns, j-6),
				"k = %d keeps column %d and drops the equal column %d", k, j, j-6)
		}
		datatest.Equal(t, datatest.Must(SelectByRidge(t.Context(), set, k, 3))(t).Columns, s.Columns, "columns by three workers")
	}
}

func TestSelectionRefuses(t *testing.T) {
	set := unrelated(t, data.Stream(10, "ridge refuse"), 60, 40, 3)
	single := unrelated(t, data.Stream(11, "ridge refuse"), 5, 3, 1)
	flat := unrelated(t, data.Stream(12, "ridge refuse"), 5, 3, 0)
	clear(flat.Target)
	for _, c := range []struct {
		set  *data.Dataset
		k    int
		want string
	}{
		{set, 0, "0 features are to be kept of 40"},
		{set, 41, "41 features are to be kept of 40"},
		{single, 1, "one class"},
		{flat, 1, "one target"},
	} {
		datatest.Refused(SelectByRidge(t.Context(), c.set, c.k, 1))(t, data.ErrInvalid, c.want)
	}
}
