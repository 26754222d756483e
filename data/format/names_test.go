package format

import (
	"archive/zip"
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

// arraysFile is an .npz file of four rows, with more arrays.
func arraysFile(t *testing.T, more map[string]string) string {
	t.Helper()
	array := func(shape, content string) string {
		return headerOf("{'descr': '|u1', 'fortran_order': False, 'shape': "+shape+", }\n") + content
	}
	arrays := map[string]string{"X": array("(4, 1)", "\x01\x02\x03\x04"), "y": array("(4,)", "\x01\x02\x01\x02")}
	for name, content := range more {
		arrays[name] = array("(4,)", content)
	}
	return packedArrays(t, arrays)
}

// The directory at the end of a zip file has no checksum: an array whose name is damaged
// there was passed over, and groups vanished.
func TestNamesOfArraysAreChecked(t *testing.T) {
	content := arraysFile(t, map[string]string{"group": "\x01\x01\x02\x02"})
	if d, err := fromBytes("a.npz", []byte(content), Options{}); err != nil || d.Group == nil {
		t.Fatalf("undamaged: %v", err)
	}
	i := strings.LastIndex(content, "group.npy")
	for _, name := range []string{"groqp.npy", "group.npx", "class.npy"} {
		datatest.Refused(fromBytes("a.npz", []byte(content[:i]+name+content[i+len(name):]), Options{}))(t, data.ErrFormat, "another name in the directory")
	}
}

func TestTwoArraysOfOneNameAreRefused(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for range 2 {
		w := datatest.Must(z.Create("X.npy"))(t)
		datatest.Must(io.WriteString(w, "x"))(t)
	}
	datatest.Check(t, z.Close())
	datatest.Refused(fromBytes("a.npz", b.Bytes(), Options{}))(t, nil, "array X: two arrays have this name")
}

func TestArraysThatArePassedOverAreNamed(t *testing.T) {
	d := mustReadBytes(t, "a.npz", []byte(arraysFile(t, map[string]string{"grp": "\x01\x01\x02\x02"})), Options{})
	datatest.Equal(t, d.Notes, []string{"arrays that are passed over: grp"}, "notes")
}

// Scikit-learn's splitters call the groups of rows groups.
func TestGroupsOfRowsAreGroups(t *testing.T) {
	d := mustReadBytes(t, "a.npz", []byte(arraysFile(t, map[string]string{"groups": "\x07\x07\x09\x07"})), Options{})
	if want := []string{"7", "9"}; !slices.Equal(d.Groups, want) || !slices.Equal(d.Group, []int32{0, 0, 1, 0}) || d.Notes != nil {
		t.Errorf("group %v of %q, want those of rows, %q; notes %q", d.Group, d.Groups, want, d.Notes)
	}
}

// An offset that is damaged in the directory spoke of a "negative offset".
func TestDamagedDirectoriesSaySo(t *testing.T) {
	content := []byte(arraysFile(t, nil))
	i := bytes.LastIndex(content, []byte("PK\x01\x02"))
	const offset = 42 // of the offset in an entry of the directory
	copy(content[i+offset:], "\xf0\xff\xff\xff")
	_, err := fromBytes("a.npz", content, Options{})
	if err == nil || strings.Contains(err.Error(), "negative") || !strings.Contains(err.Error(), "the archive is damaged") {
		t.Errorf("error %v", err)
	}
}

func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	for text, line := range map[string]string{
		"gr\xf6\xdfe,y\n1,2\n2,1\n":      "line 1: ",
		"a,y\n1,ja\n2,nein\n3,f\xfcnf\n": "line 4: ",
	} {
		datatest.Says(t, readTable(inFile(t, "a.csv", text), Options{}), data.ErrFormat, line+"it is not UTF-8 but maybe Windows-1252")
	}
	rows := datatest.Must(OpenRows(inFile(t, "a.csv", "größe,y\n1,2\n2,1\n"), Options{}))(t)
	datatest.Equal(t, rows.Names, []string{"größe", "y"}, "names")
}
