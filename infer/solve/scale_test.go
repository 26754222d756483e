package solve

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/table"
	"l2mt/infer/solve/solvetest"
	"l2mt/model/saved"
)

// priced has tasks with a target that columns multiply, or add to; both are positive and skewed.
func priced(t *testing.T, seed uint64, multiplies bool) *data.ProblemData {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 9))
	p := &data.ProblemData{Problem: &data.Problem{Name: "priced"}, Features: []string{"a", "b"}}
	for i := range 8 {
		level := random.NormFloat64()
		var values []float32
		var y []float64
		for range 25 {
			a, b := random.NormFloat64(), random.NormFloat64()
			if !multiplies {
				a = random.ExpFloat64()
			}
			target := 12 + 2*level + 30*a + b + random.NormFloat64()
			if multiplies {
				target = math.Exp(5 + 0.5*level + 0.7*a + 0.3*b + 0.4*random.NormFloat64())
			}
			values = append(values, float32(a), float32(b))
			y = append(y, target)
		}
		x := datatest.Must(data.NewDense(len(y), 2, values))(t)
		none := data.Samples{X: x.Take(nil)}
		p.Tasks = append(p.Tasks, data.TaskData{
			Task:     &data.Task{Name: string(rune('a' + i)), Kind: data.Regression},
			TrainSet: data.Samples{X: x, Y: y}, ValidationSet: none, TestSet: none,
		})
	}
	return p
}

// A scale that is asked for is chosen on alone.
func TestAScaleAskedForIsChosenOnOnce(t *testing.T) {
	p := priced(t, 4, true)
	f := random(t, 1, nil)
	for i := range p.Tasks {
		rows := len(p.Tasks[i].TrainSet.Y)
		x := datatest.Must(data.NewDense(rows, solvetest.Features, make([]float32, rows*solvetest.Features)))(t)
		p.Tasks[i].TrainSet.X = x
		none := data.Samples{X: x.Take(nil)}
		p.Tasks[i].ValidationSet = none
		p.Tasks[i].TestSet = none
	}
	p.Features = nil
	b := bench(t, f, p, Options{})
	var chosen []*Bench
	logs, _, err := b.Scaled(t.Context(), Log, func(b *Bench) (*Choice, error) {
		chosen = append(chosen, b)
		return &Choice{}, nil
	})
	datatest.Holds(t, err == nil && len(chosen) == 1 && chosen[0] == logs && logs.rows.Cols() == b.rows.Cols(),
		"%d benches are chosen on (%v)", len(chosen), err)
	datatest.Equal(t, datatest.Must(logs.Regrouped(nil))(t).rows.Cols(), b.rows.Cols(), "a bench of other groups")
}

// Errors on test rows are of targets, as those of the saved model are, on any scale.
func TestErrorsOnTestRowsAreOfTargets(t *testing.T) {
	const seed = 5
	for scale, amounts := range map[string]bool{Log: true, Count: false, Identity: false} {
		p := counted(t, seed, amounts)
		for i := range p.Tasks {
			p.Tasks[i].TestSet = p.Tasks[i].TrainSet
		}
		scaled, c, err := bench(t, nil, p, Options{}).Scaled(t.Context(), scale, func(b *Bench) (*Choice, error) {
			return b.Take(t.Context(), Candidate{Structure: Structure{Straight, Pooled}})
		})
		datatest.Check(t, err)
		f := datatest.Must(scaled.Fit(t.Context(), c))(t)
		s := datatest.Must(f.Saved(table.Numbers(p.Features, 2)))(t)
		for i, task := range p.Tasks {
			y := task.TrainSet.Y
			square := 0.0
			for j, v := range datatest.Must(s.Predict(task.Name, task.TrainSet.X))(t) {
				square += (v - y[j]) * (v - y[j]) / float64(len(y))
			}
			if want := square / stat.PopVariance(y, nil); len(f.Test.Task) == 0 || math.Abs(f.Test.Task[i]-want) > 1e-9*want {
				t.Errorf("seed %d, %s: test errors %v, want %v of task %d", seed, scale, f.Test.Task, want, i)
			}
		}
	}
}

// Rows held out tell targets that columns multiply from those that they add to. Predictions,
// intervals and what is told of rows held out are of targets, not of logarithms.
func TestScaleOfTheTarget(t *testing.T) {
	datatest.Long(t)
	const seed = 4
	for _, multiplies := range []bool{true, false} {
		p := priced(t, seed, multiplies)
		b := bench(t, nil, p, Options{Workers: 2})
		choose := func(b *Bench) (*Choice, error) { return b.Choose(t.Context(), Parts{}) }
		scaled, c, err := b.Scaled(t.Context(), "", choose)
		datatest.Check(t, err)
		f := datatest.Must(scaled.Fit(t.Context(), c))(t)
		datatest.Holds(t, (f.Scale == Log) == multiplies,
			"seed %d: columns multiply %t, the scale is %s", seed, multiplies, f.Scale)
		told := datatest.Must(scaled.Told(c.HeldOut))(t)
		for i, task := range p.Tasks {
			datatest.Holds(t, slices.Equal(slices.Sorted(slices.Values(told.Y[i])), slices.Sorted(slices.Values(task.TrainSet.Y))),
				"seed %d: rows held out of task %d are others than its targets", seed, i)
		}
		if !multiplies {
			continue
		}
		s := datatest.Must(f.Saved(table.Numbers(p.Features, 2)))(t)
		dir := t.TempDir()
		datatest.Check(t, s.Save(dir))
		s = datatest.Must(saved.Load(dir))(t)
		x := p.Tasks[0].TrainSet.X
		got := datatest.Must(s.Predict("a", x))(t)
		logs := datatest.Must(f.Scores(0, x))(t)
		for j, v := range got {
			low, high := s.Bounds(v, 2, 3)
			if math.Abs(math.Log(v)-logs[j]) > 1e-9 || low <= 0 || math.Abs(math.Log(high/v)-6) > 1e-9 || math.Abs(math.Log(v/low)-6) > 1e-9 {
				t.Errorf("seed %d, row %d: %v between %v and %v, the logarithm is %v", seed, j, v, low, high, logs[j])
			}
		}
		outside := datatest.Must(data.NewDense(1, 2, []float32{50, 0}))(t)
		most := slices.Max(slices.Concat(labels(p)...))
		if far := datatest.Must(s.Predict("a", outside))(t)[0]; far < most/10 || far > 10*most {
			t.Errorf("seed %d: far outside of its rows a task has %v, the largest of all rows is %v", seed, far, most)
		}
		datatest.Refused(s.Prior())(t, nil)
		plain := datatest.Must(choose(b))(t)
		datatest.Holds(t, told.Loss < plain.Loss,
			"seed %d: logarithms lose %.3f, the targets as they are %.3f", seed, told.Loss, plain.Loss)
		same, _, err := b.Scaled(t.Context(), Identity, choose)
		datatest.Holds(t, err == nil && same == b, "pinned: %v", err)
		p.Tasks[0].TrainSet.Y[0] = 0
		_, _, err = b.Scaled(t.Context(), Log, choose)
		datatest.Holds(t, err != nil, "a target of 0 has a logarithm")
	}
}

// counted are counts, or amounts in whole numbers, whose expectation columns multiply.
func counted(t *testing.T, seed uint64, amounts bool) *data.ProblemData {
	p := priced(t, seed, true)
	r := data.Stream(seed, "counts")
	for i := range p.Tasks {
		s := p.Tasks[i].TrainSet
		for j := range s.Y {
			x := s.X.Row(j).Value
			log := float64(i)/5 + 0.8*float64(x[0]) + 0.4*float64(x[1])
			if amounts {
				s.Y[j] = math.Ceil(math.Exp(9 + log + 0.4*r.NormFloat64()))
				continue
			}
			s.Y[j] = -1
			for left := math.Exp(log); left > 0; left -= r.ExpFloat64() {
				s.Y[j]++
			}
		}
	}
	return p
}

// Skewed counts are fitted as counts, whole amounts on their logarithm. Predictions are nearer to
// what was expected than those of counts as they are, and intervals are whole numbers from 0 on.
func TestCounts(t *testing.T) {
	datatest.Long(t)
	choose := func(b *Bench) (*Choice, error) { return b.Choose(t.Context(), Parts{View: Curves}) }
	ours, theirs := 0.0, 0.0
	for k := range 6 {
		seed := 3 + uint64(k/2)
		amounts := k%2 == 1
		scale := []string{Count, Log}[k%2]
		p := counted(t, seed, amounts)
		b := bench(t, nil, p, Options{})
		scaled, c, err := b.Scaled(t.Context(), "", choose)
		datatest.Check(t, err)
		f := datatest.Must(scaled.Fit(t.Context(), c))(t)
		datatest.Equal(t, f.Scale, scale, "seed %d, whole amounts %t: the scale", seed, amounts)
		if amounts {
			continue
		}
		plain := datatest.Must(b.Fit(t.Context(), datatest.Must(choose(b))(t)))(t)
		s := datatest.Must(f.Saved(table.Numbers(p.Features, 2)))(t)
		dir := t.TempDir()
		datatest.Check(t, s.Save(dir))
		s = datatest.Must(saved.Load(dir))(t)
		for i, task := range p.Tasks {
			x := task.TrainSet.X
			straight := datatest.Must(plain.Scores(i, x))(t)
			for j, v := range datatest.Must(s.Predict(task.Name, x))(t) {
				row := x.Row(j).Value
				want := math.Exp(float64(i)/5 + 0.8*float64(row[0]) + 0.4*float64(row[1]))
				ours += (v - want) * (v - want)
				theirs += (straight[j] - want) * (straight[j] - want)
				low, high := s.Bounds(v, 1.7, math.Sqrt(v))
				datatest.Holds(t, low >= 0 && low == math.Trunc(low) && high == math.Trunc(high) && low <= high,
					"seed %d: %v is between %v and %v", seed, v, low, high)
			}
		}
		_, _, err = b.Scaled(t.Context(), Count, func(b *Bench) (*Choice, error) { return b.Take(t.Context(), Candidate{}) })
		datatest.Holds(t, err != nil, "problem (1) takes counts")
		p.Tasks[0].TrainSet.Y[0] = 0.5
		_, _, err = b.Scaled(t.Context(), Count, choose)
		datatest.Holds(t, err != nil, "a half is a count")
	}
	datatest.Holds(t, ours <= 0.8*theirs, "counts err by %.3f, as they are by %.3f", ours, theirs)
}

// Counts of twice the variance over their expectation count half.
func TestCountsCountLess(t *testing.T) {
	once := units{counts: 1, center: []float64{math.Log(4)}}.weights(0, []float64{1, 3})
	twice := units{counts: 2, center: []float64{math.Log(4)}}.weights(0, []float64{1, 3})
	datatest.Holds(t, once[0] == 4 && once[1] == 12 && twice[0] == 2 && twice[1] == 6,
		"counts weigh %v and %v", once, twice)
}

// Targets of which some are far off on both sides are fitted by Huber's loss, and predicted nearer
// to what they were without noise. Those of normal noise are not, nor those that are far off on
// one side, of which half are not as many as the mean.
func TestHeavyTails(t *testing.T) {
	datatest.Long(t)
	const seed = 2
	for name, noise := range map[string]func(r *rand.Rand) float64{
		Huber:      func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) }, // Student, 2 degrees
		"normal":   (*rand.Rand).NormFloat64,
		"one side": func(r *rand.Rand) float64 { return math.Exp(1.5 * r.NormFloat64()) },
	} {
		random := rand.New(rand.NewPCG(seed, 7))
		p := priced(t, seed, true)
		var truth [][]float64
		for i, task := range p.Tasks {
			var f []float64
			for j := range task.TrainSet.Y {
				x := task.TrainSet.X.Row(j).Value
				f = append(f, float64(i)/4+float64(x[0])-float64(x[1])/2)
				task.TrainSet.Y[j] = f[j] + noise(random)
			}
			truth = append(truth, f)
		}
		b := bench(t, nil, p, Options{})
		errors := map[string]float64{}
		for _, asked := range []string{"", Identity} {
			scaled, c, err := b.Scaled(t.Context(), asked, func(b *Bench) (*Choice, error) { return b.Choose(t.Context(), Parts{View: Straight}) })
			datatest.Check(t, err)
			fitted := datatest.Must(scaled.Fit(t.Context(), c))(t)
			if scale := fitted.Scale; asked == "" && (scale == Huber) != (name == Huber) {
				t.Errorf("seed %d, noise %s: the scale is %s", seed, name, scale)
			}
			for i, task := range p.Tasks {
				errors[asked] += floats.Distance(datatest.Must(fitted.Scores(i, task.TrainSet.X))(t), truth[i], 2)
			}
		}
		if name == Huber && errors[""] > 0.85*errors[Identity] {
			t.Errorf("seed %d: by Huber's loss predictions are off by %v, by the squared one by %v", seed, errors[""], errors[Identity])
		}
	}
}
