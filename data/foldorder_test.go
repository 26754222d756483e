package data

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"l2mt/data/datatest"
)

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
		q.rows = append(q.rows, picked(n.rows[i], to))
		if n.together != nil {
			q.together = append(q.together, picked(n.together[i], to))
		}
	}
	return q
}

func picked[T any](from []T, order []int) (to []T) {
	for _, i := range order {
		to = append(to, from[i])
	}
	return to
}

// columns changes the rows of every task, in their order.
func (n numbered) columns(change func(row []float32) []float32) numbered {
	q := n
	q.ProblemData = n.clone()
	for i := range q.Tasks {
		set := &q.Tasks[i].TrainSet
		b := NewBuilder(set.X, set.X.Cols())
		for row := range rowsOf(set.X) {
			b.Add(Row{Value: change(slices.Clone(row))})
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
	others.Tasks = picked(n.Tasks, tasks)
	others.rows = picked(n.rows, tasks)
	if n.together != nil {
		others.together = picked(n.together, tasks)
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

func rowsOf(x Matrix) func(yield func([]float32) bool) {
	return func(yield func([]float32) bool) {
		for i := range x.Rows() {
			if !yield(x.Row(i).Value) {
				return
			}
		}
	}
}
