package format

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"l2mt/data"
)

// Two files are the dataset of one that has the rows of both.
func TestJoin(t *testing.T) {
	dir := t.TempDir()
	one := inFile(t, "one.csv", "x,z,class,task\n1,2,cat,a\n3,4,dog,b\n")
	two := inFile(t, "two.csv", "x,z,class,task\n5,6,ant,c\n7,8,cat,a\n")
	both := mustRead(t, inFile(t, "both.csv", "x,z,class,task\n1,2,cat,a\n3,4,dog,b\n5,6,ant,c\n7,8,cat,a\n"), Options{})
	d := must(Join([]string{one, two}, Options{}))(t)
	if d.Fingerprint() != both.Fingerprint() {
		t.Errorf("%d rows, classes %q, groups %q", d.X.Rows(), d.Classes, d.Groups)
	}
	for _, c := range []struct{ text, want string }{
		{"z,x,class,task\n5,6,ant,c\n", "it has not the same features, in the same order, as "},
		{"x,z,class,task\n5,6,3,c\n", "it has not such labels as "},
		{"x,z,class\n5,6,ant\n", "it has not such groups as "},
	} {
		_, err := Join([]string{one, inFile(t, "other.csv", c.text)}, Options{})
		if !errors.Is(err, data.ErrMismatch) || !strings.Contains(err.Error(), "other.csv: data does not match: "+c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, err := Join([]string{one, filepath.Join(dir, "nowhere.csv")}, Options{}); err == nil {
		t.Error("a file that is not there")
	}
}
