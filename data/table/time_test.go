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
