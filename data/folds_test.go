package data

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"l2mt/data/datatest"
)

// labelled makes a task whose row j is (j, task) and whose first rows are +1.
func labelled(t *testing.T, kind Kind, task, positive, n int) TaskData {
	t.Helper()
	values, y := make([]float32, 2*n), make([]float64, n)
	for j := range n {
		values[2*j], values[2*j+1] = float32(j), float32(task)
		y[j] = -1
		if kind == Regression {
			y[j] = float64(j)
		} else if j < positive {
			y[j] = 1
		}
	}
	x := datatest.Must(NewDense(n, 2, values))(t)
	return TaskData{Task: &Task{Name: string(rune('a' + task)), Kind: kind, Positive: "1", Negative: "0"}, TrainSet: Samples{X: x, Y: y}, ValidationSet: Samples{X: x.Take(nil)}}
}

// Every row is held out once, whatever class its task lacks, and parts of a task differ by one row.
func TestFoldsHoldEveryRowOutOnce(t *testing.T) {
	p := &ProblemData{Tasks: []TaskData{
		labelled(t, Classification, 0, 7, 23), labelled(t, Classification, 1, 3, 40), labelled(t, Classification, 2, 1, 9),
		labelled(t, Classification, 3, 0, 7), labelled(t, Classification, 4, 1, 1), labelled(t, Classification, 5, 0, 0),
	}}
	folds := datatest.Must(p.Folds(5, 3, nil))(t)
	datatest.Need(t, len(folds) == 5, "%d folds", len(folds))
	for i, task := range p.Tasks {
		n := len(task.TrainSet.Y)
		seen := make([]int, n)
		for f, fold := range folds {
			got := fold.Tasks[i]
			datatest.Holds(t, len(got.TrainSet.Y)+len(got.ValidationSet.Y) == n && len(fold.Rows[i]) == len(got.ValidationSet.Y),
				"task %d, fold %d: %d and %d rows of %d", i, f, len(got.TrainSet.Y), len(got.ValidationSet.Y), n)
			rows := len(fold.Rows[i])
			datatest.Holds(t, rows >= n/5 && rows <= (n+4)/5, "task %d, fold %d: %d of %d rows", i, f, rows, n)
			for j, row := range fold.Rows[i] {
				seen[row]++
				if x := got.ValidationSet.X.Row(j).Value; x[0] != float32(row) || x[1] != float32(i) || got.ValidationSet.Y[j] != task.TrainSet.Y[row] {
					t.Errorf("task %d, fold %d: row %d is %v", i, f, row, x)
				}
			}
		}
		for row, times := range seen {
			datatest.Equal(t, times, 1, "task %d: times that row %d is held out", i, row)
		}
	}
	again := datatest.Must(p.Folds(5, 3, nil))(t)
	other := datatest.Must(p.Folds(5, 4, nil))(t)
	if !slices.Equal(again[0].Rows[0], folds[0].Rows[0]) || slices.Equal(other[0].Rows[0], folds[0].Rows[0]) {
		t.Error("the seed does not decide")
	}
}

// What is held out of one task is never trained on in another, and every task keeps both classes to
// train on.
func TestFoldsKeepTogetherWhatBelongsTogether(t *testing.T) {
	pairs := func(row int) int { return 100 + row%15/2 }
	for name, c := range map[string]struct {
		k      int
		number func(row int) int
		tasks  []TaskData
	}{
		"targets": {3, pairs, []TaskData{labelled(t, Regression, 0, 15, 30)}},
		"classes": {3, pairs, []TaskData{labelled(t, Classification, 0, 15, 30)}},
		"three targets of the same rows": {5, func(row int) int { return row },
			[]TaskData{labelled(t, Classification, 0, 12, 30), labelled(t, Classification, 1, 2, 20), labelled(t, Classification, 2, 3, 25)}},
	} {
		together := make([][]int, len(c.tasks))
		left := make([]int, len(c.tasks))
		for i, task := range c.tasks {
			for j := range task.TrainSet.Y {
				together[i] = append(together[i], c.number(j))
			}
			left[i] = len(together[i])
		}
		at := map[int]int{}
		for f, fold := range datatest.Must((&ProblemData{Tasks: c.tasks}).Folds(c.k, 1, together))(t) {
			datatest.Holds(t, len(fold.Rows[0]) >= 6, "%s: fold %d has %d rows", name, f, len(fold.Rows[0]))
			for i, rows := range fold.Rows {
				left[i] -= len(rows)
				for _, j := range rows {
					g, ok := at[together[i][j]]
					datatest.Holds(t, !ok || g == f, "%s: rows numbered %d are in folds %d and %d", name, together[i][j], g, f)
					at[together[i][j]] = f
				}
				y := fold.Tasks[i].TrainSet.Y
				datatest.Holds(t, slices.Min(y) != slices.Max(y), "%s: fold %d trains task %d on one class", name, f, i)
			}
		}
		datatest.Equal(t, left, make([]int, len(left)), "%s: rows that are never held out", name)
	}
}

func TestLabelledPutsTheValidationRowsBehind(t *testing.T) {
	a, b := labelled(t, Classification, 0, 2, 5), labelled(t, Classification, 1, 3, 4)
	a.ValidationSet, a.TestSet = b.TrainSet, b.TrainSet
	p := &ProblemData{Tasks: []TaskData{a, b}}
	all := p.Labelled()
	got := all.Tasks[0]
	datatest.Holds(t, slices.Equal(got.TrainSet.Y, []float64{1, 1, -1, -1, -1, 1, 1, 1, -1}) && got.TrainSet.X.Row(6).Value[0] == 1 && got.TrainSet.X.Row(6).Value[1] == 1,
		"training rows %v", got.TrainSet)
	datatest.Holds(t, len(got.ValidationSet.Y) == 0 && got.ValidationSet.X.Rows() == 0 && got.ValidationSet.X.Cols() == 2 && len(got.TestSet.Y) == 4,
		"validation rows %v, test rows %v", got.ValidationSet, got.TestSet)
	datatest.Holds(t, len(p.Tasks[0].TrainSet.Y) == 5 && len(all.Tasks[1].TrainSet.Y) == 4,
		"the problem itself has changed")
}

// A fold may train on equal targets: tasks of a few rows often do.
func TestFoldsOfFewTargets(t *testing.T) {
	x := datatest.Must(NewDense(3, 1, []float32{1, 2, 3}))(t)
	task := TaskData{Task: &Task{Name: "few", Kind: Regression}, TrainSet: Samples{X: x, Y: []float64{1, 1, 2}}}
	folds := datatest.Must((&ProblemData{Problem: &Problem{Tasks: []*Task{task.Task}}, Tasks: []TaskData{task}}).Folds(5, 1, nil))(t)
	held := 0
	for _, f := range folds {
		held += len(f.Rows[0])
	}
	datatest.Equal(t, held, 3, "rows are held out")
}

// The only +1 row of all tasks is never held out, nor are the rows of its part; all others are.
func TestFoldsKeepAClassToTrainOn(t *testing.T) {
	p := &ProblemData{Tasks: []TaskData{labelled(t, Classification, 0, 1, 10), labelled(t, Classification, 1, 0, 10)}}
	folds := datatest.Must(p.Folds(5, 1, nil))(t)
	held := 0
	for f, fold := range folds {
		held += len(fold.Rows[0]) + len(fold.Rows[1])
		datatest.Holds(t, !slices.Contains(fold.Rows[0], 0), "fold %d holds out the only row of its class", f)
	}
	datatest.Holds(t, len(folds) == 4 && held == 16,
		"%d folds hold out %d rows; 4 hold out 16 of 20", len(folds), held)
}

func TestFoldsSayWhatIsMissing(t *testing.T) {
	single := &ProblemData{Tasks: []TaskData{labelled(t, Classification, 0, 4, 9)}}
	equal := &ProblemData{Tasks: []TaskData{labelled(t, Classification, 0, 9, 9)}}
	lone := &ProblemData{Tasks: []TaskData{labelled(t, Regression, 0, 0, 1)}}
	for _, c := range []struct {
		p        *ProblemData
		k        int
		together [][]int
		want     string
	}{
		{lone, 5, nil, "too few rows"},
		{equal, 5, nil, "too few rows"},
		{single, 1, nil, "at least 2"},
		{single, 3, [][]int{{1, 2}}, "9 training rows"},
		{single, 3, [][]int{}, "1 tasks"},
		// One number has all of the +1 rows, another all others.
		{single, 3, [][]int{{1, 1, 1, 1, 2, 2, 2, 2, 2}}, "too few rows"},
	} {
		datatest.Refused(c.p.Folds(c.k, 1, c.together))(t, ErrInvalid, c.want)
	}
}

// A fold holds out the rows that it is told to, of one class too, and leaves two classes.
func TestHoldLeavesTwoClasses(t *testing.T) {
	p := &ProblemData{Tasks: []TaskData{labelled(t, Classification, 0, 1, 9), labelled(t, Classification, 1, 0, 9)}}
	fold := datatest.Must(p.Hold([][]int{nil, {0, 8}}))(t)
	if got := fold.Tasks[1]; len(got.TrainSet.Y) != 7 || len(got.ValidationSet.Y) != 2 || got.ValidationSet.X.Row(1).Value[0] != 8 {
		t.Errorf("rows %v, held out %v", got.TrainSet.Y, got.ValidationSet)
	}
	for want, rows := range map[string][][]int{
		"of classes at least two": {{0}, nil},
		"no task has validation":  {nil, nil},
		"it has 9 training rows":  {{9}, nil},
		"the problem has 2":       {{1}},
	} {
		datatest.Refused(p.Hold(rows))(t, ErrInvalid, want)
	}
}

// The rows of tasks that have one each are spread over all folds.
func TestFoldsShareOutTasksOfOneRow(t *testing.T) {
	p := &ProblemData{}
	for range 100 {
		task := labelled(t, Regression, len(p.Tasks), 0, 1)
		task.TrainSet.Y[0] = float64(len(p.Tasks))
		p.Tasks = append(p.Tasks, task)
	}
	folds := datatest.Must(p.Folds(5, 1, nil))(t)
	for f, fold := range folds {
		// By chance one of five has fewer than 8 or more than 35 once in 470 times.
		if n := len(slices.Concat(fold.Rows...)); n < 8 || n > 35 || len(folds) != 5 {
			t.Errorf("fold %d of %d holds out %d of 100 rows", f, len(folds), n)
		}
	}
}

// Whatever the times: what a fold validates comes later than what it trains on, folds validate
// less and less, the first half of the table or less, and the last row is always among it.
func TestLaterRowsAreHeldOut(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		p := &ProblemData{}
		var times [][]float64
		for i := range 1 + random.IntN(4) {
			n := 4 + random.IntN(30)
			p.Tasks = append(p.Tasks, labelled(t, Regression, i, 0, n))
			var task []float64
			for range n {
				task = append(task, float64(random.IntN(12)))
			}
			times = append(times, task)
		}
		sorted := slices.Sorted(slices.Values(slices.Concat(times...)))
		before := len(sorted)
		for f, fold := range datatest.Must(p.Later(5, times))(t) {
			earliest := sorted[len(sorted)-1]
			held := 0
			for i, rows := range fold.Rows {
				for _, j := range rows {
					earliest = min(earliest, times[i][j])
				}
				held += len(rows)
			}
			later := 0
			for _, at := range sorted {
				if at >= earliest {
					later++
				}
			}
			datatest.Holds(t, held == later && held != 0 && held < before,
				"seed %d, fold %d: %d rows are held out, %d from %v on, %d before", seed, f, held, later, earliest, before)
			if f == 0 && earliest > sorted[len(sorted)/2] {
				t.Errorf("seed %d: the first fold holds out rows from %v on, half are later than %v", seed, earliest, sorted[len(sorted)/2])
			}
			before = held
		}
	}
	p := &ProblemData{Tasks: []TaskData{labelled(t, Regression, 0, 0, 4)}}
	datatest.Refused(p.Later(5, [][]float64{{3, 3, 3, 3}}))(t, nil, "some must be later")
}

// Rows of a task that differ in their class alone are dealt at random: no fold has its share of each.
func TestFoldsAreNoStrata(t *testing.T) {
	p := &ProblemData{Problem: &Problem{Name: "p"}}
	for i := range 100 {
		s := Samples{}
		for j := range 10 {
			s.Y = append(s.Y, float64(2*(j%2)-1))
		}
		x := make([]float32, 10)
		for j := range x {
			x[j] = float32(i)
		}
		s.X, _ = NewDense(10, 1, x)
		p.Tasks = append(p.Tasks, TaskData{Task: &Task{Name: string(rune('a' + i)), Kind: Classification}, TrainSet: s})
	}
	uneven := 0
	for _, fold := range datatest.Must(p.Folds(5, 1, nil))(t) {
		for _, task := range fold.Tasks {
			if y := task.ValidationSet.Y; y[0] == y[1] {
				uneven++
			}
		}
	}
	// Two of ten rows, five of each class, are of one class with a probability of 4/9.
	datatest.Holds(t, uneven >= 180 && uneven <= 265, "%d of 500 pairs are of one class; 222 are expected", uneven)
}

// numbered is a problem whose rows keep the numbers that they had before they were moved.
type numbered struct {
	*ProblemData
	rows     [][]int // numbers of every task's rows
	together [][]int
}

func number(p *ProblemData, together [][]int) numbered {
	n := numbered{ProblemData: p, together: together}
	next := 0
	for _, t := range p.Tasks {
		var rows []int
		for range t.TrainSet.Y {
			rows = append(rows, next)
			next++
		}
		n.rows = append(n.rows, rows)
	}
	return n
}

// folds are the numbers of the rows that each fold holds out.
func (n numbered) folds(t *testing.T, seed uint64) (held [][]int) {
	t.Helper()
	for _, fold := range datatest.Must(n.Folds(5, seed, n.together))(t) {
		var numbers []int
		for i, rows := range fold.Rows {
			for _, j := range rows {
				numbers = append(numbers, n.rows[i][j])
			}
		}
		slices.Sort(numbers)
		held = append(held, numbers)
	}
	return held
}

// moved takes the rows of every task in another order.
func (n numbered) moved(order func(rows int) []int) numbered {
	q := numbered{ProblemData: n.clone()}
	for i := range q.Tasks {
		to := order(len(n.rows[i]))
		q.Tasks[i].TrainSet = n.Tasks[i].TrainSet.take(to)
		q.rows = append(q.rows, Picked(n.rows[i], to))
		if n.together != nil {
			q.together = append(q.together, Picked(n.together[i], to))
		}
	}
	return q
}

// columns changes the rows of every task, in their order.
func (n numbered) columns(change func(row []float32) []float32) numbered {
	q := n
	q.ProblemData = n.clone()
	for i := range q.Tasks {
		set := &q.Tasks[i].TrainSet
		b := NewBuilder(set.X, set.X.Cols())
		for i := range set.X.Rows() {
			b.Add(Row{Value: change(slices.Clone(set.X.Row(i).Value))})
		}
		set.X = b.Matrix()
	}
	return q
}

// Folds come from what is in a row: other orders, names and units hold the same rows out.
func TestFoldsDependOnRowsAlone(t *testing.T) {
	for _, kind := range []Kind{Regression, Classification} {
		for _, tied := range []bool{false, true} {
			p := scattered(4, kind, 4, 30, 3)
			var together [][]int
			if tied {
				for i, task := range p.Tasks {
					numbers := make([]int, len(task.TrainSet.Y))
					for j := range numbers {
						numbers[j] = j / 2 * (1 + i%2)
					}
					together = append(together, numbers)
				}
			}
			compareFolds(t, fmt.Sprintf("%s, tied %t", kind, tied), number(p, together))
		}
	}
}

func compareFolds(t *testing.T, name string, n numbered) {
	r := rand.New(rand.NewPCG(1, 1))
	tasks := []int{2, 0, 3, 1}
	others := n
	others.ProblemData = n.clone()
	others.Tasks = Picked(n.Tasks, tasks)
	others.rows = Picked(n.rows, tasks)
	if n.together != nil {
		others.together = Picked(n.together, tasks)
	}
	named := n
	named.ProblemData = n.clone()
	for i := range named.Tasks {
		task := *named.Tasks[i].Task
		task.Name = fmt.Sprint("other ", i)
		named.Tasks[i].Task = &task
	}
	targets := n
	targets.ProblemData = n.clone()
	for i := range targets.Tasks {
		y := slices.Clone(targets.Tasks[i].TrainSet.Y)
		for j := range y {
			y[j] = 100*y[j] + 7
		}
		targets.Tasks[i].TrainSet.Y = y
	}
	want := n.folds(t, 7)
	for what, other := range map[string]numbered{
		"rows in another order":      n.moved(r.Perm),
		"tasks in another order":     others,
		"tasks of other names":       named,
		"targets in other units":     targets,
		"columns in another order":   n.columns(func(row []float32) []float32 { return []float32{row[2], row[0], row[1]} }),
		"a column in other units":    n.columns(func(row []float32) []float32 { row[1] *= 1000; return row }),
		"a column from another zero": n.columns(func(row []float32) []float32 { row[0] += 32; return row }),
	} {
		got := other.folds(t, 7)
		datatest.Holds(t, slices.EqualFunc(got, want, slices.Equal), "%s: %s change the folds", name, what)
	}
	datatest.Holds(t, !slices.EqualFunc(n.folds(t, 8), want, slices.Equal),
		"%s: another seed has the same folds", name)
}

// Sparse rows are held out by their values, in whichever column these are.
func TestFoldsOfSparseRows(t *testing.T) {
	n := number(scattered(5, Classification, 3, 20, 4), nil)
	for i := range n.Tasks {
		n.Tasks[i].TrainSet.X = sparseCopy(t, n.Tasks[i].TrainSet.X)
	}
	r := rand.New(rand.NewPCG(2, 1))
	if want, got := n.folds(t, 7), n.moved(r.Perm).folds(t, 7); !slices.EqualFunc(got, want, slices.Equal) {
		t.Error("rows in another order change the folds")
	}
}

// Where tasks are targets in units of their own, other units of one of them hold the same rows out.
func TestFoldsOfTargetsInOwnUnits(t *testing.T) {
	n := number(scattered(6, Regression, 3, 20, 2), nil)
	n.OwnUnits = true
	want := n.folds(t, 7)
	y := n.Tasks[1].TrainSet.Y
	for j := range y {
		y[j] = 100*y[j] + 7
	}
	got := n.folds(t, 7)
	datatest.Holds(t, slices.EqualFunc(got, want, slices.Equal), "other units of a target change the folds")
}

// scattered has tasks of n rows of d features each, with classes or targets, two
// of them with validation and test rows.
func scattered(seed uint64, kind Kind, m, n, d int) *ProblemData {
	r := rand.New(rand.NewPCG(seed, 0))
	set := func(n int) Samples {
		values, y := make([]float32, n*d), make([]float64, n)
		for i := range values {
			values[i] = float32(r.NormFloat64() * (1 + float64(i%d)))
		}
		for j := range y {
			if y[j] = r.NormFloat64(); kind == Classification {
				y[j] = float64(j%2*2 - 1)
				values[j*d] += 3 * float32(y[j])
			}
		}
		x, err := NewDense(n, d, values)
		if err != nil {
			panic(err)
		}
		return Samples{X: x, Y: y}
	}
	p := &ProblemData{Problem: &Problem{Name: "p"}}
	for i := range m {
		t := TaskData{Task: &Task{Kind: kind}, TrainSet: set(n + i)}
		if i < 2 {
			t.ValidationSet, t.TestSet = set(3), set(4)
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p
}
