package data

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFilterKeepsWholeClassesOfTheRightSize(t *testing.T) {
	for seed := range uint64(30) {
		rng := Stream(seed, "filter")
		sizes := make([]int, 3+rng.IntN(5))
		for c := range sizes {
			sizes[c] = 1 + rng.IntN(9)
		}
		least, most := rng.IntN(4), 5+rng.IntN(6)
		if rng.IntN(3) == 0 {
			most = 0
		}
		var kept []string
		for c, n := range sizes {
			if n >= least && (most == 0 || n <= most) {
				kept = append(kept, fmt.Sprint("c", c))
			}
		}
		d := madeClasses(t, sizes...)
		got, err := FilterClasses(d, least, most)
		if len(kept) < 2 {
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "at least two must stay") {
				t.Fatalf("seed %d: error %v", seed, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := got.Validate(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Classes, kept) {
			t.Fatalf("seed %d: classes %q of sizes %d from %d to %d, want %q", seed, got.Classes, sizes, least, most, kept)
		}
		next := 0 // the rows that stay are all those of the kept classes, in order
		for i, c := range d.Label {
			if !slices.Contains(kept, d.Classes[c]) {
				continue
			}
			if name := got.Classes[got.Label[next]]; name != d.Classes[c] || !slices.Equal(got.X.Row(next).Value, d.X.Row(i).Value) {
				t.Fatalf("seed %d: row %d is not row %d", seed, next, i)
			}
			next++
		}
		if next != got.X.Rows() {
			t.Fatalf("seed %d: %d rows, want %d", seed, got.X.Rows(), next)
		}
	}
}

func TestTakeDropsEmptyGroupsAndKeepsTargets(t *testing.T) {
	d := madeGroups(t, 3, 2, 4)
	var rows []int
	for i, g := range d.Group {
		if g != 1 {
			rows = append(rows, i)
		}
	}
	slices.Reverse(rows)
	got := d.Take(rows)
	if err := got.Validate(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Groups, []string{"c0", "c2"}) || !slices.Equal(got.GroupSizes(), []int{3, 4}) {
		t.Errorf("groups %q of sizes %d", got.Groups, got.GroupSizes())
	}
	for to, from := range rows {
		if got.Target[to] != d.Target[from] || got.Groups[got.Group[to]] != d.Groups[d.Group[from]] {
			t.Errorf("row %d is not row %d", to, from)
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
		{"crossed limits", madeClasses(t, 2, 2), 3, 2, "sizes from 3 to 2"},
		{"negative", madeClasses(t, 2, 2), -1, 2, "sizes from -1 to 2"},
		{"one left", madeClasses(t, 2, 5), 3, 0, "1 of 2 classes"},
	} {
		if _, err := FilterClasses(c.d, c.least, c.most); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
