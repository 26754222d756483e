package data

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// SampleConfig says how multitask problems are drawn from a dataset, with the flags that say it
// on the command line, whose defaults are the paper's; in a program a zero is a zero. Without
// training or test problems the other set draws on all class pairs or groups, and its problems have
// no more tasks than there are. The number of tasks is uniform between its bounds.
type SampleConfig struct {
	Seed               uint64   `json:"seed" default:"1" help:"Seed of all random draws."`
	Train              int      `json:"train" default:"100" help:"Number of training problems. With 0, test problems may use all classes or groups."`
	Test               int      `json:"test" default:"50" help:"Number of test problems."`
	MinTasks           int      `json:"min_tasks" default:"4" help:"Fewest tasks of a problem."`
	MaxTasks           int      `json:"max_tasks" default:"8" help:"Most tasks of a problem."`
	TrainFraction      float64  `json:"train_fraction" default:"0.3" help:"Share of a task's rows to train on."`
	ValidationFraction float64  `json:"validation_fraction" default:"0.3" help:"Share of a task's rows to choose hyperparameters on. The remaining rows are test rows."`
	Prepare            []string `json:"prepare,omitempty" enum:"standardise,unit" help:"Steps to apply to the features, fitted on the training rows of each problem (${enum})."`
	DisjointClasses    bool     `json:"disjoint_classes,omitempty" help:"Training and test problems share no class: measures how well new classes are predicted."`
	// The fractions remain shares of all rows of a class.
	DisjointRows bool `json:"disjoint_rows,omitempty" help:"Training and test problems share no row: each gets half of the rows of every class."`
	All          bool `json:"all,omitempty" help:"Make one problem of all groups, in train.json, and sample none."`

	several []string // the classes of groups that have more than two
}

// Validate checks a configuration.
func (c SampleConfig) Validate() error {
	switch {
	case min(c.Train, c.Test) < 0 ||
		max(c.Train, c.Test) == 0 && !c.All:
		return Invalid("sample: %d training and %d test problems; neither may be below 0, and one must be above", c.Train, c.Test)
	case c.MinTasks < 1 || c.MaxTasks < c.MinTasks:
		return Invalid("sample: between %d and %d tasks; it must be 1 <= min <= max", c.MinTasks, c.MaxTasks)
	case !(c.TrainFraction > 0 && c.ValidationFraction > 0 &&
		c.TrainFraction+c.ValidationFraction < 1):
		return Invalid("sample: training fraction %v and validation fraction %v; both must be positive and leave rows for the test", c.TrainFraction, c.ValidationFraction)
	case c.DisjointRows && c.TrainFraction+c.ValidationFraction >= 0.5:
		return Invalid("sample: training fraction %v and validation fraction %v; with disjoint rows each problem has half of every class, so that together they must be below 0.5", c.TrainFraction, c.ValidationFraction)
	}
	return nil
}

// candidate is a task that problems may contain, before its rows are split.
type candidate struct {
	task Task
	rows [][]int // stratified: the rows of each class, or all of a regression task
}

// SampleProblems draws multitask problems whose tasks tell one class from
// another, as the paper does: m class pairs a problem, distinct within it. No
// class pair is in both sets of problems, and a set that is to have none is nil. Every
// class of a task is split by the fractions, so both are in every split. Fractions do
// not change which pairs are drawn, and a larger training fraction extends a smaller
// one.
func SampleProblems(d *Dataset, c SampleConfig) (train, test *ProblemFile, err error) {
	if d.Regression() {
		return nil, nil, Invalid("sample: %s: it has real targets; pairs of classes need class labels, but groups (--groups) take targets", d.Name)
	}
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	byClass := rowsBy(d.Label, len(d.Classes))
	var pool []candidate
	turn := Stream(c.Seed, "positive class")
	for a := range d.Classes {
		for b := range a {
			p := a
			n := b
			if turn.IntN(2) == 0 {
				p = b
				n = a
			}
			pool = append(pool, candidate{
				task: Task{Name: d.Classes[p] + " vs " + d.Classes[n],
					Kind: Classification, Positive: d.Classes[p], Negative: d.Classes[n]},
				rows: [][]int{byClass[p], byClass[n]},
			})
		}
	}
	if c.DisjointClasses && !c.alone() {
		return c.byClasses(d, pool)
	}
	return c.draw(d, pool, "class pairs")
}

// alone says whether there is one set of problems only.
func (c SampleConfig) alone() bool {
	return c.Train == 0 || c.Test == 0
}

// tested is how many of so many are for test problems: their share, but enough for
// both sets.
func (c SampleConfig) tested(n, enough int) int {
	share := int(math.Round(float64(n*c.Test) / float64(c.Train+c.Test)))
	if c.alone() {
		return share
	}
	return min(max(share, enough), n-enough)
}

// byClasses draws both sets of problems from class pairs within disjoint sets
// of classes, of the test problems as few as do for the largest problem and at
// least their share.
func (c SampleConfig) byClasses(d *Dataset, pool []candidate) (train, test *ProblemFile, err error) {
	n := len(d.Classes)
	fewest := 2
	for fewest*(fewest-1)/2 < c.MaxTasks {
		fewest++
	}
	if n < 2*fewest {
		return nil, nil, Invalid("sample: %s: %d classes, but two disjoint sets of classes with %d pairs each take %d",
			d.Name, n, c.MaxTasks, 2*fewest)
	}
	order := Stream(c.Seed, "train and test classes").Perm(n)
	tested := Picked(d.Classes, order[:c.tested(n, fewest)])
	var trained, asked []candidate
	for _, t := range pool {
		a := slices.Contains(tested, t.task.Positive)
		b := slices.Contains(tested, t.task.Negative)
		if a && b {
			asked = append(asked, t)
		}
		if !a && !b {
			trained = append(trained, t)
		}
	}
	return c.sets(d, trained, asked)
}

// GroupProblems draws multitask problems whose tasks are the groups of a
// dataset, such as schools. Where the dataset has more than two classes so have
// the tasks. No group is in both sets of problems. With c.All
// there is one problem of all groups, in train, and test is nil.
func GroupProblems(d *Dataset, c SampleConfig) (train, test *ProblemFile, err error) {
	if d.Group == nil {
		return nil, nil, Invalid("sample: %s: it has no group column", d.Name)
	}
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	task := Task{Kind: Classification}
	switch {
	case d.Regression():
		task.Kind = Regression
	case len(d.Classes) == 1:
		return nil, nil, Invalid("sample: %s: it has one class; there must be two", d.Name)
	case len(d.Classes) == 2:
		task.Negative = d.Classes[0]
		task.Positive = d.Classes[1]
	default:
		c.several = d.Classes
	}
	var pool []candidate
	for g, rows := range rowsBy(d.Group, len(d.Groups)) {
		t := candidate{task: task}
		t.task.Name = d.Groups[g]
		if d.Regression() {
			t.rows = [][]int{rows}
		} else {
			for _, places := range rowsBy(Picked(d.Label, rows), len(d.Classes)) {
				if places != nil || c.several == nil {
					t.rows = append(t.rows, Picked(rows, places))
				}
			}
		}
		pool = append(pool, t)
	}
	if !c.All {
		return c.draw(d, pool, "groups")
	}
	train = c.file(d)
	p, err := c.problem("all", 0, pool)
	train.Problems = []*Problem{p}
	return train, nil, err
}

// draw draws both sets of problems from disjoint shares of the pool, or one from
// all of it.
func (c SampleConfig) draw(d *Dataset, pool []candidate, what string) (train, test *ProblemFile, err error) {
	sets := 2
	if c.alone() {
		sets = 1
		c.MaxTasks = max(c.MinTasks, min(c.MaxTasks, len(pool)))
	}
	if len(pool) < sets*c.MaxTasks {
		return nil, nil, Invalid("sample: %s: %d %s, but two disjoint sets of problems of up to %d tasks need %d, and one set alone %d",
			d.Name, len(pool),
			what, c.MaxTasks, 2*c.MaxTasks, c.MinTasks)
	}
	Stream(c.Seed, "train and test").Shuffle(len(pool), func(i, j int) {
		pool[i], pool[j] = pool[j], pool[i]
	})
	share := c.tested(len(pool), c.MaxTasks)
	trained := pool[share:]
	asked := pool[:share]
	if c.DisjointRows {
		c.halve(trained, 0)
		c.halve(asked, 1)
	}
	return c.sets(d, trained, asked)
}

// halve leaves to candidates one of two halves of the rows of every class.
func (c SampleConfig) halve(pool []candidate, side int) {
	for _, t := range pool {
		for i, rows := range t.rows {
			order := Stream(c.Seed, "rows of train and test",
				uint64(rows[0])).Perm(len(rows))
			middle := len(rows) / 2
			mine := [][]int{order[:middle], order[middle:]}[side]
			slices.Sort(mine)
			t.rows[i] = Picked(rows, mine)
		}
	}
}

func (c SampleConfig) sets(d *Dataset, trained, asked []candidate) (train, test *ProblemFile, err error) {
	train, err = c.set(d, "train", c.Train, trained)
	if err == nil {
		test, err = c.set(d, "test", c.Test, asked)
	}
	return train, test, err
}

func (c SampleConfig) set(d *Dataset, name string, count int, pool []candidate) (*ProblemFile, error) {
	if count == 0 {
		return nil, nil
	}
	f := c.file(d)
	for i := range uint64(count) {
		r := Stream(c.Seed, name+" problem", i)
		m := c.MinTasks + r.IntN(c.MaxTasks-c.MinTasks+1)
		drawn := Picked(pool, r.Perm(len(pool))[:m])
		p, err := c.problem(name, i, drawn)
		if err != nil {
			return nil, err
		}
		f.Problems = append(f.Problems, p)
	}
	return f, nil
}

func (c SampleConfig) file(d *Dataset) *ProblemFile {
	raw, _ := json.Marshal(c) // a struct of numbers and texts
	return &ProblemFile{Schema: ProblemSchema,
		Dataset: &DatasetRef{
			Path:   d.Name,
			SHA256: d.Fingerprint(),
		}, Sampling: raw}
}

func (c SampleConfig) problem(set string, i uint64, tasks []candidate) (*Problem, error) {
	p := &Problem{Name: fmt.Sprintf("%s-%04d", set, i+1),
		Prepare: c.Prepare, Classes: c.several}
	for j, t := range tasks {
		task := t.task
		r := Stream(c.Seed, set+" split", i, uint64(j))
		for _, rows := range t.rows {
			err := c.split(&task, rows, r)
			if err != nil {
				return nil, err
			}
		}
		for _, s := range task.splits() {
			slices.Sort(s.rows)
		}
		p.Tasks = append(p.Tasks, &task)
	}
	return p, nil
}

// split deals the rows of one class out to the splits of the task.
func (c SampleConfig) split(t *Task, rows []int, r *rand.Rand) error {
	n := len(rows)
	total := float64(n)
	if c.DisjointRows {
		total *= 2
	}
	train := max(1, int(math.Round(c.TrainFraction*total)))
	validation := max(1, int(math.Round(c.ValidationFraction*total)))
	if train+validation >= n {
		return Invalid("sample: task %q: %d rows of one class cannot be split by %v and %v with one left for the test",
			t.Name, n, c.TrainFraction, c.ValidationFraction)
	}
	order := Picked(rows, r.Perm(n))
	t.Train = append(t.Train, order[:train]...)
	t.Test = append(t.Test, order[train:n-validation]...)
	t.Validation = append(t.Validation, order[n-validation:]...)
	return nil
}

// rowsBy lists the rows of every label.
func rowsBy(label []int32, n int) [][]int {
	rows := make([][]int, n)
	for i, l := range label {
		rows[l] = append(rows[l], i)
	}
	return rows
}
