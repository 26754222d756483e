package format

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"l2mt/data"
)

// Column is a column of a table, which has a number or a text in every row.
type Column struct {
	Name string
	// At is the column's place in the table at hand, -1 if it has none.
	At int
	// AsText takes all cells for texts, numbers too.
	AsText bool
	// Joins takes the spellings of a name for the first of them. Joined says which.
	Joins  bool
	Joined []string
	// Numbers has the number of each row, NaN for a text. It is empty AsText.
	Numbers []float64
	// Texts are the different texts, in the order of their first rows.
	Texts []string

	index []int32          // in Texts, of each row up to the last text; -1 for a number
	known map[string]int32 // the numbers of Texts, and of their keys
	order []string         // of classes; nil if their labels have one
}

// Len is the number of rows.
func (c *Column) Len() int {
	return max(len(c.Numbers), len(c.index))
}

// addNumber adds the cell of one more row if it is a finite number, and reports that.
func (c *Column) addNumber(cell string) bool {
	if c.AsText {
		return false
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return false
	}
	c.Numbers = append(c.Numbers, v)
	return true
}

// Add adds the cell of one more row, which is a number if it is a finite one.
func (c *Column) Add(cell string) {
	if c.addNumber(cell) {
		return
	}
	k, ok := c.known[cell]
	if !ok {
		k = c.newText(strings.Clone(cell)) // without its row
	}
	c.index = append(pad(c.index, -1, len(c.Numbers)), k)
	if !c.AsText {
		c.Numbers = append(c.Numbers, math.NaN())
	}
}

// newText is the number of a cell in a new spelling.
func (c *Column) newText(cell string) int32 {
	if c.known == nil {
		c.known = map[string]int32{}
	}
	key := "\xff" + Key(cell) // as no text begins
	k, ok := c.known[key]
	if ok && c.Joins {
		c.Joined = append(c.Joined, cell)
	} else {
		k = int32(len(c.Texts))
		c.known[key] = k
		c.Texts = append(c.Texts, cell)
	}
	c.known[cell] = k
	return k
}

// Key is the same for all spellings of a name that differ in case, in how Unicode composes
// their accents, or in zeros behind the point of a whole number.
func Key(name string) string {
	whole, zeros, _ := strings.Cut(name, ".")
	_, err := strconv.Atoi(whole)
	if err == nil && strings.Trim(zeros, "0") == "" {
		name = whole
	}
	return strings.ToLower(norm.NFC.String(name))
}

// FindName is the index of a name or, if there is none, of another spelling of it, else -1.
func FindName(names []string, name string) int {
	i := slices.Index(names, name)
	if i >= 0 {
		return i
	}
	key := Key(name)
	return slices.IndexFunc(names, func(spelling string) bool {
		return Key(spelling) == key
	})
}

// Text returns the number among Texts of the text of a row, -1 if it has a number.
func (c *Column) Text(i int) int {
	if i >= len(c.index) {
		return -1
	}
	return int(c.index[i])
}

// Counts are the numbers of rows with each of the Texts.
func (c *Column) Counts() []int {
	counts := make([]int, len(c.Texts))
	for _, k := range c.index {
		if k >= 0 {
			counts[k]++
		}
	}
	return counts
}

// Pad adds rows up to n that lack the column: with NaN or, AsText, without a text.
func (c *Column) Pad(n int) {
	if c.AsText {
		c.index = pad(c.index, -1, n)
	} else {
		c.Numbers = pad(c.Numbers, math.NaN(), n)
	}
}

// pad lengthens rows to n.
func pad[T any](rows []T, fill T, n int) []T {
	return append(rows, slices.Repeat([]T{fill}, max(0, n-len(rows)))...)
}

// Keep keeps the given rows, which ascend.
func (c *Column) Keep(rows []int) {
	c.index = data.Picked(pad(c.index, -1, c.Len()), rows)
	if !c.AsText {
		c.Numbers = data.Picked(c.Numbers, rows)
	}
}
