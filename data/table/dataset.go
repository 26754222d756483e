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
	if len(r.Targets) > 0 {
		o.Target = r.Targets[0]
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
		if !slices.Equal(d.Features, features) || d.X.Cols() != len(r.Recipe.Columns) {
			return fmt.Errorf("%s: %w: its features are not those of %s, in the same order", path, data.ErrMismatch, paths[0])
		}
		if d.Groups != nil && len(paths) > 1 {
			return fmt.Errorf("%s: %w: its rows have groups, which are tasks; there can be one such file", path, data.ErrInvalid)
		}
		r.dataRows(d)
		parts = append(parts, d.X)
		switch {
		case len(r.Targets) > 1 && (d.Groups != nil || len(paths) > 1):
			return fmt.Errorf("%s: %w: it has groups, or there are more files; then give one --target, not %d", path, data.ErrInvalid, len(r.Targets))
		case len(r.Targets) > 1:
			err = r.moreTargets(path, o, r.Targets)
		case len(r.Targets) == 1 || len(d.Targets) == 0 || i > 0:
		case d.Groups != nil || len(paths) > 1:
			r.note("of the targets %s the first is learned; --target names another", format.Abridge(d.Targets))
		default:
			err = r.moreTargets(path, o, d.Targets)
		}
		if err != nil {
			return err
		}
	}
	if r.Recipe.ByPosition {
		r.note("features have no names: they are matched by position")
	}
	r.perFile = r.task == nil && len(r.targets) == 1
	if r.task != nil {
		r.Recipe.Task = cmp.Or(o.Group, "task")
	}
	x, err := data.Stack(parts)
	r.x = x
	return err
}

// dataRows takes the labels and tasks of a dataset's rows.
func (r *reader) dataRows(d *data.Dataset) {
	if d.Groups != nil {
		r.task = &format.Column{Name: "task", AsText: true}
	}
	r.targets[0].take(d)
	for i := range d.X.Rows() {
		r.places = append(r.places, place{sheet: len(r.sheets)})
		if r.task != nil {
			r.task.Add(d.Groups[d.Group[i]])
		}
	}
	r.sheets = append(r.sheets, sheet{path: d.Name})
}

// take adds the labels of a dataset.
func (t *target) take(d *data.Dataset) {
	t.Numbers = append(t.Numbers, d.Target...)
	for _, k := range d.Label {
		t.Add(d.Classes[k])
	}
}

// target adds a target.
func (r *reader) target(c *format.Column) *target {
	t := &target{Column: c}
	r.targets, r.Recipe.Targets = append(r.targets, t), append(r.Recipe.Targets, c.Name)
	return t
}

// moreTargets reads the targets of a file of which the first has been read. Each is a
// task.
func (r *reader) moreTargets(path string, o format.Options, names []string) error {
	r.targets[0].Name, r.Recipe.Targets[0] = names[0], names[0]
	for _, name := range names[1:] {
		o.Target = name
		d, err := format.Read(path, o)
		if err != nil {
			return err
		}
		r.target(&format.Column{Name: name}).take(d)
	}
	return nil
}
