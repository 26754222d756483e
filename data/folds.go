package data

import (
	"cmp"
	"fmt"
	"slices"
)

// Labelled returns the problem with all labelled rows to train on: the training
// rows of every task and after them its validation rows, of which none are
// left. The test rows stay.
func (p *ProblemData) Labelled() (*ProblemData, error) {
	all := &ProblemData{Problem: p.Problem, Tasks: slices.Clone(p.Tasks)}
	for i := range all.Tasks {
		t := &all.Tasks[i]
		held := t.ValidationSet
		if len(held.Y) == 0 {
			continue
		}
		x, err := Stack([]Matrix{t.TrainSet.X, held.X})
		if err != nil {
			return nil, fmt.Errorf("data: task %q, training and validation rows: %w", t.Name, err)
		}
		t.TrainSet = Samples{X: x, Y: slices.Concat(t.TrainSet.Y, held.Y)}
		t.ValidationSet = held.take(nil)
	}
	return all, nil
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
// of a task with the same number are never parted. A task has at most
// as many parts as it has rows (or numbers) of its rarest class. One that has a
// single one is always trained on and never held out.
func (p *ProblemData) Folds(k int, seed uint64, together [][]int) ([]Fold, error) {
	if k < 2 {
		return nil, fmt.Errorf("data: folds: %w: %d parts; it takes at least 2", ErrInvalid, k)
	}
	if together != nil && len(together) != len(p.Tasks) {
		return nil, fmt.Errorf("data: folds: %w: %d tasks have numbers of what belongs together; the problem has %d tasks", ErrInvalid, len(together), len(p.Tasks))
	}
	folds := make([]Fold, k)
	for f := range folds {
		folds[f] = Fold{&ProblemData{Problem: p.Problem, Tasks: slices.Clone(p.Tasks)}, make([][]int, len(p.Tasks))}
	}
	parted := false
	for i, t := range p.Tasks {
		numbers := make([]int, len(t.TrainSet.Y))
		for j := range numbers {
			numbers[j] = j
		}
		if together != nil {
			if numbers = together[i]; len(numbers) != len(t.TrainSet.Y) {
				return nil, fmt.Errorf("data: folds: task %q: %w: %d numbers of what belongs together; it has %d training rows", t.Name, ErrInvalid, len(numbers), len(t.TrainSet.Y))
			}
		}
		fold := t.parts(p.labels(i), numbers, k, seed, i)
		parted = parted || slices.Contains(fold, 1)
		for f := range folds {
			for j, at := range fold {
				if at == f {
					folds[f].Rows[i] = append(folds[f].Rows[i], j)
				}
			}
			if err := folds[f].hold(i); err != nil {
				return nil, fmt.Errorf("data: folds: task %q, without part %d of %d: %w", t.Name, f+1, k, err)
			}
		}
	}
	if !parted {
		return nil, fmt.Errorf("data: folds: %w: no task can be split, because each has a class with a single training row (or a single number of what belongs together); it takes two of each class", ErrInvalid)
	}
	return folds, nil
}

// labels are the classes of a task's training rows, by number; a regression has
// one.
func (p *ProblemData) labels(task int) []int {
	t := p.Tasks[task]
	class := make([]int, len(t.TrainSet.Y))
	for j, y := range t.TrainSet.Y {
		switch {
		case p.Several() > 0:
			class[j] = int(y)
		case t.Kind == Classification && y > 0:
			class[j] = 1
		}
	}
	return class
}

// Hold is the fold that validates the given training rows of every task and trains
// on the others.
func (p *ProblemData) Hold(rows [][]int) (Fold, error) {
	f := Fold{&ProblemData{Problem: p.Problem, Tasks: slices.Clone(p.Tasks)}, rows}
	for i := range p.Tasks {
		if err := f.hold(i); err != nil {
			return Fold{}, fmt.Errorf("data: task %q, without its validation rows: %w", p.Tasks[i].Name, err)
		}
	}
	if len(slices.Concat(rows...)) == 0 {
		return Fold{}, fmt.Errorf("data: %w: no task has validation rows", ErrInvalid)
	}
	return f, nil
}

// hold parts the rows of a task.
func (f *Fold) hold(i int) error {
	task := &f.Tasks[i]
	held := make([]bool, len(task.TrainSet.Y))
	for _, j := range f.Rows[i] {
		held[j] = true
	}
	var rest []int
	for j := range held {
		if !held[j] {
			rest = append(rest, j)
		}
	}
	all := task.TrainSet
	task.TrainSet, task.ValidationSet = all.take(rest), all.take(f.Rows[i])
	if len(rest) > 0 && task.Kind == Regression {
		return nil // equal targets of a few rows are no more than a poor fold
	}
	return task.learnable()
}

// parts returns the part, from 0 to k-1, of every training row, and -1 for all
// rows of a task that cannot be split.
func (t *TaskData) parts(class, numbers []int, k int, seed uint64, task int) []int {
	// A unit is the rows of one number.
	index := map[int]int{}
	var units [][]int
	for j, n := range numbers {
		if _, ok := index[n]; !ok {
			index[n] = len(units)
			units = append(units, nil)
		}
		units[index[n]] = append(units[index[n]], j)
	}
	have := map[int]int{} // units with a row of the class
	for _, u := range units {
		seen := map[int]bool{}
		for _, j := range u {
			if c := class[j]; !seen[c] {
				seen[c] = true
				have[c]++
			}
		}
	}
	for _, n := range have {
		k = min(k, n)
	}
	fold := make([]int, len(numbers))
	if k < 2 {
		for j := range fold {
			fold[j] = -1
		}
		return fold
	}
	Stream(seed, "folds", uint64(task)).Shuffle(len(units), func(a, b int) { units[a], units[b] = units[b], units[a] })
	slices.SortStableFunc(units, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })
	// The large units first, each where there is least of its classes and then
	// the fewest rows.
	count, size := make([]map[int]int, k), make([]int, k)
	for f := range count {
		count[f] = map[int]int{}
	}
	for _, u := range units {
		best, least := 0, 0
		for f := range k {
			same := 0
			for _, j := range u {
				same += count[f][class[j]]
			}
			if f == 0 || same < least || same == least && size[f] < size[best] {
				best, least = f, same
			}
		}
		for _, j := range u {
			fold[j] = best
			count[best][class[j]]++
		}
		size[best] += len(u)
	}
	return fold
}
