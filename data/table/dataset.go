package table

import (
	"cmp"
	"fmt"
	"slices"

	"l2mt/data"
	"l2mt/data/format"
)

// readDatasets reads files of the formats that are not text, which have numbers
// only.
func (r *reader) readDatasets(paths []string) error {
	switch {
	case len(r.Validation) > 0 || r.Group != "":
		return fmt.Errorf("%w: validation files and columns of groups go with CSV and TSV files", data.ErrInvalid)
	case len(r.Ignore)+len(r.Categorical)+len(r.NA) > 0 || r.MissingColumns != "":
		return fmt.Errorf("%w: columns can be ignored, categorical or missing in CSV and TSV files only", data.ErrInvalid)
	}
	o := r.Format
	r.Kind = cmp.Or(r.Kind, o.Kind)
	o.Kind, o.Group = r.Kind, cmp.Or(r.Task, o.Group)
	names := r.Targets
	if len(names) > 0 {
		o.Target = names[0]
	}
	r.target(&format.Column{Name: "y"})
	var parts []data.Matrix
	var features []string
	for i, path := range paths {
		d, err := format.Read(path, o)
		if err != nil {
			return err
		}
		if i == 0 {
			numbers := Numbers(d.Features, d.X.Cols())
			features, r.Recipe.Columns, r.Recipe.ByPosition = d.Features, numbers.Columns, numbers.ByPosition
		}
		if d.Regression() { // else classes that are numbers may be targets
			r.Kind = data.Regression
		}
		lone := d.Groups == nil && len(paths) == 1
		switch {
		case !slices.Equal(d.Features, features) || d.X.Cols() != len(r.Recipe.Columns):
			return fmt.Errorf("%s: %w: its features are not those of %s, in the same order", path, data.ErrMismatch, paths[0])
		case d.Groups != nil && len(paths) > 1:
			return fmt.Errorf("%s: %w: its rows have groups, which are tasks; there can be one such file", path, data.ErrInvalid)
		case len(names) > 1 && !lone:
			return fmt.Errorf("%s: %w: it has groups, or there are more files; then give one --target, not %d", path, data.ErrInvalid, len(names))
		case names == nil && len(d.Targets) > 0 && lone:
			names = d.Targets
		case names == nil && len(d.Targets) > 0 && i == 0:
			r.note("of the targets %s the first is learned; --target names another", format.Abridge(d.Targets))
		}
		if d.Groups != nil {
			r.task, r.Recipe.Task = &format.Column{Name: "task", AsText: true}, cmp.Or(o.Group, "task")
		}
		for j := range d.X.Rows() {
			r.places = append(r.places, place{sheet: i})
			if r.task != nil {
				r.task.Add(d.Groups[d.Group[j]])
			}
		}
		r.sheets, parts = append(r.sheets, sheet{path: path}), append(parts, d.X)
		r.targets[0].take(d)
	}
	if len(names) > 1 { // each is a task
		r.targets[0].Name, r.Recipe.Targets[0] = names[0], names[0]
		for _, o.Target = range names[1:] {
			d, err := format.Read(paths[0], o)
			if err != nil {
				return err
			}
			r.target(&format.Column{Name: o.Target}).take(d)
		}
	}
	if r.Recipe.ByPosition {
		r.note("features have no names: they are matched by position")
	}
	r.perFile = r.task == nil && len(r.targets) == 1
	x, err := data.Stack(parts)
	r.x = x
	return err
}

// target adds a target.
func (r *reader) target(c *format.Column) *target {
	t := &target{Column: c}
	r.targets, r.Recipe.Targets = append(r.targets, t), append(r.Recipe.Targets, c.Name)
	return t
}

// take adds the labels of a dataset.
func (t *target) take(d *data.Dataset) {
	t.Numbers = append(t.Numbers, d.Target...)
	for _, k := range d.Label {
		t.Add(d.Classes[k])
	}
}
