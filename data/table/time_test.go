package table

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

// A column of years, dates, or numbers that ascend within tasks may be a time, and is one if it is
// asked for. It stays a feature.
func TestTimes(t *testing.T) {
	const note = "may be a time"
	for _, c := range []struct {
		name  string
		when  func(row int) string
		noted bool
		times string
	}{
		{"years in any order", func(row int) string { return fmt.Sprint(1990 + row*7%30) }, true, "[[1990 1997"},
		{"dates", func(row int) string { return fmt.Sprintf("2024-01-%02d", 1+row*7%30) }, true, "[[19723 19730"},
		{"counts that ascend", func(row int) string { return fmt.Sprint(10 * (row % 15)) }, true, "[[0 10"},
		{"numbers in any order", func(row int) string { return fmt.Sprint(row * 7 % 30) }, false, "[[0 7"},
		{"years with half of one", func(row int) string { return fmt.Sprint(1990.5 + float64(row*7%30)) }, false, "[[1990.5 1997.5"},
	} {
		var text strings.Builder
		text.WriteString("t,when,x,y\n")
		for row := range 30 {
			fmt.Fprintf(&text, "%c,%s,%d,%d.5\n", 'a'+row/15, c.when(row), row*11%30, row*13%30)
		}
		files := inFiles(t, "a.csv", text.String())
		tab := datatest.Must(Read(files, Options{Task: "t"}))(t)
		noted := slices.ContainsFunc(tab.Notes, func(s string) bool {
			return strings.Contains(s, note) && strings.Contains(s, "--time when")
		})
		if noted != c.noted || tab.Times != nil {
			t.Errorf("%s: notes %q, times %v", c.name, tab.Notes, tab.Times)
		}
		tab = datatest.Must(Read(files, Options{Task: "t", Time: "when"}))(t)
		if got := fmt.Sprint(tab.Times); !strings.HasPrefix(got, c.times) || len(tab.Times[1]) != 15 {
			t.Errorf("%s: times %s, want %s", c.name, got, c.times)
		}
		if slices.ContainsFunc(tab.Notes, func(s string) bool { return strings.Contains(s, note) }) {
			t.Errorf("%s: it is said of a time that it may be one", c.name)
		}
		if got := tab.Recipe.Features()[0]; !strings.HasPrefix(got, "when") || tab.Recipe.Time != "when" {
			t.Errorf("%s: the first feature is %q, the time %q", c.name, got, tab.Recipe.Time)
		}
		tab = datatest.Must(Read(files, Options{Task: "t", Time: "when", Ignore: []string{"when"}}))(t)
		if got := tab.Recipe.Features(); !slices.Equal(got, []string{"x"}) || tab.Times == nil {
			t.Errorf("%s: an ignored time leaves the features %q", c.name, got)
		}
	}
}

// Rows that agree in all columns of a group belong together, as class 1 of school A does not with
// class 1 of school B.
func TestNestedGroups(t *testing.T) {
	files := inFiles(t, "a.csv", "t,school,room,x,y\na,A,1,1,2.5\na,B,1,2,3.5\na,A,1,3,4.5\na,A,2,4,1.5\na,B,,5,0.5\na,B,,6,0.5\n")
	tab := datatest.Must(Read(files, Options{Task: "t", Group: []string{"school", "room"}}))(t)
	datatest.Equal(t, fmt.Sprint(tab.Together), "[[0 1 0 3 4 5]]", "groups")
}
