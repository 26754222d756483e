package solve

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
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
	n := datatest.Must(pretrained.Load())(t)
	return datatest.Must(NewFinder(n))(t)
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
		if got.Name() != want.Choice.Name() || math.Abs(got.Loss-want.Choice.Loss) > 1e-9 || !mat.EqualApprox(fitted.Result.W, want.Result.W, 1e-9) {
			t.Errorf("problem %d: %s is chosen with the loss %v, after others were judged %s with %v", seed, want.Choice.Name(), want.Choice.Loss, got.Name(), got.Loss)
		}
	}
}

// The best of candidates is that of the least loss, of equals the first.
func TestBestHasTheLeastLoss(t *testing.T) {
	b := bench(t, random(t, 1, nil), made(1, "p", data.Regression, 4), Options{})
	all := []Candidate{{Mixture: Mixture{Pooled: 1}}, {}, {Structure: Structure{View: Straight}}, {Mixture: Mixture{Network: 0.5}}}
	twice := slices.Concat(all, all)
	best := datatest.Must(b.Best(t.Context(), twice))(t)
	for i, w := range best.Weighed {
		first := slices.IndexFunc(best.Weighed, func(other Weighed) bool { return other.Loss <= w.Loss && other.Weight == 1 })
		if w.Called != twice[i].Name() || w.Loss != judge(t, b, w.Candidate).Loss || w.Weight != 0 && w.Weight != 1 || first < 0 || first >= len(all) {
			t.Errorf("%d: %+v of %+v", i, w, best.Weighed)
		}
	}
	if j := judge(t, b, best.First().Candidate); best.Loss != j.Loss || best.Name() != j.Name() || best.Title() != j.Title() {
		t.Errorf("the best has the loss %v, %s has %v", best.Loss, j.Name(), j.Loss)
	}
}

// The network is not used where it is left out: a bench that has none chooses the same.
func TestPartsLeftOutAreNotUsed(t *testing.T) {
	for _, p := range []*data.ProblemData{wide(t, 3), made(3, "p", data.Regression, 4)} {
		f := random(t, 1, nil)
		got := solved(t, f, p, Options{}, Parts{NoNetwork: true})
		for _, x := range got.Choice.Weighed {
			if x.Network > 0 {
				t.Errorf("without the network %s is tried", x.Called)
			}
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
	if asked == 0 {
		t.Error("with the network no candidate asks it")
	}
}

// Rows that cannot be split compare nothing, and the first candidate is taken.
func TestRowsThatCannotBeSplitTakeTheFirst(t *testing.T) {
	p := made(4, "p", data.Classification, 1)
	s := &p.Tasks[0].TrainSet
	*s = data.Samples{X: s.X.Take([]int{0, 1}), Y: s.Y[:2]} // one of each class
	p.Tasks[0].ValidationSet = data.Samples{}
	b := bench(t, random(t, 1, nil), p, Options{})
	f := datatest.Must(b.Fit(t.Context(), choose(t, b, Parts{})))(t)
	if len(b.folds) != 0 || f.Choice.Weighed[0].Weight != 1 || f.Choice.Name() != b.Candidates(Parts{})[0].Name() || len(f.Test.Task) != 1 || math.IsNaN(f.Test.Mean) {
		t.Errorf("%+v of %d folds, test error %v", f.Choice.Weighed, len(b.folds), f.Test)
	}
	datatest.Refused(NewBench(nil, p, Options{Folds: 2}))(t, nil)
}

// A view that is asked for is taken, whatever rows say.
func TestViewsCanBePinned(t *testing.T) {
	p := made(1, "p", data.Regression, 3)
	for _, view := range Views() {
		for _, w := range choose(t, bench(t, nil, p, Options{}), Parts{View: view}).Weighed {
			if w.View != view && w.View != Level {
				t.Errorf("%s was asked for, and %s is a candidate", view, w.Called)
			}
		}
	}
	x := datatest.Must(data.NewCSR(6, []int{0, 1, 2, 3}, []int32{0, 1, 1}, []float32{1, 2, 3}))(t)
	for i := range p.Tasks {
		p.Tasks[i] = data.TaskData{Task: p.Tasks[i].Task, TrainSet: data.Samples{X: x, Y: []float64{1, 2, 4}}}
	}
	b := bench(t, nil, p, Options{Folds: 3})
	if got := choose(t, b, Parts{}); got.First().View != "" {
		t.Errorf("sparse rows are seen as %s", got.Name())
	}
	datatest.Refused(b.Choose(t.Context(), Parts{View: Curves}))(t, nil, "sparse")
}

// Rivals have the columns of the choice: every task on its own, and one model for all. The mean
// is the level of tasks.
func TestRivalsAndMean(t *testing.T) {
	for _, p := range []*data.ProblemData{made(1, "p", data.Regression, 4), wide(t, 1)} {
		b := bench(t, random(t, 1, nil), p, Options{})
		c := choose(t, b, Parts{})
		alone, pooled := b.Rivals(c)
		seen := func(j *Judged) bool { return j.View == alone.View }
		if alone.View != pooled.View || !slices.ContainsFunc(c.parts, seen) || alone == pooled {
			t.Errorf("the rivals of %s are %s and %s", c.Name(), alone.Name(), pooled.Name())
		}
		mean := datatest.Must(b.Held(t.Context(), Candidate{Structure: Structure{View: Level}}))(t)
		if !(c.Loss < mean.Loss) && p.Kind() == data.Regression || mean.Rows != c.Rows {
			t.Errorf("the loss is %v, and of the mean %v", c.Loss, mean.Loss)
		}
		for i, scores := range mean.Scores {
			values := slices.Compact(slices.Sorted(slices.Values(scores)))
			if len(values) > len(b.folds) && values[len(values)-1]-values[0] > 1e-6 {
				t.Errorf("task %d: the mean predicts %v", i, values)
			}
		}
	}
}
