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
)

// Recipe says how features are made of the rows of a table. It is the same after
// a round trip through JSON.
type Recipe struct {
	// Columns are what the features are made of.
	Columns []Column `json:"columns"`
	// ByPosition says that the table had no header, so that columns are known by
	// their numbers, from 0.
	ByPosition bool `json:"by_position,omitempty"`
	// Sparse says that the features are stored as CSR.
	Sparse bool `json:"sparse,omitempty"`
	// Task is the column that names the task of a row, if one does.
	Task string `json:"task,omitempty"`
	// Targets are the columns of the labels.
	Targets []string `json:"targets,omitempty"`
	// Steps are applied to the features, in this order.
	Steps []data.Step `json:"steps,omitempty"`
}

// Column is a column that one or several features are made of.
type Column struct {
	Name string `json:"name"`
	// Levels are the values of a category. Each is a feature, which is 1 in the
	// rows that have the level and else 0. A column of numbers has none.
	Levels []string `json:"levels,omitempty"`
	// Mean is what stands for a missing value: a number, or one for every level.
	// Without it values may not be missing.
	Mean []float32 `json:"mean,omitempty"`
	// Absent is what stands for numbers of a table that lacks the column: their mean or,
	// where they are zeros and ones, zero.
	Absent float32 `json:"absent,omitempty"`
}

// width is how many features the column makes.
func (c *Column) width() int { return max(1, len(c.Levels)) }

// Numbers is the recipe of columns that are features as they are, known by their names if
// these tell them apart.
func Numbers(names []string, width int) Recipe {
	different := slices.Compact(slices.Sorted(slices.Values(names)))
	r := Recipe{ByPosition: len(different) < width}
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
		if c.Levels == nil {
			names = append(names, c.Name)
		}
		for _, level := range c.Levels {
			names = append(names, c.Name+"="+level)
		}
	}
	return names
}

// Made names the features after the steps.
func (r *Recipe) Made() []string {
	names := r.Features()
	for _, s := range r.Steps {
		names = s.Names(names)
	}
	return names
}

// Width is the number of features before the steps.
func (r *Recipe) Width() int {
	d := 0
	for i := range r.Columns {
		d += r.Columns[i].width()
	}
	return d
}

// Validate checks a recipe that comes from a file.
func (r *Recipe) Validate() error {
	if len(r.Columns) == 0 {
		return fmt.Errorf("recipe: %w: it has no columns", data.ErrInvalid)
	}
	names := map[string]bool{}
	for i := range r.Columns {
		c := &r.Columns[i]
		if names[c.Name] {
			return fmt.Errorf("recipe: %w: two columns are called %q", data.ErrInvalid, c.Name)
		}
		names[c.Name] = true
		if c.Mean != nil && len(c.Mean) != c.width() {
			return fmt.Errorf("recipe: column %q: %w: %d means for %d features", c.Name, data.ErrInvalid, len(c.Mean), c.width())
		}
	}
	d := r.Width()
	for _, s := range r.Steps {
		if err := s.Validate(); err != nil {
			return fmt.Errorf("recipe: %w", err)
		}
		if s.Cols != d || s.Kind == data.StepSelect {
			return fmt.Errorf("recipe: step %q: %w: it is for %d columns and must keep them all; there are %d", s.Kind, data.ErrInvalid, s.Cols, d)
		}
		d = s.Makes()
	}
	return nil
}

// Binding makes features of the rows of one table. It may be used by several
// goroutines.
type Binding struct {
	recipe *Recipe
	from   []int // the column of the table that each of the recipe is in, -1 for none
}

// Bind finds the recipe's columns in a table with the given names (nil without a
// header) and number of columns. Other columns are passed over. A column that
// the table lacks is an error unless absent is set.
func (r *Recipe) Bind(names []string, width int, absent bool) (*Binding, error) {
	switch {
	case names == nil && !r.ByPosition:
		return nil, fmt.Errorf("%w: it has no header; the columns %s are known by name", data.ErrMismatch, format.Abridge(r.names()))
	case names == nil:
		names = format.Numbered(width)
	case r.ByPosition:
		return nil, fmt.Errorf("%w: it has a header, which begins with %q; the columns are known by their numbers, as the tables fitted had no header", data.ErrMismatch, names[0])
	}
	b := &Binding{recipe: r}
	var missing []string
	for _, c := range r.Columns {
		j := slices.Index(names, c.Name)
		if j < 0 {
			missing = append(missing, c.Name)
		} else if slices.Contains(names[j+1:], c.Name) {
			return nil, fmt.Errorf("%w: two columns are called %q", data.ErrInvalid, c.Name)
		}
		b.from = append(b.from, j)
	}
	if len(missing) > 0 && !absent {
		return nil, fmt.Errorf("%w: there is no column %s; there are %s (--missing-columns mean fills it in)", data.ErrMismatch, format.Abridge(missing), format.Abridge(names))
	}
	return b, nil
}

func (r *Recipe) names() []string {
	names := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = c.Name
	}
	return names
}

// Unseen counts the levels of categories that the recipe does not know.
type Unseen map[UnseenLevel]int

// UnseenLevel is a level that a recipe does not know. Its rows have none of
// the levels.
type UnseenLevel struct{ Column, Level string }

// Columns are those of the table that features are made of.
func (b *Binding) Columns() []*format.Column {
	var columns []*format.Column
	for i, c := range b.recipe.Columns {
		columns = append(columns, &format.Column{Name: c.Name, At: b.from[i], AsText: c.Levels != nil})
	}
	return columns
}

// Features returns the features, before the steps, of n rows that have been read into
// Columns. An error is one of the row.
func (b *Binding) Features(columns []*format.Column, n int, unseen Unseen) (value []float32, row int, err error) {
	d, at := b.recipe.Width(), 0
	value = make([]float32, n*d)
	for i := range b.recipe.Columns {
		c := &b.recipe.Columns[i]
		if b.from[i] < 0 && c.Levels == nil {
			columns[i].Pad(n)
		}
		if row, _, err = c.features(value[at:], d, columns[i], unseen); err != nil {
			return nil, row, err
		}
		at += c.width()
	}
	return value, 0, nil
}

// features writes the features that come of a column, d to a row, over zeros. It
// returns the row that has an error, and how many gaps were filled.
func (c *Column) features(value []float32, d int, from *format.Column, unseen Unseen) (row, gaps int, err error) {
	level := make([]int, len(from.Texts)) // of each text
	for t, text := range from.Texts {
		level[t] = slices.Index(c.Levels, text)
	}
	for i := range from.Len() {
		part := value[i*d:][:c.width()]
		t := from.Text(i)
		switch {
		case t < 0 && from.AsText: // of a file without the column
		case t < 0 && math.IsNaN(from.Numbers[i]): // likewise
			part[0] = c.Absent
		case t < 0:
			if part[0] = float32(from.Numbers[i]); math.IsInf(float64(part[0]), 0) {
				return i, 0, numberError(c.Name, from.Label(i).String())
			}
		case isMissing(from.Texts[t]) && c.Mean == nil:
			return i, 0, missingError(c.Name, from.Texts[t])
		case isMissing(from.Texts[t]):
			copy(part, c.Mean)
			gaps++
		case c.Levels == nil:
			return i, 0, numberError(c.Name, from.Texts[t])
		case level[t] >= 0:
			part[level[t]] = 1
		default:
			unseen[UnseenLevel{c.Name, from.Texts[t]}]++
		}
	}
	return 0, gaps, nil
}

// IsMissing reports whether a cell says that there is no value.
func (r *Recipe) IsMissing(cell string) bool { return isMissing(cell) }

// isMissing reports whether a cell says that there is no value.
func isMissing(cell string) bool {
	if len(cell) > 4 || cell != "" && cell[0] <= '9' && cell[0] != '#' {
		return false
	}
	switch strings.ToLower(cell) {
	case "", "na", "n/a", "#n/a", "nan", "null", "none", "?":
		return true
	}
	return false
}

func missingError(column, cell string) error {
	return fmt.Errorf("column %q: %w: the value is missing (%q); fill it in, or fit with --impute mean or without the column (--ignore)", column, data.ErrInvalid, cell)
}

// numberError says why the cell of a column of numbers is none.
func numberError(column, cell string) error {
	if v, _ := strconv.ParseFloat(cell, 64); math.Abs(v) > math.MaxFloat32 {
		return fmt.Errorf("column %q: %w: it is %s; numbers must be finite and fit a float32", column, data.ErrInvalid, cell)
	}
	return fmt.Errorf("column %q: %w: %q is not a number; correct it, or fit with the column as --categorical or without it (--ignore)", column, data.ErrFormat, cell)
}

// match returns the columns that names, numbers or patterns ask for, in order.
func match(names, asked []string) ([]int, error) {
	var found []int
	for _, a := range asked {
		j, err := format.FindColumn(names, a)
		if err == nil {
			found = append(found, j)
			continue
		}
		before := len(found)
		for j, name := range names {
			if ok, _ := filepath.Match(a, name); ok {
				found = append(found, j)
			}
		}
		if len(found) == before {
			return nil, err
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
