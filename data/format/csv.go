package format

import (
	"fmt"
	"l2mt/data"
	"slices"
	"strconv"
	"strings"
)

// Tables of comma- or tab-separated values have a row a line. Every column is a
// feature except the label's, the group's, and those to be ignored.

// table makes a table of all rows.
func (r *Rows) table(o Options) (*table, error) {
	if r.Width == 0 {
		return nil, r.located(fmt.Errorf("%w: it has no rows", data.ErrInvalid))
	}
	c, err := findColumns(r.Width, r.Names, o)
	if err != nil {
		return nil, r.Fault(1, err)
	}
	t, into := c.table()
	if t.lines, err = r.Read(into); err != nil {
		return nil, err
	}
	if len(t.lines) == 0 {
		return nil, r.located(fmt.Errorf("%w: it has no rows", data.ErrInvalid))
	}
	if err := c.finish(t, into); err != nil {
		return nil, r.located(err)
	}
	return t, nil
}

// columns says what the columns of a table hold.
type columns struct {
	names    []string
	bare     bool // without a header
	label    int
	group    int // -1 if there is none
	features []int
}

// findColumns applies the options to a table of so many columns.
func findColumns(width int, names []string, o Options) (*columns, error) {
	if width < 2 {
		return nil, fmt.Errorf("%w: it has %d column; it needs features and a label", data.ErrInvalid, width)
	}
	c := &columns{names: names, bare: names == nil}
	if c.bare {
		c.names = Numbered(width)
	}
	var err error
	if c.label, err = c.find(o.Label, labelNames, width-1); err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	if c.group, err = c.find(o.Group, groupNames, -1); err != nil {
		return nil, fmt.Errorf("group: %w", err)
	}
	other := []int{c.label, c.group}
	for _, column := range o.Ignore {
		j, err := FindColumn(c.names, column)
		if err != nil {
			return nil, fmt.Errorf("ignore: %w", err)
		}
		other = append(other, j)
	}
	for j := range width {
		if !slices.Contains(other, j) {
			c.features = append(c.features, j)
		}
	}
	return c, nil
}

// find returns the column asked for by name or number; if none is asked for,
// the first with one of the usual names, else otherwise.
func (c *columns) find(asked string, usual []string, otherwise int) (int, error) {
	if asked != "" {
		return FindColumn(c.names, asked)
	}
	if j := findUsual(c.names, usual); j >= 0 {
		return j, nil
	}
	return otherwise, nil
}

// table is one without rows, and the columns that are to be filled: of the features,
// and behind them of the label and the group.
func (c *columns) table() (*table, []*Column) {
	t := &table{labelOf: c.name(c.label)}
	var into []*Column
	for _, j := range c.features {
		into = append(into, &Column{At: j})
	}
	t.label.At, t.group.At = c.label, c.group
	if c.group >= 0 {
		t.groupOf = c.name(c.group)
	}
	return t, append(into, &t.label, &t.group)
}

// finish makes the features of a table whose columns are filled.
func (c *columns) finish(t *table, into []*Column) (err error) {
	n, d := t.label.Len(), len(c.features)
	value := make([]float32, n*d)
	for k, j := range c.features {
		for i := range n {
			if value[i*d+k], err = into[k].feature(i); err != nil {
				return t.fault(i, c.name(j), "", err)
			}
		}
		into[k] = nil // its memory
		if !c.bare {
			t.features = append(t.features, c.names[j])
		}
	}
	t.x, err = data.NewDense(n, d, value)
	return err
}

// name says which column j is.
func (c *columns) name(j int) string {
	if c.bare {
		return fmt.Sprintf("column %d", j)
	}
	return fmt.Sprintf("column %d (%s)", j, c.names[j])
}

// Numbered are the names of columns without a header.
func Numbered(width int) []string {
	names := make([]string, width)
	for j := range names {
		names[j] = strconv.Itoa(j)
	}
	return names
}

// LabelColumn returns the column that is called what labels usually are, or -1.
func LabelColumn(names []string) int { return findUsual(names, labelNames) }

func findUsual(names, usual []string) int {
	for _, u := range usual {
		if j := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, u) }); j >= 0 {
			return j
		}
	}
	return -1
}

// FindColumn returns the column of a name, or else of a number.
func FindColumn(names []string, asked string) (int, error) {
	if j := slices.Index(names, asked); j >= 0 {
		if slices.Contains(names[j+1:], asked) {
			return 0, fmt.Errorf("%w: two columns are called %q", data.ErrInvalid, asked)
		}
		return j, nil
	}
	if j, err := strconv.Atoi(asked); err == nil && j >= 0 && j < len(names) {
		return j, nil
	}
	if j := findUsual(names, []string{strings.TrimSpace(asked)}); j >= 0 {
		return 0, fmt.Errorf("%w: there is no column %q; it is called %q", data.ErrInvalid, asked, names[j])
	}
	return 0, fmt.Errorf("%w: there is no column %q; there are %s", data.ErrInvalid, asked, Abridge(names))
}

// Abridge lists a few names.
func Abridge(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, ... (%d in all)", strings.Join(names[:few], ", "), len(names))
}
