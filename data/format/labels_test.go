package format

import (
	"errors"
	"l2mt/data"
	"slices"
	"strings"
	"testing"
)

// valuesFrom adds texts as a reader of text does.
func valuesFrom(t *testing.T, kind data.Kind, texts ...string) *values {
	t.Helper()
	v := &values{}
	for _, text := range texts {
		if err := v.add(text, kind); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func TestClassesAreOrderedAndNamed(t *testing.T) {
	for _, c := range []struct {
		name    string
		texts   []string
		names   []string
		index   []int32
		classes []string
	}{
		{"numbers by value", []string{"10", "9", "-1", "9"}, nil, []int32{2, 1, 0, 1}, []string{"-1", "9", "10"}},
		{"shortest form", []string{"1.0", "+1", "2.50", "-0", "1e6"}, nil, []int32{1, 1, 2, 0, 3}, []string{"0", "1", "2.5", "1000000"}},
		{"words alphabetically", []string{"pear", "apple", "pear"}, nil, []int32{1, 0, 1}, []string{"apple", "pear"}},
		{"numbers among words", []string{"7", "up", "7.0"}, nil, []int32{0, 1, 0}, []string{"7", "up"}},
		{"names from 1", []string{"3", "1"}, []string{"c", "b", "a"}, []int32{2, 0}, []string{"c", "b", "a"}},
		{"names from 0", []string{"2", "0"}, []string{"c", "b", "a"}, []int32{2, 0}, []string{"c", "b", "a"}},
		{"words in the order of names", []string{"a", "c"}, []string{"c", "b", "a"}, []int32{2, 0}, []string{"c", "b", "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			index, classes, err := valuesFrom(t, data.Classification, c.texts...).classes(c.names)
			if err != nil || !slices.Equal(index, c.index) || !slices.Equal(classes, c.classes) {
				t.Errorf("got %v %q (%v), want %v %q", index, classes, err, c.index, c.classes)
			}
		})
	}
}

func TestLabelsDecideBetweenClassesAndTargets(t *testing.T) {
	whole := make([]float64, maxFloatClasses+1)
	for i := range whole {
		whole[i] = float64(i)
	}
	for _, c := range []struct {
		name  string
		v     values
		names []string
		want  data.Kind
	}{
		{"words", values{word: []string{"a"}}, nil, data.Classification},
		{"whole numbers of a text", values{number: whole}, nil, data.Classification},
		{"a fraction", values{number: []float64{1, 2, 2.5}}, nil, data.Regression},
		{"few whole floats", values{number: whole[1:], float: true}, nil, data.Classification},
		{"many whole floats", values{number: whole, float: true}, nil, data.Regression},
		{"named classes", values{number: whole, float: true}, []string{"a"}, data.Classification},
	} {
		if got := c.v.kind(c.names); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestFaultyLabelsAreNamed(t *testing.T) {
	for _, c := range []struct {
		name  string
		v     values
		names []string
		kind  data.Kind
		want  string
		is    error
	}{
		{"no number", values{number: []float64{1, nan()}}, nil, "", "row 1: invalid data: it is NaN", data.ErrInvalid},
		{"empty", values{word: []string{"a", ""}}, nil, "", "row 1: invalid data: it is empty", data.ErrInvalid},
		{"too large", values{number: []float64{1 << 53}}, nil, "", "2^53", data.ErrInvalid},
		{"few names", values{number: []float64{1, 3}}, []string{"a", "b"}, "", "3 does not number one of the 2 names", data.ErrInvalid},
		{"fraction", values{number: []float64{1, 1.5}}, []string{"a", "b"}, "", "1.5 does not number", data.ErrInvalid},
		{"unknown name", values{word: []string{"a", "x"}}, []string{"a", "b"}, "", `row 1: invalid data: "x" is not one of the 2 names`, data.ErrInvalid},
		{"names twice", values{number: []float64{1}}, []string{"a", "a"}, "", "only 1 different", data.ErrInvalid},
		{"words as targets", values{word: []string{"a"}}, nil, data.Regression, `"a" is not a number`, data.ErrFormat},
	} {
		err := setLabels(new(data.Dataset), &c.v, c.names, c.kind)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
