package collect_test

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
	"l2mt/layers/linalg"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
	"l2mt/train/collect"
)

// Names of models are written in any case, and recorded in one.
func TestNamesOfModels(t *testing.T) {
	problems, ref := sample(t, 1)
	dir := storeDir(t)
	run(t, dir, collect.Config{Models: []string{"STL", "RMTL"}, Draws: 1, Measured: collect.OfRefit}, problems, ref, 1)
	var sources []string
	for _, r := range load(t, dir) {
		sources = append(sources, r.Source)
	}
	datatest.Equal(t, sources, []string{"rmtl", "stl"}, "sources")
}

// faulty is a model whose step goes wrong.
type faulty struct {
	multitask.Model
	name string
	step func(s *mat.SymDense) (*multitask.Covariance, error)
}

func (f faulty) Info() multitask.Info {
	info := f.Model.Info()
	info.Name = f.name
	return info
}

func (f faulty) Step(s *mat.SymDense, _ int, _ multitask.Params, _ multitask.Hint) (*multitask.Covariance, error) {
	return f.step(s)
}

// The faults that models may have, and what is to be recorded.
var faults = []struct {
	name   string
	step   func(s *mat.SymDense) (*multitask.Covariance, error)
	reason string
}{
	{"test-fails", func(*mat.SymDense) (*multitask.Covariance, error) { return nil, errors.New("no luck\xff") }, "no luck?"},
	{"test-silent", func(*mat.SymDense) (*multitask.Covariance, error) { return nil, errors.New("") }, ""},
	{"test-panics", func(*mat.SymDense) (*multitask.Covariance, error) { panic("oh no") }, "panic: oh no"},
	{"test-nan", func(s *mat.SymDense) (*multitask.Covariance, error) {
		omega := mat.NewSymDense(s.SymmetricDim(), nil)
		omega.SetSym(0, 0, math.NaN())
		return &multitask.Covariance{Omega: omega}, nil
	}, ""},
	{"test-zero", func(s *mat.SymDense) (*multitask.Covariance, error) {
		return &multitask.Covariance{Omega: mat.NewSymDense(s.SymmetricDim(), nil)}, nil
	}, ""},
	{"test-nothing", func(s *mat.SymDense) (*multitask.Covariance, error) { return nil, nil }, "panic: "},
}

func init() {
	base, err := multitask.Lookup("glmtl") // a model that is not spectral, so that its step is taken
	if err != nil {
		panic(err)
	}
	for _, f := range faults {
		multitask.Register(faulty{base, f.name, f.step})
	}
}

// A fit that fails is a record like any other, and the run goes on.
func TestFailedFitsAreRecorded(t *testing.T) {
	problems, ref := sample(t, 2)
	for _, measured := range []collect.Measured{collect.OfRefit, collect.OfModel} {
		c := collect.Config{Models: []string{"snr2"}, Draws: 1, Explore: 1, Measured: measured}
		for _, f := range faults {
			c.Models = append(c.Models, f.name)
		}
		dir := storeDir(t)
		s := run(t, dir, c, problems, ref, 2)
		datatest.Equal(t, s, (collect.Summary{Made: 2 * (3 + len(faults)), Failed: 2 * len(faults)}), "%s", measured)
		failed := map[string]string{}
		for _, r := range load(t, dir) {
			if r.Status == experience.Failed {
				failed[r.Source] = r.Reason
			}
		}
		for _, f := range faults {
			if reason, ok := failed[f.name]; !ok || reason == "" || !strings.Contains(reason, f.reason) {
				t.Errorf("%s: %s is recorded with reason %q, want %q", measured, f.name, reason, f.reason)
			}
		}
	}
}

// Where single-task learning makes no error nothing is relative to it: all
// tuples of that problem fail and say so, and the others do not mind.
func TestProblemThatSingleTaskLearningSolves(t *testing.T) {
	problems, ref := sample(t, 2)
	solved := problems[0]
	for i := range solved.Tasks { // let the test rows be the training rows, marked by a column of their own
		train := solved.Tasks[i].TrainSet
		rows := make([]float32, 0, 2*len(train.Y))
		for _, y := range train.Y {
			rows = append(rows, float32(y), 0)
		}
		x := datatest.Must(data.NewDense(len(train.Y), 2, rows))(t)
		easy := data.Samples{X: x, Y: train.Y}
		solved.Tasks[i].TrainSet, solved.Tasks[i].ValidationSet, solved.Tasks[i].TestSet = easy, easy, easy
	}
	dir := storeDir(t)
	s := run(t, dir, small, problems, ref, 2)
	datatest.Equal(t, s, (collect.Summary{Made: 2 * smallTuples, Failed: smallTuples, Perfect: smallTuples}), "summary")
	for _, r := range load(t, dir) {
		const says = "the test error of single-task learning is 0"
		if failed := r.Status == experience.Failed; failed != (r.Problem == solved.Name) || failed && !strings.Contains(r.Reason, says) {
			t.Errorf("%s, %s: %s, %s", r.Problem, r.Source, r.Status, r.Reason)
		}
	}
	again := run(t, dir, collect.Config{Models: small.Models, Draws: 2, Explore: 6, Measured: small.Measured, Seed: small.Seed}, problems, ref, 2)
	datatest.Equal(t, again, (collect.Summary{Made: 2, Failed: 1, Had: 2 * smallTuples, Perfect: 1}), "with more tuples")
}

// What is recorded can be had again from the record and the problem.
func TestRecordsAgreeWithTheFits(t *testing.T) {
	datatest.Long(t)
	problems, ref := sample(t, 2)
	byName := map[string]*data.ProblemData{}
	for _, p := range problems {
		byName[p.Name] = p
	}
	for _, measured := range []collect.Measured{collect.OfRefit, collect.OfModel} {
		c := small
		c.Measured = measured
		dir := storeDir(t)
		run(t, dir, c, problems, ref, 2)
		for _, r := range load(t, dir) {
			p := byName[r.Problem]
			train := datatest.Must(multitask.Training(p))(t)
			omega := mat.NewSymDense(len(r.Omega), slices.Concat(r.Omega...))
			fixed := datatest.Must(multitask.FitFixed(t.Context(), omega, train, r.Result.Lambda1, multitask.Options{}))(t)
			fit := fixed
			if m, err := multitask.Lookup(r.Source); err == nil && r.Source != experience.STL {
				params := multitask.Params{}
				for name, v := range r.Hyper {
					params = params.With(name, v)
				}
				fit = datatest.Must(multitask.Fit(t.Context(), m, train, params, collect.FitOptions))(t)
				scaled := mat.NewSymDense(len(r.Omega), nil)
				scaled.ScaleSym(1/mat.Trace(fit.Omega), fit.Omega)
				datatest.Holds(t, mat.EqualApprox(scaled, omega, 1e-12),
					"%s: %s on %s: the recorded Omega is not that of the recorded hyperparameters", measured, r.Source, r.Problem)
				if measured == collect.OfRefit {
					fit = fixed
				}
			}
			var test []data.Samples
			for _, task := range p.Tasks {
				test = append(test, task.TestSet)
			}
			e := datatest.Must(evidence.Evaluate(fit, p.Kind(), test, nil))(t)
			datatest.Equal(t, r.Result.Test, e.Task, "%s: %s on %s: the recorded test errors are not those of the fit", measured, r.Source, r.Problem)
			datatest.Holds(t, r.Source != experience.STL || r.Result.O == 1,
				"single-task learning has the error %v", r.Result.O)
		}
	}
}

// Nothing but the errors on test rows may depend on them.
func TestPoisonedTestRows(t *testing.T) {
	datatest.Long(t)
	for _, measured := range []collect.Measured{collect.OfRefit, collect.OfModel} {
		before, after := poisoned(t, measured, func(t *data.TaskData) *data.Samples { return &t.TestSet })
		changed := 0
		for i, r := range after {
			if r.Result.MeanTest() != before[i].Result.MeanTest() {
				changed++
			}
			for _, x := range []*experience.Record{r, before[i]} {
				x.Result.O, x.Result.Test = 0, nil
			}
		}
		datatest.Holds(t, changed != 0, "%s: no test error changed", measured)
		datatest.Equal(t, after, before, "%s: more than test errors changed", measured)
	}
}

// Omega comes from training rows alone: validation rows choose Lambda1.
func TestPoisonedValidationRows(t *testing.T) {
	datatest.Long(t)
	before, after := poisoned(t, collect.OfRefit, func(t *data.TaskData) *data.Samples { return &t.ValidationSet })
	changed := 0
	for i, r := range after {
		datatest.Equal(t, r.Omega, before[i].Omega, "%s on %s", r.Source, r.Problem)
		if r.Result.Lambda1 != before[i].Result.Lambda1 {
			changed++
		}
	}
	datatest.Holds(t, changed != 0, "no Lambda1 changed")
}

// poisoned are the records of problems, and those after every third label of a split is turned round.
func poisoned(t *testing.T, measured collect.Measured, split func(*data.TaskData) *data.Samples) (before, after []*experience.Record) {
	t.Helper()
	problems, ref := sample(t, 2)
	c := small
	c.Measured, c.Near = measured, 2
	var out collect.InMemory
	for _, p := range problems {
		tasks := slices.Clone(p.Tasks)
		for i := range tasks {
			s := split(&tasks[i])
			s.Y = slices.Clone(s.Y)
			for j := 0; j < len(s.Y); j += 3 {
				s.Y[j] *= -1
			}
		}
		out = append(out, &data.ProblemData{Problem: p.Problem, Tasks: tasks})
	}
	clean, turned := storeDir(t), storeDir(t)
	run(t, clean, c, problems, ref, 2)
	run(t, turned, c, out, ref, 2)
	return load(t, clean), load(t, turned)
}

// Draws cover the ranges of the hyperparameters and never leave them.
func TestDrawsOfHyperparameters(t *testing.T) {
	grid := []float64{1e-5, 1e-3, 1e-1}
	for _, m := range multitask.Baselines() {
		seen := map[string]map[float64]bool{}
		for draw := range uint64(40) {
			p, _ := collect.DrawParams(m, grid, data.Stream(1, m.Info().Name, draw))
			_, err := multitask.Complete(m, p)
			datatest.Holds(t, err == nil, "%s, draw %d: %v", m.Info().Name, draw, err)
			for _, r := range m.Info().Ranges {
				low, high := r.Low, r.High
				switch {
				case r.Name == multitask.Lambda1:
					low, high = grid[0], grid[2]
				case low == high:
					low, high = r.Default, r.Default
				}
				v := p.Get(r.Name)
				datatest.Holds(t, v >= low*(1-1e-12) && v <= high*(1+1e-12),
					"%s: %s = %v is outside of [%v, %v]", m.Info().Name, r.Name, v, low, high)
				if seen[r.Name] == nil {
					seen[r.Name] = map[float64]bool{}
				}
				seen[r.Name][v] = true
				if draw == 39 && low < high {
					values := slices.Sorted(maps.Keys(seen[r.Name]))
					if len(values) < 40 || values[0] > low+(high-low)/4 || values[39] < low+(high-low)/10 {
						t.Errorf("%s: %s drawn 40 times is %v, of [%v, %v]", m.Info().Name, r.Name, values, low, high)
					}
				}
			}
		}
	}
}

func TestExplorations(t *testing.T) {
	ranks := map[string]func(m int) int{
		"rank-one": func(int) int { return 1 },
		"low-rank": func(m int) int { return min(m, 1+m/3) },
		"wishart":  func(m int) int { return m },
		"ridge":    func(m int) int { return m },
	}
	datatest.Equal(t, len(ranks), collect.Explorations, "kinds")
	for name, rank := range ranks {
		draw := collect.Exploration(name)
		for seed := range uint64(30) {
			m := 1 + int(seed)%9
			omega := draw(data.Stream(seed, name), m)
			datatest.Near(t, mat.Trace(omega), 1, 1e-12, "%s, seed %d: trace", name, seed)
			s := datatest.Must(linalg.Eigen(omega))(t)
			got := 0
			for _, v := range s.Values {
				datatest.Holds(t, v >= -1e-14, "%s, seed %d: eigenvalue %v", name, seed, v)
				if v > 1e-12 {
					got++
				}
			}
			datatest.Holds(t, got == rank(m), "%s, seed %d: rank %d of %d, want %d", name, seed, got, m, rank(m))
			if other := draw(data.Stream(seed+100, name), m); m > 4 && mat.EqualApprox(omega, other, 1e-6) {
				t.Errorf("%s: seeds %d and %d draw the same", name, seed, seed+100)
			}
		}
	}
}

// A shard brings its own problems to memory, and no others.
func TestShardLooksAtItsOwnProblems(t *testing.T) {
	problems, ref := sample(t, 5)
	c := small
	c.Shard, c.Shards = 1, 3
	watched := &watched{InMemory: problems}
	run(t, storeDir(t), c, watched, ref, 2)
	for i, n := range watched.asked {
		mine := i%3 == 1
		datatest.Holds(t, (n > 0) == mine, "problem %d was asked for %d times by shard 1 of 3", i, n)
	}
}

type watched struct {
	collect.InMemory
	asked [5]int
}

func (w *watched) Problem(i int) (*data.ProblemData, error) {
	w.asked[i]++
	return w.InMemory.Problem(i)
}

func TestManifest(t *testing.T) {
	dir := storeDir(t)
	datatest.Check(t, open(t, dir, small, data.DatasetRef{Path: "d", SHA256: "s"}).Close())
	m := datatest.Must(experience.Open(dir))(t).Manifest
	datatest.Holds(t, m.Seed == small.Seed && slices.Equal(m.CreatedBy, []string{"test"}) && m.Config["o"] == "refit",
		"%+v", m)
}
