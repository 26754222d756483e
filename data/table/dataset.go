package table

import (
	"cmp"
	"fmt"
	"slices"

	"l2mt/data"
	"l2mt/data/format"
)

// Dataset reads a dataset from a file of any format. A table's columns have the roles that
// Read gives them: features, but for the label, the group and columns to ignore. By default the
// label is called label, class, y or target, in any case, or is the last column; the group is called
// group or task.
func Dataset(path string, o Options) (*data.Dataset, error) {
	o.Steps = []string{None}
	r := newReader(o)
	r.flags = map[string]string{
		"target": "label",
		"task":   "group",
	}
	read := func() error {
		return r.read([]string{path})
	}
	for _, step := range []func() error{read, r.values, r.expand, r.faulty} {
		err := step()
		if err != nil {
			return nil, err
		}
	}
	d := &data.Dataset{Name: path}
	err := r.fill(d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// fill fills a dataset.
func (r *reader) fill(d *data.Dataset) error {
	label := r.targets[0].Column
	kind, err := r.kind()
	if r.frame != nil {
		d.Features = r.frame.Features
		d.Steps = r.frame.Steps
	} else {
		d.LabelOf = fmt.Sprintf("column %q", label.Name)
		if !r.Recipe.ByPosition {
			d.Features = r.Recipe.Features()
		}
	}
	d.X = r.x
	d.Notes = r.Notes
	if kind == data.Regression {
		d.Target = label.Numbers
	} else if err == nil {
		d.Label, d.Classes, err = label.Named()
	}
	if r.task != nil && err == nil {
		d.Group, d.Groups, err = r.task.Named()
	}
	return err
}

// usual finds the label and the group of a Dataset by their usual names.
func (r *reader) usual(names []string) {
	label := format.FindUsual(names, format.LabelNames)
	if r.Targets != nil {
		label, _ = format.FindColumn(names,
			r.Targets[0]) // where it is not found is said later
	} else if label < 0 {
		label = len(names) - 1
		r.Targets = names[label:]
	}
	j := format.FindUsual(names, format.GroupNames)
	if r.Task == "" && j >= 0 &&
		j != label && !slices.Contains(r.Ignore, names[j]) {
		r.Task = names[j]
		r.task = r.owner(r.Task, true)
	}
}

// readFrame reads a file of a format that is not text, which has numbers only.
func (r *reader) readFrame(paths []string) (err error) {
	lists := slices.Concat(r.Validation, r.Ignore,
		r.Categorical, r.NA, r.Group)
	path := paths[0]
	if len(paths) > 1 || lists != nil || r.After != nil ||
		r.Time+r.Weight+r.MissingColumns != "" {
		return data.Invalid("%s: of this format fit takes one file, whose groups are the tasks; more files, and --validation, --group, --time, --weight, --ignore, --categorical, --na, --missing-columns and --after, go with CSV, TSV and Parquet", path)
	}
	o := r.Format
	o.Group = r.Task
	f, err := format.Read(path, o)
	if err != nil {
		return err
	}
	r.frame = f
	r.x = f.X
	r.Kind = cmp.Or(r.Kind, f.Kind)
	r.Notes = append(r.Notes, f.Notes...)
	r.Recipe = Numbers(f.Features, f.X.Cols())
	if r.Recipe.ByPosition && r.flags == nil {
		r.note("features have no names: they are matched by position")
	}
	r.sheets = []sheet{{path: path}}
	for i := range f.X.Rows() {
		p := place{line: -i}
		if f.Lines != nil {
			p.line = f.Lines[i]
		}
		r.places = append(r.places, p)
	}
	r.task = f.Group
	if r.task != nil {
		r.columns = append(r.columns, r.task)
		r.task.Name = "task"
		r.Recipe.Task = cmp.Or(o.Group, "task")
	}
	if err := r.pick(f.Labels); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// pick takes the labels that are asked for, else all, but the first where groups are tasks.
func (r *reader) pick(labels []*format.Column) error {
	asked := r.Targets
	var names []string
	for _, c := range labels {
		names = append(names, c.Name)
	}
	switch {
	case r.task != nil && len(asked) > 1:
		return data.Invalid("it has groups, which are tasks; then give one --target, not %d", len(asked))
	case asked != nil:
	case r.flags != nil:
		asked = names[:1]
	case r.task != nil && len(names) > 1:
		r.note("of the targets %s the first is learned; --target names another", format.Abridge(names))
		asked = names[:1]
	default:
		asked = names
	}
	for _, name := range asked {
		j, err := format.FindColumn(names, name)
		if err != nil {
			return err
		}
		c := labels[j]
		if len(labels) == 1 {
			c.Name = "y"
		}
		r.target(c)
		r.columns = append(r.columns, c)
	}
	return nil
}

// target adds a target.
func (r *reader) target(c *format.Column) {
	r.targets = append(r.targets, &target{Column: c})
	r.Recipe.Targets = append(r.Recipe.Targets, c.Name)
}
