package format

import (
	"fmt"
	"l2mt/data"
	"slices"
)

// Join reads a dataset that is in several files, whose rows come one behind the other.
// They have the same features, and labels and groups of the same kind.
func Join(paths []string, o Options) (*data.Dataset, error) {
	if len(paths) == 0 {
		return nil, fmt.Errorf("format: %w: there are no files", data.ErrInvalid)
	}
	var all *table
	var parts []data.Matrix
	for i, path := range paths {
		t, err := parse(path, o)
		if err != nil {
			return nil, err
		}
		if err := t.check(o); err != nil { // which knows the lines
			return nil, fmt.Errorf("format: %s: %w", path, err)
		}
		if i == 0 {
			all = t
		} else if err := all.append(t); err != nil {
			return nil, fmt.Errorf("format: %s: %w: %w as %s has", path, data.ErrMismatch, err, paths[0])
		}
		parts = append(parts, t.x)
	}
	x, err := data.Stack(parts)
	if err != nil {
		return nil, fmt.Errorf("format: %w", err)
	}
	all.x = x
	return all.dataset(paths[0], o)
}

// append puts the labels and groups of another table behind those of t. The error
// says what it has not.
func (t *table) append(u *table) error {
	switch {
	case t.x.Cols() != u.x.Cols() || !slices.Equal(t.features, u.features):
		return fmt.Errorf("it has not the same features, in the same order,")
	case t.kind != u.kind || !slices.Equal(t.classes, u.classes) || (t.label.Texts == nil) != (u.label.Texts == nil):
		return fmt.Errorf("it has not such labels")
	case (t.group.Len() == 0) != (u.group.Len() == 0) || !slices.Equal(t.groups, u.groups) || (t.group.Texts == nil) != (u.group.Texts == nil):
		return fmt.Errorf("it has not such groups")
	case len(t.steps)+len(u.steps) > 0:
		return fmt.Errorf("one of the two has been through steps, which are not the same")
	}
	t.label.Append(&u.label)
	t.group.Append(&u.group)
	return nil
}
