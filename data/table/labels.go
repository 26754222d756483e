package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"l2mt/data"
	"l2mt/data/format"
)

// target is a column of labels, or the columns of one name in several files. Its content decides
// the kind of its tasks.
type target struct {
	*format.Column
	different map[format.Label]bool // at most mostValues
	whole     bool
}

// mostValues is how many different labels are counted.
const mostValues = 1000

// values looks at what the targets hold.
func (r *reader) values() error {
	for _, t := range r.targets {
		var infinite, words Fault
		t.different = map[format.Label]bool{}
		t.whole = true
		for i := range r.places {
			if r.gap(t.Column, i) {
				continue
			}
			l := t.Label(i)
			v, _ := strconv.ParseFloat(l.Text, 64)
			if math.IsInf(v+l.Number, 0) {
				infinite.add(i,
					data.Invalid("column %q, the target: it is %s; it must be finite", t.Name, l))
			} else if l.Text != "" {
				words.add(i, nil)
			}
			t.whole = t.whole && l.Number == math.Trunc(l.Number)
			if len(t.different) < mostValues {
				t.different[l] = true
			}
		}
		_, why := t.kind(r.Kind)
		if why != "" && infinite.rows == 0 {
			words.Err = data.Malformed("column %q: %q: %s", t.Name,
				t.Label(words.Row), why)
			r.faults = append(r.faults, words)
		}
		r.faults = append(r.faults, infinite)
	}
	var missing Fault
	for i := range r.places {
		if r.task != nil && r.gap(r.task, i) {
			missing.add(i,
				data.Invalid("column %q, the task: it is missing (%q); every row needs one, or say with --na what means missing",
					r.task.Name, r.task.Label(i).Text))
		}
	}
	r.faults = append(r.faults, missing)
	return nil
}

// kind is the kind of the target, nothing if it has one value, or the problem: words among numbers.
func (t *target) kind(asked data.Kind) (kind data.Kind, problem string) {
	words := 0
	for l := range t.different {
		if l.Text != "" {
			words++
		}
	}
	numbers := len(t.different) - words
	switch {
	case asked == data.Regression && words > 0:
		return "", "it is not a number; regression needs numbers"
	case asked != "":
		return asked, ""
	case numbers > 0 && words > 0 && numbers+words > 2:
		return "", fmt.Sprintf("it is a word among numbers; correct it, or say --kind %s", data.Classification)
	case words > 0 || numbers == 2:
		return data.Classification, ""
	case numbers > 2:
		return data.Regression, ""
	}
	return "", ""
}

// kind is the kind of all targets.
func (r *reader) kind() (kind data.Kind, err error) {
	var first *target
	for _, t := range r.targets {
		k, _ := t.kind(r.Kind)
		switch {
		case k == "":
			continue
		case first == nil:
			first = t
			kind = k
		case k != kind:
			return "", data.Invalid("columns %q and %q: one is %s and the other %s; fit them separately, or give both one --kind",
				first.Name, t.Name, kind, k)
		}
	}
	if r.Kind == "" && kind == data.Regression && first.whole {
		different := differ(first.Numbers, len(first.Numbers))
		r.note("target %q: %d different whole numbers, taken for %s; say --kind %s if they are classes",
			first.Name, different, kind, data.Classification)
	}
	return cmp.Or(kind, r.Kind, data.Classification), nil
}

// task is a task and its rows.
type task struct {
	name    string
	target  *target
	rows    []int
	classes []format.Label // of the rows
	index   []int32        // their number for every row
	task    *data.Task
	y       []float64 // of the rows
}

// mostClasses bounds the classes of a problem.
const mostClasses = 1000

// findClasses finds the classes of the tasks, and returns the classes of all together. They are told apart
// from each other if one task has more than two, or a single one of more than two.
func (r *reader) findClasses() (classes []format.Label, err error) {
	several := false
	for _, t := range r.tasks {
		t.classes, t.index = t.target.Classes(t.rows)
		classes = append(classes, t.classes...)
		several = several || len(t.classes) > 2 ||
			len(t.classes) == 1 && len(t.target.different) > 2
	}
	slices.SortFunc(classes, format.Label.Compare)
	classes = slices.Compact(classes)
	if !several {
		return classes, nil
	}
	for _, c := range classes {
		r.classes = append(r.classes, c.String())
	}
	last := len(classes) - 1
	found := fmt.Sprintf("%d classes, from %q to %q", len(classes),
		classes[0], classes[last])
	switch {
	case len(classes) > mostClasses:
		err = data.Invalid("target %q: it has %s; there can be %d, but numbers can be fitted with --kind regression",
			r.tasks[0].target.Name, found, mostClasses)
	case r.Positive != "":
		err = data.Invalid("--positive: %q: there are %s; only with two is one of them positive", r.Positive, found)
	}
	return classes, err
}

// learn makes the task of the labels, or says why they cannot be learned. Its y has
// the number of the class among all if there are several.
func (t *task) learn(kind data.Kind, positive string, classes []format.Label, several bool) error {
	t.task = &data.Task{
		Name: t.name,
		Kind: kind,
	}
	if len(t.rows) == 0 {
		return data.Invalid("task %q: no row is labelled", t.name)
	}
	if kind == data.Regression {
		t.y = data.Picked(t.target.Numbers, t.rows)
		return nil
	}
	pair := slices.Clone(classes) // or more
	if !several {
		if len(pair) != 2 { // tasks may have pairs of their own
			pair = slices.Clone(t.classes)
		}
		if len(pair) == 1 {
			return data.Invalid("task %q: all its %d rows are %q, and so are all others; some rows must have another class",
				t.name, len(t.rows), pair[0])
		}
		if format.Key(positive) == format.Key(pair[0].String()) {
			slices.Reverse(pair)
		}
		t.task.Negative = pair[0].String()
		t.task.Positive = pair[1].String()
		if positive != "" &&
			format.Key(positive) != format.Key(t.task.Positive) {
			return data.Invalid("task %q: its classes are %q and %q; %q cannot be the positive one",
				t.name, t.task.Negative, t.task.Positive, positive)
		}
	}
	for _, k := range t.index {
		number := slices.Index(pair, t.classes[k])
		if !several {
			number = 2*number - 1
		}
		t.y = append(t.y, float64(number))
	}
	return nil
}
