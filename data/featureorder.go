package data

import (
	"fmt"
	"slices"
)

// featureOrder is that of a problem: of the first dataset that it takes rows of. The
// others have the same features, by name, in whichever order.
type featureOrder struct {
	names []string // nil where that dataset does not name them
	of    string   // its name
}

// match gives a dataset the columns of the first one.
func (f *featureOrder) match(d *Dataset) (*Dataset, error) {
	if f.of == "" {
		f.names, f.of = d.Features, d.Name
	}
	if slices.Equal(d.Features, f.names) {
		return d, nil
	}
	bare := func(which string) error {
		return fmt.Errorf("%w: %s does not name its features, so that they cannot be matched with those of the others", ErrMismatch, which)
	}
	switch {
	case d.Features == nil:
		return nil, bare(d.Name)
	case f.names == nil:
		return nil, bare(f.of)
	}
	from, err := positions(f.names, d.Features)
	if err != nil {
		return nil, fmt.Errorf("%w: %s has no %w, which %s has", ErrMismatch, d.Name, err, f.of)
	}
	if _, err := positions(d.Features, f.names); err != nil {
		return nil, fmt.Errorf("%w: %s has a %w, which %s has not", ErrMismatch, d.Name, err, f.of)
	}
	different := len(slices.Compact(slices.Sorted(slices.Values(from))))
	if _, dense := d.X.(*Dense); !dense || different < len(d.Features) {
		return nil, fmt.Errorf("%w: the features of %s are in another order than those of %s; give them the same (sparse features, and those of equal names, are not sorted)", ErrMismatch, d.Name, f.of)
	}
	return &Dataset{Name: d.Name, X: selectColumns(d.X, from), Features: f.names, Label: d.Label, Classes: d.Classes, Target: d.Target}, nil
}

// positions are where the names asked for are; the error names the first that is
// not there.
func positions(asked, there []string) ([]int, error) {
	at := make(map[string]int, len(there))
	for j, name := range there {
		at[name] = j
	}
	found := make([]int, len(asked))
	for i, name := range asked {
		j, ok := at[name]
		if !ok {
			return nil, fmt.Errorf("feature %q", name)
		}
		found[i] = j
	}
	return found, nil
}
