package data

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Without training problems, or test problems, the other set draws on all there is, and
// a few class pairs or groups will do for it.
func TestOneSetOfProblemsAlone(t *testing.T) {
	few := madeClasses(t, 40, 50, 60, 70) // six pairs
	none, test, err := SampleProblems(few, SampleConfig{Train: -1, Test: 60, DisjointClasses: true})
	if err != nil {
		t.Fatal(err)
	}
	if none != nil || len(test.Problems) != 60 {
		t.Fatalf("training problems %v and %d test problems, want none and 60", none, len(test.Problems))
	}
	problems := must(test.Bind(few))(t)
	pairs, counts := map[string]bool{}, map[int]bool{}
	for _, p := range problems {
		counts[len(p.Tasks)] = true
		for _, task := range p.Tasks {
			pairs[task.Name] = true
			checkSplit(t, few, task)
		}
	}
	if len(pairs) != 6 || len(counts) != 3 || !counts[6] {
		t.Errorf("%d pairs in problems of %v tasks, want all six, and four to six tasks", len(pairs), counts)
	}
	train, none, err := GroupProblems(madeGroups(t, 20, 20, 20, 20), GroupConfig{SampleConfig: SampleConfig{Train: 3, Test: -1}})
	if err != nil {
		t.Fatal(err)
	}
	if none != nil || slices.ContainsFunc(train.Problems, func(p *Problem) bool { return len(p.Tasks) != 4 }) {
		t.Errorf("test problems %v and training problems %v, want none, and all of four tasks", none, train.Problems)
	}
	for want, c := range map[string]SampleConfig{
		"neither training nor test problems": {Train: -1, Test: -1},
		"6 class pairs, but two disjoint sets of problems of up to 8 tasks need 16, and one set alone 4": {},
		"6 class pairs, but two disjoint sets of problems of up to 7 tasks need 14, and one set alone 7": {Train: -1, MinTasks: 7, MaxTasks: 9},
	} {
		if _, _, err := SampleProblems(few, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", c, err, want)
		}
	}
}

func TestNameOfADataset(t *testing.T) {
	for path, want := range map[string]string{"": "", "digits": "digits", "../data/news.npz": "news", "reuters.svmlight.gz": "reuters"} {
		if got := (DatasetRef{Path: path}).Name(); got != want {
			t.Errorf("of %q: %q, want %q", path, got, want)
		}
	}
}

// Rows of their own: none is in training and in test problems, every class gives half of
// its rows to each, and fractions are of all its rows.
func TestDisjointRows(t *testing.T) {
	d := madeClasses(t, 40, 50, 60, 70, 41, 40, 40)
	train, test, err := SampleProblems(d, SampleConfig{Train: 30, Test: 30, TrainFraction: 0.1, ValidationFraction: 0.2, DisjointRows: true, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	var seen [2]map[int]bool
	for side, f := range []*ProblemFile{train, test} {
		seen[side] = map[int]bool{}
		for _, p := range f.Problems {
			for _, task := range p.Tasks {
				for _, r := range slices.Concat(task.Train, task.Validation, task.Test) {
					seen[side][r] = true
				}
				n := 0.0
				for class, size := range d.ClassSizes() {
					if name := d.Classes[class]; name == task.Positive || name == task.Negative {
						n += float64(size)
					}
				}
				for what, c := range map[string][2]float64{"train": {float64(len(task.Train)), 0.1}, "validate": {float64(len(task.Validation)), 0.2}, "test": {float64(len(task.Test)), 0.2}} {
					if math.Abs(c[0]-c[1]*n) > 2 {
						t.Errorf("task %q of %v rows has %v to %s, want %v of all", task.Name, n, c[0], what, c[1])
					}
				}
			}
		}
	}
	for r := range seen[0] {
		if seen[1][r] {
			t.Fatalf("row %d is in training and in test problems", r)
		}
	}
	if len(seen[0])+len(seen[1]) != d.X.Rows() {
		t.Errorf("%d and %d rows are used of %d", len(seen[0]), len(seen[1]), d.X.Rows())
	}
	half := SampleConfig{TrainFraction: 0.3, ValidationFraction: 0.3, DisjointRows: true}
	if _, _, err := SampleProblems(d, half); err == nil || !strings.Contains(err.Error(), "half") {
		t.Errorf("error %v, want one that says that there is half of the rows", err)
	}
}

// Classes kept disjoint are in one set of problems.
func TestClassesApart(t *testing.T) {
	d := madeClasses(t, 40, 50, 60, 70, 33, 45, 52, 61, 44, 47)
	for seed := range uint64(5) {
		train, test, err := SampleProblems(d, SampleConfig{
			Seed: seed, Train: 12, Test: 7, MaxTasks: 6, TrainFraction: 0.1, ValidationFraction: 0.1, DisjointClasses: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		set := [2]map[string]bool{{}, {}}
		for k, f := range []*ProblemFile{train, test} {
			for _, p := range f.Problems {
				for _, task := range p.Tasks {
					set[k][task.Positive], set[k][task.Negative] = true, true
				}
			}
		}
		for class := range set[0] {
			if set[1][class] {
				t.Errorf("seed %d: class %s is in both sets", seed, class)
			}
		}
	}
	if _, _, err := SampleProblems(madeClasses(t, 30, 30, 30, 30, 30), SampleConfig{DisjointClasses: true}); err == nil || !strings.Contains(err.Error(), "5 classes, but two disjoint sets of classes with 8 pairs each take 10") {
		t.Error(err)
	}
}
