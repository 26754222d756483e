package table

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"l2mt/data"
	"l2mt/data/format"
)

// target is a column of labels, or those of the same name in several files. What
// it holds decides what kind its tasks are.
type target struct {
	*format.Column
	different map[format.Label]bool // at most mostValues
	whole     bool
	wordAt    func(fault string) error // where the first word is, nil if there is none
}

// mostValues is how many different labels are counted.
const mostValues = 1000

// gaps adds rows without a label up to n.
func (t *target) gaps(n int) {
	for t.Len() < n {
		t.Add("")
	}
}

// values looks at what the targets hold.
func (r *reader) values() error {
	for _, t := range r.targets {
		t.different, t.whole = map[format.Label]bool{}, true
		for i := range r.places {
			if r.gap(t.Column, i) {
				continue
			}
			l := t.Label(i)
			if v, _ := strconv.ParseFloat(l.Text, 64); math.IsInf(v, 0) {
				return r.fault(i, fmt.Errorf("column %q, the target: %w: it is %s; it must be finite", t.Name, data.ErrInvalid, l))
			}
			if l.Text != "" && t.wordAt == nil {
				t.wordAt = func(fault string) error {
					return r.fault(i, fmt.Errorf("column %q: %q: %w: %s", t.Name, l.Text, data.ErrFormat, fault))
				}
			}
			t.whole = t.whole && l.Number == math.Trunc(l.Number)
			if len(t.different) < mostValues {
				t.different[l] = true
			}
		}
	}
	return nil
}

// kind says what the target is taken for, which is nothing if it has one value.
func (t *target) kind(asked data.Kind) (data.Kind, error) {
	words := 0
	for l := range t.different {
		if l.Text != "" {
			words++
		}
	}
	numbers := len(t.different) - words
	switch {
	case asked == data.Regression && words > 0:
		return "", t.wordAt("it is not a number; regression needs numbers")
	case asked != "":
		return asked, nil
	case numbers > 0 && words > 0 && numbers+words > 2:
		return "", t.wordAt(fmt.Sprintf("it is a word among numbers; correct it, or say --kind %s", data.Classification))
	case words > 0 || numbers == 2:
		return data.Classification, nil
	case numbers > 2:
		return data.Regression, nil
	}
	return "", nil
}

// kindOf is the kind of all targets, and what to say about it.
func kindOf(targets []*target, asked data.Kind) (kind data.Kind, note string, err error) {
	var first *target
	for _, t := range targets {
		k, err := t.kind(asked)
		switch {
		case err != nil:
			return "", "", err
		case k == "":
			continue
		case first == nil:
			first, kind = t, k
		case k != kind:
			return "", "", fmt.Errorf("columns %q and %q: %w: one is %s (%s), the other %s (%s); fit them separately, or say the kind of both", first.Name, t.Name, data.ErrInvalid, kind, first.contents(), k, t.contents())
		}
	}
	if kind == "" {
		kind = cmp.Or(asked, data.Classification)
	}
	if asked == "" && kind == data.Regression && first.whole {
		note = fmt.Sprintf("target %q: %s, taken for %s; say --kind %s if they are classes", first.Name, first.contents(), kind, data.Classification)
	}
	return kind, note, nil
}

func (t *target) contents() string {
	n := len(t.different)
	switch {
	case n >= mostValues:
		return fmt.Sprintf("%d different values or more", n)
	case t.wordAt == nil && t.whole:
		return fmt.Sprintf("%d different whole numbers", n)
	case t.wordAt == nil:
		return fmt.Sprintf("%d different numbers", n)
	}
	return fmt.Sprintf("%d different values", n)
}

// task is a task and its rows.
type task struct {
	name    string
	target  *target
	rows    []int
	classes []format.Label // those of the rows
	of      []int32        // their number for every row
}

// mostClasses bounds the classes of a problem.
const mostClasses = 1000

// several finds the classes of the tasks, and returns those of all together if one of
// them has more than two, else nil.
func several(tasks []*task) ([]format.Label, error) {
	var all []format.Label
	most := 0
	for _, t := range tasks {
		t.classes, t.of = t.target.Classes(t.rows)
		all, most = append(all, t.classes...), max(most, len(t.classes))
	}
	slices.SortFunc(all, format.Label.Compare)
	if all = slices.Compact(all); most <= 2 {
		return nil, nil
	}
	if len(all) > mostClasses {
		return nil, fmt.Errorf("target %q: %w: it has %d classes, from %q to %q; there can be %d, and regression takes numbers", tasks[0].target.Name, data.ErrInvalid, len(all), all[0], all[len(all)-1], mostClasses)
	}
	return all, nil
}

// learned makes a task of the labels, or says why they cannot be learned. Its y has
// the number of the class if there are several.
func (t *task) learned(kind data.Kind, positive string, several []format.Label) (*data.Task, []float64, error) {
	made := &data.Task{Name: t.name, Kind: kind}
	fault := func(format string, args ...any) error {
		return fmt.Errorf("task %q: %w: "+format, append([]any{t.name, data.ErrInvalid}, args...)...)
	}
	switch n := len(t.rows); {
	case n == 0:
		return nil, nil, fault("no row is labelled")
	case n == 1:
		return nil, nil, fault("it has a single labelled row; it needs two at least")
	}
	y := make([]float64, len(t.rows))
	if kind == data.Regression {
		for j, i := range t.rows {
			y[j] = t.target.Numbers[i]
		}
		if slices.Min(y) == slices.Max(y) {
			return nil, nil, fault("all %d targets are %v; they must differ", len(y), y[0])
		}
		return made, y, nil
	}
	if len(t.classes) == 1 {
		return nil, nil, fault("all its %d rows are %q; it needs rows of two classes", len(t.rows), t.classes[0])
	}
	number := make([]float64, len(t.classes))
	if several != nil {
		for k, c := range t.classes {
			number[k] = float64(slices.Index(several, c))
		}
	} else {
		pair := slices.SortedFunc(maps.Keys(t.target.different), format.Label.Compare)
		if len(pair) != 2 { // tasks may have pairs of their own
			pair = slices.Clone(t.classes)
		}
		if positive == pair[0].String() {
			slices.Reverse(pair)
		}
		made.Negative, made.Positive = pair[0].String(), pair[1].String()
		if positive != "" && positive != made.Positive {
			return nil, nil, fault("its classes are %q and %q; %q cannot be the positive one", made.Negative, made.Positive, positive)
		}
		for k, c := range t.classes {
			number[k] = -1
			if c == pair[1] {
				number[k] = 1
			}
		}
	}
	for j, k := range t.of {
		y[j] = number[k]
	}
	return made, y, nil
}
