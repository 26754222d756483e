package evidence

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/model/multitask"
)

func tune(t testing.TB, of Subject, e Evidence, p *data.ProblemData, o Options) *Tuned {
	t.Helper()
	return datatest.Must(Tune(t.Context(), of, e, p, o))(t)
}

// tried are the trials of all paths of a search.
func tried(t testing.TB, of Subject, e Evidence, o Options) []trial {
	t.Helper()
	return slices.Concat(datatest.Must(newSearch(of, e, o).paths(t.Context()))(t)...)
}

// vertex is where the parabola through three points has its least value.
func vertex(t testing.TB, x, y []float64) float64 {
	t.Helper()
	a := mat.NewDense(3, 3, nil)
	for i, v := range x {
		a.SetRow(i, []float64{1, v, v * v})
	}
	var c mat.VecDense
	datatest.Check(t, c.SolveVec(a, mat.NewVecDense(3, y)))
	return -c.AtVec(1) / (2 * c.AtVec(2))
}

// What is chosen has the least loss of a path whose every Lambda1 is held out anew, here from
// zero: of leave-one-out the least mean of the neighbours' losses. Where losses do not jump it
// lies between the values of the grid, and what is said of it is said of that fit.
func TestTheLeastLossIsChosen(t *testing.T) {
	datatest.Long(t)
	for seed, s := range sizes {
		p := made(s, uint64(seed))
		for kind, e := range kinds(t, p) {
			of := named(t, "mtrl")
			grid := LambdaGrid(e.Training())[2:]
			o := Options{Lambda1: slices.Clone(grid), fit: multitask.Options{Tolerance: 1e-13}}
			slices.Reverse(grid)
			got, path := tune(t, of, e, p, o), tried(t, of, e, o)
			what := fmt.Sprintf("%v, %s", s, kind)
			var losses, smoothed []float64
			for _, lambda1 := range grid {
				losses = append(losses, hold(t, e, of, lambda1).Loss)
			}
			smoothed = slices.Clone(losses)
			if kind == "leave-one-out" {
				for i := range path {
					sum, total := 0.0, 0.0
					for j := range path { // one step of the grid is a factor of sqrt(10)
						w := math.Exp(-float64((i-j)*(i-j)) / 2)
						sum, total = sum+w*losses[j], total+w
					}
					smoothed[i] = sum / total
				}
			}
			at := 0
			for i, trial := range path {
				near(t, what+": Lambda1 tried", trial.Lambda1, grid[i], 1e-12)
				near(t, what+": loss", trial.loss, smoothed[i], 1e-3)
				if smoothed[i] < smoothed[at] {
					at = i
				}
			}
			want := grid[at]
			if kind != "split" && at > 0 && at < len(path)-1 {
				ln := []float64{math.Log(grid[at-1]), math.Log(grid[at]), math.Log(grid[at+1])}
				want = math.Exp(vertex(t, ln, smoothed[at-1:at+2]))
			}
			near(t, what+": Lambda1", got.Params.Lambda1, want, 0.02)
			if kind == "split" {
				near(t, what+": validation error", got.Validation.Mean, slices.Min(losses), 1e-6)
				datatest.Holds(t, got.HeldOut == nil, "%s: rows of the fit were held out", what)
				continue
			}
			again := hold(t, e, of, got.Params.Lambda1)
			near(t, what+": what is said", got.HeldOut.Loss, again.Loss, 1e-4)
			near(t, what+": validation error", got.Validation.Mean, again.Error, 1e-4)
			all := fitted(t, of.Model, p, got.Params)
			near(t, what+": objective of the fit on all rows", got.Objective, all.Objective, 1e-7)
		}
	}
}

// Of equal losses the largest Lambda1 is taken.
func TestOfEqualLossesTheLargestLambda1IsTaken(t *testing.T) {
	p := made(sizes[0], 2)
	for i := range p.Tasks { // one row again and again, whose class no Lambda1 changes
		v := &p.Tasks[i].ValidationSet
		v.X = v.X.Take(make([]int, len(v.Y)))
	}
	e := datatest.Must(NewSplit(p))(t)
	o := Options{Lambda1: []float64{1e-3, 1e-2}}
	got, path := tune(t, named(t, "stl"), e, p, o), tried(t, named(t, "stl"), e, o)
	datatest.Holds(t, path[0].loss == path[1].loss && got.Params.Lambda1 == 1e-2,
		"Lambda1 = %v, of %+v", got.Params.Lambda1, path)
}

// A path ends after the grid, or where its losses, if they do not jump, have risen three times
// in a row, from the eighth on; it goes on for up to six values, a factor of sqrt(10) apart,
// as long as the last one is better than all before.
func TestWherePathsEnd(t *testing.T) {
	early, beyond := 0, 0
	for seed := range uint64(10) {
		s := size{data.Regression, 3, 30, 8, 0}
		if seed%2 == 0 {
			s = size{data.Regression, 3, 4, 12, 0}
		}
		p := made(s, seed)
		if seed%4 == 0 { // without noise, the weaker the penalty, the better
			for i, task := range p.Tasks {
				for j := range task.TrainSet.Y {
					task.TrainSet.Y[j] = 0
					for c, v := range task.TrainSet.X.Row(j).Value {
						task.TrainSet.Y[j] += float64(v) * float64(c%(i+2))
					}
				}
				p.Tasks[i].ValidationSet = task.TrainSet
			}
		}
		for kind, e := range kinds(t, p) {
			if kind == "leave-one-out" {
				continue // whose losses are smoothed after the path
			}
			trials := tried(t, named(t, "stl"), e, Options{})
			for n := 1; n <= len(trials); n++ {
				last, lowest, rises := trials[n-1].loss, math.Inf(1), 0
				for k := 1; k < n; k++ {
					lowest = min(lowest, trials[k-1].loss)
					if rises++; trials[k].loss <= trials[k-1].loss {
						rises = 0
					}
				}
				end := kind == "folds" && n >= 8 && rises >= 3 || n >= 12 && !(last <= 0.999*lowest) || n == 18
				datatest.Holds(t, end == (n == len(trials)),
					"seed %d, %s: after %d of %d values the path ends: %t", seed, kind, n, len(trials), end)
			}
			for k := range trials[1:] {
				near(t, "the next value", trials[k+1].Lambda1*math.Sqrt(10), trials[k].Lambda1, 1e-9)
			}
			if len(trials) < 12 {
				early++
			} else if len(trials) > 12 {
				beyond++
			}
		}
	}
	datatest.Holds(t, early != 0 && beyond != 0, "%d paths ended early, %d went on", early, beyond)
}

// refusing is evidence that cannot say anything of a small Lambda1.
type refusing struct {
	Evidence
	below float64
}

func (e refusing) Hold(ctx context.Context, of Subject, p multitask.Params, from *HeldOut, o multitask.Options) (*HeldOut, error) {
	if p.Lambda1 < e.below {
		return nil, multitask.ErrInvalidParams
	}
	h, err := e.Evidence.Hold(ctx, of, p, from, o)
	if err == nil {
		h.Loss = p.Lambda1 // the less the better
	}
	return h, err
}

// What evidence cannot say is an error on the grid and the end of a path that goes beyond.
func TestWhereEvidenceEnds(t *testing.T) {
	e := datatest.Must(NewSplit(made(sizes[0], 1)))(t)
	grid := LambdaGrid(e.Training())
	for below, want := range map[float64]int{0: 18, grid[0] / 5: 13, grid[0] / 2: 12, grid[2] / 2: 0} {
		paths, err := newSearch(named(t, "stl"), refusing{e, below}, Options{}).paths(t.Context())
		datatest.Holds(t, len(paths[0]) == want && (err != nil) == (want == 0),
			"below %g: %d trials, want %d (%v)", below, len(paths[0]), want, err)
	}
}

// The same for any number of workers, of models with other hyperparameters too; and the
// defaults are those that are documented.
func TestWorkersAndDefaultsChangeNothing(t *testing.T) {
	for _, name := range []string{"mtrl", "cmtl", "amtl"} {
		if testing.Short() && name != "mtrl" { // package multitask has races of its solvers
			continue
		}
		p := made(sizes[0], 2)
		for kind, e := range kinds(t, p) {
			a := tune(t, named(t, name), e, p, Options{})
			b := tune(t, named(t, name), e, p, Options{Workers: 5, fit: multitask.Options{Tolerance: 1e-4, MaxIterations: 10}})
			datatest.Holds(t, mat.Equal(a.W, b.W) && mat.Equal(a.Omega, b.Omega) && (a.HeldOut == nil || reflect.DeepEqual(a.HeldOut.Scores, b.HeldOut.Scores)),
				"%s, %s: five workers find something else than one", name, kind)
			settings := map[string]bool{}
			trials := tried(t, named(t, name), e, Options{})
			for _, trial := range trials {
				settings[fmt.Sprint(trial.With(multitask.Lambda1, 0))] = true
			}
			datatest.Equal(t, len(settings), map[string]int{"mtrl": 1, "cmtl": 4, "amtl": 4}[name], "%s: settings beside Lambda1", name)
			// A model that is not convex keeps the fit that was judged, if it is one of all rows.
			datatest.Holds(t, kind != "leave-one-out" || (a.W == a.HeldOut.Fits[0].W) == (name == "amtl"),
				"%s keeps the fit that was judged, or does not", name)
			if tried := slices.ContainsFunc(trials, func(of trial) bool { return of.Lambda1 == a.Params.Lambda1 }); kind == "leave-one-out" && tried != (name == "amtl") {
				t.Errorf("%s has a Lambda1 that was tried, or has not", name)
			}
			if _, m := a.W.Dims(); kind == "folds" && m == 3 && slices.ContainsFunc(a.HeldOut.Fits, func(r *multitask.Result) bool { return r.W == a.W }) {
				t.Errorf("%s keeps the fit of a fold", name)
			}
		}
	}
}

// The errors of a report are those of predictions by hand.
func TestReport(t *testing.T) {
	for seed, s := range sizes {
		p := made(s, uint64(seed))
		r := fitted(t, named(t, "mtrl"), p, multitask.Params{Lambda1: 0.5})
		got := datatest.Must(Report(r, p, nil, nil))(t)
		near(t, "trace of Omega", mat.Trace(got.Omega), 1, 1e-12)
		mean := 0.0
		for i, task := range p.Tasks {
			scores := make([][]float64, s.m)
			y := make([][]float64, s.m)
			for j := range task.TestSet.Y {
				scores[i] = append(scores[i], predicted(r, i, task.TestSet.X.Row(j))...)
			}
			y[i] = task.TestSet.Y
			_, want := byHand(s, scores, y, y)
			near(t, fmt.Sprintf("%v: error of task %d", s, i), got.Test.Task[i], want, 1e-6)
			mean += want / float64(s.m)
		}
		near(t, "mean", got.Test.Mean, mean, 1e-6)
		if held := datatest.Must(Report(r, p, &HeldOut{Error: 0.25}, nil))(t); held.Validation.Mean != 0.25 || held.Validation.Task != nil {
			t.Errorf("%v is said of rows held out", held.Validation)
		}
		tested := p.Tasks[1].TestSet
		for i := range p.Tasks {
			p.Tasks[i].TestSet = data.Samples{}
		}
		bare := datatest.Must(Report(r, p, nil, nil))(t)
		datatest.Holds(t, bare.Test.Task == nil && bare.Test.Mean == 0, "test errors %v of no test rows", bare.Test)
		p.Tasks[1].TestSet = tested
		datatest.Refused(Report(r, p, nil, nil))(t, multitask.ErrInvalidData)
	}
}
