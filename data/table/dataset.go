package table

import (
	"cmp"

	"l2mt/data"
	"l2mt/data/format"
)

// readDataset reads a file of a format that is not text, which has numbers only.
func (r *reader) readDataset(paths []string) error {
	if len(paths) > 1 || len(r.Validation)+len(r.Ignore)+len(r.Categorical)+len(r.NA) > 0 || r.Group != "" || r.MissingColumns != "" {
		return data.ErrInvalid.Errorf("%s: several files, files for validation, groups, and columns to ignore, of categories or missing go with CSV and TSV; of this format there is one file, in which groups are tasks", paths[0])
	}
	o := r.Format
	path := paths[0]
	if r.After != nil {
		return data.ErrInvalid.Errorf("%s: an older model (--after) goes with CSV and TSV, whose columns have names", path)
	}
	r.Kind = cmp.Or(r.Kind, o.Kind)
	o.Kind = r.Kind
	o.Group = cmp.Or(r.Task, o.Group)
	names := r.Targets
	if len(names) > 0 {
		o.Target = names[0]
	}
	d, err := format.Read(path, o)
	if err != nil {
		return err
	}
	r.Notes = append(r.Notes, d.Notes...)
	if d.Regression() { // else classes that are numbers may be targets
		r.Kind = data.Regression
	}
	numbers := Numbers(d.Features, d.X.Cols())
	r.Recipe.Columns = numbers.Columns
	r.Recipe.ByPosition = numbers.ByPosition
	if r.Recipe.ByPosition {
		r.note("features have no names: they are matched by position")
	}
	switch {
	case d.Groups != nil && len(names) > 1:
		return data.ErrInvalid.Errorf("%s: it has groups, which are tasks; then give one --target, not %d", path, len(names))
	case d.Groups != nil && names == nil && len(d.Targets) > 0:
		r.note("of the targets %s the first is learned; --target names another", format.Abridge(d.Targets))
	case names == nil:
		names = d.Targets
	}
	if d.Groups != nil {
		r.task = &format.Column{Name: "task", AsText: true}
		r.Recipe.Task = cmp.Or(o.Group, "task")
		for _, g := range d.Group {
			r.task.Add(d.Groups[g])
		}
	}
	r.sheets = []sheet{{path: path}}
	r.places = make([]place, d.X.Rows())
	r.x = d.X
	if len(names) < 2 {
		names = []string{"y"}
	}
	for i, name := range names { // each is a task
		if i > 0 {
			o.Target = name
			if d, err = format.Read(path, o); err != nil {
				return err
			}
		}
		t := r.target(&format.Column{Name: name})
		t.Numbers = append(t.Numbers, d.Target...)
		for _, k := range d.Label {
			t.Add(d.Classes[k])
		}
	}
	return nil
}

// target adds a target.
func (r *reader) target(c *format.Column) *target {
	t := &target{Column: c}
	r.targets = append(r.targets, t)
	r.Recipe.Targets = append(r.Recipe.Targets, c.Name)
	return t
}
