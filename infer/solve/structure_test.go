package solve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model/mixed"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// levelled has tasks of rows so many each, with one column, slopes of about 1 and levels of a
// deviation, and noise of deviation 1.
func levelled(t *testing.T, seed uint64, kind data.Kind, deviation float64, rows ...int) *data.ProblemData {
	t.Helper()
	p := &data.ProblemData{Problem: &data.Problem{Name: "p"}}
	r := data.Stream(seed, "levels")
	for i, n := range rows {
		level := deviation * r.NormFloat64()
		slope := 1 + 0.3*r.NormFloat64()
		task := &data.Task{Name: fmt.Sprint("t", i), Kind: kind}
		if kind == data.Classification {
			task.Positive = "yes"
			task.Negative = "no"
		}
		set := func(n int) data.Samples {
			x := make([]float32, n)
			y := make([]float64, n)
			for j := range y {
				x[j] = float32(r.NormFloat64())
				y[j] = level + slope*float64(x[j]) + r.NormFloat64()
				if kind == data.Classification {
					y[j] = math.Copysign(1, y[j])
				}
			}
			return data.Samples{X: datatest.Must(data.NewDense(n, 1, x))(t), Y: y}
		}
		p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: set(n), TestSet: set(20)})
	}
	return p
}

// predictions are what a fit says of test rows, of classes in the mean over what scores may be.
func predictions(t *testing.T, f *Fitted) (scores [][]float64) {
	t.Helper()
	for i, task := range f.problem.Tasks {
		x := task.TestSet.X
		s := f.Result.Scores(i, x)
		if task.Kind == data.Classification {
			saved.Moderate(s, f.Doubt.Variances(i, x)[0])
		}
		scores = append(scores, s)
	}
	return scores
}

// W and B predict what the mixed model does by hand: its posterior on standardised columns.
func TestWeightsPredictAsTheMixedModel(t *testing.T) {
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		p := made(6, "p", kind, 3).Labelled()
		var columns [][]float64
		var targets []float64
		for j := range p.Cols() {
			var column []float64
			for _, task := range p.Tasks {
				for r := range task.TrainSet.X.Rows() {
					column = append(column, float64(task.TrainSet.X.Row(r).Value[j]))
				}
			}
			columns = append(columns, column)
		}
		for _, task := range p.Tasks {
			targets = append(targets, task.TrainSet.Y...)
		}
		center, deviation := stat.PopMeanStdDev(targets, nil)
		by := mixed.Problem{Part: []int{0, 1, 1, 1, 1, 1}}
		by.Components = []mixed.Component{{Name: Level, Common: 1e3, Own: 0.125, Fixed: true}, {Name: Straight, Common: 0.125, Own: 0.125}}
		if kind == data.Classification {
			center = 0
			deviation = 1
			by.Components[0].Common = 100
			by.Loss = mixed.Logistic{}
		}
		row := func(x data.Row) []float64 {
			f := []float64{1}
			for j, v := range x.Value {
				mean, spread := stat.PopMeanStdDev(columns[j], nil)
				f = append(f, (float64(v)-mean)/spread)
			}
			return f
		}
		for _, task := range p.Tasks {
			m := mixed.Task{Loading: 1}
			for r, y := range task.TrainSet.Y {
				m.Features = append(m.Features, row(task.TrainSet.X.Row(r))...)
				m.Y = append(m.Y, (y-center)/deviation)
			}
			by.Tasks = append(by.Tasks, m)
		}
		j := Candidate{Structure: Structure{View: Straight}}
		got := fit(t, bench(t, nil, p, Options{}), j)
		want := datatest.Must(mixed.New(t.Context(), by, mixed.Options{}))(t)
		for i, task := range p.Tasks {
			scores := datatest.Must(got.Scores(i, task.TestSet.X))(t)
			for r, s := range scores {
				f := row(task.TestSet.X.Row(r))
				hand := center + deviation*(floats.Dot(f, want.Common)+floats.Dot(f, want.Own[i]))
				datatest.Near(t, s, hand, 1e-4*deviation, "%s, task %d, row %d", kind, i, r)
			}
		}
	}
}

// Every structure predicts rows of training from W, B and the steps as the mixed model does from
// its features.
func TestStepsPredictAsTheFeatures(t *testing.T) {
	datatest.Long(t)
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		p := made(6, "p", kind, 3).Labelled()
		b := bench(t, nil, p, Options{})
		for _, s := range Structures() {
			got := fit(t, b, Candidate{Structure: s})
			seen := datatest.Must(b.features(data.Fold{ProblemData: b.problem}, Curves, s.View))(t)
			q := seen.problem(s, 0, seen.Foreign(0))
			want := datatest.Must(mixed.New(t.Context(), q, mixed.Options{}))(t)
			for i, task := range q.Tasks {
				scores := datatest.Must(got.Scores(i, p.Tasks[i].TrainSet.X))(t)
				for r := range task.Y {
					f := task.Features[r*len(q.Part):][:len(q.Part)]
					hand := seen.center[i] + seen.scale[i]*(floats.Dot(f, want.Common)+floats.Dot(f, want.Own[i]))
					datatest.Near(t, scores[r], hand, 1e-4*seen.scale[i], "%s, %s, task %d, row %d", s.Name(), kind, i, r)
				}
			}
		}
	}
}

// reordered is a problem with rows, columns and tasks in another order, and tasks of other names;
// order has the former number of every task.
func reordered(t *testing.T, p *data.ProblemData, r *rand.Rand, rows, columns, tasks bool) (q *data.ProblemData, order []int) {
	t.Helper()
	perm := func(n int, change bool) []int {
		if change {
			return r.Perm(n)
		}
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		return order
	}
	from := perm(p.Cols(), columns)
	q = &data.ProblemData{Problem: &data.Problem{Name: "q", Classes: p.Classes}}
	order = perm(len(p.Tasks), tasks)
	move := func(s data.Samples, order []int) data.Samples {
		s.X = s.X.Take(order)
		var value []float32
		var y []float64
		for j, old := range order {
			for _, k := range from {
				value = append(value, s.X.Row(j).Value[k])
			}
			y = append(y, s.Y[old])
		}
		return data.Samples{X: datatest.Must(data.NewDense(len(y), p.Cols(), value))(t), Y: y}
	}
	for i, old := range order {
		task := *p.Tasks[old].Task
		if tasks {
			task.Name = fmt.Sprint("renamed ", len(order)-i)
		}
		moved := data.TaskData{Task: &task}
		moved.TrainSet = move(p.Tasks[old].TrainSet, perm(len(p.Tasks[old].TrainSet.Y), rows))
		moved.TestSet = move(p.Tasks[old].TestSet, perm(len(p.Tasks[old].TestSet.Y), false))
		q.Tasks = append(q.Tasks, moved)
	}
	return q, order
}

// farthest is how far two fits' predictions of test rows are apart, in deviations of the targets.
func farthest(t *testing.T, a, b *Fitted, order []int) (far float64) {
	t.Helper()
	x := predictions(t, a)
	y := predictions(t, b)
	deviation := 1.0
	if a.problem.Kind() == data.Regression {
		var targets []float64
		for _, task := range a.problem.Tasks {
			targets = append(targets, task.TrainSet.Y...)
		}
		deviation = stat.PopStdDev(targets, nil)
	}
	for i, old := range order {
		far = max(far, floats.Distance(x[old], y[i], math.Inf(1))/deviation)
	}
	return far
}

// Neither the order of rows, columns and tasks nor the names of tasks change predictions, and
// units of columns hardly do.
func TestPredictionsDoNotDependOnOrder(t *testing.T) {
	datatest.Long(t)
	few := made(3, "p", data.Classification, 3).Labelled()
	many := levelled(t, 1, data.Regression, 2, slices.Repeat([]int{1, 7, 12}, 10)...)
	for name, p := range map[string]*data.ProblemData{
		"a regression": made(3, "p", data.Regression, 4).Labelled(),
		"classes":      few,
		"many rows":    many,
		"many tasks":   levelled(t, 1, data.Classification, 2, slices.Repeat([]int{1, 7, 12}, 6)...),
		"wide":         wide(t, 3).Labelled(),
	} {
		metrics := slices.ContainsFunc(bench(t, nil, p, Options{}).Candidates(Parts{}), func(c Candidate) bool { return c.View == "" })
		near := 1e-6
		if metrics {
			near = 1e-5 // fits of problem (1) end as close to their minimum
		}
		want := solved(t, nil, p, Options{}, Parts{})
		for k := range 4 {
			if k < 3 && name != "many rows" {
				continue // everything at once
			}
			q, order := reordered(t, p, data.Stream(uint64(k), "orders"), k == 0 || k == 3, k == 1 || k == 3, k == 2 || k == 3)
			got := solved(t, nil, q, Options{}, Parts{})
			far := farthest(t, want, got, order)
			datatest.Holds(t, far < near, "%s, change %d: predictions move by %g", name, k, far)
		}
		if metrics {
			continue // tables standardise columns of other units, a metric does not
		}
		q, order := reordered(t, p, data.Stream(1, "orders"), false, false, false)
		for _, task := range q.Tasks {
			for _, s := range []data.Samples{task.TrainSet, task.TestSet} {
				for r := range s.X.Rows() {
					v := s.X.Row(r).Value
					v[0] = v[0]*1.8 + 32
					v[len(v)-1] *= 0.0254
				}
			}
		}
		got := solved(t, nil, q, Options{}, Parts{})
		far := farthest(t, want, got, order)
		datatest.Holds(t, far < 1e-3, "%s: in other units predictions move by %g", name, far)
	}
}

// The level of a task is its mean, drawn to the common level by what n rows say: the variances
// found are those that the table was drawn with, and the share is n s_b^2 / (n s_b^2 + s^2).
func TestLevelsAreDrawnByTheirRows(t *testing.T) {
	datatest.Long(t)
	rows := slices.Repeat([]int{1, 5, 9}, 20)
	for _, deviation := range []float64{1, 3, 10} {
		p := levelled(t, 4, data.Regression, deviation, rows...)
		f := datatest.Must((&Bench{rows: p}).features(data.Fold{ProblemData: p}, Curves))(t)
		found := datatest.Must(f.fit(t.Context(), Structure{View: Level}, 1, nil))(t)
		fit := found.fits[0]
		own := fit.Components[0].Own * f.scale[0] * f.scale[0]
		noise := fit.Noise * f.scale[0] * f.scale[0]
		share := math.Sqrt(own) / deviation
		datatest.Holds(t, share > 0.7 && share < 1.3, "levels of deviation %v have %v", deviation, math.Sqrt(own))
		common := f.center[0] + f.scale[0]*fit.Common[0]
		for i, task := range p.Tasks {
			n := float64(len(task.TrainSet.Y))
			want := common + n*own/(n*own+noise)*(stat.Mean(task.TrainSet.Y, nil)-common)
			datatest.Near(t, found.B[i], want, 1e-6*deviation, "deviation %v, task of %v rows: level", deviation, n)
		}
		// With columns a task of one row has what is left of its row.
		got := solved(t, nil, p, Options{}, Parts{})
		square, alone, pooled := 0.0, 0.0, 0.0
		for i, scores := range predictions(t, got) {
			if len(p.Tasks[i].TrainSet.Y) > 1 {
				continue
			}
			for r, y := range p.Tasks[i].TestSet.Y {
				square += math.Pow(scores[r]-y, 2)
				alone += math.Pow(p.Tasks[i].TrainSet.Y[0]-y, 2)
				pooled += math.Pow(common-y, 2)
			}
		}
		datatest.Holds(t, square < alone && square < pooled,
			"deviation %v: squared errors of tasks of one row %v; of its row %v, of the common level %v", deviation, square, alone, pooled)
	}
}

// Tasks of one row, of one class and of no row are fitted, held out and predicted.
func TestTasksOfEverySize(t *testing.T) {
	datatest.Long(t)
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		for _, columns := range []int{1, 5} {
			p := levelled(t, 2, kind, 1, 1, 12, 0, 9, 4, 15)
			if columns > 1 {
				p = made(1, "p", kind, 6).Labelled()
				for i, n := range []int{1, 30, 0, 20, 4, 25} {
					s := &p.Tasks[i].TrainSet
					s.X = s.X.Take([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}[:min(n, 25)])
					s.Y = s.Y[:min(n, 25)]
				}
			}
			for j := range p.Tasks[4].TrainSet.Y {
				p.Tasks[4].TrainSet.Y[j] = 1
			}
			for _, folds := range []int{0, 4} {
				network := random(t, 1, nil)
				if columns == 1 {
					network = nil
				}
				b := bench(t, network, p, Options{Folds: folds})
				f := datatest.Must(b.Fit(t.Context(), choose(t, b, Parts{})))(t)
				for i, scores := range predictions(t, f) {
					datatest.Holds(t, !floats.HasNaN(scores) && floats.Norm(scores, math.Inf(1)) <= 50,
						"%s, task %d: %v", kind, i, scores)
				}
				datatest.Holds(t, len(f.Choice.Scores[0]) == 1 && len(f.Choice.Scores[2]) == 0 && len(f.Choice.Scores[4]) == 4 && f.Choice.Loss < 100,
					"%s: scores %v, loss %v", kind, f.Choice.Scores, f.Choice.Loss)
			}
		}
	}
}

// The shares of the variance add up to 1, and say where it comes from.
func TestSharesAddUp(t *testing.T) {
	datatest.Long(t)
	for _, c := range []struct {
		name            string
		p               *data.ProblemData
		levels, columns [2]float64
	}{
		// levels 9, slopes 1 and 0.09, noise 1
		{"levels", levelled(t, 3, data.Regression, 3, slices.Repeat([]int{20}, 40)...), [2]float64{0.65, 0.92}, [2]float64{0.03, 0.2}},
		// slopes 1 and 0.09, noise 1
		{"slopes", levelled(t, 3, data.Regression, 0, slices.Repeat([]int{20}, 40)...), [2]float64{0, 0.03}, [2]float64{0.4, 0.65}},
		{"levels of classes", levelled(t, 3, data.Classification, 3, slices.Repeat([]int{20}, 40)...), [2]float64{0.6, 0.92}, [2]float64{0.03, 0.2}},
		{"slopes of classes", levelled(t, 3, data.Classification, 0, slices.Repeat([]int{20}, 40)...), [2]float64{0, 0.05}, [2]float64{0.4, 0.65}},
	} {
		f := solved(t, nil, c.p, Options{}, Parts{View: Straight})
		sum := 0.0
		byName := map[string]float64{}
		for _, s := range f.Shares {
			datatest.Holds(t, s.Common >= 0 && s.Own >= 0, "%s: %+v", c.name, s)
			sum += s.Common + s.Own
			byName[s.Name] += s.Common + s.Own
		}
		levels, columns := byName[Level], byName[Straight]
		datatest.Holds(t, math.Abs(sum-1) <= 1e-9 && len(byName) == 3 && levels >= c.levels[0] && levels <= c.levels[1] && columns >= c.columns[0] && columns <= c.columns[1],
			"%s: shares %+v, of which the sum is %v", c.name, f.Shares, sum)
	}
}

// Several classes have a score each, from a fit of each against the rest, which is as sure as one of
// two classes, and predict better than the commonest class.
func TestSeveralClasses(t *testing.T) {
	datatest.Long(t)
	p := levelled(t, 5, data.Regression, 1, 20, 30, 1, 25)
	p.Classes = []string{"low", "middle", "high"}
	for i := range p.Tasks {
		p.Tasks[i].Task.Kind = data.Classification
		for _, s := range []data.Samples{p.Tasks[i].TrainSet, p.Tasks[i].TestSet} {
			for j, y := range s.Y {
				s.Y[j] = float64(btoi(y > -0.7) + btoi(y > 0.7))
			}
		}
	}
	f := solved(t, nil, p, Options{}, Parts{})
	right, commonest := 0, make([]int, 3)
	for i, task := range p.Tasks {
		scores := datatest.Must(f.Scores(i, task.TestSet.X))(t)
		datatest.Need(t, len(scores) == 3*len(task.TestSet.Y),
			"task %d: %d scores of %d rows", i, len(scores), len(task.TestSet.Y))
		for j, y := range task.TestSet.Y {
			class := multitask.LabelOf(y, 3)
			commonest[class]++
			right += btoi(data.ClassOf(scores[3*j:][:3]) == class)
		}
	}
	datatest.Holds(t, right > slices.Max(commonest), "%d of %v rows are right", right, commonest)
	of := func(p *data.ProblemData) *Fitted {
		return fit(t, bench(t, nil, p, Options{}), Candidate{Structure: Structure{Straight, Shared}})
	}
	several := of(p).ClassDoubts
	p.Classes = nil
	for i := range p.Tasks {
		y := p.Tasks[i].TrainSet.Y
		for j, v := range y {
			y[j] = float64(2*btoi(v == 2) - 1)
		}
		p.Tasks[i].TestSet = data.Samples{X: p.Tasks[i].TestSet.X.Take(nil)}
	}
	want := of(p).Doubt
	if len(several) != 3 || !floats.EqualApprox(several[2].Common, want.Common, 1e-9) || !floats.EqualApprox(several[2].Own, want.Own, 1e-9) || several[2].Tasks[1] != want.Tasks[1] {
		t.Errorf("the last of three classes has the doubt %+v, as one of two classes %+v", several[2], want)
	}
}

// What is sampled of many tasks tells the variances of their weights: fifty rows of a task, and not
// one.
func TestSampledRowsTellVariances(t *testing.T) {
	r := data.Stream(3, "sampled")
	p := mixed.Problem{Part: []int{0, 1, 1}, Components: []mixed.Component{
		{Name: "level", Common: 1, Own: 1}, {Name: "slopes", Common: 1, Own: 1}}}
	for range 80 {
		task := mixed.Task{Loading: 1}
		own := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		for range 60 {
			row := []float64{1, r.NormFloat64(), r.NormFloat64()}
			task.Features = append(task.Features, row...)
			task.Y = append(task.Y, floats.Dot(own, row)+r.NormFloat64())
		}
		p.Tasks = append(p.Tasks, task)
	}
	found := datatest.Must(mixed.New(t.Context(), sampled(p, 1e-3), mixed.Options{}))(t)
	for _, v := range []float64{found.Noise, found.Components[0].Own, found.Components[1].Own} {
		datatest.Holds(t, v > 0.7 && v < 1.4,
			"noise %v and own variances %v, all drawn with 1", found.Noise, found.Components)
	}
}

// Targets of the same rows are sampled together, whichever of them comes first.
func TestSampledTwinsStayTwins(t *testing.T) {
	r := data.Stream(4, "twins")
	rows := datatest.Normals[float64](r, 200)
	p := mixed.Problem{Part: []int{0}}
	for range 3 {
		task := mixed.Task{Features: rows, Y: datatest.Normals[float64](r, 200)}
		p.Tasks = append(p.Tasks, task)
	}
	part := sampled(p, 0.4)
	slices.Reverse(p.Tasks)
	reversed := sampled(p, 0.4)
	datatest.Holds(t, len(part.Tasks[0].Y) < 100 && part.Twin(1) && part.Twin(2) &&
		slices.Equal(part.Tasks[0].Features, reversed.Tasks[0].Features),
		"rows are not the same, or not sampled")
}

// Folds of many rows have the steps of all rows, which see a row nearly as steps of the fold would.
func TestFoldsOfManyRowsSeeAlike(t *testing.T) {
	p := levelled(t, 5, data.Regression, 1, manySeen, 5)
	b := bench(t, nil, p, Options{})
	fold := b.folds[1]
	got := datatest.Must(b.features(fold))(t)
	own := datatest.Must(b.fitSteps(fold.ProblemData, nil))(t)
	own = own.trained(b, own.ProblemData)
	chosen := []int{0, 1}
	for i := range p.Tasks {
		far := floats.Distance(got.rows(i, chosen), own.rows(i, chosen), math.Inf(1))
		datatest.Holds(t, far > 0 && far < 0.1 && got.scale[i] == own.scale[i],
			"task %d: rows are %g apart", i, far)
	}
}

// Levels of a category have one variance. So effects of all of them are found better than by columns
// that have nothing to do with each other.
func TestLevelsOfACategoryHaveOneVariance(t *testing.T) {
	datatest.Long(t)
	ratio := 0.0
	const seeds = 10
	for seed := range uint64(seeds) {
		r := data.Stream(seed, "category")
		names := []string{"city=a", "city=b", "city=c", "city=d", "city=e", "city=f"}
		effects := datatest.Normals[float64](r, len(names))
		p := &data.ProblemData{Problem: &data.Problem{Name: "p"}, Features: names}
		for i := range 6 {
			set := func(n int) data.Samples {
				x := make([]float32, n*len(names))
				y := make([]float64, n)
				for j := range y {
					k := r.IntN(len(names))
					x[j*len(names)+k] = 1
					y[j] = effects[k] + r.NormFloat64()
				}
				return data.Samples{X: datatest.Must(data.NewDense(n, len(names), x))(t), Y: y}
			}
			task := data.TaskData{Task: &data.Task{Name: fmt.Sprint("t", i), Kind: data.Regression}, TrainSet: set(6), TestSet: set(60)}
			p.Tasks = append(p.Tasks, task)
		}
		parts := Parts{View: Curves}
		together := solved(t, nil, p, Options{}, parts)
		p.Features = []string{"a", "b", "c", "d", "e", "f"}
		ratio += math.Log(together.Test.Mean / solved(t, nil, p, Options{}, parts).Test.Mean)
	}
	if ratio /= seeds; ratio > math.Log(0.98) {
		t.Errorf("one variance for a category has %.3f of the error of one for each level", math.Exp(ratio))
	}
}
