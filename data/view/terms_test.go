package view

import (
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

func TestTerms(t *testing.T) {
	x := datatest.Must(data.NewDense(3, 5, []float32{1, 2, 0, 1, 0, 0, 1, 3, 1, 0, 0, 1, 1, 1, 0}))(t)
	words := []string{"boat", "the", "wind", "x", "reef"}
	for _, c := range []struct {
		names []string
		rows  int
		want  []int
	}{{words, 0, []int{0, 2}}, {words, 2, []int{2}}, {nil, 2, []int{1, 2, 3}}, {nil, 0, []int{0, 1, 2, 3}}} {
		if s := datatest.Must(Terms(x, c.names, c.rows))(t); !slices.Equal(s.Columns, c.want) || s.Kind != Select || s.Cols != 5 {
			t.Errorf("%q in %d rows: %+v, want %v", c.names, c.rows, s, c.want)
		}
	}
	datatest.Refused(Terms(x, nil, 4))(t, data.ErrInvalid, "no word is in 4 rows")
}

func TestStopWordsAreOrderedWords(t *testing.T) {
	if !slices.IsSorted(stopWordList) || len(slices.Compact(slices.Clone(stopWordList))) != len(stopWordList) {
		t.Error("the stop words are not in order, each once")
	}
	for _, w := range stopWordList {
		datatest.Holds(t, !isTerm(w) && w == strings.ToLower(w), "%q can never be a stop word", w)
	}
	for _, w := range []string{"boat", "god", "windows", "government"} {
		datatest.Holds(t, isTerm(w), "%q is a stop word", w)
	}
}
