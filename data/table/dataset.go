package table

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

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
	o.Kind, o.Group = cmp.Or(r.Kind, o.Kind), cmp.Or(r.Task, o.Group)
	if len(r.Targets) > 0 {
		o.Target = r.Targets[0]
	}
	t := newTarget("y")
	r.byName, r.targets[t.name] = map[string]*labels{}, t
	r.Recipe.Targets = []string{t.name}
	var parts []data.Matrix
	var features []string
	for i, path := range paths {
		d, err := r.dataset(path, o)
		if err != nil {
			return err
		}
		if i == 0 {
			numbers := Numbers(d.Features, d.X.Cols())
			features, r.Recipe.Columns, r.Recipe.ByPosition = d.Features, numbers.Columns, numbers.ByPosition
			o.Kind = data.Classification
			if d.Regression() {
				o.Kind = data.Regression
			}
		}
		if !slices.Equal(d.Features, features) || d.X.Cols() != len(r.Recipe.Columns) {
			return fmt.Errorf("%s: %w: its features are not those of %s, in the same order", path, data.ErrMismatch, paths[0])
		}
		if err := r.dataRows(d, t, len(paths) > 1); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		parts = append(parts, d.X)
	}
	if r.Recipe.ByPosition {
		r.note("features have no names: they are matched by position")
	}
	r.Kind = o.Kind
	if r.grouped {
		r.Recipe.Task = cmp.Or(o.Group, "task")
	}
	x, err := data.Stack(parts)
	r.x = x
	return err
}

// dataset reads one file, in which more than two numbers are a regression.
func (r *reader) dataset(path string, o format.Options) (*data.Dataset, error) {
	d, err := format.Read(path, o)
	if err != nil || o.Kind != "" || len(d.Classes) <= 2 || !slices.ContainsFunc(d.Classes, isNumber) {
		return d, err
	}
	r.note("the target has %d different numbers, taken for %s; say --kind %s if they are classes", len(d.Classes), data.Regression, data.Classification)
	o.Kind = data.Regression
	return format.Read(path, o)
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// dataRows takes the labels of a dataset's rows.
func (r *reader) dataRows(d *data.Dataset, t *target, perFile bool) error {
	if d.Groups != nil && perFile {
		return fmt.Errorf("%w: its rows have groups, which are tasks; there can be one such file", data.ErrInvalid)
	}
	r.grouped = d.Groups != nil
	name := baseName(d.Name)
	if r.byName[name] != nil {
		return fmt.Errorf("%w: two files make a task %q; give them different names", data.ErrInvalid, name)
	}
	for i := range d.X.Rows() {
		if d.Groups != nil {
			name = d.Groups[d.Group[i]]
		}
		l := r.task(name, t)
		if d.Regression() {
			l.append(r.rows, d.Target[i], -1)
		} else if err := l.add(r.rows, d.Classes[d.Label[i]], d.Name); err != nil {
			return err
		}
		r.rows++
	}
	return nil
}
