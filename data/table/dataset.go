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
	case len(r.Targets) > 1:
		return fmt.Errorf("%w: there are %d targets; of files that are not CSV or TSV one is taken", data.ErrInvalid, len(r.Targets))
	case len(r.Validation) > 0 || r.Group != "":
		return fmt.Errorf("%w: validation files and columns of groups go with CSV and TSV files", data.ErrInvalid)
	case len(r.Ignore)+len(r.Categorical) > 0 || r.Impute != "" || r.MissingColumns != "":
		return fmt.Errorf("%w: columns can be ignored, categorical or missing in CSV and TSV files only", data.ErrInvalid)
	}
	o := r.Format
	r.Kind = cmp.Or(r.Kind, o.Kind)
	o.Kind, o.Group = r.Kind, cmp.Or(r.Task, o.Group)
	if len(r.Targets) > 0 {
		o.Target = r.Targets[0]
	}
	t := &target{Column: &format.Column{Name: "y"}}
	r.targets, r.Recipe.Targets = []*target{t}, []string{t.Name}
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
	}
	if r.Recipe.ByPosition {
		r.note("features have no names: they are matched by position")
	}
	if r.perFile = r.task == nil; !r.perFile {
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
	y := r.targets[0].Column
	for i := range d.X.Rows() {
		r.places = append(r.places, place{sheet: len(r.sheets)})
		if d.Regression() {
			y.Numbers = append(y.Numbers, d.Target[i])
		} else {
			y.Add(d.Classes[d.Label[i]])
		}
		if r.task != nil {
			r.task.Add(d.Groups[d.Group[i]])
		}
	}
	r.sheets = append(r.sheets, sheet{path: d.Name})
}
