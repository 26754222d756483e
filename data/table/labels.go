package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"l2mt/data"
)

// labels are those of one task, row after row: numbers, or words, which are
// numbered in their target.
type labels struct {
	name   string
	target *target
	rows   []int
	number []float64 // NaN for a word
	word   []int32   // -1 for a number
}

// target is a column of labels, or those of the same name in several files. What
// it holds decides what kind its tasks are.
type target struct {
	name      string
	words     map[string]int32
	wordAt    string // where the first word is
	different map[float64]bool
	whole     bool
}

func newTarget(name string) *target {
	return &target{name: name, words: map[string]int32{}, different: map[float64]bool{}, whole: true}
}

// mostWhole is how many different numbers are counted.
const mostWhole = 1000

// add takes the label of a row from a cell that is not missing.
func (l *labels) add(row int, cell, at string) error {
	t := l.target
	v, err := strconv.ParseFloat(cell, 64)
	switch {
	case err == nil && (math.IsInf(v, 0) || math.IsNaN(v)):
		return fmt.Errorf("column %q, the target: %w: it is %s; it must be finite", t.name, data.ErrInvalid, cell)
	case err == nil:
		l.append(row, v, -1)
		t.whole = t.whole && v == math.Trunc(v)
		if len(t.different) < mostWhole {
			t.different[v] = true
		}
		return nil
	}
	if t.wordAt == "" {
		t.wordAt = fmt.Sprintf("%s: column %q: %q", at, t.name, cell)
	}
	w, ok := t.words[cell]
	if !ok {
		w = int32(len(t.words))
		t.words[strings.Clone(cell)] = w
	}
	l.append(row, math.NaN(), w)
	return nil
}

func (l *labels) append(row int, number float64, word int32) {
	l.rows, l.number, l.word = append(l.rows, row), append(l.number, number), append(l.word, word)
}

// kind says what the target is taken for, which is nothing if it has one value.
func (t *target) kind(asked data.Kind) (data.Kind, error) {
	numbers, words := len(t.different), len(t.words)
	switch {
	case asked == data.Regression && words > 0:
		return "", fmt.Errorf("%s: %w: it is not a number; regression needs numbers", t.wordAt, data.ErrFormat)
	case asked != "":
		return asked, nil
	case numbers > 0 && words > 0 && numbers+words > 2:
		return "", fmt.Errorf("%s: %w: it is a word among numbers; correct it, or say --kind %s", t.wordAt, data.ErrFormat, data.Classification)
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
			return "", "", fmt.Errorf("columns %q and %q: %w: one is %s (%s), the other %s (%s); fit them separately, or say the kind of both", first.name, t.name, data.ErrInvalid, kind, first.contents(), k, t.contents())
		}
	}
	if kind == "" {
		kind = cmp.Or(asked, data.Classification)
	}
	if asked == "" && kind == data.Regression && first.whole {
		note = fmt.Sprintf("target %q: %s, taken for %s; say --kind %s if they are classes", first.name, first.contents(), kind, data.Classification)
	}
	return kind, note, nil
}

func (t *target) contents() string {
	n := len(t.different) + len(t.words)
	switch {
	case n >= mostWhole:
		return fmt.Sprintf("%d different values or more", n)
	case len(t.words) == 0 && t.whole:
		return fmt.Sprintf("%d different whole numbers", n)
	case len(t.words) == 0:
		return fmt.Sprintf("%d different numbers", n)
	}
	return fmt.Sprintf("%d different values", n)
}

// class is a value that a target has.
type class struct {
	number float64
	word   string
}

// name writes a number the shortest way.
func (c class) name() string {
	if c.word != "" {
		return c.word
	}
	return strconv.FormatFloat(c.number, 'f', -1, 64)
}

// inOrder sorts numbers by value, and words behind them.
func inOrder(a, b class) int {
	return cmp.Or(strings.Compare(a.word, b.word), cmp.Compare(a.number, b.number))
}

// classes are the classes of the target's tasks together.
func (t *target) classes() []class {
	var all []class
	for v := range t.different {
		all = append(all, class{number: v})
	}
	for w := range t.words {
		all = append(all, class{word: w})
	}
	slices.SortFunc(all, inOrder)
	return all
}

// classes are those of the rows.
func (l *labels) classes() []class {
	words := make([]string, len(l.target.words))
	for w, i := range l.target.words {
		words[i] = w
	}
	of := make([]class, len(l.rows))
	for i, v := range l.number {
		if of[i].number = v; l.word[i] >= 0 {
			of[i] = class{word: words[l.word[i]]}
		}
	}
	return of
}

// different are the classes that there are, in order.
func different(of []class) []class {
	all := slices.Clone(of)
	slices.SortFunc(all, inOrder)
	return slices.Compact(all)
}

// mostClasses bounds the classes of a problem.
const mostClasses = 1000

// several are the classes of all tasks together if one of them has more than two,
// else nil.
func several(tasks []*labels) ([]class, error) {
	var all []class
	most := 0
	for _, l := range tasks {
		own := different(l.classes())
		all, most = append(all, own...), max(most, len(own))
	}
	if all = different(all); most <= 2 {
		return nil, nil
	}
	if len(all) > mostClasses {
		return nil, fmt.Errorf("target %q: %w: it has %d classes, from %q to %q; there can be %d, and regression takes numbers", tasks[0].target.name, data.ErrInvalid, len(all), all[0].name(), all[len(all)-1].name(), mostClasses)
	}
	return all, nil
}

// task makes a task of the labels, or says why they cannot be learned. Its y has
// the number of the class if there are several.
func (l *labels) task(kind data.Kind, positive string, several []class) (*data.Task, []float64, error) {
	t := &data.Task{Name: l.name, Kind: kind}
	fault := func(format string, args ...any) error {
		return fmt.Errorf("task %q: %w: "+format, append([]any{l.name, data.ErrInvalid}, args...)...)
	}
	switch n := len(l.rows); {
	case n == 0:
		return nil, nil, fault("no row is labelled")
	case n == 1:
		return nil, nil, fault("it has a single labelled row; it needs two at least")
	}
	if kind == data.Regression {
		if slices.Min(l.number) == slices.Max(l.number) {
			return nil, nil, fault("all %d targets are %v; they must differ", len(l.rows), l.number[0])
		}
		return t, l.number, nil
	}
	of := l.classes()
	if !slices.ContainsFunc(of, func(c class) bool { return c != of[0] }) {
		return nil, nil, fault("all its %d rows are %q; it needs rows of two classes", len(of), of[0].name())
	}
	y := make([]float64, len(of))
	if several != nil {
		for i, c := range of {
			at, _ := slices.BinarySearchFunc(several, c, inOrder)
			y[i] = float64(at)
		}
		return t, y, nil
	}
	all := l.target.classes()
	if len(all) != 2 { // tasks may have pairs of their own
		all = different(of)
	}
	if positive == all[0].name() {
		slices.Reverse(all)
	}
	t.Negative, t.Positive = all[0].name(), all[1].name()
	if positive != "" && positive != t.Positive {
		return nil, nil, fault("its classes are %q and %q; %q cannot be the positive one", t.Negative, t.Positive, positive)
	}
	for i, c := range of {
		y[i] = -1
		if c == all[1] {
			y[i] = 1
		}
	}
	return t, y, nil
}
