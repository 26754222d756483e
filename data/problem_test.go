package data

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

// madeClasses returns a dataset with the given class sizes, rows shuffled.
func madeClasses(t testing.TB, sizes ...int) *Dataset {
	t.Helper()
	d := &Dataset{Name: "made"}
	for c, n := range sizes {
		d.Classes = append(d.Classes, fmt.Sprint("c", c))
		for range n {
			d.Label = append(d.Label, int32(c))
		}
	}
	r := rand.New(rand.NewPCG(5, 5))
	r.Shuffle(len(d.Label), func(i, j int) { d.Label[i], d.Label[j] = d.Label[j], d.Label[i] })
	values := datatest.Normals[float32](r, 2*len(d.Label))
	d.X = datatest.Must(NewDense(len(d.Label), 2, values))(t)
	return d
}

// madeGroups returns a regression dataset with the given group sizes.
func madeGroups(t testing.TB, sizes ...int) *Dataset {
	t.Helper()
	d := madeClasses(t, sizes...)
	d.Group, d.Groups, d.Label, d.Classes = d.Label, d.Classes, nil, nil
	for i := range d.Group {
		d.Target = append(d.Target, float64(i))
	}
	return d
}

// sampling is a configuration whose zeros are the defaults of the flags.
func sampling(c SampleConfig) SampleConfig {
	c.MinTasks, c.MaxTasks = cmp.Or(c.MinTasks, 4), cmp.Or(c.MaxTasks, 8)
	c.TrainFraction, c.ValidationFraction = cmp.Or(c.TrainFraction, 0.3), cmp.Or(c.ValidationFraction, 0.3)
	return c
}

func encoded(t testing.TB, f *ProblemFile) string {
	t.Helper()
	return string(datatest.Must(f.Encode())(t))
}

// Pairs of classes are in training or in test problems, classes or rows too if that is
// asked for.
func TestSampledProblemsKeepTheirPromises(t *testing.T) {
	for name, c := range map[string]SampleConfig{
		"pairs":   {Train: 12, Test: 7},
		"classes": {Train: 12, Test: 7, MaxTasks: 6, DisjointClasses: true},
		"rows":    {Train: 15, Test: 15, TrainFraction: 0.1, ValidationFraction: 0.2, DisjointRows: true},
	} {
		for seed := range uint64(5) {
			d := madeClasses(t, 40, 50, 60, 70, 33, 45, 52, 61, 44, 47)
			c.Seed = seed
			c = sampling(c)
			train, test, err := SampleProblems(d, c)
			datatest.Check(t, err)
			datatest.Need(t, len(train.Problems) == c.Train && len(test.Problems) == c.Test,
				"%s, seed %d: %d and %d problems", name, seed, len(train.Problems), len(test.Problems))
			var pairs, classes, rows [2]map[string]bool
			counts := map[int]bool{}
			for s, f := range []*ProblemFile{train, test} {
				pairs[s], classes[s], rows[s] = map[string]bool{}, map[string]bool{}, map[string]bool{}
				for _, p := range datatest.Must(f.Bind(d))(t) {
					counts[len(p.Tasks)] = true
					inside := map[string]bool{}
					for _, task := range p.Tasks {
						pair := fmt.Sprint(slices.Sorted(slices.Values([]string{task.Positive, task.Negative})))
						datatest.Holds(t, !inside[pair],
							"%s, seed %d: %s has the pair %s twice", name, seed, p.Name, pair)
						inside[pair], pairs[s][pair] = true, true
						classes[s][task.Positive], classes[s][task.Negative] = true, true
						for _, r := range slices.Concat(task.Train, task.Validation, task.Test) {
							rows[s][fmt.Sprint(r)] = true
						}
						checkSplit(t, d, c, task)
					}
				}
			}
			datatest.Holds(t, name != "rows" || len(rows[0])+len(rows[1]) == d.X.Rows(),
				"seed %d: %d and %d rows are used of %d", seed, len(rows[0]), len(rows[1]), d.X.Rows())
			apart := map[string][2]map[string]bool{"pairs": pairs, "classes": classes, "rows": rows}
			for _, what := range []string{"pairs", name} {
				for one := range apart[what][0] {
					datatest.Holds(t, !apart[what][1][one],
						"%s, seed %d: %s is in training and test problems", what, seed, one)
				}
			}
			datatest.Holds(t, slices.Min(slices.Collect(maps.Keys(counts))) >= 4 && slices.Max(slices.Collect(maps.Keys(counts))) <= c.MaxTasks && len(counts) >= 2,
				"%s, seed %d: problems have %v tasks", name, seed, counts)
		}
	}
}

// checkSplit checks that a task's splits partition its classes by the fractions, or
// half of each class.
func checkSplit(t *testing.T, d *Dataset, c SampleConfig, task TaskData) {
	t.Helper()
	var all []int
	for _, s := range task.splits() {
		all = append(all, s.rows...)
		datatest.Holds(t, slices.IsSorted(s.rows), "task %q: %s rows are not sorted", task.Name, s.field)
	}
	slices.Sort(all)
	datatest.Holds(t, len(slices.Compact(all)) == len(task.Train)+len(task.Validation)+len(task.Test),
		"task %q: a row is in two splits", task.Name)
	byClass := rowsBy(d.Label, len(d.Classes))
	for y, name := range map[float64]string{1: task.Positive, -1: task.Negative} {
		class := slices.Index(d.Classes, name)
		got := [3]int{}
		for i, s := range task.sets() {
			for j, v := range s.Y {
				if v == y {
					got[i]++
				}
				datatest.Holds(t, d.Label[task.splits()[i].rows[j]] == int32(class) == (v == y),
					"task %q: row %d of class %s is labelled %v", task.Name, task.splits()[i].rows[j], name, v)
			}
		}
		n := len(byClass[class])
		parts, times := []int{n}, 1.0
		if c.DisjointRows {
			parts, times = []int{n / 2, n - n/2}, 2
		}
		var wants [][3]int
		for _, part := range parts {
			train, validation := int(c.TrainFraction*times*float64(part)+0.5), int(c.ValidationFraction*times*float64(part)+0.5)
			wants = append(wants, [3]int{train, validation, part - train - validation})
		}
		datatest.Holds(t, slices.Contains(wants, got),
			"task %q, class %s of %d rows: splits of %v, want %v", task.Name, name, n, got, wants)
	}
}

func TestSamplingDependsOnTheSeedAlone(t *testing.T) {
	d := madeClasses(t, 40, 50, 60, 70, 33, 45, 52)
	draw := func(seed uint64) string {
		train, test, err := SampleProblems(d, sampling(SampleConfig{Seed: seed, Train: 6, Test: 4}))
		datatest.Check(t, err)
		return encoded(t, train) + encoded(t, test)
	}
	first, again := draw(3), draw(3)
	datatest.Holds(t, first == again, "the same seed gave different bytes")
	datatest.Holds(t, first != draw(4), "another seed gave the same problems")
}

func TestLargerTrainingFractionsExtendSmallerOnes(t *testing.T) {
	d := madeClasses(t, 40, 50, 60, 70, 33, 45, 52)
	draw := func(fraction float64) *ProblemFile {
		train, _, err := SampleProblems(d, sampling(SampleConfig{Seed: 3, Train: 5, Test: 5, TrainFraction: fraction}))
		datatest.Check(t, err)
		return train
	}
	small, large := draw(0.1), draw(0.5)
	for i, p := range small.Problems {
		for j, task := range p.Tasks {
			other := large.Problems[i].Tasks[j]
			left := slices.ContainsFunc(task.Train, func(r int) bool { return !slices.Contains(other.Train, r) })
			if task.Name != other.Name || !slices.Equal(task.Validation, other.Validation) || left {
				t.Fatalf("%s, task %d: a larger fraction changed more than the training rows, or %v left %v", p.Name, j, task.Train, other.Train)
			}
		}
	}
}

func TestGroupProblems(t *testing.T) {
	sizes := make([]int, 20)
	for i := range sizes {
		sizes[i] = 10 + i
	}
	d := madeGroups(t, sizes...)
	train, test, err := GroupProblems(d, sampling(SampleConfig{Train: 5, Test: 5}))
	datatest.Check(t, err)
	seen := map[string]int{}
	for s, f := range []*ProblemFile{train, test} {
		problems := datatest.Must(f.Bind(d))(t)
		for _, p := range problems {
			for _, task := range p.Tasks {
				prev, ok := seen[task.Name]
				datatest.Holds(t, !ok || prev == s, "group %s is in both sets", task.Name)
				seen[task.Name] = s
				for j, r := range task.Train {
					datatest.Need(t, d.Groups[d.Group[r]] == task.Name && task.TrainSet.Y[j] == d.Target[r],
						"task %s: row %d has group %s, target %v", task.Name, r, d.Groups[d.Group[r]], task.TrainSet.Y[j])
				}
			}
		}
	}
	all, none, err := GroupProblems(d, sampling(SampleConfig{All: true}))
	datatest.Holds(t, err == nil && none == nil && len(all.Problems) == 1 && len(all.Problems[0].Tasks) == 20,
		"All gave %v, %v, %v; want one problem of 20 tasks", all, none, err)
}

func TestProblemFilesRoundTrip(t *testing.T) {
	d := madeClasses(t, 40, 50, 60, 70, 33, 45, 52)
	train, _, err := SampleProblems(d, sampling(SampleConfig{Train: 3, Test: 2, Prepare: []string{"standardise"}}))
	datatest.Check(t, err)
	path := filepath.Join(t.TempDir(), "p.json")
	datatest.Check(t, train.Save(path))
	loaded := datatest.Must(LoadProblems(path))(t)
	datatest.Equal(t, loaded, train, "after a round trip")
	datatest.Holds(t, encoded(t, train) == encoded(t, loaded), "a round trip changed the bytes")
}

func TestProblemFileFaultsAreNamed(t *testing.T) {
	const task = `{"name": "t", "kind": "classification", "positive": "c0", "negative": "c1", "train": [0, 1]}`
	file := func(problems string) string {
		return `{"schema": 1, "dataset": {"path": "made"}, "problems": [` + problems + `]}`
	}
	one := func(task string) string { return file(`{"name": "p", "tasks": [` + task + `]}`) }
	for _, c := range []struct{ name, text, want string }{
		{"not JSON", "{\n \"schema\": 1,\n oops}", "line 3, column 2"},
		{"wrong type", "{\"schema\": 1,\n \"problems\": 7}", "line 2"},
		{"no schema", `{"problems": []}`, `"schema" is missing`},
		{"newer schema", `{"schema": 2}`, "schema 2; this program reads schema 1"},
		{"unknown field", `{"schema": 1, "poblems": []}`, "poblems"},
		{"text after the end", file(`{"name": "p", "tasks": [`+task+`]}`) + "{}", "line 1, column 1"},
		{"no problems", file(""), `"problems" is empty`},
		{"no tasks", file(`{"name": "p", "tasks": []}`), `problem "p": it has no tasks`},
		{"problem name twice", file(`{"name": "p", "tasks": [` + task + `]}, {"name": "p", "tasks": [` + task + `]}`), "problem 2 of the list"},
		{"task name twice", one(task + "," + task), `task 2 of the list`},
		{"null task", one("null"), "task 1 of the list"},
		{"unknown kind", one(`{"name": "t", "kind": "ranking", "train": [0]}`), `task "t", field "kind"`},
		{"two kinds", one(task + `,{"name": "u", "kind": "regression", "train": [0]}`), `task "u", field "kind"`},
		{"one class name", one(`{"name": "t", "kind": "classification", "positive": "c0", "train": [0]}`), `field "positive"`},
		{"regression with classes", one(`{"name": "t", "kind": "regression", "positive": "c0", "train": [0]}`), `field "positive"`},
		{"no training rows", one(`{"name": "t", "kind": "regression", "test": [0]}`), "no training rows"},
		{"row twice", one(`{"name": "t", "kind": "regression", "train": [5, 6, 5]}`), `field "train": row 5 (entry 2 of the list)`},
		{"row in two splits", one(`{"name": "t", "kind": "regression", "train": [5], "test": [4, 5]}`), `field "test": row 5 (entry 1 of the list) is in "train" too`},
		{"two classes", file(`{"name": "p", "classes": ["a", "b"], "tasks": [{"name": "t", "kind": "classification", "train": [0, 1]}]}`), `field "classes": 2 names, 2 of them different`},
		{"a class twice", file(`{"name": "p", "classes": ["a", "b", "a"], "tasks": [{"name": "t", "kind": "classification", "train": [0, 1]}]}`), `field "classes": 3 names, 2 of them different`},
		{"a positive class of several", file(`{"name": "p", "classes": ["a", "b", "c"], "tasks": [` + task + `]}`), `field "positive": "c0", and field "negative" "c1"; classification needs`},
		{"classes of a regression", file(`{"name": "p", "classes": ["a", "b", "c"], "tasks": [{"name": "t", "kind": "regression", "train": [0]}]}`), `regression has no classes`},
		{"rows without dataset", `{"schema": 1, "problems": [{"name": "p", "tasks": [` + task + `]}]}`, `it names no "dataset"`},
	} {
		datatest.Refused(parseProblems([]byte(c.text)))(t, nil, c.want)
	}
}

func TestBindFaultsAreNamed(t *testing.T) {
	d := madeClasses(t, 5, 5, 5)
	rows := rowsBy(d.Label, 3)
	task := func(train ...int) *Task {
		return &Task{Name: "t", Kind: Classification, Positive: "c0", Negative: "c1", Train: train}
	}
	for _, c := range []struct {
		name string
		task *Task
		want string
		is   error
	}{
		{"a class not listed", &Task{Name: "t", Kind: Classification, Train: []int{rows[2][0]}}, `has the class "c2", which the problem does not list`, ErrInvalid},
		{"row too large", task(rows[0][0], 99), `field "train": entry 1 is row 99; made has rows 0..14`, ErrInvalid},
		{"row negative", task(-1), "row -1", ErrInvalid},
		{"label of neither class", task(rows[0][0], rows[1][0], rows[2][0]), `entry 2: row ` + fmt.Sprint(rows[2][0]) + ` has the class "c2"`, ErrInvalid},
		{"one class only", task(rows[0]...), `they need some, and of classes at least two`, ErrInvalid},
		{"regression on classes", &Task{Name: "t", Kind: Regression, Train: []int{0, 1}}, "has 3 classes", ErrMismatch},
	} {
		f := &ProblemFile{Schema: 1, Dataset: &DatasetRef{Path: "made"}, Problems: []*Problem{{Name: "p", Tasks: []*Task{c.task}}}}
		if c.task.Kind == Classification && c.task.Positive == "" {
			f.Problems[0].Classes = []string{"c0", "c1", "other"}
		}
		datatest.Refused(f.Bind(d))(t, c.is, c.want, `problem "p": `, "field")
	}
	f := &ProblemFile{Schema: 1, Dataset: &DatasetRef{Path: "made", SHA256: "beef"}, Problems: []*Problem{{Name: "p", Tasks: []*Task{task(0)}}}}
	datatest.Refused(f.Bind(d))(t, ErrMismatch, "beef", d.Fingerprint())
}

func TestSamplingRefusesWhatCannotBeDrawn(t *testing.T) {
	enough := madeClasses(t, 40, 40, 40, 40, 40, 40, 40)
	for name, c := range map[string]struct {
		d *Dataset
		c SampleConfig
	}{
		"too few class pairs":              {madeClasses(t, 40, 40, 40), SampleConfig{Train: 1, Test: 1}},
		"fractions above 1":                {enough, SampleConfig{Train: 1, Test: 1, TrainFraction: 0.8}},
		"negative fraction":                {enough, SampleConfig{Train: 1, Test: 1, TrainFraction: -0.1}},
		"more tasks at least than at most": {enough, SampleConfig{Train: 1, Test: 1, MinTasks: 5, MaxTasks: 4}},
		"a class too small":                {madeClasses(t, 40, 40, 40, 40, 40, 40, 2), SampleConfig{Train: 1, Test: 1}},
		"class pairs of targets":           {madeGroups(t, 40, 40, 40, 40, 40, 40, 40), SampleConfig{Train: 1, Test: 1}},
	} {
		_, _, err := SampleProblems(c.d, sampling(c.c))
		datatest.Holds(t, errors.Is(err, ErrInvalid), "%s: error %v, want ErrInvalid", name, err)
	}
	_, _, err := GroupProblems(enough, sampling(SampleConfig{Train: 1, Test: 1}))
	datatest.Holds(t, errors.Is(err, ErrInvalid), "groups of a dataset without: %v", err)
}

func FuzzProblems(f *testing.F) {
	d := madeClasses(f, 40, 50, 60, 70, 33, 45, 52)
	train, _, err := SampleProblems(d, sampling(SampleConfig{Train: 1, Test: 1}))
	datatest.Check(f, err)
	f.Add([]byte(encoded(f, train)))
	f.Add([]byte(`{"schema": 1, "dataset": {"path": "x"}, "problems": [{"name": "p", "tasks": [{"name": "t", "kind": "regression", "train": [0]}]}]}`))
	f.Add([]byte(`{"schema": 1, "dataset": null, "problems": [null]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := parseProblems(raw)
		if err != nil {
			return
		}
		again, err := parseProblems([]byte(encoded(t, p)))
		datatest.Holds(t, err == nil && encoded(t, again) == encoded(t, p),
			"a parsed file does not survive writing: %v", err)
	})
}

// Without training problems, or test problems, the other set draws on all there is, and
// a few class pairs or groups will do for it.
func TestOneSetOfProblemsAlone(t *testing.T) {
	few := madeClasses(t, 40, 50, 60, 70) // six pairs
	none, test, err := SampleProblems(few, sampling(SampleConfig{Test: 60, DisjointClasses: true}))
	datatest.Check(t, err)
	datatest.Need(t, none == nil && len(test.Problems) == 60,
		"training problems %v and %d test problems, want none and 60", none, len(test.Problems))
	problems := datatest.Must(test.Bind(few))(t)
	pairs, counts := map[string]bool{}, map[int]bool{}
	for _, p := range problems {
		counts[len(p.Tasks)] = true
		for _, task := range p.Tasks {
			pairs[task.Name] = true
			checkSplit(t, few, sampling(SampleConfig{}), task)
		}
	}
	datatest.Holds(t, len(pairs) == 6 && len(counts) == 3 && counts[6],
		"%d pairs in problems of %v tasks, want all six, and four to six tasks", len(pairs), counts)
	train, none, err := GroupProblems(madeGroups(t, 20, 20, 20, 20), sampling(SampleConfig{Train: 3}))
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
		if _, _, err := SampleProblems(few, sampling(c)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", c, err, want)
		}
	}
}

func TestNameOfADataset(t *testing.T) {
	for path, want := range map[string]string{"": "", "digits": "digits", "../data/news.npz": "news", "reuters.svmlight.gz": "reuters"} {
		datatest.Equal(t, (DatasetRef{Path: path}).Name(), want, "of %q", path)
	}
}

// Groups of a dataset with three classes are tasks of those that they have, and
// come back from the file with the numbers of their classes.
func TestProblemsOfSeveralClasses(t *testing.T) {
	d := madeClasses(t, 30, 30, 30)
	d.Groups, d.Group = []string{"g0", "g1"}, make([]int32, 90)
	for i, c := range d.Label {
		if c == 2 || i%2 == 0 {
			d.Group[i] = 1 // the first group lacks the last class
		}
	}
	train, _, err := GroupProblems(d, sampling(SampleConfig{All: true}))
	datatest.Check(t, err)
	file := datatest.Must(parseProblems(datatest.Must(train.Encode())(t)))(t)
	p := datatest.Must(file.Bind(d))(t)[0]
	datatest.Need(t, p.Several() == 3 && slices.Equal(p.Classes, d.Classes),
		"classes %q", p.Classes)
	for i, want := range [][]float64{{0, 1}, {0, 1, 2}} {
		task := p.Tasks[i]
		for k, s := range task.sets() {
			for j, y := range s.Y {
				if row := task.splits()[k].rows[j]; int32(y) != d.Label[row] || d.Group[row] != int32(i) {
					t.Errorf("task %q: row %d of class %d in group %d has %v", task.Name, row, d.Label[row], d.Group[row], y)
				}
			}
			have := slices.Compact(slices.Sorted(slices.Values(s.Y)))
			datatest.Equal(t, have, want, "task %q: split %d has the classes", task.Name, k)
		}
	}
}

// Probabilities are as NumPy has them: p = 1/(1 + exp(-f/2)), p /= p.sum().
func TestProbabilitiesOfClasses(t *testing.T) {
	p := make([]float64, 3)
	Probabilities(p, []float64{1, -3, math.Inf(-1)}, 2)
	first, second := 1/(1+math.Exp(-0.5)), 1/(1+math.Exp(1.5))
	near(t, "p, and that of what the task lacks", 0, p, []float64{first / (first + second), second / (first + second), 0})
	Probabilities(p, []float64{-800, -801, -900}, 1)
	near(t, "p of small scores", 0, p[:1], []float64{1 / (1 + math.Exp(-1))})
}
