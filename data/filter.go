package data

import "fmt"

// Take returns the dataset of the given rows, in that order and repeats
// included. Classes and groups that lose all their rows are dropped and the
// others renumbered in their old order. The rows share their entries with d.
func (d *Dataset) Take(rows []int) *Dataset {
	t := &Dataset{Name: d.Name, X: d.X.Take(rows), LabelOf: d.LabelOf, Features: d.Features, Steps: d.Steps}
	t.Label, t.Classes = takeIndex(d.Label, d.Classes, rows)
	t.Group, t.Groups = takeIndex(d.Group, d.Groups, rows)
	if d.Target != nil {
		t.Target = make([]float64, len(rows))
		for i, r := range rows {
			t.Target[i] = d.Target[r]
		}
	}
	return t
}

// takeIndex returns the given entries of index, renumbered so that only names
// in use remain, and those names.
func takeIndex(index []int32, names []string, rows []int) ([]int32, []string) {
	if index == nil {
		return nil, names
	}
	taken := make([]int32, len(rows))
	for i, r := range rows {
		taken[i] = index[r]
	}
	number := make([]int32, len(names))
	var used []string
	for c, n := range count(taken, len(names)) {
		if n > 0 {
			number[c] = int32(len(used))
			used = append(used, names[c])
		}
	}
	for i, c := range taken {
		taken[i] = number[c]
	}
	return taken, used
}

// FilterClasses returns the dataset of the classes with at least least and at
// most most rows; a most of 0 means no upper limit. The rows of other classes
// are dropped, and the classes that stay keep their order. The paper keeps the
// classes of RCV1 with 400 to 5,000 documents.
func FilterClasses(d *Dataset, least, most int) (*Dataset, error) {
	if d.Regression() {
		return nil, fmt.Errorf("data: %s: filter classes: %w: the dataset has real targets, not classes", d.Name, ErrInvalid)
	}
	if least < 0 || most < 0 || most > 0 && most < least {
		return nil, fmt.Errorf("data: %s: filter classes: %w: sizes from %d to %d; the first must be at least 0 and the second not below it (0 means no limit)", d.Name, ErrInvalid, least, most)
	}
	size := d.ClassSizes()
	var rows []int
	for i, c := range d.Label {
		if n := size[c]; n >= least && (most == 0 || n <= most) {
			rows = append(rows, i)
		}
	}
	f := d.Take(rows)
	if len(f.Classes) < 2 {
		return nil, fmt.Errorf("data: %s: filter classes: %w: %d of %d classes have from %d to %d rows; at least two must stay", d.Name, ErrInvalid, len(f.Classes), len(d.Classes), least, most)
	}
	return f, nil
}
