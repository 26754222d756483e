package format

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"l2mt/data"
)

// Labels become classes here, in the same way for every file format, so that
// the same data has the same fingerprint whichever file it came from.

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
	k := c.Text(i)
	if k >= 0 {
		return Label{Text: c.Texts[k]}
	}
	return Label{Number: c.Numbers[i]}
}

// String writes a number the shortest way, whole ones without an exponent.
func (l Label) String() string {
	switch {
	case l.Text != "":
		return l.Text
	case l.Number == math.Trunc(l.Number) &&
		math.Abs(l.Number) < maxClassNumber:
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
		rank[c.Label(i)] = 0
	}
	different = slices.SortedFunc(maps.Keys(rank), Label.Compare)
	for k, l := range different {
		rank[l] = int32(k)
	}
	index = make([]int32, len(rows))
	for j, i := range rows {
		index[j] = rank[c.Label(i)]
	}
	return different, index
}

// Named returns the class of every row and the classes: the names that rename has given, or the
// different labels in order.
func (c *Column) Named() (index []int32, names []string, err error) {
	rows := make([]int, c.Len())
	for i := range rows {
		rows[i] = i
	}
	different, index := c.Classes(rows)
	for k, l := range different {
		if math.Abs(l.Number) >= maxClassNumber {
			return nil, nil, data.Invalid("row %d: it is %v; class numbers must lie within ±2^53",
				slices.Index(index, int32(k)), l.Number)
		}
		names = append(names, l.String())
	}
	if c.order == nil {
		return index, names, nil
	}
	for i, k := range index {
		index[i] = int32(slices.Index(c.order, names[k]))
	}
	return index, c.order, nil
}

// rename gives classes their order and, where the rows hold numbers, the names of these.
func (c *Column) rename(names []string) error {
	if c == nil || names == nil {
		return nil
	}
	once := len(data.Distinct(names))
	if once < len(names) {
		return data.Invalid("there are %d names, but only %d different ones; every class needs a name of its own", len(names), once)
	}
	first := 1 // the number of the first name
	if slices.Contains(c.Numbers, 0) {
		first = 0
	}
	known := map[string]string{} // the names of labels
	for k, name := range names {
		label := name
		if c.Texts == nil {
			label = strconv.Itoa(first + k)
		}
		known[label] = name
	}
	odd := func(name string) bool { // as a number it would be spelt otherwise
		var c Column
		c.Add(name)
		return c.Label(0).String() != name
	}
	renamed := Column{
		Name:   c.Name,
		order:  names,
		AsText: slices.ContainsFunc(names, odd),
	}
	for i := range c.Len() {
		name, ok := known[c.Label(i).String()]
		if !ok {
			return data.Invalid("row %d: %q is neither one of the %d names, such as %q, nor the number of a name, %d..%d",
				i, c.Label(i), len(names), names[0], first, first+len(names)-1)
		}
		renamed.Add(name)
	}
	*c = renamed
	return nil
}
