package data

// FilterClasses returns the dataset of the classes with low to high rows; a high of 0 means no
// upper limit. The rows of other classes are dropped, and groups that lose all theirs. Classes and groups that stay keep their
// order. The paper keeps the classes of RCV1 with 400 to 5,000 documents.
func FilterClasses(d *Dataset, low, high int) (*Dataset, error) {
	if d.Regression() {
		return nil, Invalid("%s: filter classes: the dataset has real targets, not classes", d.Name)
	}
	size := d.ClassSizes()
	var rows []int
	for i, c := range d.Label {
		n := size[c]
		if n >= low && (high <= 0 || n <= high) {
			rows = append(rows, i)
		}
	}
	f := &Dataset{Name: d.Name, X: d.X.Take(rows),
		LabelOf: d.LabelOf, Features: d.Features, Steps: d.Steps}
	f.Label, f.Classes = takeIndex(d.Label, d.Classes, rows)
	f.Group, f.Groups = takeIndex(d.Group, d.Groups, rows)
	if len(f.Classes) < 2 {
		return nil, Invalid("%s: filter classes: %d of %d classes have from %d to %d rows; at least two must stay", d.Name,
			len(f.Classes), len(d.Classes), low, high)
	}
	return f, nil
}

// takeIndex returns the given entries of index, renumbered so that only names
// in use remain, and those names.
func takeIndex(index []int32, names []string, rows []int) ([]int32, []string) {
	if index == nil {
		return nil, names
	}
	present, places := ranked[int32, int32](Picked(index, rows))
	return places, Picked(names, present)
}
