package table

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

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
	if len(tab.Together) != 1 || !slices.Equal(tab.Together[0][:30], tab.Together[0][30:60]) || len(slices.Compact(slices.Sorted(slices.Values(tab.Together[0])))) != 30 {
		t.Errorf("together %v", tab.Together)
	}
	if note := "39 rows equal another one in all features and targets; folds hold copies out together"; !slices.Contains(tab.Notes, note) {
		t.Errorf("notes %q", tab.Notes)
	}
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
	columns := tab.Recipe.ColumnsAt(datatest.Must(tab.Recipe.Bind([]string{"x"}, 1, true))(t))
	columns[2].Add("7")
	if value, _, err := tab.Recipe.Make(columns, 1, Unseen{}); err != nil || !slices.Equal(value, []float32{2002, 0.5, 7}) {
		t.Errorf("features %v, %v", value, err)
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
