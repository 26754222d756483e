package format

import (
	"bytes"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

// columnOf adds cells as a reader of text does.
func columnOf(cells ...string) *Column {
	c := &Column{}
	for _, cell := range cells {
		c.Add(cell)
	}
	return c
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
		{"numbers among words", []string{"10", "up", "9", "10.0"}, nil, []int32{1, 2, 0, 1}, []string{"9", "10", "up"}},
		{"numbers and words in the order of names", []string{"up", "7.0"}, []string{"up", "7"}, []int32{0, 1}, []string{"up", "7"}},
		{"names from 1", []string{"3", "1"}, []string{"c", "b", "a"}, []int32{2, 0}, []string{"c", "b", "a"}},
		{"names from 0", []string{"2", "0"}, []string{"c", "b", "a"}, []int32{2, 0}, []string{"c", "b", "a"}},
		{"words in the order of names", []string{"a", "c"}, []string{"c", "b", "a"}, []int32{2, 0}, []string{"c", "b", "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			column := columnOf(c.texts...)
			datatest.Check(t, column.rename(c.names))
			index, classes, err := column.Named()
			datatest.Holds(t, err == nil && slices.Equal(index, c.index) && slices.Equal(classes, c.classes),
				"got %v %q (%v), want %v %q", index, classes, err, c.index, c.classes)
		})
	}
}

func TestFaultyLabelsAreNamed(t *testing.T) {
	for _, c := range []struct {
		name  string
		c     *Column
		names []string
		want  string
	}{
		{"too large", &Column{Numbers: []float64{1 << 53}}, nil, "2^53"},
		{"few names", &Column{Numbers: []float64{1, 3}}, []string{"a", "b"}, `row 1: "3" is neither one of the 2 names`},
		{"fraction", &Column{Numbers: []float64{1, 1.5}}, []string{"a", "b"}, `"1.5" is neither one of`},
		{"unknown name", columnOf("a", "x"), []string{"a", "b"}, `row 1: "x" is neither one of the 2 names`},
		{"names twice", &Column{Numbers: []float64{1}}, []string{"a", "a"}, "only 1 different"},
	} {
		err := c.c.rename(c.names)
		if err == nil {
			_, _, err = c.c.Named()
		}
		datatest.Says(t, err, data.ErrInvalid, c.want)
	}
}

// arraysFile is an .npz file of four rows, with an array more.
func arraysFile(t *testing.T, name, content string) []byte {
	t.Helper()
	array := func(shape, content string) string {
		return headerOf("{'descr': '|u1', 'fortran_order': False, 'shape': "+shape+", }\n") + content
	}
	x := array("(4, 1)", "\x01\x02\x03\x04")
	y := array("(4,)", "\x01\x02\x01\x02")
	return []byte(packedArrays(t, "X", x, "y", y, name, array("(4,)", content)))
}

// The directory at the end of a zip file has no checksum: an array whose name is damaged
// there was passed over, and groups vanished.
func TestNamesOfArraysAreChecked(t *testing.T) {
	content := arraysFile(t, "group", "\x01\x01\x02\x02")
	d, err := fromBytes("a.npz", content, Options{})
	datatest.Need(t, err == nil && d.Group != nil, "undamaged: %v", err)
	i := bytes.LastIndex(content, []byte("group.npy"))
	for _, name := range []string{"groqp.npy", "group.npx", "class.npy"} {
		copy(content[i:], name)
		datatest.Refused(fromBytes("a.npz", content, Options{}))(t, data.ErrFormat, "another name in the directory")
	}
}

func TestTwoArraysOfOneNameAreRefused(t *testing.T) {
	datatest.Refused(fromBytes("a.npz", arraysFile(t, "X", "x"), Options{}))(t, nil, "array X: two arrays have this name")
}

func TestArraysThatArePassedOverAreNamed(t *testing.T) {
	d := mustReadBytes(t, "a.npz", arraysFile(t, "grp", "\x01\x01\x02\x02"))
	datatest.Equal(t, d.Notes, []string{"arrays that are not read: grp"}, "notes")
}

// Scikit-learn's splitters call the groups of rows groups.
func TestGroupsOfRowsAreGroups(t *testing.T) {
	d := mustReadBytes(t, "a.npz", arraysFile(t, "groups", "\x07\x07\x09\x07"))
	if want := []string{"7", "9"}; !slices.Equal(d.Groups, want) || !slices.Equal(d.Group, []int32{0, 0, 1, 0}) || d.Notes != nil {
		t.Errorf("group %v of %q, want those of rows, %q; notes %q", d.Group, d.Groups, want, d.Notes)
	}
}

func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	for text, line := range map[string]string{
		"gr\xf6\xdfe,y\n1,2\n2,1\n":      "line 1: ",
		"a,y\n1,ja\n2,nein\n3,f\xfcnf\n": "line 4: ",
	} {
		_, _, err := columnsOf(inFile(t, "a.csv", text), Options{}, false)
		datatest.Says(t, err, data.ErrFormat, line+"it is not UTF-8 but maybe Windows-1252")
	}
	rows := datatest.Must(OpenRows(inFile(t, "a.csv", "größe,y\n1,2\n2,1\n"), Options{}))(t)
	datatest.Equal(t, rows.Names, []string{"größe", "y"}, "names")
}
