package data

import (
	"slices"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

// Without training problems, or test problems, the other set draws on all there is, and
// a few class pairs or groups will do for it.
func TestOneSetOfProblemsAlone(t *testing.T) {
	few := madeClasses(t, 40, 50, 60, 70) // six pairs
	none, test, err := SampleProblems(few, SampleConfig{Test: 60, DisjointClasses: true})
	datatest.Check(t, err)
	if none != nil || len(test.Problems) != 60 {
		t.Fatalf("training problems %v and %d test problems, want none and 60", none, len(test.Problems))
	}
	problems := datatest.Must(test.Bind(few))(t)
	pairs, counts := map[string]bool{}, map[int]bool{}
	for _, p := range problems {
		counts[len(p.Tasks)] = true
		for _, task := range p.Tasks {
			pairs[task.Name] = true
			checkSplit(t, few, SampleConfig{}, task)
		}
	}
	if len(pairs) != 6 || len(counts) != 3 || !counts[6] {
		t.Errorf("%d pairs in problems of %v tasks, want all six, and four to six tasks", len(pairs), counts)
	}
	train, none, err := GroupProblems(madeGroups(t, 20, 20, 20, 20), SampleConfig{Train: 3})
	datatest.Check(t, err)
	if none != nil || slices.ContainsFunc(train.Problems, func(p *Problem) bool { return len(p.Tasks) != 4 }) {
		t.Errorf("test problems %v and training problems %v, want none, and all of four tasks", none, train.Problems)
	}
	for want, c := range map[string]SampleConfig{
		"4 classes, but two disjoint sets of classes with 8 pairs each take 10": {Train: 1, Test: 1, DisjointClasses: true},
		"half of every class":            {Train: 1, Test: 1, TrainFraction: 0.3, ValidationFraction: 0.3, DisjointRows: true},
		"0 training and 0 test problems": {},
		"6 class pairs, but two disjoint sets of problems of up to 8 tasks need 16, and one set alone 4": {Train: 1, Test: 1},
		"6 class pairs, but two disjoint sets of problems of up to 7 tasks need 14, and one set alone 7": {Test: 1, MinTasks: 7, MaxTasks: 9},
	} {
		if _, _, err := SampleProblems(few, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", c, err, want)
		}
	}
}

func TestNameOfADataset(t *testing.T) {
	for path, want := range map[string]string{"": "", "digits": "digits", "../data/news.npz": "news", "reuters.svmlight.gz": "reuters"} {
		datatest.Equal(t, (DatasetRef{Path: path}).Name(), want, "of %q", path)
	}
}
