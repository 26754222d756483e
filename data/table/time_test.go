package table

import (
	"fmt"
	"math/rand/v2"
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
		datatest.Holds(t, noted == c.noted && tab.Times == nil,
			"%s: notes %q, times %v", c.name, tab.Notes, tab.Times)
		tab = datatest.Must(Read(files, Options{Task: "t", Time: "when"}))(t)
		if got := fmt.Sprint(tab.Times); !strings.HasPrefix(got, c.times) || len(tab.Times[1]) != 15 {
			t.Errorf("%s: times %s, want %s", c.name, got, c.times)
		}
		datatest.Holds(t, !slices.ContainsFunc(tab.Notes, func(s string) bool { return strings.Contains(s, note) }),
			"%s: it is said of a time that it may be one", c.name)
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

// Weights are no features, count 1 in the mean, and leave rows of 0 out, labelled or not; others
// than numbers of 0 or more are refused with their line.
func TestWeights(t *testing.T) {
	rows := "t,w,x,y\na,2,1,2.5\na,0,2,\nb,6,3,4.5\nb,4,4,1.5\nb,%s,5,9.5\n"
	tab := datatest.Must(Read(inFiles(t, "a.csv", fmt.Sprintf(rows, "0")), Options{Task: "t", Weight: "w"}))(t)
	datatest.Equal(t, fmt.Sprint(tab.Problem.Tasks[0].TrainSet.Weight, tab.Problem.Tasks[1].TrainSet.Weight), "[0.5] [1.5 1]", "weights")
	if got := tab.Recipe.Features(); !slices.Equal(got, []string{"x"}) || tab.Recipe.Weight != "w" {
		t.Errorf("features %q, weight %q", got, tab.Recipe.Weight)
	}
	for _, wrong := range []string{"-1", "", "much", "NaN", "1e+300"} {
		datatest.Refused(Read(inFiles(t, "a.csv", fmt.Sprintf(rows, wrong)), Options{Task: "t", Weight: "w"}))(t, nil, "line 6: column \"w\", the weight: it is \""+wrong)
	}
}

// Six visits of a patient are noticed by its number, its name, or three measures of it, unless the
// patient is the task, the target does not know it, or its number counts, as an age does.
func TestRepeatedThings(t *testing.T) {
	const seed = 7
	for _, c := range []struct {
		name     string
		row      func(patient int, level, noise float64) (first string, y float64)
		task     string
		suspects []string
	}{
		{"numbers", func(p int, level, noise float64) (string, float64) { return fmt.Sprint(p), level + noise }, "clinic", []string{"first"}},
		{"names", func(p int, level, noise float64) (string, float64) { return fmt.Sprintf("p%d", p), level + noise }, "clinic", []string{"first"}},
		{"measures", func(p int, level, noise float64) (string, float64) { return fmt.Sprint(noise), level + noise }, "clinic", []string{"a", "b", "c"}},
		{"a target of its own", func(p int, level, noise float64) (string, float64) { return fmt.Sprint(p), noise }, "clinic", nil},
		{"a number that counts", func(p int, level, noise float64) (string, float64) { return fmt.Sprint(p), float64(p)/50 + noise }, "clinic", nil},
		{"the task", func(p int, level, noise float64) (string, float64) { return fmt.Sprint(p), level + noise }, "patient", nil},
	} {
		random := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		text.WriteString("clinic,patient,first,a,b,c,y\n")
		for p := range 50 {
			a, b, level := random.NormFloat64(), random.NormFloat64(), 3*random.NormFloat64()
			for range 6 {
				first, y := c.row(p, level, random.NormFloat64())
				fmt.Fprintf(&text, "%c,q%d,%s,%.2f,%.2f,%.2f,%.4f\n", 'a'+p%3, p, first, a, b, a-2*b, y)
			}
		}
		o := Options{Task: c.task, Ignore: []string{"patient"}}
		if c.task == "patient" {
			o.Ignore = []string{"clinic"}
		}
		tab := datatest.Must(Read(inFiles(t, "v.csv", text.String()), o))(t)
		slices.Sort(tab.Suspects)
		datatest.Equal(t, tab.Suspects, c.suspects, "seed %d, %s: noticed", seed, c.name)
		if c.suspects != nil && len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(tab.Suspected...))))) != 50 {
			t.Errorf("seed %d, %s: other than 50 groups", seed, c.name)
		}
		o.Group = []string{"first"}
		if tab = datatest.Must(Read(inFiles(t, "v.csv", text.String()), o))(t); tab.Suspects != nil {
			t.Errorf("seed %d, %s: %q is noticed beside a group", seed, c.name, tab.Suspects)
		}
	}
}

// A table after an older one has the older features of its rows: its columns are found by name, in
// any order, steps have the numbers of the older rows, and what does not match is said.
func TestTablesAfterAnOlderOne(t *testing.T) {
	before := "size,town,code,y\n10,Rome,1,1\n20,Paris,2,2\n3000,Rome,1,4\n40,Paris,2,3\n"
	o := Options{Targets: []string{"y"}, Categorical: []string{"code"}}
	older := datatest.Must(Read(inFiles(t, "old.csv", before), o))(t)
	datatest.Need(t, len(older.Recipe.Steps) == 1,
		"the older table has %d steps, and is no test", len(older.Recipe.Steps))
	o = Options{Targets: []string{"y"}, After: &older.Recipe}
	again := datatest.Must(Read(inFiles(t, "old.csv", before), o))(t)
	datatest.Equal(t, shown(again.Problem), shown(older.Problem), "the same table")
	same := "code,y,more,town,size\n1,1.5,7,Rome,3000\n2,2.5,7,Oslo,40\n1,0,8,Paris,20\n"
	newer := datatest.Must(Read(inFiles(t, "new.csv", same), o))(t)
	datatest.Equal(t, newer.Problem.Features, older.Problem.Features, "features")
	row := func(p *Table, i int) []float32 { return p.Problem.Tasks[0].TrainSet.X.Row(i).Value }
	datatest.Holds(t, slices.Equal(row(newer, 0), row(older, 2)) && row(newer, 1)[0] == row(older, 3)[0],
		"rows %v, %v; they were %v, %v", row(newer, 0), row(newer, 1), row(older, 2), row(older, 3))
	notes := strings.Join(newer.Notes, "\n")
	for _, want := range []string{`the older model has no column more: left out`, `rows with the level "Oslo" in column "town"`} {
		datatest.Holds(t, strings.Contains(notes, want), "notes\n%s\nwant %s", notes, want)
	}
	lacks := inFiles(t, "lacks.csv", "code,y,town\n1,1,Rome\n2,2.5,Paris\n1,0,Paris\n")
	datatest.Refused(Read(lacks, o))(t, nil, `lacks.csv: there is no column size`)
	o.MissingColumns = Mean
	filled := datatest.Must(Read(lacks, o))(t)
	datatest.Equal(t, row(filled, 0)[0], 0, "a column that is missing")
	bare := inFiles(t, "bare.csv", "1,2,3\n4,5,6\n7,8,9\n")
	o.Targets = []string{"2"}
	datatest.Refused(Read(bare, o))(t, nil, "it has no header")
	numbered := datatest.Must(Read(bare, Options{Targets: []string{"1"}}))(t)
	o = Options{Targets: []string{"1"}, After: &numbered.Recipe}
	if got := datatest.Must(Read(bare, o))(t); shown(got.Problem) != shown(numbered.Problem) {
		t.Errorf("by numbers:\n%s, and was\n%s", shown(got.Problem), shown(numbered.Problem))
	}
}
