package table

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

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
	either := func(changes bool, changed, y float64) float64 {
		if changes {
			return changed
		}
		return y
	}
	for _, c := range []struct {
		name   string
		change func(i int, y float64) float64
		want   []string // in the note; none is no note
	}{
		{"nothing wrong", func(_ int, y float64) float64 { return y }, nil},
		{
			"one of a million", func(i int, y float64) float64 { return either(i == 7, 1e6, y) },
			[]string{"1 values are more than 20 robust deviations", "a.csv: line 9: 1e+06"},
		},
		{
			"eight times a hundred", func(i int, y float64) float64 { return either(i%10 == 1, 100*y, y) },
			[]string{"8 values", "a.csv: line 3: ", "(8 in all)"},
		},
		{"far from its task, around 5, alone", func(i int, y float64) float64 { return either(i == 6, 400, y) }, nil},
		{"mostly zeros", func(i int, y float64) float64 { return either(i%3 > 0, 0, y) }, nil},
	} {
		note := noted(datatest.Must(Read(inFiles(t, "a.csv", prices(c.change)), Options{Task: "task"}))(t), begin)
		datatest.Holds(t, (note == "") == (c.want == nil), "%s: note %q", c.name, note)
		for _, want := range c.want {
			datatest.Holds(t, strings.Contains(note, want), "%s: note %q lacks %q", c.name, note, want)
		}
	}
}

// The target in other units puts rows into its order; what is only like it does not.
func TestColumnsInTheOrderOfTheTargetAreNamed(t *testing.T) {
	const begin = "columns that sort the rows as the target does: "
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
		want := begin + `"cents" (target "y"), "falls" (target "y"); `
		note := noted(datatest.Must(Read(paths, Options{Ignore: []string{"word"}}))(t), begin)
		datatest.Holds(t, strings.HasPrefix(note, want), "%d rows: note %q, want %q", n, note, want)
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
		datatest.Need(t, strings.Contains(text, old), "there is no %q", old)
		text = strings.Replace(text, old, bad, 1)
	}
	_, err := Read(inFiles(t, "a.csv", text), Options{Task: "task", Time: "when", Ignore: []string{"when"}})
	datatest.Need(t, err != nil, "no fault")
	lines := strings.Split(err.Error(), "\n")
	want := [][2]string{
		{`a.csv: line 6: column "y", the target: it is missing ("")`, "(3 such rows)"},
		{`a.csv: line 6: column "when", the time: "May" is not a number`, "2006-01-31"},
		{`column "id": 30 of its 30 values are different words`, "--categorical"},
		{`column "none": all its values are missing`, "--ignore"},
		{`a.csv: line 5: column "x": "old" is not a number`, "(3 such rows)"},
		{`a.csv: line 5: column "task", the task: it is missing ("")`, "(2 such rows)"},
	}
	datatest.Need(t, len(lines) == len(want), "%d faults, want %d:\n%v", len(lines), len(want), err)
	for i, w := range want {
		datatest.Holds(t, strings.Contains(lines[i], w[0]) && strings.HasSuffix(lines[i], w[1]),
			"fault %q, want %q to %q", lines[i], w[0], w[1])
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
		`a.csv: column 2 has no name, as columns of row numbers have none; name it, or leave it out with --ignore 2`,
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

// Times, dates and identifiers far from zero are centred before they are narrowed: rows differ by
// as much as their values do, in units of the deviation that a textbook has (of n rows).
func TestColumnsAreCentredInDoublePrecision(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var rows strings.Builder
	var times, ids, days []float64
	rows.WriteString("time,id,when,y\n")
	for i := range 200 {
		times = append(times, 1_764_100_000+float64(random.IntN(100_000))/100)
		ids = append(ids, 2_000_000_000+float64(i%20))
		second := random.IntN(86_400)
		days = append(days, float64(second)/86_400)
		fmt.Fprintf(&rows, "%.2f,%.0f,2025-11-25T%02d:%02d:%02d,%.3f\n", times[i], ids[i], second/3600, second/60%60, second%60, random.NormFloat64())
	}
	tab := datatest.Must(Read(inFiles(t, "a.csv", rows.String()), Options{}))(t)
	x := tab.Problem.Tasks[0].TrainSet.X
	names := tab.Recipe.Made()
	for name, values := range map[string][]float64{"time": times, "id": ids, "when=day": days} {
		j := slices.Index(names, name)
		datatest.Need(t, j >= 0, "no feature %q among %q", name, names)
		floats.AddConst(-values[0], values)
		mean, deviation := stat.PopMeanStdDev(values, nil)
		for i, v := range values {
			want := (v - mean) / deviation
			datatest.Near(t, float64(x.Row(i).Value[j]), want, 1e-6*max(1, math.Abs(want)), "%s, row %d", name, i)
		}
	}
	datatest.Equal(t, noted(tab, "values of "), "", "nothing is lost, and it is said")
}

// What a fit does to a column, a prediction does to it too, and to a blank.
func TestOffsetsOfNewRows(t *testing.T) {
	tab := datatest.Must(Read(inFiles(t, "a.csv", "time,y\n1764100001,1.5\n,2\n1764100003,4\n1764100005,1\n"), Options{}))(t)
	columns := tab.Recipe.ColumnsAt(datatest.Must(tab.Recipe.Bind([]string{"time"}, false, false))(t))
	for _, cell := range []string{"1764100001", "", "1764100004.5"} {
		columns[0].Add(cell)
	}
	// The mean is ...003; a blank has it, and says so.
	want := []float32{-2, 0, 0, 1, 1.5, 0}
	value, faults := tab.Recipe.Make(columns, 3, map[string]int{})
	datatest.Holds(t, faults == nil && slices.Equal(value, want), "features %v, want %v, %v", value, want, faults)
	datatest.Equal(t, tab.Recipe.Offsets(), []float64{1764100003, 0}, "offsets")
}

// Where a column is not centred, what single precision loses is said.
func TestWhatSinglePrecisionLosesIsNamed(t *testing.T) {
	for _, c := range []struct {
		name, cells string
		steps       []string
		named       bool
	}{
		{"identifiers as they are", "2000000001 2000000002 2000000003 2000000019", []string{None}, true},
		{"identifiers", "2000000001 2000000002 2000000003 2000000019", nil, false},
		{"years as they are", "2001 2002 2003 2019", []string{None}, false},
		{"next to nothing", "1e-200 2e-200 3e-200 4e-200", nil, true},
		{"one value", "2000000001 2000000001 2000000001 2000000001", []string{None}, false},
	} {
		var rows strings.Builder
		rows.WriteString("x,z,y\n")
		for i, cell := range strings.Fields(c.cells) {
			fmt.Fprintf(&rows, "%s,%d,%d.5\n", cell, i%3, i)
		}
		tab := datatest.Must(Read(inFiles(t, "a.csv", rows.String()), Options{Steps: c.steps}))(t)
		datatest.Equal(t, strings.HasPrefix(noted(tab, "values of "), "values of x differ"), c.named, "%s: notes %q", c.name, tab.Notes)
	}
}

// Rows that are copies are known to a fit that has seen one of them: of four copies of
// noise rows held out had an R^2 of 1.
func TestCopiesStayTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var noise, whole []string
	for range 30 {
		noise = append(noise, fmt.Sprintf("%.3f,%d,%.2f", random.NormFloat64(), random.IntN(3), random.NormFloat64()))
		whole = append(whole, fmt.Sprintf("%d,%d,%d", random.IntN(3), random.IntN(3), random.IntN(4)))
	}
	read := func(rows []string, header string, o Options) *Table {
		return datatest.Must(Read(inFiles(t, "a.csv", header+"\n"+strings.Join(slices.Concat(rows, rows, rows[:9]), "\n")+"\n"), o))(t)
	}
	tab := read(noise, "x,z,y", Options{})
	datatest.Holds(t, len(tab.Together) == 1 && slices.Equal(tab.Together[0][:30], tab.Together[0][30:60]) && len(data.Distinct(tab.Together[0])) == 30,
		"together %v", tab.Together)
	note := "rows that equal another one in all features and targets: 39; folds hold copies out together"
	datatest.Holds(t, slices.Contains(tab.Notes, note), "notes %q", tab.Notes)
	if tab := read(noise, "x,y1,y2", Options{Targets: []string{"y1", "y2"}, Kind: "regression"}); len(tab.Together) != 2 || !slices.Equal(tab.Together[1][:30], tab.Together[0][30:60]) {
		t.Errorf("two targets together: %v", tab.Together)
	}
	if tab := read(whole, "x,z,y", Options{}); tab.Together != nil {
		t.Errorf("rows of few values are equal by chance, and together %v", tab.Together)
	}
	for _, rows := range [][]string{noise[:15], noise} { // equal features, other targets
		var other []string
		for _, row := range rows {
			other = append(other, row, row+"1")
		}
		if tab, err := Read(inFiles(t, "a.csv", "x,z,y\n"+strings.Join(other, "\n")+"\n"), Options{}); err != nil || tab.Together != nil {
			t.Errorf("together %v, %v", tab.Together, err)
		}
	}
}

// What a table lacks has the mean of its column, in a fit and in a prediction.
func TestAbsentColumnsHaveTheirMean(t *testing.T) {
	tab := datatest.Must(Read(inFiles(t, "a.csv", "year,bit,x,y\n2001,1,3,1.5\n2003,0,1,2.5\n", "b.csv", "x,y\n1,3\n2,4.5\n"), Options{MissingColumns: Mean, Steps: []string{None}}))(t)
	datatest.Equal(t, shown(tab.Problem), "a; [2001 1 3] 1.5; [2003 0 1] 2.5\nb; [2002 0.5 1] 3; [2002 0.5 2] 4.5\n", "problem")
	columns := tab.Recipe.ColumnsAt(datatest.Must(tab.Recipe.Bind([]string{"x"}, false, true))(t))
	columns[2].Add("7")
	if value, faults := tab.Recipe.Make(columns, 1, map[string]int{}); faults != nil || !slices.Equal(value, []float32{2002, 0.5, 7}) {
		t.Errorf("features %v, %v", value, faults)
	}
}

// Every target of a dataset is a task, unless one is asked for.
func TestTargetsOfADataset(t *testing.T) {
	tasks := "../../testdata/formats/tasks.npz"
	if tab, err := Read([]string{tasks}, Options{}); err != nil || !slices.Contains(tab.Notes, "of the targets third, class the first is learned; --target names another") {
		t.Errorf("targets and groups: notes %q, %v", tab.Notes, err)
	}
	datatest.Refused(Read([]string{tasks}, Options{Targets: []string{"third", "class"}}))(t, nil, "then give one --target, not 2")
	file := without(t, tasks, "task.npy")
	all := datatest.Must(Read([]string{file}, Options{Kind: data.Regression}))(t)
	if got := all.Recipe.Targets; !slices.Equal(got, []string{"third", "class"}) || len(all.Problem.Tasks) != 2 || len(all.Together) != 2 {
		t.Fatalf("%d tasks of the targets %q", len(all.Problem.Tasks), got)
	}
	for i, asked := range []string{"third", "1"} {
		one := datatest.Must(Read([]string{file}, Options{Targets: []string{asked}, Kind: data.Regression}))(t)
		if got, want := one.Problem.Tasks[0].TrainSet.Y, all.Problem.Tasks[i].TrainSet.Y; len(got) != 8 || !slices.Equal(got, want) {
			t.Errorf("target %q: %v, among all %v", asked, got, want)
		}
	}
	datatest.Refused(Read([]string{file}, Options{Targets: []string{"7"}}))(t, nil, `there is no column "7"`)
}

// without is a zip file without one of its files.
func without(t *testing.T, path, name string) string {
	t.Helper()
	z := datatest.Must(zip.OpenReader(path))(t)
	defer z.Close()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range z.File {
		if f.Name == name {
			continue
		}
		datatest.Check(t, w.Copy(f))
	}
	datatest.Check(t, w.Close())
	return inFiles(t, "tasks.npz", b.String())[0]
}

// A thousand words in a column of many rows filled 2.5 GB.
func TestFeaturesOfWordsAreBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,y\n")
	for i := range 40000 {
		fmt.Fprintf(&text, "w%d,%d\n", i%900, i%7)
	}
	datatest.Refused(Read(inFiles(t, "a.csv", text.String()), Options{}))(t, nil, "words make 900 features; leave out")
}
