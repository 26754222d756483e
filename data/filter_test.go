package data

import (
	"slices"
	"testing"

	"l2mt/data/datatest"
)

func TestFilterKeepsWholeClassesOfTheRightSize(t *testing.T) {
	d := madeClasses(t, 3, 9, 1, 5, 2)
	d.Groups = []string{"the second class", "odd rows", "even rows"}
	for i, class := range d.Label {
		group := int32(1 + i%2)
		if class == 1 {
			group = 0
		}
		d.Group = append(d.Group, group)
	}
	for _, c := range []struct {
		least, most int
		kept        []string
	}{{2, 5, []string{"c0", "c3", "c4"}}, {3, 0, []string{"c0", "c1", "c3"}}, {0, 2, []string{"c2", "c4"}}} {
		got := datatest.Must(FilterClasses(d, c.least, c.most))(t)
		if err := got.Validate(); err != nil || !slices.Equal(got.Classes, c.kept) {
			t.Fatalf("from %d to %d: classes %q, want %q; %v", c.least, c.most, got.Classes, c.kept, err)
		}
		next := 0 // the rows that stay are all those of the kept classes, in order
		for i, class := range d.Label {
			if !slices.Contains(c.kept, d.Classes[class]) {
				continue
			}
			group := got.Groups[got.Group[next]]
			if name := got.Classes[got.Label[next]]; name != d.Classes[class] || group != d.Groups[d.Group[i]] || !slices.Equal(got.X.Row(next).Value, d.X.Row(i).Value) {
				t.Fatalf("from %d to %d: row %d is not row %d", c.least, c.most, next, i)
			}
			next++
		}
		if next != got.X.Rows() || slices.Contains(got.Groups, d.Groups[0]) != slices.Contains(c.kept, "c1") {
			t.Fatalf("from %d to %d: %d rows, want %d; groups %q", c.least, c.most, got.X.Rows(), next, got.Groups)
		}
	}
}

func TestFilterRefuses(t *testing.T) {
	for _, c := range []struct {
		name        string
		d           *Dataset
		least, most int
		want        string
	}{
		{"targets", madeGroups(t, 2, 2), 1, 0, "real targets"},
		{"crossed limits", madeClasses(t, 2, 2), 3, 2, "0 of 2 classes have from 3 to 2 rows"},
		{"one left", madeClasses(t, 2, 5), 3, 0, "1 of 2 classes have from 3 to 0 rows; at least two must stay"},
	} {
		datatest.Refused(FilterClasses(c.d, c.least, c.most))(t, ErrInvalid, c.want)
	}
}
