package format

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"l2mt/data"
)

// Labels become classes here, in the same way for every file format, so that
// the same data has the same fingerprint whichever file it came from.

// maxFloatClasses bounds the different whole numbers stored as floating-point
// numbers that count as class labels: NumPy users keep class labels as floats,
// but scores and ages too.
const maxFloatClasses = 50

// maxClassNumber bounds class numbers: above it neighbouring whole numbers are
// one float64.
const maxClassNumber = 1 << 53

// Label is the cell that the rows of a class share: a text, or a number where this is empty.
type Label struct {
	Text   string
	Number float64
}

// Label returns the label of row i.
func (c *Column) Label(i int) Label {
	if k := c.Text(i); k >= 0 {
		return Label{Text: c.Texts[k]}
	}
	return Label{Number: c.Numbers[i]}
}

// String writes a number the shortest way, whole ones without an exponent.
func (l Label) String() string {
	switch {
	case l.Text != "":
		return l.Text
	case l.Number == math.Trunc(l.Number) && math.Abs(l.Number) < maxClassNumber:
		return strconv.FormatInt(int64(l.Number), 10)
	}
	return strconv.FormatFloat(l.Number, 'g', -1, 64)
}

// Compare orders numbers by value, and behind them texts alphabetically.
func (l Label) Compare(m Label) int {
	return cmp.Or(cmp.Compare(l.Text, m.Text),
		cmp.Compare(l.Number, m.Number))
}

// Classes returns the different labels of the given rows, in order, and each row's
// index among them.
func (c *Column) Classes(rows []int) (different []Label, index []int32) {
	rank := map[Label]int32{}
	for _, i := range rows {
		l := c.Label(i)
		if _, ok := rank[l]; !ok {
			rank[l] = 0
			different = append(different, l)
		}
	}
	slices.SortFunc(different, Label.Compare)
	for k, l := range different {
		rank[l] = int32(k)
	}
	index = make([]int32, len(rows))
	for j, i := range rows {
		index[j] = rank[c.Label(i)]
	}
	return different, index
}

// check finds the first label that is missing or not of the kind asked for.
func (c *Column) check(kind data.Kind) (row int, err error) {
	for i := range c.Len() {
		l := c.Label(i)
		k := c.Text(i)
		v := l.Number
		if k >= 0 && !c.AsText {
			v, _ = strconv.ParseFloat(l.Text, 64)
		}
		switch {
		case k >= 0 && l.Text == "":
			return i, data.Invalid("it is empty; every row needs one")
		case math.IsNaN(v) || math.IsInf(v, 0):
			return i, data.Invalid("it is %s; it must be finite", cmp.Or(l.Text, fmt.Sprint(v)))
		case k >= 0 && kind == data.Regression:
			return i, data.Malformed("%q is not a number; regression needs numbers", l.Text)
		case kind == "" && (k < 0) != (c.Text(0) < 0):
			return i, data.Malformed("%q is among numbers and words; all must be numbers, or all words, unless classification is asked for", l)
		}
	}
	return 0, nil
}

// kind decides between classes and targets when the user has not: words and
// named classes are classes, numbers with fractions are targets, whole numbers
// are classes, except more than maxFloatClasses of them stored as
// floating-point numbers.
func (c *Column) kind(names []string) data.Kind {
	if c.Texts != nil || names != nil {
		return data.Classification
	}
	different := map[float64]bool{}
	for _, x := range c.Numbers {
		if x != math.Trunc(x) {
			return data.Regression
		}
		if c.single {
			different[x] = true
		}
	}
	if len(different) > maxFloatClasses {
		return data.Regression
	}
	return data.Classification
}

// named returns the class of every row and the names of the classes. Names, if there
// are any, give the classes their order and, when the rows hold numbers, their names.
func (c *Column) named(names []string) ([]int32, []string, error) {
	rows := make([]int, c.Len())
	for i := range rows {
		rows[i] = i
	}
	different, index := c.Classes(rows)
	if names == nil {
		for k, l := range different {
			if math.Abs(l.Number) >= maxClassNumber {
				return nil, nil, data.Invalid("row %d: it is %v; class numbers must lie within ±2^53", slices.Index(index, int32(k)), l.Number)
			}
			names = append(names, l.String())
		}
		return index, names, nil
	}
	once := len(slices.Compact(slices.Sorted(slices.Values(names))))
	if once < len(names) {
		return nil, nil, data.Invalid("the %d names are only %d different ones", len(names), once)
	}
	first := 1 // the number of the first name
	if slices.Contains(different, Label{}) {
		first = 0
	}
	known := map[string]int32{} // the numbers of names, by their rows' labels
	for k, name := range names {
		if c.Texts == nil {
			name = strconv.Itoa(first + k)
		}
		known[name] = int32(k)
	}
	for i, k := range index {
		class, ok := known[different[k].String()]
		if !ok {
			return nil, nil, data.Invalid("row %d: %q is not one of the %d names, which begin with %q, nor a number of one, %d..%d",
				i, different[k], len(names), names[0], first, first+len(names)-1)
		}
		index[i] = class
	}
	return index, names, nil
}
