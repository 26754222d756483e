package data

import (
	"cmp"
	"fmt"
	"slices"
)

// Labelled returns the problem with all labelled rows to train on: the training
// rows of every task and after them its validation rows, of which none are
// left. The test rows stay.
func (p *ProblemData) Labelled() *ProblemData {
	all := p.clone()
	for i := range all.Tasks {
		t := &all.Tasks[i]
		held := t.ValidationSet
		if len(held.Y) == 0 {
			continue
		}
		t.TrainSet = Samples{X: stack([]Matrix{t.TrainSet.X, held.X}), Y: slices.Concat(t.TrainSet.Y, held.Y)}
		t.ValidationSet = held.take(nil)
	}
	return all
}

// take returns the given rows.
func (s Samples) take(rows []int) Samples {
	t := Samples{X: s.X.Take(rows), Y: make([]float64, len(rows))}
	for j, r := range rows {
		t.Y[j] = s.Y[r]
	}
	return t
}

// Fold is a problem that has a part of its training rows to validate.
type Fold struct {
	*ProblemData
	// Rows are the rows of every task that it validates, as they were numbered
	// among the training rows.
	Rows [][]int
}

// Folds splits the training rows of every task into k parts of about the same
// size and the same shares of the classes, and returns k problems. Each
// validates one part and trains on the others, so that every row is held out once.
// Test rows stay, other validation rows are left out.
//
// together, if not nil, has a number for every training row of every task. Rows
// with the same number, of whichever tasks, are held out together, as far as every
// task keeps rows of all its classes to train on. Without it a task has at most as
// many parts as its rarest class has rows. A task whose rarest class has a single
// row (or number) is always trained on and never held out. A task that borrows from the
// others anyway (Samples.Borrows) needs no rows to train on.
func (p *ProblemData) Folds(k int, seed uint64, together [][]int) ([]Fold, error) {
	if k < 2 {
		return nil, ErrInvalid.Errorf("folds: %d parts; it takes at least 2", k)
	}
	if err := p.CheckTogether(together); err != nil {
		return nil, err
	}
	all, rows := make([]parting, len(p.Tasks)), make([][][]int, k)
	for i := range p.Tasks {
		all[i] = newParting(i, &p.Tasks[i], together)
	}
	for f := range rows {
		rows[f] = make([][]int, len(p.Tasks))
	}
	// What is rare is shared out first.
	slices.SortStableFunc(all, func(a, b parting) int { return cmp.Compare(a.rarest, b.rarest) })
	taken := map[int]int{} // the parts of numbers
	for _, t := range all {
		most := k
		if together == nil { // each row is alone
			taken = map[int]int{}
			if !t.borrows {
				most = min(k, t.rarest)
			}
		}
		for j, f := range t.parts(most, seed, taken) {
			if f >= 0 {
				rows[f][t.task] = append(rows[f][t.task], j)
			}
		}
	}
	if !slices.ContainsFunc(rows, p.measured) {
		return nil, ErrInvalid.Errorf("folds: no task can be split, because each has a class with a single training row (or a single number of what belongs together); it takes two of each class")
	}
	folds := make([]Fold, k)
	for f := range folds {
		var err error
		if folds[f], err = p.hold(rows[f], fmt.Sprintf("part %d of %d", f+1, k)); err != nil {
			return nil, fmt.Errorf("folds: %w", err)
		}
	}
	return folds, nil
}

// CheckTogether reports numbers of what belongs together that are not one for every
// training row. Nil is none.
func (p *ProblemData) CheckTogether(together [][]int) error {
	if together != nil && len(together) != len(p.Tasks) {
		return ErrInvalid.Errorf("folds: %d tasks have numbers of what belongs together; the problem has %d tasks", len(together), len(p.Tasks))
	}
	for i, numbers := range together {
		if t := p.Tasks[i]; len(numbers) != len(t.TrainSet.Y) {
			return ErrInvalid.Errorf("folds: task %q: %d numbers of what belongs together; it has %d training rows", t.Name, len(numbers), len(t.TrainSet.Y))
		}
	}
	return nil
}

// measured reports whether some of the rows, of every task, say how good a fit without them is.
// Several rows of a task of one class praise whoever knows no other, and count only where no
// task tells more.
func (p *ProblemData) measured(rows [][]int) bool {
	tells := func(t TaskData) bool {
		return len(t.TrainSet.Y) == 1 || !t.TrainSet.Borrows(t.Kind == Classification)
	}
	some := slices.ContainsFunc(p.Tasks, tells)
	for i, t := range p.Tasks {
		if len(rows[i]) > 0 && (tells(t) || !some) {
			return true
		}
	}
	return false
}

// labels are those of the training rows, of a regression all the same.
func (t *TaskData) labels() []float64 {
	if t.Kind == Regression {
		return make([]float64, len(t.TrainSet.Y))
	}
	return t.TrainSet.Y
}

// Hold is the fold that validates the given training rows of every task and trains
// on the others.
func (p *ProblemData) Hold(rows [][]int) (Fold, error) {
	if len(rows) != len(p.Tasks) {
		return Fold{}, ErrInvalid.Errorf("%d tasks have validation rows or none; the problem has %d tasks", len(rows), len(p.Tasks))
	}
	for i, t := range p.Tasks {
		n := len(t.TrainSet.Y)
		if j := slices.IndexFunc(rows[i], func(j int) bool { return j < 0 || j >= n }); j >= 0 {
			return Fold{}, ErrInvalid.Errorf("task %q: validation row %d; it has %d training rows", t.Name, rows[i][j], n)
		}
	}
	if !p.measured(rows) {
		return Fold{}, ErrInvalid.Errorf("no task with rows of two classes has validation rows; rows of one class tell nothing")
	}
	f, err := p.hold(rows, "its validation rows")
	if err != nil {
		return Fold{}, err
	}
	return f, nil
}

// hold is Hold of rows that there are, and may be none.
func (p *ProblemData) hold(rows [][]int, what string) (Fold, error) {
	f := Fold{p.clone(), rows}
	for i := range f.Tasks {
		t := &f.Tasks[i]
		all := t.TrainSet
		held := make([]bool, len(all.Y))
		for _, j := range rows[i] {
			held[j] = true
		}
		var rest []int
		for j := range held {
			if !held[j] {
				rest = append(rest, j)
			}
		}
		t.TrainSet, t.ValidationSet = all.take(rest), all.take(rows[i])
	}
	if err := f.learnable(); err != nil {
		return Fold{}, fmt.Errorf("without %s: %w", what, err)
	}
	return f, nil
}

// parting shares out the training rows of a task.
type parting struct {
	task    int
	class   []float64 // of every row
	numbers []int     // of what belongs together
	units   [][]int   // the rows of every number
	rarest  int       // how many units have a row of the class that the fewest have
	borrows bool      // and needs no rows to train on
}

func newParting(i int, t *TaskData, together [][]int) parting {
	class := t.labels()
	p := parting{task: i, class: class, numbers: make([]int, len(class)), borrows: t.TrainSet.Borrows(t.Kind == Classification)}
	for j := range class {
		p.numbers[j] = j
	}
	if together != nil {
		p.numbers = together[i]
	}
	index := map[int]int{}
	for j, n := range p.numbers {
		if _, ok := index[n]; !ok {
			index[n] = len(p.units)
			p.units = append(p.units, nil)
		}
		p.units[index[n]] = append(p.units[index[n]], j)
	}
	have := map[float64]int{}
	for _, u := range p.units {
		in := map[float64]bool{} // its classes
		for _, j := range u {
			in[class[j]] = true
		}
		for c := range in {
			have[c]++
		}
	}
	p.rarest = len(p.units)
	for _, n := range have {
		p.rarest = min(p.rarest, n)
	}
	return p
}

// parts returns the part, from 0 to k-1, of every row, or -1 where it is always
// trained on. Numbers go where they are taken already, and are noted there.
func (p parting) parts(k int, seed uint64, taken map[int]int) []int {
	fold := slices.Repeat([]int{-1}, len(p.class))
	begin := 0 // with which part
	if p.borrows {
		begin = p.task // so that not all begin with the first
	} else if p.rarest < 2 {
		return fold
	}
	// The large units first, each where there is least of its classes and then
	// the fewest rows.
	Stream(seed, "folds", uint64(p.task)).Shuffle(len(p.units), func(a, b int) { p.units[a], p.units[b] = p.units[b], p.units[a] })
	slices.SortStableFunc(p.units, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })
	count, size := make([]map[float64]int, k), make([]int, k)
	for f := range count {
		count[f] = map[float64]int{}
	}
	put := func(u []int, f int) {
		for _, j := range u {
			fold[j] = f
			count[f][p.class[j]]++
		}
		size[f] += len(u)
	}
	free := slices.DeleteFunc(slices.Clone(p.units), func(u []int) bool {
		f, ok := taken[p.numbers[u[0]]]
		if ok {
			put(u, f)
		}
		return ok
	})
	for _, u := range free {
		best, least := 0, 0
		for n := range k {
			f, same := (begin+n)%k, 0
			for _, j := range u {
				same += count[f][p.class[j]]
			}
			if n == 0 || same < least || same == least && size[f] < size[best] {
				best, least = f, same
			}
		}
		put(u, best)
		taken[p.numbers[u[0]]] = best
	}
	if p.borrows {
		return fold
	}
	return p.keep(fold)
}

// keep takes back the parts without which a class has no rows to train on.
func (p parting) keep(fold []int) []int {
	in := map[float64][]int{} // the parts that have rows of a class
	for j, f := range fold {
		if c := p.class[j]; !slices.Contains(in[c], f) {
			in[c] = append(in[c], f)
		}
	}
	for _, parts := range in {
		for j, f := range fold {
			if len(parts) == 1 && f == parts[0] {
				fold[j] = -1
			}
		}
	}
	return fold
}
