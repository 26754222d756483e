package table

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

// noted is the one note that begins with a text, or nothing.
func noted(tab *Table, begin string) string {
	i := slices.IndexFunc(tab.Notes, func(note string) bool { return strings.HasPrefix(note, begin) })
	if i < 0 {
		return ""
	}
	return tab.Notes[i]
}

// prices are rows of two tasks with targets around 5 and 500, of which change may make others.
func prices(change func(i int, y float64) float64) string {
	random := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	b.WriteString("x,task,y\n")
	for i := range 80 {
		y := []float64{5, 500}[i%2] * (1 + 0.2*random.NormFloat64())
		fmt.Fprintf(&b, "%.3f,%c,%v\n", random.NormFloat64(), "ab"[i%2], change(i, y))
	}
	return b.String()
}

// A value that is far from its task and from all is no value of either: a wrong unit, or a missing
// one that is written as a number.
func TestTargetsFarOffAreNamed(t *testing.T) {
	const begin = `target "y": `
	for _, c := range []struct {
		name   string
		change func(i int, y float64) float64
		want   []string // in the note; none is no note
	}{
		{"nothing wrong", func(_ int, y float64) float64 { return y }, nil},
		{"one of a million", func(i int, y float64) float64 {
			if i == 7 {
				return 1e6
			}
			return y
		}, []string{"1 values are more than 20 robust deviations", "a.csv: line 9: 1e+06"}},
		{"eight times a hundred", func(i int, y float64) float64 {
			if i%10 == 1 {
				return 100 * y
			}
			return y
		}, []string{"8 values", "a.csv: line 3: ", "(8 in all)"}},
		{"far from its task alone", func(i int, y float64) float64 {
			if i == 6 { // of the task around 5
				return 400
			}
			return y
		}, nil},
		{"mostly zeros", func(i int, y float64) float64 {
			if i%3 > 0 {
				return 0
			}
			return y
		}, nil},
	} {
		note := noted(datatest.Must(Read(inFiles(t, "a.csv", prices(c.change)), Options{Task: "task"}))(t), begin)
		if (note == "") != (c.want == nil) {
			t.Errorf("%s: note %q", c.name, note)
		}
		for _, want := range c.want {
			if !strings.Contains(note, want) {
				t.Errorf("%s: note %q lacks %q", c.name, note, want)
			}
		}
	}
}

// The target in other units puts rows into its order; what is only like it does not.
func TestColumnsInTheOrderOfTheTargetAreNamed(t *testing.T) {
	const begin = "rows are in the order of the target by "
	random := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{30, 3000} {
		var b strings.Builder
		b.WriteString("cents,falls,like,y,word\n")
		for range n {
			y := random.NormFloat64()
			word := "low"
			if y > 0 {
				word = "much"
			}
			fmt.Fprintf(&b, "%.6f,%.6f,%.6f,%.6f,%s\n", 100*y+3, math.Exp(-y), y+0.1*random.NormFloat64(), y, word)
		}
		paths := inFiles(t, "a.csv", b.String())
		want := begin + `"cents" (target "y"), "falls" (target "y"): `
		if note := noted(datatest.Must(Read(paths, Options{Ignore: []string{"word"}}))(t), begin); !strings.HasPrefix(note, want) {
			t.Errorf("%d rows: note %q, want %q", n, note, want)
		}
		datatest.Equal(t, noted(datatest.Must(Read(paths, Options{Targets: []string{"word"}}))(t), begin), "", "%d rows of classes: note", n)
	}
}

// Spellings of one name are one task, class and category, and it is said in one line.
func TestSpellingsAreOneName(t *testing.T) {
	const begin = "names are taken for one that differ in case, composed accents or a zero behind the point: "
	text := "task,c,x,y\n" +
		"Caf\u00e9,True,1,yes\nCafe\u0301,TRUE,2,No\nCAF\u00c9,false,3,Yes\n" +
		"1,False,4,no\n1.0,true,5,NO\n1.5,false,6,yes\n"
	tab := datatest.Must(Read(inFiles(t, "a.csv", text), Options{Task: "task", Positive: "YES", Steps: []string{None}}))(t)
	var tasks []string
	for _, task := range tab.Problem.Tasks {
		tasks = append(tasks, fmt.Sprintf("%s: %s or %s, %d rows", task.Name, task.Positive, task.Negative, len(task.TrainSet.Y)))
	}
	datatest.Equal(t, tasks, []string{"1: yes or No, 2 rows", "1.5: yes or No, 1 rows", "Caf\u00e9: yes or No, 3 rows"}, "tasks")
	if got, want := tab.Recipe.Features(), []string{"c=True", "c=false", "x"}; len(got) != 3 || !slices.Contains(got, want[0]) || !slices.Contains(got, want[1]) {
		t.Errorf("features %q, want %q", got, want)
	}
	if note := noted(tab, begin); !strings.Contains(note, `in column "task"`) || !strings.Contains(note, "(9 in all)") {
		t.Errorf("note %q", note)
	}
	for _, apart := range []string{"a\nb\nB2\n", "1.10\n1.1\n1.2\n", "01\n1\n2\n"} { // versions and codes are no numbers
		cells := strings.Fields(apart)
		rows := "task,x,y\n"
		for i, cell := range slices.Concat(cells, cells) {
			rows += fmt.Sprintf("%s,%d,%d.5\n", cell, i%4, i)
		}
		if tab := datatest.Must(Read(inFiles(t, "a.csv", rows), Options{Task: "task"}))(t); len(tab.Problem.Tasks) != 3 || noted(tab, begin) != "" {
			t.Errorf("%d tasks of %q, notes %q", len(tab.Problem.Tasks), cells, tab.Notes)
		}
	}
	// What is missing by its spelling stays missing, and a name stays a name.
	tab = datatest.Must(Read(inFiles(t, "a.csv", "task,x,y\nna,1,2.5\nNA,2,3.5\nb,3,1.5\nna,2,4\n"), Options{Task: "task", NA: []string{"x"}}))(t)
	datatest.Equal(t, len(tab.Problem.Tasks), 2, "tasks")
}

// What is wrong with columns is said in one run, with the first of the rows and their number.
func TestFaultsAreNamedTogether(t *testing.T) {
	text := "when,task,x,id,none,y\n"
	for i := range 30 {
		text += fmt.Sprintf("%d,t%d,%d,id%d,,%d\n", i, i%3, i*i%7, i, i)
	}
	for old, bad := range map[string]string{
		"\n3,t0,2,id3,,3\n":    "\n3,,old,id3,,3\n",
		"\n4,t1,2,id4,,4\n":    "\nMay,NA,2,id4,,\n",
		"\n9,t0,4,id9,,9\n":    "\n9,t0,young,id9,,NA\n",
		"\n10,t1,2,id10,,10\n": "\n10,t1,1e99,id10,,?\n",
	} {
		if !strings.Contains(text, old) {
			t.Fatalf("there is no %q", old)
		}
		text = strings.Replace(text, old, bad, 1)
	}
	_, err := Read(inFiles(t, "a.csv", text), Options{Task: "task", Time: "when", Ignore: []string{"when"}})
	if err == nil {
		t.Fatal("no fault")
	}
	lines := strings.Split(err.Error(), "\n")
	want := [][2]string{
		{`a.csv: line 6: column "y", the target: it is missing ("")`, "(3 such rows)"},
		{`a.csv: line 6: column "when", the time: "May" is no number`, "2006-01-31"},
		{`column "id": 30 of its 30 values are different words`, "--categorical"},
		{`column "none": all its values are missing`, "--ignore"},
		{`a.csv: line 5: column "x": "old" is not a number`, "(3 such rows)"},
		{`a.csv: line 5: column "task", the task: it is missing ("")`, "(2 such rows)"},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d faults, want %d:\n%v", len(lines), len(want), err)
	}
	for i, w := range want {
		if !strings.Contains(lines[i], w[0]) || !strings.HasSuffix(lines[i], w[1]) {
			t.Errorf("fault %q, want %q to %q", lines[i], w[0], w[1])
		}
	}
}

// What is wrong with headers is said in one run too, and nothing that follows from it.
func TestFaultsOfHeadersAreNamedTogether(t *testing.T) {
	files := inFiles(t, "a.csv", "id,id,,y\n1,2,3,4\n2,3,4,5\n")
	_, err := Read(files, Options{Task: "school", Targets: []string{"z"}, Weight: "y"})
	want := []string{
		`a.csv: --task: there is no column "school"; there are id, id, , y`,
		`a.csv: --target: there is no column "z"; there are id, id, , y`,
		`a.csv: two columns are called "id"; rename one, or leave it out by its number with --ignore 1`,
		`a.csv: column 2 has no name, as if it were the numbers of the rows; name it, or leave it out with --ignore 2`,
	}
	said := strings.ReplaceAll(fmt.Sprint(err), files[0], "a.csv")
	datatest.Equal(t, said, strings.Join(want, "\n"), "faults of a header")
	_, err = Read(inFiles(t, "a.csv", "x,u,v,y\n1,2,3,4\n", "b.csv", "x,y\n1,2\n"), Options{})
	if said = fmt.Sprint(err); !strings.Contains(said, `no column "u"`) || !strings.Contains(said, `no column "v"`) {
		t.Errorf("of two columns that a file lacks it says %q", said)
	}
}

// A word that repeats among a few codes is a category. A single one, or one among numbers that
// differ, is a mistake.
func TestCodesAreCategories(t *testing.T) {
	for want, c := range map[string]struct {
		word  string
		rows  int
		codes int
	}{
		"":                       {"4 or more", 80, 4},
		"\"2x\" is not a number": {"2x", 4, 4},
		"\"-9x\" is not":         {"-9x", 400, 40},
	} {
		text := "child,y\n"
		for i := range c.rows {
			code := strconv.Itoa(i % c.codes)
			if i%c.codes == 0 {
				code = c.word
			}
			text += fmt.Sprintf("%s,%d\n", code, i*i%97)
		}
		tab, err := Read(inFiles(t, "a.csv", text), Options{})
		if want != "" {
			datatest.Says(t, err, data.ErrFormat, want)
		} else if err != nil || len(tab.Recipe.Columns[0].Levels) != c.codes {
			t.Errorf("%d rows of %d codes: %v", c.rows, c.codes, err)
		}
	}
}
