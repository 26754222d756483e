package table

import (
	"cmp"
	"slices"

	"l2mt/data"
	"l2mt/data/format"
)

// Dataset reads a dataset from a file of any format. A table's columns have the roles that
// Read gives them: features, but for the label, the group and columns to ignore. The Format says which
// they are. By default the label is called label, class, y or target, in any case, or is the
// last column; the group is called group or task.
func Dataset(path string, o Options) (*data.Dataset, error) {
	o.Format.Kind = o.Kind
	kind, err := format.Of(path, o.Format)
	if err != nil {
		return nil, err
	}
	if !kind.HasColumns() {
		return format.Read(path, o.Format)
	}
	if o.Format.ClassNames != "" {
		o.Kind = cmp.Or(o.Kind, data.Classification)
	}
	o.Task = o.Format.Group
	o.Steps = []string{None}
	if o.Format.Label != "" {
		o.Targets = []string{o.Format.Label}
	}
	r := newReader(o)
	r.flags = map[string]string{"target": "label", "task": "group"}
	read := func() error { return r.readText([]string{path}) }
	for _, step := range []func() error{read, r.values, r.expand, r.faulty} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if o.Format.Kind, err = r.kind(); err != nil {
		return nil, err
	}
	f := &format.Frame{X: r.x,
		Label: *r.targets[0].Column, Notes: r.Notes}
	if !r.Recipe.ByPosition {
		f.Features = r.Recipe.Features()
	}
	if r.task != nil {
		f.Group = *r.task
	}
	for _, p := range r.places {
		f.Lines = append(f.Lines, p.line)
	}
	return f.Dataset(path, o.Format)
}

// usual finds the label and the group of a Dataset by their usual names.
func (r *reader) usual(names []string) {
	label := format.LabelColumn(names)
	if r.Targets != nil {
		label, _ = format.FindColumn(names, r.Targets[0]) // where it is not found is said later
	} else if label < 0 {
		label = len(names) - 1
		r.Targets = names[label:]
	}
	if j := format.GroupColumn(names); r.Task == "" && j >= 0 &&
		j != label && !slices.Contains(r.Ignore, names[j]) {
		r.Task = names[j]
		r.task = r.owner(r.Task, true)
	}
}

// readDataset reads a file of a format that is not text, which has numbers only.
func (r *reader) readDataset(paths []string) error {
	lists := slices.Concat(r.Validation, r.Ignore, r.Categorical, r.NA, r.Group)
	if len(paths) > 1 || lists != nil || r.Time+r.Weight+r.MissingColumns != "" {
		return data.Invalid("%s: several files, files for validation, groups, times, weights, and columns to ignore, of categories or missing go with CSV and TSV; of this format there is one file, in which groups are tasks", paths[0])
	}
	o := r.Format
	path := paths[0]
	if r.After != nil {
		return data.Invalid("%s: an older model (--after) goes with CSV and TSV, whose columns have names", path)
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
		return data.Invalid("%s: it has groups, which are tasks; then give one --target, not %d", path, len(names))
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
