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
	"l2mt/infer/solve/solvetest"
	"l2mt/model/evidence"
	"l2mt/model/pretrained"
)

func choose(t *testing.T, b *Bench, without Parts) *Choice {
	t.Helper()
	c := must(b.Choose(t.Context(), without))(t)
	return c
}

// solved is a problem with what is chosen for it, and the fit with that.
func solved(t *testing.T, f *Finder, p *data.ProblemData, o Options, without Parts) (*Choice, *evidence.Tuned) {
	t.Helper()
	b := bench(t, f, p, o)
	c := choose(t, b, without)
	return c, fit(t, b, c.Judged)
}

func shipped(t *testing.T) *Finder {
	t.Helper()
	n := must(pretrained.Load())(t)
	finder := must(NewFinder(n))(t)
	return finder
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
	if err := os.WriteFile(path, []byte(text.String()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := must(table.Read([]string{path}, table.Options{Task: "task", Targets: []string{"y"}, Steps: []string{table.None}}))(t)
	return read
}

// The same rows, seed and evidence come to the same candidates and the same weights,
// whatever way they come: split or not, as a table, with whatever number of workers, and
// with five folds that are asked for.
func TestEveryWayComesToTheSame(t *testing.T) {
	const seed = 1
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		f, p := random(t, seed, nil), made(seed, "p", kind, 4)
		read := asTable(t, labelled(t, p))
		want, wanted := solved(t, f, p, Options{Seed: seed}, Parts{})
		for _, way := range []struct {
			name    string
			problem *data.ProblemData
			options Options
		}{
			{"all rows labelled", labelled(t, p), Options{Seed: seed}},
			{"a table", read.Problem, Options{Seed: seed, Together: read.Together, Held: read.Held}},
			{"five folds", p, Options{Seed: seed, Folds: 5}},
			{"three workers", p, Options{Seed: seed, Workers: 3}},
		} {
			got, fitted := solved(t, f, way.problem, way.options, Parts{})
			if got.Name() != want.Name() || got.Loss != want.Loss || !mat.Equal(fitted.Result.W, wanted.Result.W) || !slices.Equal(fitted.Result.B, wanted.Result.B) {
				t.Errorf("seed %d, %s, %s: %s with the loss %v, want %s with %v", seed, kind, way.name, got.Name(), got.Loss, want.Name(), want.Loss)
			}
			if !slices.EqualFunc(got.Tried, want.Tried, func(a, b Tried) bool {
				return a.Name() == b.Name() && a.Loss == b.Loss && a.More == b.More && a.Verdict == b.Verdict
			}) {
				t.Errorf("seed %d, %s, %s: tried were\n%v\nwant\n%v", seed, kind, way.name, got.Tried, want.Tried)
			}
		}
	}
}

// What was judged before changes nothing of what is chosen: the loss is the same to the last
// bit, and the weights are up to rounding, as a fit goes on from where another ended.
func TestOrderOfJudgingDoesNotMatter(t *testing.T) {
	for _, seed := range []uint64{0, 4} {
		// A rule that looked at what was judged chose others for classes.
		kind, near := data.Regression, 1e-8
		if seed%5 != 0 {
			kind, near = data.Classification, 1e-4 // as close as a fit ends to its minimum
		}
		f, p := random(t, 1, nil), made(seed, "p", kind, 4)
		want, wanted := solved(t, f, p, Options{}, Parts{})
		b := bench(t, f, p, Options{})
		var all []Candidate
		for _, v := range []View{{}, {Ridge: 1}, {Ridge: 3}, {Ridge: 0.1}} {
			for _, x := range []Mixture{{}, {Network: 0.5}, {Network: 1}, {Pooled: 0.8}} {
				c := Candidate{View: v, Mixture: x}
				all = append(all, c, c.weighed())
			}
		}
		data.Stream(seed, "order").Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, c := range all {
			judge(t, b, c)
		}
		choose(t, b, Parts{NoNetwork: true})
		got := choose(t, b, Parts{})
		if got.Name() != want.Name() || math.Abs(got.Loss-want.Loss) > 1e-12 || !mat.EqualApprox(fit(t, b, got.Judged).Result.W, wanted.Result.W, near) {
			t.Errorf("seed %d: %s is chosen with the loss %v, after others were judged %s with %v", seed, want.Name(), want.Loss, got.Name(), got.Loss)
		}
	}
}

// Every candidate stands with what became of it: one begins, those that are taken are
// better than what stood before them, and the last of these is chosen.
func TestTriedSaysWhatBecameOfCandidates(t *testing.T) {
	verdicts := map[string]int{}
	for seed := range uint64(3) {
		b := bench(t, random(t, 1, nil), made(seed, "p", data.Regression, 4), Options{})
		choice := choose(t, b, Parts{})
		last := choice.Tried[0].Candidate
		first := b.First(Parts{})
		if first.Network--; last != first { // a regression does not begin with what the network says
			t.Errorf("seed %d: it begins with %s, not %s", seed, last.Name(), first.Name())
		}
		names := map[string]bool{}
		for i, x := range choice.Tried {
			verdicts[x.Verdict]++
			begun, stl := i == 0, x.Verdict == Simpler && x.Name() == "stl" && i == len(choice.Tried)-1
			switch better := x.More.Loss < 0; {
			case (x.Verdict == Begun) != begun, names[x.Name()] && !stl, !(float64(x.More.Low) <= x.More.Loss && x.More.Loss <= float64(x.More.High)), x.Loss <= 0:
				t.Errorf("seed %d: %+v of %+v", seed, x, choice.Tried)
			case x.Verdict == Taken && !better, x.Verdict == Simpler && !stl, x.Verdict == Worse && better, x.Verdict == Unclear && !better && x.More.Loss != 0:
				t.Errorf("seed %d: %s is %s, and loses %v more", seed, x.Name(), x.Verdict, x.More)
			case x.Verdict == Taken, x.Verdict == Simpler:
				last = x.Candidate
			}
			names[x.Name()] = true
		}
		if last.Name() != choice.Name() {
			t.Errorf("seed %d: %s was taken last, and %s is chosen", seed, last.Name(), choice.Name())
		}
	}
	if verdicts[Begun] != 3 || verdicts[Taken] == 0 || verdicts[Worse] == 0 || verdicts[Unclear] == 0 {
		t.Errorf("verdicts: %v", verdicts)
	}
}

// The best of candidates is that of the least loss, of equals the first.
func TestBestHasTheLeastLoss(t *testing.T) {
	b := bench(t, random(t, 1, nil), made(1, "p", data.Regression, 4), Options{})
	all := []Candidate{{Mixture: Mixture{Pooled: 1}}, {}, {Mixture: Mixture{Network: 1}}, {Mixture: Mixture{Network: 0.5}}}
	best := must(b.Best(t.Context(), append(all, all...)))(t)
	taken := ""
	for i, x := range best.Tried {
		if judge(t, b, x.Candidate).Loss < best.Loss {
			t.Errorf("%s is better than %s", x.Name(), best.Name())
		}
		if i < len(all) && x.Verdict == Taken || i == 0 {
			taken = x.Name()
		} else if x.Verdict == Taken {
			t.Errorf("%s is taken twice", x.Name())
		}
	}
	if taken != best.Name() || len(best.Tried) != 8 {
		t.Errorf("%s was taken of %d, the best is %s", taken, len(best.Tried), best.Name())
	}
}

// The network is not used where it is left out: a bench that has none chooses the same.
func TestPartsLeftOutAreNotUsed(t *testing.T) {
	used, _ := solved(t, random(t, 1, nil), made(3, "p", data.Classification, 4), Options{}, Parts{NoNetwork: true})
	for _, x := range used.Tried {
		if x.Network > 0 {
			t.Errorf("without the network %s is tried", x.Name())
		}
	}
	if first := used.Tried[0].Candidate; first.Ridge == 0 {
		t.Errorf("without the network it begins with %s", first.Name())
	}
	p := made(3, "p", data.Regression, 4)
	got, fitted := solved(t, random(t, 1, nil), p, Options{}, Parts{NoNetwork: true})
	want, wanted := solved(t, nil, p, Options{}, Parts{})
	if got.Name() != want.Name() || !mat.Equal(fitted.Result.W, wanted.Result.W) {
		t.Errorf("without the network %s is chosen, and where nobody is asked %s", got.Name(), want.Name())
	}
}

// Rows that cannot be split compare nothing, and the experience decides.
func TestRowsThatCannotBeSplitTakeTheFirst(t *testing.T) {
	p := made(4, "p", data.Classification, 3)
	for i := range p.Tasks {
		s := &p.Tasks[i].TrainSet
		*s = data.Samples{X: s.X.Take([]int{0, 1}), Y: s.Y[:2]} // one of each class
		p.Tasks[i].ValidationSet = data.Samples{}
	}
	b := bench(t, random(t, 1, nil), p, Options{})
	choice := choose(t, b, Parts{})
	if choice.Name() != "network-metric1" || len(choice.Tried) != 1 || choice.Tried[0].Verdict != Begun || choice.Rows != 6 {
		t.Errorf("%s is chosen by %d rows of %v", choice.Name(), choice.Rows, choice.Tried)
	}
	weighed := choice.weighed()
	if f := fit(t, b, judge(t, b, weighed)); len(f.Test.Task) != 3 {
		t.Errorf("%s has the test errors %v", weighed.Name(), f.Test)
	}
	if _, err := NewBench(nil, p, Options{Folds: 2}); err == nil {
		t.Error("folds that are asked for, and cannot be, are no error")
	}
}

// Tasks that are related are fitted together from few rows. Tasks that are not, and tables
// of noise, end in single-task learning with enough rows to tell: the battery has 200.
func TestRelatedTasksAreSharedAndOthersAreNot(t *testing.T) {
	datatest.Long(t)
	f := shipped(t)
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		for _, c := range []struct {
			alike   bool
			numbers []uint64
			rows    int
			seeds   uint64
			noise   bool
			alone   bool
		}{
			{true, []uint64{0, 7}, 25, 3, false, false}, {false, []uint64{6, 13}, 120, 1, false, true}, {true, []uint64{0, 7}, 120, 1, true, true},
		} {
			for seed := range c.seeds {
				for _, number := range c.numbers {
					p, _ := family{kind, c.alike, 4, c.rows, 10, seed, number}.problem(t)
					if c.noise {
						p = shuffled(p, seed)
					}
					choice := choose(t, bench(t, f, p, Options{Seed: seed}), Parts{})
					if alone := (choice.Candidate == Candidate{Drawn: choice.Drawn}); alone != c.alone {
						t.Errorf("%s, alike %t, %d rows, noise %t, seed %d: %s is chosen", kind, c.alike, c.rows, c.noise, seed, choice.Title())
					}
				}
			}
		}
	}
}

// Where rows can tell, and say that sharing is better, tasks are shared.
func TestManyRowsOfRelatedTasksAreShared(t *testing.T) {
	for seed := range uint64(2) {
		p, _ := family{data.Regression, true, 40, 80, 20, seed, 0}.problem(t)
		b := bench(t, nil, p, Options{Seed: seed})
		c := choose(t, b, Parts{View: Linear})
		less := evidence.PairedLoss(c.HeldOut, judge(t, b, Candidate{}).HeldOut)
		if relative := less.StandardError / c.Loss; c.Name() == "stl" || relative > 0.02 {
			t.Errorf("seed %d: %s is chosen; the standard error is %v of the loss", seed, c.Title(), relative)
		}
	}
}

// shuffled is a problem whose labels say nothing.
func shuffled(p *data.ProblemData, seed uint64) *data.ProblemData {
	q := &data.ProblemData{Problem: p.Problem, Tasks: slices.Clone(p.Tasks)}
	for i := range q.Tasks {
		y := slices.Clone(q.Tasks[i].TrainSet.Y)
		data.Stream(seed, "shuffled", uint64(i)).Shuffle(len(y), func(a, b int) { y[a], y[b] = y[b], y[a] })
		q.Tasks[i].TrainSet.Y = y
	}
	return q
}

// Rows that are all on the right side do not tell one covariance from another.
func TestRowsWithoutErrorsDoNotTell(t *testing.T) {
	for seed := range uint64(4) {
		p := solvetest.Apart(made(seed, "p", data.Classification, 4))
		if c := choose(t, bench(t, shipped(t), p, Options{}), Parts{}); c.Network != 1 {
			t.Errorf("seed %d: %s is chosen", seed, c.Title())
		}
	}
}
