package format

import (
	"fmt"
	"l2mt/data"
	"slices"
	"strconv"
	"strings"
)

// dataset makes a dataset of all rows, and closes them. Every column is a feature except
// the label, the group, and ignored columns.
func (r *Rows) dataset(o Options) (*data.Dataset, error) {
	defer r.Close()
	names := r.Names
	t := new(table)
	if names == nil {
		names = Numbered(r.Width)
	}
	features, err := t.columns(names, o)
	if err != nil {
		return nil, r.Fault(1, err)
	}
	t.lines, err = r.Read(append(features, &t.label, &t.group))
	if err != nil {
		return nil, err
	}
	n := len(t.lines)
	d := len(features)
	value := make([]float32, n*d)
	for j, c := range features {
		for i, line := range t.lines {
			if value[i*d+j], err = c.feature(i); err != nil {
				return nil, r.Fault(line, fmt.Errorf("column %q: %w", c.Name, err))
			}
		}
		if r.Names != nil {
			t.features = append(t.features, c.Name)
		}
		*c = Column{} // its memory
	}
	if t.x, err = data.NewDense(n, d, value); err != nil {
		return nil, r.located(err)
	}
	return t.dataset(r.name, o)
}

// columns finds the label and the group among the columns of a table, and its features.
func (t *table) columns(names []string, o Options) (features []*Column, err error) {
	if len(names) < 2 {
		return nil, data.ErrInvalid.Errorf("it has %d columns; it needs features and a label", len(names))
	}
	taken := map[int]bool{}
	find := func(what, asked string, usual []string, otherwise int) (j int) {
		if j = findUsual(names, usual); j < 0 {
			j = otherwise
		}
		if asked != "" && err == nil {
			if j, err = FindColumn(names, asked); err != nil {
				err = fmt.Errorf("%s: %w", what, err)
			}
		}
		taken[j] = true
		return j
	}
	t.label.At = find("label", o.Label, labelNames, len(names)-1)
	t.group.At = find("group", o.Group, groupNames, -1)
	for _, asked := range o.Ignore {
		find("ignore", asked, nil, -1)
	}
	if err != nil {
		return nil, err
	}
	t.label.Name = names[t.label.At]
	if t.group.At >= 0 {
		t.group.Name = names[t.group.At]
	}
	for j, name := range names {
		if !taken[j] {
			features = append(features, &Column{Name: name, At: j})
		}
	}
	return features, nil
}

// Numbered are the names of columns without a header.
func Numbered(width int) []string {
	names := make([]string, width)
	for j := range names {
		names[j] = strconv.Itoa(j)
	}
	return names
}

// LabelColumn returns the column with a usual name of labels, or -1.
func LabelColumn(names []string) int { return findUsual(names, labelNames) }

func findUsual(names, usual []string) int {
	for _, u := range usual {
		match := func(name string) bool { return strings.EqualFold(name, u) }
		if j := slices.IndexFunc(names, match); j >= 0 {
			return j
		}
	}
	return -1
}

// FindColumn returns the column of a name, or else of a number.
func FindColumn(names []string, asked string) (int, error) {
	if j := slices.Index(names, asked); j >= 0 {
		if slices.Contains(names[j+1:], asked) {
			return 0, data.ErrInvalid.Errorf("two columns are called %q", asked)
		}
		return j, nil
	}
	if j, err := strconv.Atoi(asked); err == nil && j >= 0 && j < len(names) {
		return j, nil
	}
	if j := findUsual(names, []string{strings.TrimSpace(asked)}); j >= 0 {
		return 0, data.ErrInvalid.Errorf("there is no column %q; it is called %q", asked, names[j])
	}
	return 0, data.ErrInvalid.Errorf("there is no column %q; there are %s", asked, Abridge(names))
}

// Abridge lists a few names.
func Abridge(names []string) string {
	const listed = 5
	if len(names) <= listed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, ... (%d in all)", strings.Join(names[:listed], ", "), len(names))
}
