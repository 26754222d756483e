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
	at, asked := map[string]int{}, map[string]bool{}
	for j, name := range d.Features {
		at[name] = j
	}
	from := make([]int, len(f.names))
	for i, name := range f.names {
		j, ok := at[name]
		if !ok {
			return nil, fmt.Errorf("%w: %s has no feature %q, which %s has", ErrMismatch, d.Name, name, f.of)
		}
		from[i], asked[name] = j, true
	}
	if j := slices.IndexFunc(d.Features, func(name string) bool { return !asked[name] }); j >= 0 {
		return nil, fmt.Errorf("%w: %s has a feature %q, which %s has not", ErrMismatch, d.Name, d.Features[j], f.of)
	}
	if _, dense := d.X.(*Dense); !dense || len(asked) < len(d.Features) {
		return nil, fmt.Errorf("%w: the features of %s are in another order than those of %s; give them the same (sparse features, and those of equal names, are not sorted)", ErrMismatch, d.Name, f.of)
	}
	return &Dataset{Name: d.Name, X: selectColumns(d.X, from), Features: f.names, Label: d.Label, Classes: d.Classes, Target: d.Target}, nil
}
