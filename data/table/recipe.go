package table

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"l2mt/data"
	"l2mt/data/format"
	"l2mt/data/view"
)

// Recipe says how features are made of the rows of a table. It is the same after
// a round trip through JSON.
type Recipe struct {
	// Columns make the features.
	Columns []Column `json:"columns"`
	// ByPosition says that the table had no header, so that columns are known by
	// their numbers, from 0.
	ByPosition bool `json:"by_position,omitempty"`
	// Task is the column that names the task of a row, if one does.
	Task string `json:"task,omitempty"`
	// Time is the column by which folds held out what came later, and Group are the columns of
	// what they held out together; empty if none were asked for.
	Time  string   `json:"time,omitempty"`
	Group []string `json:"group,omitempty"`
	// Weight is the column of how much a row counts; empty where all count the same.
	Weight string `json:"weight,omitempty"`
	// Targets are the columns of the labels.
	Targets []string `json:"targets,omitempty"`
	// NA are the cells that say that there is no value; nil are the usual ones.
	NA []string `json:"na,omitzero"`
	// Strict says that values may not be missing.
	Strict bool `json:"strict,omitempty"`
	// Steps are applied to the features, in this order.
	Steps view.Steps `json:"steps,omitempty"`
}

// Column is a column that one or several features are made of.
type Column struct {
	Name string `json:"name"`
	// Levels are the values of a category. Each is a feature, which is 1 in the
	// rows that have the level and else 0. A column of numbers has none.
	Levels []string `json:"levels,omitempty"`
	// Date is how dates are written, as package time has it. Levels are then their parts:
	// day, year, hour, and days of the week.
	Date string `json:"date,omitempty"`
	// Mean is what stands for a missing value, and for a column that a table lacks: the
	// means of the features. Without it values may not be missing.
	Mean []float64 `json:"mean,omitempty"`
	// Offset is subtracted from the features in double precision, before they are narrowed to
	// single precision: the mean of features far from zero. Without it none has any.
	Offset []float64 `json:"offset,omitempty"`
	// Gaps says that the tables fitted had missing values: one more feature is 1 there.
	Gaps bool `json:"gaps,omitempty"`
}

// parts is how many features the column makes of a value.
func (c *Column) parts() int {
	return max(1, len(c.Levels))
}

// width is how many features the column makes.
func (c *Column) width() int {
	if c.Gaps {
		return c.parts() + 1
	}
	return c.parts()
}

// values are the features of a text, or nil where it is no level or date.
func (c *Column) values(text string) []float64 {
	parts := dateParts(c.Date, text)
	k := format.FindName(c.Levels, text)
	if c.Date == "" && k >= 0 {
		parts = map[string]float64{c.Levels[k]: 1}
	}
	var value []float64
	for _, level := range c.Levels {
		if parts != nil {
			value = append(value, parts[level])
		}
	}
	return value
}

// narrow adds values, less their offsets, in single precision.
func (c *Column) narrow(narrow []float32, values ...float64) []float32 {
	for k, v := range values {
		if c.Offset != nil {
			v -= c.Offset[k]
		}
		narrow = append(narrow, float32(v))
	}
	return narrow
}

// Numbers is the recipe of columns that are features as they are, known by their names if
// these tell them apart.
func Numbers(names []string, width int) Recipe {
	r := Recipe{ByPosition: len(data.Distinct(names)) < width}
	if r.ByPosition {
		names = format.Numbered(width)
	}
	for _, name := range names {
		r.Columns = append(r.Columns, Column{Name: name})
	}
	return r
}

// Features names the features before the steps: "age", "city=Rome".
func (r *Recipe) Features() []string {
	var names []string
	for _, c := range r.Columns {
		if len(c.Levels) == 0 {
			names = append(names, c.Name)
		}
		for _, level := range c.Levels {
			names = append(names, c.Name+"="+level)
		}
		if c.Gaps {
			names = append(names, c.Name+" is missing")
		}
	}
	return names
}

// Offsets are what the features, before the steps, are less than in a table.
func (r *Recipe) Offsets() (offsets []float64) {
	for _, c := range r.Columns {
		gap := make([]float64, c.width())
		copy(gap, c.Offset)
		offsets = append(offsets, gap...)
	}
	return offsets
}

// Made names the features after the steps.
func (r *Recipe) Made() []string {
	return r.Steps.Names(r.Features())
}

// Width is the number of features before the steps.
func (r *Recipe) Width() int {
	return len(r.Features())
}

// Validate tells why a recipe, as a file has it, makes no features.
func (r *Recipe) Validate() error {
	width := r.Width()
	if len(r.Columns) == 0 {
		return data.Invalid("there must be columns to make features of")
	}
	for _, c := range r.Columns {
		for _, values := range [][]float64{c.Mean, c.Offset} {
			if values != nil && len(values) != c.parts() {
				return data.Invalid("column %q: %d means or offsets; it makes %d features",
					c.Name, len(values), c.parts())
			}
			for _, v := range values {
				if !(math.Abs(v) <= math.MaxFloat32/2) {
					return data.Invalid("column %q: a mean or an offset is %v; it must fit a float32", c.Name, v)
				}
			}
		}
	}
	cols := width
	for i, s := range r.Steps {
		err := s.Validate(cols)
		if err != nil {
			return err
		}
		if s.Low != nil && (cols != width || i != len(r.Steps)-1) {
			return data.Invalid("step %q: it must be the last one, of columns as they are", s.Kind)
		}
		cols = s.Makes()
	}
	return nil
}

// Bind finds the recipe's columns in a table with the given names, which are numbers where it is
// bare, without a header: where each is, -1 for none. Other columns are passed over. A column that
// the table lacks is an error unless absent is set.
func (r *Recipe) Bind(names []string, bare, absent bool) (places []int, err error) {
	var ours, missing []string
	for _, c := range r.Columns {
		ours = append(ours, c.Name)
	}
	switch {
	case bare && !r.ByPosition:
		return nil, data.Mismatch("it has no header; the columns %s are known by name",
			format.Abridge(ours))
	case r.ByPosition && !bare:
		return nil, data.Mismatch("it has a header, which begins with %q; the columns are known by their numbers, as the tables fitted had no header", names[0])
	}
	for _, name := range ours {
		j := slices.Index(names, name)
		if j < 0 {
			missing = append(missing, name)
		} else if slices.Contains(names[j+1:], name) {
			return nil, data.Invalid("two columns are called %q", name)
		}
		places = append(places, j)
	}
	if len(missing) > 0 && !absent {
		return nil, data.Mismatch("there is no column %s; there are %s (--missing-columns mean fills it in)",
			format.Abridge(missing), format.Abridge(names))
	}
	return places, nil
}

// ColumnsAt returns the columns of a table that features are made of, without rows. They
// are where Bind has found them.
func (r *Recipe) ColumnsAt(places []int) []*format.Column {
	var columns []*format.Column
	for i, c := range r.Columns {
		columns = append(columns,
			&format.Column{
				Name:   c.Name,
				At:     places[i],
				AsText: c.Levels != nil,
			})
	}
	return columns
}

// Make returns the features, before the steps and less their Offsets, of n rows of the columns, and
// the faults of columns. Notes count the rows with something new: they have none of a category's
// levels, or the mean.
func (r *Recipe) Make(columns []*format.Column,
	n int, notes map[string]int) (value []float32, faults []Fault) {
	d := r.Width()
	start := 0
	value = make([]float32, n*d)
	for i := range r.Columns {
		c := &r.Columns[i]
		columns[i].Pad(n)
		rest := value[min(start, len(value)):]
		problem := r.features(c, rest, d, columns[i], notes)
		if problem.rows > 0 {
			faults = append(faults, problem)
		}
		start += c.width()
	}
	return value, faults
}

// features writes the features that come of a column, d to a row, over zeros.
func (r *Recipe) features(c *Column, value []float32,
	d int, from *format.Column, notes map[string]int) (problem Fault) {
	values := make([][]float32, len(from.Texts))
	missing := make([]bool, len(from.Texts))
	for t, text := range from.Texts {
		values[t] = c.narrow(nil, c.values(text)...)
		missing[t] = r.IsMissing(text)
	}
	mean := c.narrow(nil, c.Mean...)
	for i := range from.Len() {
		part := value[i*d:][:c.width()]
		t := from.Text(i)
		switch {
		case t < 0 &&
			(from.AsText ||
				math.IsNaN(from.Numbers[i])): // of a file without the column
			copy(part, mean)
		case t < 0:
			if c.narrow(part[:0],
				from.Numbers[i]); math.IsInf(float64(part[0]), 0) {
				problem.add(i, numberError(c.Name, from.Label(i).String()))
			}
		case missing[t] && (r.Strict || c.Mean == nil):
			problem.add(i,
				data.Invalid("column %q: the value is missing (%q); fill it in, or fit without --strict or without the column (--ignore)",
					c.Name, from.Texts[t]))
		case missing[t]:
			if copy(part, mean); c.Gaps {
				part[c.parts()] = 1
			} else {
				notes[fmt.Sprintf("rows have no value in column %q, where the tables fitted had one in every row; they have the mean", c.Name)]++
			}
		case c.Levels == nil:
			problem.add(i, numberError(c.Name, from.Texts[t]))
		case values[t] != nil:
			copy(part, values[t])
		case c.Date != "":
			problem.add(i,
				data.Malformed("column %q: %q is not a date such as %s; write it so",
					c.Name, from.Texts[t], c.Date))
		default:
			notes[fmt.Sprintf("rows with the level %q in column %q, which the model has not seen (it adds nothing)",
				from.Texts[t], c.Name)]++
		}
	}
	return problem
}

// IsMissing reports whether a cell says that there is no value.
func (r *Recipe) IsMissing(cell string) bool {
	if r.NA != nil {
		return cell == "" || format.FindName(r.NA, cell) >= 0
	}
	switch strings.ToLower(cell) {
	case "", "na", "n/a", "#n/a", "nan", "null", "none", "?":
		return true
	}
	return false
}

// numberError says why the cell of a column of numbers is none.
func numberError(column, cell string) error {
	v, _ := strconv.ParseFloat(cell, 64)
	if math.Abs(v) > math.MaxFloat32 {
		return data.Invalid("column %q: it is %s; numbers must be finite and fit a float32", column, cell)
	}
	return data.Malformed("column %q: %q is not a number; correct it, say --na if it means that there is none, or fit with the column as --categorical or without it (--ignore)", column, cell)
}

// match returns the column of a name or number or, if they may be several, the columns that a
// pattern matches.
func match(names []string, asked string, several bool) (found []int, err error) {
	j, err := format.FindColumn(names, asked)
	if err == nil {
		return []int{j}, nil
	}
	for j, name := range names {
		ok, _ := filepath.Match(asked, name)
		if ok && several {
			found = append(found, j)
		}
	}
	if found != nil {
		err = nil
	}
	return found, err
}
