package solve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/progress"
	"l2mt/data/table"
	"l2mt/model/pretrained"
)

func choose(t *testing.T, b *Bench, without Parts) *Choice {
	t.Helper()
	return datatest.Must(b.Choose(t.Context(), without))(t)
}

// solved is the fit with what is chosen for a problem.
func solved(t *testing.T, f *Finder, p *data.ProblemData, o Options, without Parts) *Fitted {
	t.Helper()
	b := bench(t, f, p, o)
	return datatest.Must(b.Fit(t.Context(), choose(t, b, without)))(t)
}

func shipped(t *testing.T) *Finder {
	t.Helper()
	return NewFinder(datatest.Must(pretrained.Load())(t))
}

// wide is a problem of classes whose rows are few for their columns, which has problem (1).
func wide(t *testing.T, seed uint64) *data.ProblemData {
	t.Helper()
	p := made(seed, "p", data.Classification, 3)
	for i := range p.Tasks {
		s := &p.Tasks[i].TrainSet
		*s = data.Samples{X: s.X.Take([]int{0, 1, 2, 3, 4, 5}), Y: s.Y[:6]}
		p.Tasks[i].ValidationSet = data.Samples{}
	}
	return p
}

// asTable writes the labelled rows of a problem to a table, and reads them.
func asTable(t *testing.T, p *data.ProblemData) *table.Table {
	t.Helper()
	var text strings.Builder
	text.WriteString("task,y")
	for j := range p.Cols() {
		fmt.Fprintf(&text, ",x%d", j)
	}
	for _, task := range p.Tasks {
		for i, y := range task.TrainSet.Y {
			fmt.Fprintf(&text, "\n%s,%v", task.Name, y)
			for _, v := range task.TrainSet.X.Row(i).Value {
				text.WriteString("," + strconv.FormatFloat(float64(v), 'g', -1, 32))
			}
		}
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	datatest.Check(t, os.WriteFile(path, []byte(text.String()+"\n"), 0o644))
	return datatest.Must(table.Read([]string{path}, table.Options{Task: "task", Targets: []string{"y"}, Steps: []string{table.None}}))(t)
}

// sameFit says that two fits are the same to the last bit.
func sameFit(a, b *Fitted) bool {
	weighed := slices.EqualFunc(a.Choice.Weighed, b.Choice.Weighed, func(x, y Weighed) bool {
		return x.Called == y.Called && x.Weight == y.Weight && (x.Loss == y.Loss || math.IsNaN(x.Loss) && math.IsNaN(y.Loss))
	})
	return weighed && a.Choice.Loss == b.Choice.Loss && mat.Equal(a.Result.W, b.Result.W) && slices.Equal(a.Result.B, b.Result.B)
}

// The same rows and seed come to the same candidates and the same weights, whatever way they
// come: split or not, as a table, with whatever number of workers, and with five folds that are
// asked for.
func TestEveryWayComesToTheSame(t *testing.T) {
	const seed = 1
	f := random(t, seed, nil)
	for name, p := range map[string]*data.ProblemData{
		"classes":      made(seed, "p", data.Classification, 4),
		"few of them":  wide(t, seed),
		"a regression": made(seed, "p", data.Regression, 4),
	} {
		read := asTable(t, p.Labelled())
		want := solved(t, f, p, Options{Seed: seed}, Parts{})
		for _, way := range []struct {
			name    string
			problem *data.ProblemData
			options Options
		}{
			{"all rows labelled", p.Labelled(), Options{Seed: seed}},
			{"a table", read.Problem, Options{Seed: seed, Together: read.Together, Held: read.Held}},
			{"five folds", p, Options{Seed: seed, Folds: 5}},
			{"three workers", p, Options{Seed: seed, Workers: 3}},
		} {
			if testing.Short() && way.options.Workers == 0 { // nothing more runs side by side
				continue
			}
			if got := solved(t, f, way.problem, way.options, Parts{}); !sameFit(got, want) {
				t.Errorf("%s, %s: %+v with the loss %v, want %+v with %v", name, way.name, got.Choice.Weighed, got.Choice.Loss, want.Choice.Weighed, want.Choice.Loss)
			}
		}
	}
}

// What was judged before changes nothing of what is chosen.
func TestOrderOfJudgingDoesNotMatter(t *testing.T) {
	datatest.Long(t)
	for seed, p := range []*data.ProblemData{made(0, "p", data.Regression, 4), made(1, "p", data.Classification, 4), wide(t, 2)} {
		f := random(t, 1, nil)
		want := solved(t, f, p, Options{}, Parts{})
		b := bench(t, f, p, Options{})
		all := append(b.Candidates(Parts{}), Candidate{Structure: Structure{View: Straight}}, Candidate{Mixture: Mixture{Pooled: 1}}, Candidate{Structure: Structure{Curves, Pooled}})
		data.Stream(uint64(seed), "order").Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, c := range all {
			judge(t, b, c)
		}
		choose(t, b, Parts{NoNetwork: true})
		got := choose(t, b, Parts{})
		fitted := datatest.Must(b.Fit(t.Context(), got))(t)
		datatest.Holds(t, got.Name() == want.Choice.Name() && math.Abs(got.Loss-want.Choice.Loss) <= 1e-9 && mat.EqualApprox(fitted.Result.W, want.Result.W, 1e-9),
			"problem %d: %s is chosen with the loss %v, after others were judged %s with %v", seed, want.Choice.Name(), want.Choice.Loss, got.Name(), got.Loss)
	}
}

// The best of candidates is that of the least loss, of equals the first.
func TestBestHasTheLeastLoss(t *testing.T) {
	b := bench(t, random(t, 1, nil), made(1, "p", data.Regression, 4), Options{})
	all := []Candidate{{Mixture: Mixture{Pooled: 1}}, {}, {Structure: Structure{View: Straight}}, {Mixture: Mixture{Network: 0.5}}}
	twice := slices.Concat(all, all)
	best := best(datatest.Must(b.judgeEach(t.Context(), twice))(t))
	for i, w := range best.Weighed {
		first := slices.IndexFunc(best.Weighed, func(other Weighed) bool { return other.Loss <= w.Loss && other.Weight == 1 })
		datatest.Holds(t, w.Called == twice[i].Name() && w.Loss == judge(t, b, w.Candidate).Loss && (w.Weight == 0 || w.Weight == 1) && first >= 0 && first < len(all),
			"%d: %+v of %+v", i, w, best.Weighed)
	}
	if j := judge(t, b, best.First().Candidate); best.Loss != j.Loss || best.Name() != j.Name() || best.Title() != j.Title() {
		t.Errorf("the best has the loss %v, %s has %v", best.Loss, j.Name(), j.Loss)
	}
}

// The network is not used where it is left out: a bench that has none chooses the same.
func TestPartsLeftOutAreNotUsed(t *testing.T) {
	datatest.Long(t)
	for _, p := range []*data.ProblemData{wide(t, 3), made(3, "p", data.Regression, 4)} {
		got := solved(t, random(t, 1, nil), p, Options{}, Parts{NoNetwork: true})
		for _, x := range got.Choice.Weighed {
			datatest.Holds(t, x.Network <= 0, "without the network %s is tried", x.Called)
		}
		if want := solved(t, nil, p, Options{}, Parts{}); !sameFit(got, want) {
			t.Errorf("without the network %s is chosen, and where nobody is asked %s", got.Choice.Name(), want.Choice.Name())
		}
	}
	asked := 0
	for _, x := range choose(t, bench(t, random(t, 1, nil), wide(t, 3), Options{}), Parts{}).Weighed {
		if x.Network > 0 {
			asked++
		}
	}
	datatest.Holds(t, asked != 0, "with the network no candidate asks it")
}

// Rows that cannot be split compare nothing, and the first candidate is taken.
func TestRowsThatCannotBeSplitTakeTheFirst(t *testing.T) {
	p := made(4, "p", data.Classification, 1)
	s := &p.Tasks[0].TrainSet
	*s = data.Samples{X: s.X.Take([]int{0, 1}), Y: s.Y[:2]} // one of each class
	p.Tasks[0].ValidationSet = data.Samples{}
	b := bench(t, random(t, 1, nil), p, Options{})
	f := datatest.Must(b.Fit(t.Context(), choose(t, b, Parts{})))(t)
	datatest.Holds(t, len(b.folds) == 0 && f.Choice.Weighed[0].Weight == 1 && f.Choice.Name() == b.Candidates(Parts{})[0].Name() && len(f.Test.Task) == 1 && !math.IsNaN(f.Test.Mean),
		"%+v of %d folds, test error %v", f.Choice.Weighed, len(b.folds), f.Test)
	datatest.Refused(NewBench(nil, p, Options{Folds: 2}))(t, nil)
}

// A view that is asked for is taken, whatever rows say.
func TestViewsCanBePinned(t *testing.T) {
	datatest.Long(t)
	p := made(1, "p", data.Regression, 3)
	for _, view := range Views() {
		for _, w := range choose(t, bench(t, nil, p, Options{}), Parts{View: view}).Weighed {
			datatest.Holds(t, w.View == view || w.View == Level,
				"%s was asked for, and %s is a candidate", view, w.Called)
		}
	}
	x := datatest.Must(data.NewCSR(6, []int{0, 1, 2, 3}, []int32{0, 1, 1}, []float32{1, 2, 3}))(t)
	for i := range p.Tasks {
		p.Tasks[i] = data.TaskData{Task: p.Tasks[i].Task, TrainSet: data.Samples{X: x, Y: []float64{1, 2, 4}}}
	}
	b := bench(t, nil, p, Options{Folds: 3})
	got := choose(t, b, Parts{})
	datatest.Holds(t, got.First().View == "", "sparse rows are seen as %s", got.Name())
	datatest.Refused(b.Choose(t.Context(), Parts{View: Curves}))(t, nil, "sparse")
}

// Rivals have the columns of the choice: every task on its own, and one model for all. The mean
// is the level of tasks.
func TestRivalsAndMean(t *testing.T) {
	datatest.Long(t)
	for _, p := range []*data.ProblemData{made(1, "p", data.Regression, 4), wide(t, 1)} {
		b := bench(t, random(t, 1, nil), p, Options{})
		c := choose(t, b, Parts{})
		alone, pooled := b.Rivals(c)
		seen := func(w Weighed) bool { return w.View == alone.View }
		datatest.Holds(t, alone.View == pooled.View && slices.ContainsFunc(c.Weighed, seen) && alone != pooled,
			"the rivals of %s are %s and %s", c.Name(), alone.Name(), pooled.Name())
		mean := datatest.Must(b.Held(t.Context(), Candidate{Structure: Structure{View: Level}}))(t)
		datatest.Holds(t, (c.Loss < mean.Loss || p.Kind() != data.Regression) && mean.Rows == c.Rows,
			"the loss is %v, and of the mean %v", c.Loss, mean.Loss)
		for i, scores := range mean.Scores {
			values := slices.Compact(slices.Sorted(slices.Values(scores)))
			datatest.Holds(t, len(values) <= len(b.folds) || values[len(values)-1]-values[0] <= 1e-6,
				"task %d: the mean predicts %v", i, values)
		}
	}
}

// After the time that is set, the levels of tasks are measured and nothing else, of wide classes the
// first candidate, and all that is left out is counted.
func TestNothingIsTriedLate(t *testing.T) {
	late := Options{Until: time.Now().Add(-time.Second)}
	for _, p := range []*data.ProblemData{made(1, "p", data.Regression, 3), wide(t, 1)} {
		b := bench(t, nil, p, late)
		wanted := b.Candidates(Parts{})
		least, left := "level", len(wanted)-1
		if b.wide() {
			least = wanted[0].Name()
		}
		c := choose(t, b, Parts{})
		tried := slices.Sorted(maps.Keys(b.judged))
		datatest.Holds(t, slices.Equal(tried, []string{least}) && c.LeftOut == left && b.Late(),
			"tried %v, want %q; left out %d, want %d", tried, least, c.LeftOut, left)
		datatest.Must(b.Fit(t.Context(), c))(t)
		_, err := b.Held(t.Context(), wanted[1])
		datatest.Holds(t, errors.Is(err, context.DeadlineExceeded), "late %s is measured: %v", wanted[1].Name(), err)
	}
}

// slow lets the time pass in the first fold of a structure.
type slow struct {
	progress.Reporter
	title string
	until time.Time
}

func (s slow) Advance(_ int, title string) {
	if title == s.title {
		time.Sleep(time.Until(s.until) + time.Millisecond)
	}
}

// A structure that is cut off has no say, and is not known afterwards. Of the candidates that were
// measured before, all have one.
func TestWhatIsCutOffHasNoSay(t *testing.T) {
	p := made(1, "p", data.Regression, 3)
	cut := Structure{View: Kernel}
	o := Options{Until: time.Now().Add(time.Second / 2)}
	o.Progress = slow{progress.Silent(), cut.Title(), o.Until}
	b := bench(t, nil, p, o)
	c := choose(t, b, Parts{})
	if _, known := b.judged[cut.Name()]; known || c.LeftOut < len(b.Candidates(Parts{}))-3 {
		t.Errorf("the structure that is cut off is known: %t; %d are left out", known, c.LeftOut)
	}
	for _, w := range c.Weighed {
		datatest.Holds(t, w.View == Curves || w.View == Straight || w.View == Level, "%s has a say", w.Called)
	}
}

// Tasks may have classes of their own, which are foreign to other tasks, and a class a single row,
// which a fold holds out. Where labels say nothing candidates may weigh nothing.
func TestForeignClasses(t *testing.T) {
	sets := [][]float64{{0, 1, 2}, {3, 4}, {3, 4}}
	for seed := range uint64(2) {
		r := data.Stream(seed, "foreign")
		p := &data.ProblemData{Problem: &data.Problem{Name: "p", Classes: []string{"a", "b", "c", "d", "e"}}}
		for i, classes := range sets {
			n := 5 + r.IntN(8)
			set := data.Samples{X: datatest.Must(data.NewDense(n, 2, datatest.Normals[float32](r, 2*n)))(t)}
			for range n {
				set.Y = append(set.Y, classes[r.IntN(2)])
			}
			copy(set.Y, classes)
			task := &data.Task{Name: fmt.Sprint("t", i), Kind: data.Classification}
			p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: set})
		}
		b := bench(t, nil, p, Options{Seed: seed})
		choice := choose(t, b, Parts{})
		for i, scores := range choice.HeldOut.Scores {
			datatest.Holds(t, !slices.ContainsFunc(scores, math.IsNaN), "seed %d, task %d, rows held out: %v", seed, i, scores)
		}
		weighed := func(weight float64) *Fitted {
			c := *choice
			c.Weighed = slices.Clone(choice.Weighed)
			for k := range c.Weighed {
				c.Weighed[k].Weight = weight
			}
			return datatest.Must(b.Fit(t.Context(), &c))(t)
		}
		curves := Candidate{Structure: Structure{View: Curves}}
		for what, f := range map[string]*Fitted{
			"the choice": datatest.Must(b.Fit(t.Context(), choice))(t), "the mean": weighed(0), "all alike": weighed(0.1),
			"curves": fit(t, b, curves),
		} {
			if f.Shared != nil {
				sum := floats.Sum(f.Shared.B)
				datatest.Holds(t, !math.IsNaN(sum) && !math.IsInf(sum, 0), "seed %d, %s: levels of a new task %v", seed, what, f.Shared.B)
			}
			for i, classes := range sets {
				for k, score := range datatest.Must(f.Scores(i, p.Tasks[i].TrainSet.X))(t) {
					foreign := !slices.Contains(classes, float64(k%5))
					datatest.Holds(t, math.IsInf(score, -1) == foreign && !math.IsNaN(score), "seed %d, %s, task %d, class %d: %v", seed, what, i, k%5, score)
				}
			}
		}
		x := p.Tasks[1].TrainSet.X
		before := datatest.Must(fit(t, b, curves).Scores(1, x))(t)
		p.Tasks[0].TrainSet.Weight = slices.Repeat([]float64{9}, len(p.Tasks[0].TrainSet.Y))
		after := datatest.Must(fit(t, bench(t, nil, p, Options{Seed: seed}), curves).Scores(1, x))(t)
		datatest.Holds(t, slices.Equal(before, after), "seed %d: rows of a task to which the class is foreign count: %v, %v", seed, before, after)
	}
}
