package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Labelled returns the problem with all labelled rows to train on: the training
// rows of every task and after them its validation rows, which are gone there. The test rows
// stay.
func (p *ProblemData) Labelled() *ProblemData {
	whole := p.clone()
	for i := range whole.Tasks {
		t := &whole.Tasks[i]
		held := t.ValidationSet
		if len(held.Y) == 0 {
			continue
		}
		t.TrainSet.X = Stack([]Matrix{t.TrainSet.X, held.X})
		t.TrainSet.Y = slices.Concat(t.TrainSet.Y, held.Y)
		t.TrainSet.Weight = slices.Concat(t.TrainSet.Weight, held.Weight)
		t.ValidationSet = held.take(nil)
	}
	return whole
}

// take returns the given rows.
func (s Samples) take(rows []int) Samples {
	t := Samples{
		X: s.X.Take(rows),
		Y: Picked(s.Y, rows),
	}
	if s.Weight != nil {
		t.Weight = Picked(s.Weight, rows)
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

// Folds splits the training rows of every task into k parts of about the same size, and returns k
// problems. Each validates one part and trains on the others, so that every row is held out once.
// Test rows stay, other validation rows are left out. A part without which the rows of all tasks
// are of one class is not held out.
//
// together, if not nil, has a number for every training row of every task. Rows with the same
// number, of whichever tasks, are held out together.
//
// Nothing but the content of a row says which part it is in: the ranks of its values within their
// columns and of its target, and the seed. So neither the order of rows, columns and tasks, nor
// names and units, change the parts.
func (p *ProblemData) Folds(k int, seed uint64, together [][]int) ([]Fold, error) {
	if k < 2 {
		return nil, Invalid("folds: there are %d parts; there must be at least 2", k)
	}
	err := p.CheckTogether(together)
	if err != nil {
		return nil, err
	}
	parts := make([][][]int, k)
	for f := range parts {
		parts[f] = make([][]int, len(p.Tasks))
	}
	for _, units := range bundles(p.signatures(seed), together) {
		first := uint64(0)
		alike := map[uint64]uint64{}
		for _, u := range units {
			first += u.signature
			alike[u.signature]++
			n := alike[u.signature]
			if n > 1 { // side by side alike rows of a class would be strata
				u.signature = scrambled(u.signature, n, 0)
			}
		}
		slices.SortFunc(units, func(a, b *bundle) int {
			return cmp.Compare(a.signature, b.signature)
		})
		for n, u := range units {
			f := (first%uint64(k) + uint64(n)) % uint64(k)
			for _, r := range u.rows {
				parts[f][r.task] = append(parts[f][r.task], r.row)
			}
		}
	}
	var folds []Fold
	for _, rows := range parts {
		for _, r := range rows {
			slices.Sort(r)
		}
		if len(slices.Concat(rows...)) == 0 {
			continue
		}
		fold, err := p.hold(rows, "")
		if err == nil { // else the others have one class, or no rows
			folds = append(folds, fold)
		}
	}
	if len(folds) < 2 {
		return nil, Invalid("folds: there are too few rows to hold some out")
	}
	return folds, nil
}

// Later returns k problems, or fewer where times do not tell rows apart. Each trains on the rows
// up to a time and validates all later ones. The first trains on half of the rows, each further one
// on a part more. So errors are measured on a future as long as half the span of times.
func (p *ProblemData) Later(k int, times [][]float64) (folds []Fold, err error) {
	sorted := slices.Sorted(slices.Values(slices.Concat(times...)))
	if len(sorted) == 0 || sorted[0] == sorted[len(sorted)-1] {
		return nil, Invalid("folds: all rows have the same time; some must be later than others")
	}
	last := sorted[0]
	for part := k; part < 2*k; part++ {
		origin := sorted[len(sorted)*part/(2*k)]
		if origin == last {
			continue
		}
		last = origin
		rows := make([][]int, len(p.Tasks))
		for i, task := range times {
			for j, time := range task {
				if time >= origin {
					rows[i] = append(rows[i], j)
				}
			}
		}
		fold, invalid := p.hold(rows, "the rows that come later")
		err = cmp.Or(err, invalid)
		if invalid == nil {
			folds = append(folds, fold)
		}
	}
	if folds != nil {
		err = nil
	}
	return folds, err
}

// bundle holds rows that are held out together.
type bundle struct {
	signature uint64
	rows      []taskRow
}

type taskRow struct{ task, row int }

// bundles gathers rows that are held out together: all rows by their numbers, or each of a task on
// its own, a group of bundles a task.
func bundles(signatures [][]uint64, together [][]int) (groups [][]*bundle) {
	var known map[int]*bundle
	for i, task := range signatures {
		if i == 0 || together == nil {
			known = map[int]*bundle{}
			groups = append(groups, nil)
		}
		group := &groups[len(groups)-1]
		for j, signature := range task {
			number := j
			if together != nil {
				number = together[i][j]
			}
			u := known[number]
			if u == nil {
				u = &bundle{}
				known[number] = u
				*group = append(*group, u)
			}
			u.signature += signature
			u.rows = append(u.rows, taskRow{i, j})
		}
	}
	return groups
}

// signatures are numbers that the training rows of every task are told apart by.
func (p *ProblemData) signatures(seed uint64) [][]uint64 {
	var matrices []Matrix
	var targets []float64
	var targetRanks []float64
	for _, t := range p.Tasks {
		matrices = append(matrices, t.TrainSet.X)
		targets = append(targets, t.TrainSet.Y...)
		targetRanks = append(targetRanks, Ranks(t.TrainSet.Y)...)
	}
	if !p.OwnUnits {
		targetRanks = Ranks(targets)
	}
	sums := rowSums(Stack(matrices), seed)
	for i, rank := range targetRanks {
		sums[i] += scrambled(seed, uint64(rank), 1)
	}
	var byTask [][]uint64
	for _, t := range p.Tasks {
		n := len(t.TrainSet.Y)
		byTask = append(byTask, sums[:n])
		sums = sums[n:]
	}
	return byTask
}

// rowSums are what the features say of the rows: values of sparse rows, ranks within the columns
// of dense ones.
func rowSums(x Matrix, seed uint64) []uint64 {
	sums := make([]uint64, x.Rows())
	if IsSparse(x) {
		for i := range sums {
			for _, v := range x.Row(i).Value {
				sums[i] += scrambled(seed, uint64(math.Float32bits(v)), 2)
			}
		}
		return sums
	}
	column := make([]float64, len(sums))
	for j := range x.Cols() {
		for i := range column {
			column[i] = float64(x.Row(i).Value[j])
		}
		for i, rank := range Ranks(column) {
			sums[i] += scrambled(seed, uint64(rank), 3)
		}
	}
	return sums
}

// scrambled is a number whose bits all depend on the seed and on both numbers (SplitMix64).
func scrambled(seed, number, salt uint64) uint64 {
	v := seed*0x9e3779b97f4a7c15 + number*0xbf58476d1ce4e5b9 + salt*0x94d049bb133111eb
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// CheckTogether reports numbers of groups unless there is one for every training row. Nil means
// no groups.
func (p *ProblemData) CheckTogether(together [][]int) error {
	if together != nil && len(together) != len(p.Tasks) {
		return Invalid("folds: there are numbers of groups for %d tasks; the problem has %d tasks",
			len(together), len(p.Tasks))
	}
	for i, numbers := range together {
		t := p.Tasks[i]
		if len(numbers) != len(t.TrainSet.Y) {
			return Invalid("folds: task %q: there are %d numbers of groups; it has %d training rows",
				t.Name, len(numbers), len(t.TrainSet.Y))
		}
	}
	return nil
}

// Hold is the fold that validates the given training rows of every task and trains
// on the others.
func (p *ProblemData) Hold(rows [][]int) (Fold, error) {
	if len(rows) != len(p.Tasks) {
		return Fold{}, Invalid("there are lists of validation rows for %d tasks; the problem has %d tasks",
			len(rows), len(p.Tasks))
	}
	for i, t := range p.Tasks {
		n := len(t.TrainSet.Y)
		for _, j := range rows[i] {
			if j < 0 || j >= n {
				return Fold{}, Invalid("task %q: there is no row %d to validate on; it has %d training rows",
					t.Name, j, n)
			}
		}
	}
	if len(slices.Concat(rows...)) == 0 {
		return Fold{}, Invalid("no task has validation rows")
	}
	return p.hold(rows, "its validation rows")
}

// hold is Hold of rows that there are, and may be none.
func (p *ProblemData) hold(rows [][]int, what string) (Fold, error) {
	f := Fold{p.clone(), rows}
	for i := range f.Tasks {
		t := &f.Tasks[i]
		labelled := t.TrainSet
		held := make([]bool, len(labelled.Y))
		for _, j := range rows[i] {
			held[j] = true
		}
		var rest []int
		for j := range held {
			if !held[j] {
				rest = append(rest, j)
			}
		}
		t.TrainSet = labelled.take(rest)
		t.ValidationSet = labelled.take(rows[i])
	}
	err := f.learnable()
	if err != nil {
		return Fold{}, fmt.Errorf("without %s: %w", what, err)
	}
	return f, nil
}
