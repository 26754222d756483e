package format

import (
	"cmp"
	"fmt"
	"io"
	"l2mt/data"
	"math"
	"slices"
	"strings"
)

// What makes a dataset in a MATLAB file is either one matrix with its labels,
//
//	X      n x d features, dense or sparse; also called fea or feature
//	gnd    n labels or targets, or n x k targets of which one is picked, or a
//	       cell array of n words; also called label, class, y or target
//	group  n groups (tasks), likewise, if there are any; also called task
//
// or one matrix per task: X and Y are cell arrays of m cells, and the groups are
// the tasks "1" to "m". The labels of tasks are classes if all of them are -1
// and +1, or all are 0 and 1, and targets otherwise. The labels called gnd are
// class numbers if they are whole. ReadOptions can say otherwise. A label that is a
// number is a column of the one matrix that there is.
var (
	matFeatures = []string{"X", "fea", "feature"}
	matLabels   = append([]string{"gnd"}, labelNames...)
)

func parseMAT(r io.ReaderAt, size int64, o Options) (*table, error) {
	f, err := openMAT(r, size)
	if err != nil {
		return nil, err
	}
	x, y := f.find(o.Features, matFeatures), f.find(o.Label, matLabels)
	if x == nil {
		return nil, f.missing(cmp.Or(o.Features, "X"))
	}
	if y == nil && isNumber(o.Label) {
		return f.tableOfColumns(x, o)
	}
	if y == nil {
		return nil, f.missing(cmp.Or(o.Label, "Y"))
	}
	features, err := f.read(x, true)
	if err != nil {
		return nil, err
	}
	labels, err := f.read(y, false)
	if err != nil {
		return nil, err
	}
	if features.class == mxCell {
		return tableOfTasks(features, labels, o)
	}
	t, err := tableOfRows(features, labels, o)
	if err != nil {
		return nil, err
	}
	if err := f.readGroups(t, o); err != nil {
		return nil, err
	}
	return t, nil
}

// tableOfColumns makes a table of one full matrix, which has the label in a column.
func (f *matFile) tableOfColumns(x *matVariable, o Options) (*table, error) {
	a, err := f.read(x, false)
	if err != nil {
		return nil, err
	}
	if a.class == mxSparse || !a.isNumber() || len(a.dims) != 2 || len(a.number) == 0 {
		return nil, fmt.Errorf("variable %v: %w: a column of labels is taken from a full matrix of numbers", a, data.ErrFormat)
	}
	return tableOfColumns(a.number, a.dims[1], a.class == mxDouble || a.class == mxSingle, o)
}

// find returns the variable asked for; if none is asked for, the first with one
// of the usual names, in any case; nil if there is none.
func (f *matFile) find(asked string, usual []string) *matVariable {
	if asked != "" {
		return f.named(func(name string) bool { return name == asked })
	}
	for _, name := range usual {
		if v := f.named(func(s string) bool { return strings.EqualFold(s, name) }); v != nil {
			return v
		}
	}
	return nil
}

func (f *matFile) named(match func(name string) bool) *matVariable {
	for _, v := range f.variables {
		if match(v.name) {
			return v
		}
	}
	return nil
}

// missing says that there is no such variable, and what there is.
func (f *matFile) missing(name string) error {
	var there []string
	for _, v := range f.variables {
		there = append(there, v.String())
	}
	return fmt.Errorf("%w: there is no variable %s, only [%s]; a dataset has X (n x d) and Y (n x 1), cells of these, or fea and gnd; if they have other names, give these", data.ErrFormat, name, abridge(there))
}

// tableOfRows makes a table of one matrix and its labels.
func tableOfRows(x, y *matArray, o Options) (*table, error) {
	t := &table{}
	if err := x.checkFeatures(); err != nil {
		return nil, fmt.Errorf("variable %v: %w", x, err)
	}
	label, err := y.labels(x.dims[0], o.Target)
	if err != nil {
		return nil, fmt.Errorf("variable %v: %w", y, err)
	}
	t.x, t.label = x.matrix(), label
	if strings.EqualFold(y.name, "gnd") && !slices.ContainsFunc(label.number, func(v float64) bool { return v != math.Trunc(v) }) {
		t.kind = data.Classification
	}
	return t, nil
}

// readGroups reads the groups of the rows, if there are any.
func (f *matFile) readGroups(t *table, o Options) error {
	v := f.find(o.Group, groupNames)
	if v == nil {
		if o.Group != "" {
			return f.missing(o.Group)
		}
		return nil
	}
	a, err := f.read(v, false)
	if err != nil {
		return err
	}
	if t.group, err = a.labels(t.x.Rows(), ""); err != nil {
		return fmt.Errorf("variable %v: %w", a, err)
	}
	return nil
}

// tableOfTasks makes a table of one matrix per task.
func tableOfTasks(x, y *matArray, o Options) (*table, error) {
	if o.Group != "" {
		return nil, fmt.Errorf("variable %v: %w: its cells are the groups, so no others can be asked for (%q)", x, data.ErrInvalid, o.Group)
	}
	if y.class != mxCell || len(y.cells) != len(x.cells) || len(x.cells) == 0 {
		return nil, fmt.Errorf("variable %v: %w: it needs as many cells as %v has, one per task", y, data.ErrFormat, x)
	}
	t := &table{label: values{float: true}}
	parts := make([]data.Matrix, len(x.cells))
	for i, cell := range x.cells {
		if err := cell.checkFeatures(); err != nil {
			return nil, fmt.Errorf("variable %s, cell %d %v: %w", x.name, i+1, cell, err)
		}
		n := cell.dims[0]
		label, err := y.cells[i].labels(n, o.Target)
		if err != nil {
			return nil, fmt.Errorf("variable %s, cell %d %v: %w", y.name, i+1, y.cells[i], err)
		}
		t.label.number = append(t.label.number, label.number...)
		t.label.word = append(t.label.word, label.word...)
		t.group.number = append(t.group.number, slices.Repeat([]float64{float64(i + 1)}, n)...)
		parts[i] = cell.matrix()
		if d := parts[0].Cols(); parts[i].Cols() != d {
			return nil, fmt.Errorf("variable %s, cell %d %v: %w: it has %d columns and cell 1 has %d; all tasks have the same features", x.name, i+1, cell, data.ErrFormat, parts[i].Cols(), d)
		}
	}
	if t.label.word != nil && t.label.number != nil {
		return nil, fmt.Errorf("variable %v: %w: some tasks have words for labels and some numbers", y, data.ErrFormat)
	}
	if t.label.word == nil {
		t.kind = data.Regression
		if within(t.label.number, -1, 1) || within(t.label.number, 0, 1) {
			t.kind = data.Classification
		}
	}
	var err error
	if t.x, err = data.Stack(parts); err != nil {
		return nil, fmt.Errorf("variable %v: %w", x, err)
	}
	return t, nil
}

// within reports whether every number is one of the two.
func within(numbers []float64, a, b float64) bool {
	return !slices.ContainsFunc(numbers, func(v float64) bool { return v != a && v != b })
}

// checkFeatures checks that the variable can be a matrix of features.
func (a *matArray) checkFeatures() error {
	switch {
	case !a.isNumber():
		return fmt.Errorf("%w: features must be numbers", data.ErrFormat)
	case len(a.dims) != 2 || a.count() == 0:
		return fmt.Errorf("%w: features must be n x d, with a row for every data point", data.ErrInvalid)
	}
	return nil
}

// matrix returns the features. That there is a label for each row has been
// checked, so even a sparse matrix cannot claim more rows than the file has
// bytes.
func (a *matArray) matrix() data.Matrix {
	if a.class == mxSparse { // the columns of X are the rows of X'
		x, _ := data.NewCSR(a.dims[0], a.begin, a.row, a.value[:len(a.row)]) // readSparse has checked
		return data.Transpose(x)
	}
	x, _ := data.NewDense(a.dims[0], a.dims[1], a.value) // as many as were read
	return x
}

// labels returns the labels, targets or groups of n rows.
func (a *matArray) labels(n int, target string) (values, error) {
	rows, width := 0, 1
	if len(a.dims) == 2 {
		if rows, width = a.dims[0], a.dims[1]; rows == 1 && n > 1 {
			rows, width = width, rows
		}
	}
	switch {
	case rows != n || width == 0:
		return values{}, fmt.Errorf("%w: there must be %d, one for every row of features (rows are data points)", data.ErrInvalid, n)
	case a.class == mxCell && width == 1:
		return a.words()
	case a.class == mxSparse || !a.isNumber():
		return values{}, fmt.Errorf("%w: labels must be numbers in a full matrix, or a cell array of words", data.ErrFormat)
	}
	c := columns{width: width}
	j, err := c.find(target, nil, 0)
	if err != nil {
		return values{}, err
	}
	v := values{float: a.class == mxDouble || a.class == mxSingle}
	for i := range n {
		v.number = append(v.number, a.number[i*width+j])
	}
	return v, nil
}

// words returns the text of all cells.
func (a *matArray) words() (values, error) {
	var v values
	for i, cell := range a.cells {
		if cell.class != mxChar {
			return v, fmt.Errorf("%w: cell %d is %v; every cell must hold one word", data.ErrFormat, i+1, cell)
		}
		v.word = append(v.word, cell.text)
	}
	return v, nil
}
