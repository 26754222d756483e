package data

import (
	"slices"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

func TestSelectTerms(t *testing.T) {
	x := datatest.Must(NewDense(3, 5, []float32{1, 2, 0, 1, 0, 0, 1, 3, 1, 0, 0, 1, 1, 1, 0}))(t)
	words := []string{"boat", "the", "wind", "x", "reef"}
	for _, c := range []struct {
		names []string
		rows  int
		want  []int
	}{{words, 0, []int{0, 2}}, {words, 2, []int{2}}, {nil, 2, []int{1, 2, 3}}, {nil, 0, []int{0, 1, 2, 3}}} {
		if s := datatest.Must(SelectTerms(x, c.names, c.rows))(t); !slices.Equal(s.Columns, c.want) || s.Kind != StepSelect || s.Cols != 5 {
			t.Errorf("%q in %d rows: %+v, want %v", c.names, c.rows, s, c.want)
		}
	}
}

func TestStopWordsAreOrderedWords(t *testing.T) {
	if !slices.IsSorted(stopWordList) || len(slices.Compact(slices.Clone(stopWordList))) != len(stopWordList) {
		t.Error("the stop words are not in order, each once")
	}
	for _, w := range stopWordList {
		if isTerm(w) || w != strings.ToLower(w) {
			t.Errorf("%q can never be a stop word", w)
		}
	}
	for _, w := range []string{"boat", "god", "windows", "government"} {
		if !isTerm(w) {
			t.Errorf("%q is a stop word", w)
		}
	}
}

func TestTextRefuses(t *testing.T) {
	datatest.Refused(SelectTerms(randomCounts(t, Stream(1, "terms"), 3, 4), nil, 4))(t, ErrInvalid, "no word is in 4 rows")
}

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
		{"crossed limits", madeClasses(t, 2, 2), 3, 2, "sizes from 3 to 2"},
		{"negative", madeClasses(t, 2, 2), -1, 2, "sizes from -1 to 2"},
		{"one left", madeClasses(t, 2, 5), 3, 0, "1 of 2 classes have from 3 to 0 rows; at least two must stay"},
	} {
		datatest.Refused(FilterClasses(c.d, c.least, c.most))(t, ErrInvalid, c.want)
	}
}
