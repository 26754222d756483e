package table

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/format"
)

// inFiles writes files, given as name and content in turn, and returns their paths.
func inFiles(t testing.TB, files ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		datatest.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		datatest.Check(t, os.WriteFile(path, []byte(files[i+1]), 0o644))
		paths = append(paths, path)
	}
	return paths
}

// shown writes a problem down: a line a task, with its rows before the labels.
func shown(p *data.ProblemData) string {
	var b strings.Builder
	for _, t := range p.Tasks {
		fmt.Fprintf(&b, "%s", t.Name)
		if t.Positive != "" {
			fmt.Fprintf(&b, " (%s or %s)", t.Positive, t.Negative)
		}
		for i, y := range t.TrainSet.Y {
			fmt.Fprintf(&b, "; %v %v", t.TrainSet.X.Row(i).Value, y)
		}
		b.WriteString("\n")
	}
	if p.Classes != nil {
		fmt.Fprintf(&b, "classes %s\n", strings.Join(p.Classes, ", "))
	}
	return b.String()
}

func TestShapesOfTables(t *testing.T) {
	for _, c := range []struct {
		name     string
		files    []string
		o        Options
		features []string
		want     string
		notes    []string
	}{
		{
			"a column names the task, spaces, CRLF, quotes and a mark", []string{"school.csv", "\ufeffpupil,school,\"the score\",boy\r\n1,10,2.5,1\r\n 2 ,9,3,0\r\n3,10,4,1\r\n4,9,1,1\r\n"},
			Options{Task: "school", Targets: []string{"the score"}, Ignore: []string{"pup*"}}, []string{"boy"},
			"9; [0] 3; [1] 1\n10; [1] 2.5; [1] 4\n", nil,
		}, {
			"whole numbers are a regression, and it is said", []string{"a.tsv", "x\ttask\ty\n1\ta\t3\n2\ta\t4\n3\ta\t5\n"},
			Options{Task: "task"}, []string{"x"},
			"a; [1] 3; [2] 4; [3] 5\n", []string{`target "y": 3 different whole numbers, taken for regression; say --kind classification if they are classes`},
		}, {
			"a pattern of target columns with blanks", []string{"tox.csv", "tox2,x,tox1,id\n1,7,,a\n,8,0,b\n0,9,1,c\n,,,\n"},
			Options{Targets: []string{"tox*"}, Ignore: []string{"id"}}, []string{"x"},
			"tox2 (1 or 0); [7] 1; [9] -1\ntox1 (1 or 0); [8] -1; [9] 1\n", []string{"rows without a label, which are left out: 1"},
		}, {
			"a file a task, columns by name", []string{"a.csv", "x,spam,z\n1,no,2\n3,yes,4\n", "b.csv", "z,x,spam\n20,10,yes\n40,30,no\n"},
			Options{Targets: []string{"spam"}, Steps: []string{None}}, []string{"x", "z"},
			"a (yes or no); [1 2] -1; [3 4] 1\nb (yes or no); [10 20] 1; [30 40] -1\n", nil,
		}, {
			"missing columns have their mean", []string{"a.csv", "x,c,y\n1,red,0\n3,blue,1\n", "b.csv", "y,z\n1,5\n0,6\n"},
			Options{MissingColumns: Mean, Categorical: []string{"c"}, Positive: "0", Steps: []string{None}}, []string{"x", "c=blue", "c=red", "z"},
			"a (0 or 1); [1 0 1 5.5] 1; [3 1 0 5.5] -1\nb (0 or 1); [2 0.5 0.5 5] -1; [2 0.5 0.5 6] 1\n", nil,
		}, {
			"one file lacks a column to ignore", []string{"a.csv", "id,w,x,y\n1,1,2,0.5\n2,1,3,1.5\n", "b.csv", "id,x,y\n3,4,2.5\n4,5,3\n"},
			Options{Ignore: []string{"w", "id"}}, []string{"x"},
			"a; [2] 0.5; [3] 1.5\nb; [4] 2.5; [5] 3\n", nil,
		}, {
			"no header, columns by number", []string{"a.csv", "1,2.5,7\n3,4.5,8\n", "b.csv", "5,6.5,9\n7,8.5,6\n"},
			Options{Targets: []string{"1"}}, []string{"0", "2"},
			"a; [1 7] 2.5; [3 8] 4.5\nb; [5 9] 6.5; [7 6] 8.5\n", []string{"no header: columns are known by their numbers, from 0, and matched by position"},
		}, {
			"classes of each task", []string{"a.csv", "x,class\n1,cat\n2,dog\n", "b.csv", "x,class\n3,wolf\n4,fox\n"},
			Options{}, []string{"x"},
			"a (dog or cat); [1] -1; [2] 1\nb (wolf or fox); [3] 1; [4] -1\n", nil,
		}, {
			"more than two classes, of which a task has two", []string{"a.csv", "t,x,class\na,1,cat\na,2,dog\na,3,ant\nb,4,eel\nb,5,cat\n"},
			Options{Task: "t"}, []string{"x"},
			"a; [1] 1; [2] 2; [3] 0\nb; [4] 3; [5] 1\nclasses ant, cat, dog, eel\n", nil,
		}, {
			"words are categories, gaps are means", []string{"a.csv", "city,size,y\nRome,1,0.5\nOslo,,1.5\n?,4,2.5\nRome,4,3.5\n"},
			Options{}, []string{"city=Oslo", "city=Rome", "city is missing", "size", "size is missing"},
			"y; [0 1 0 1 0] 0.5; [1 0 0 3 1] 1.5; [0.33333334 0.6666667 1 4 0] 2.5; [0 1 0 4 0] 3.5\n", []string{"words are categories: city (2); blanks become means, and a further column marks them: city, size (--strict refuses them)"},
		}, {
			"tasks that cannot be learned are left out", []string{"a.csv", "task,x,y\na,1,0\na,2,1\nb,3,1\nc,4,1\nc,5,1\nc,6,\n"},
			Options{Task: "task", SkipTasks: true, SkipUnlabelled: true}, []string{"x"},
			"a (1 or 0); [1] -1; [2] 1\n", []string{"rows without a label, which are left out: 1", `2 of 3 tasks are left out, the first because: task "b": it has a single row, or one class`},
		}, {
			"unlike scales are standardised, ones and zeros are not", []string{"a.csv", "big,bit,y\n100,0,1.5\n300,1,2.5\n100,0,3.5\n300,0,1.5\n"},
			Options{}, []string{"big", "bit"},
			"y; [-1 0] 1.5; [1 1] 2.5; [-1 0] 3.5; [1 0] 1.5\n", []string{"features are standardised, as their scales differ; --step none keeps them"},
		}, {
			"years are standardised", []string{"a.csv", "year,y\n2010,1.5\n2012,2.5\n2010,3.5\n2012,1.5\n"},
			Options{}, []string{"year"},
			"y; [-1] 1.5; [1] 2.5; [-1] 3.5; [1] 1.5\n", []string{"column year may be a time: if new rows come later than these, say --time year, so that errors hold for the future", "features are standardised, as their scales differ; --step none keeps them"},
		}, {
			"a column that counts the rows", []string{"a.csv", "pupil,x,y\n" + many("%d,5,%d.5\n", 20)},
			Options{Ignore: []string{"x"}, Steps: []string{None}}, []string{"pupil"},
			"y;" + strings.TrimSuffix(many(" [%d] %d.5;", 20), ";") + "\n", []string{`column "pupil" only counts the rows; if it is their number, leave it out with --ignore`},
		}, {
			"what is constant is not far from zero", []string{"a.csv", "seven,x,y\n7,1,1.5\n7,2,2.5\n7,3,3.5\n"},
			Options{}, []string{"seven", "x"},
			"y; [7 1] 1.5; [7 2] 2.5; [7 3] 3.5\n", nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab := datatest.Must(Read(inFiles(t, c.files...), c.o))(t)
			datatest.Equal(t, shown(tab.Problem), c.want, "problem")
			if got := tab.Recipe.Features(); !slices.Equal(got, c.features) || tab.Recipe.Width() != len(got) {
				t.Errorf("features %q, width %d, want %q", got, tab.Recipe.Width(), c.features)
			}
			datatest.Equal(t, tab.Notes, c.notes, "notes")
		})
	}
}

// Groups are numbered for the rows of every task, one without a value is its own,
// and rows of validation files are known by the task that the row names.
func TestGroupsAndValidationFiles(t *testing.T) {
	files := inFiles(t,
		"a.csv", "t,who,x,y\na,Ann,1,2.5\nb,Ben,2,3.5\na,Ann,3,4.5\nb,,4,1.5\na,Ben,5,0.5\nb,,5,0.5\n",
		"v.csv", "who,y,x,t\nAnn,7.5,8,b\nCid,6.5,9,a\n")
	o := Options{Task: "t", Group: []string{"who"}, Validation: files[1:]}
	tab := datatest.Must(Read(files[:1], o))(t)
	datatest.Equal(t, tab.Recipe.Features(), []string{"x"}, "features")
	datatest.Equal(t, fmt.Sprint(tab.Together), "[[0 0 1 7] [1 3 5 0]]", "groups")
	datatest.Equal(t, fmt.Sprint(tab.Held), "[[3] [3]]", "validation rows")
	fold := datatest.Must(tab.Problem.Hold(tab.Held))(t)
	if y := fold.Tasks[1].ValidationSet.Y; !slices.Equal(y, []float64{7.5}) || len(fold.Tasks[1].TrainSet.Y) != 3 {
		t.Errorf("b validates %v", y)
	}
	datatest.Equal(t, fmt.Sprint(datatest.Must(Read(files[:1], Options{Task: "t", Group: []string{"0"}, Ignore: []string{"who"}}))(t).Together), "[[0 0 0] [1 1 1]]", "groups that are the tasks")
	if tab, err := Read(files[:1], Options{Task: "t", Ignore: []string{"who"}}); err != nil || tab.Together != nil || tab.Held != nil {
		t.Errorf("%v, %v, %v", tab.Together, tab.Held, err)
	}
}

// The tables of all kinds of the command hold more errors.
func TestBadTables(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		o     Options
		is    error
		want  string
	}{
		{"no target", []string{"a.csv", "x,z\n1,2\n"}, Options{}, data.ErrInvalid, "a.csv: --target: no column is called label, class, y or target; name the column of the labels, one of x, z"},
		{"no such target", []string{"a.csv", "x,z\n1,2\n"}, Options{Targets: []string{"tox*"}}, data.ErrInvalid, `a.csv: --target: there is no column "tox*"; there are x, z`},
		{"no such thing to ignore", []string{"a.csv", "x,y\n1,2\n"}, Options{Ignore: []string{"w"}}, data.ErrInvalid, `a.csv: --ignore: there is no column "w"`},
		{"no such group", []string{"a.csv", "x,y\n1,2\n"}, Options{Group: []string{"w"}}, data.ErrInvalid, `a.csv: --group: there is no column "w"`},
		{"a group that is the target", []string{"a.csv", "x,y\n1,2\n"}, Options{Group: []string{"y"}}, data.ErrInvalid, `a.csv: column "y": it cannot be the group and a target`},
		{"a time that is a word", []string{"a.csv", "x,w,y\n1,2024-01-01,2.5\n2,May,3.5\n3,2024-01-03,4.5\n"}, Options{Time: "w", Categorical: []string{"*"}}, data.ErrFormat, `a.csv: line 2: column "w", the time: "2024-01-01" is not a number, and not all rows are dates of one form; write dates as 2006-01-31`},
		{"target that is categorical", []string{"a.csv", "x,y\n1,2\n"}, Options{Categorical: []string{"y"}}, data.ErrInvalid, `a.csv: column "y": it cannot be a target and a category`},
		{"two targets of one name", []string{"a.csv", "x,tox,tox\n1,0,1\n"}, Options{Targets: []string{"tox"}}, data.ErrInvalid, `a.csv: two columns are called "tox"; rename one, or leave it out by its number with --ignore 2`},
		{"task column and several targets", []string{"a.csv", "t,x,y1,y2\n1,2,3,4\n"}, Options{Task: "t", Targets: []string{"y*"}}, data.ErrInvalid, "a.csv: a column names the task, and 2 are targets; give one target"},
		{"mixed kinds", []string{"a.csv", "x,y1,y2\n1,0,1.5\n2,1,2.5\n3,0,3.5\n"}, Options{Targets: []string{"y*"}}, data.ErrInvalid, `columns "y1" and "y2": one is classification and the other regression; fit them separately, or give both one --kind`},
		{"a word for a regression", []string{"a.csv", "x,y\n1,yes\n2,no\n"}, Options{Kind: data.Regression}, data.ErrFormat, `a.csv: line 2: column "y": "yes": it is not a number`},
		{"infinite target", []string{"a.csv", "x,y\n1,inf\n"}, Options{}, data.ErrInvalid, `a.csv: line 2: column "y", the target: it is inf; it must be finite`},
		{"NaN target", []string{"a.csv", "x,y\n1,NaN\n"}, Options{}, data.ErrInvalid, `a.csv: line 2: column "y", the target: it is missing ("NaN"); fill it in, leave such rows out with --skip-unlabelled`},
		{"one value", []string{"a.csv", "x,y\n1,7\n2,7\n"}, Options{Kind: data.Regression}, data.ErrInvalid, `target "y": all 2 rows are the same; they must differ`},
		{"no labels", []string{"a.csv", "x,y1,y2\n1,,2\n2,,3\n3,,4\n"}, Options{Targets: []string{"y1", "y2"}}, data.ErrInvalid, `task "y1": no row is labelled`},
		{"a positive one of three classes", []string{"a.csv", "x,y\n1,a\n2,b\n3,c\n"}, Options{Positive: "b"}, data.ErrInvalid, `--positive: "b": there are 3 classes, from "a" to "c"; only with two is one of them positive`},
		{"identifiers for classes", []string{"a.csv", "x,y\n" + many("%d,id%d\n", mostClasses+1)}, Options{}, data.ErrInvalid, `target "y": it has 1001 classes, from "id0" to "id999"; there can be 1000, but numbers can be fitted with --kind regression`},
		{"no such class", []string{"a.csv", "x,y\n1,a\n2,b\n"}, Options{Positive: "c"}, data.ErrInvalid, `task "y": its classes are "a" and "b"; "c" cannot be the positive one`},
		{"a header with numbers in it", []string{"a.csv", "x,2019,2020\n1,2,3\n"}, Options{Targets: []string{"2"}}, data.ErrFormat, `a.csv: line 1: column "0": "x" is not a number; correct it, say --na if it means that there is none, or fit with the column as --categorical or without it (--ignore) (if this line names the columns say --header yes)`},
		{"tasks of one name", []string{"a/x.csv", "x,y\n1,2\n", "b/x.csv", "x,y\n1,2\n"}, Options{}, data.ErrInvalid, `b/x.csv: two files make a task "x"`},
		{"column that one file lacks", []string{"a.csv", "x,y\n1,2\n", "b.csv", "x,z,y\n1,2,3\n"}, Options{}, data.ErrMismatch, `a.csv: there is no column "z", which `},
		{"one header of two", []string{"a.csv", "x,y\n1,2\n", "b.csv", "1,3\n"}, Options{Targets: []string{"1"}}, data.ErrMismatch, "b.csv: either it or "},
		{"formats", []string{"a.csv", "x,y\n1,2\n", "b.npz", "x"}, Options{}, data.ErrInvalid, "b.npz: its format is npz; rows are read from csv, tsv and parquet"},
		{"identifier", []string{"a.csv", "x,y\n" + many("id%d,%d\n", mostLevels+1)}, Options{Categorical: []string{"x"}}, data.ErrInvalid, `column "x": 1001 of its 1001 values are different words; leave it out with --ignore if it is an identifier`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(inFiles(t, c.files...), c.o)
			datatest.Says(t, err, c.is, c.want)
			datatest.Holds(t, !strings.Contains(fmt.Sprint(err), "\n"), "more than one fault: %v", err)
		})
	}
}

func many(line string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line, i, i)
	}
	return b.String()
}

// Rows that the recipe makes of the table it comes from are those of the problem,
// before the steps.
func TestRecipesRepeatWhatWasDone(t *testing.T) {
	text := "city,size,age,y\nRome,1,30,0.5\nOslo,,40,1.5\n?,4,50,2.5\nRome,4,60,3.5\n"
	tab := datatest.Must(Read(inFiles(t, "a.csv", text), Options{Categorical: []string{"city"}, Steps: []string{None}}))(t)
	raw := datatest.Must(json.Marshal(tab.Recipe))(t)
	var recipe Recipe
	datatest.Check(t, json.Unmarshal(raw, &recipe))
	at := datatest.Must(recipe.Bind([]string{"age", "extra", "size", "city"}, false, false))(t)
	unseen := map[string]int{}
	x := tab.Problem.Tasks[0].TrainSet.X
	for i, row := range [][]string{{"30", "", "1", "Rome"}, {"40", "", "nan", "Oslo"}, {"50", "", "4", ""}, {"60", "", "4", "Rome"}} {
		got := datatest.Must(featuresOf(&recipe, at, row, unseen))(t)
		datatest.Equal(t, got, x.Row(i).Value, "row %d", i)
	}
	datatest.Equal(t, datatest.Must(featuresOf(&recipe, at, []string{"1", "", "2", "Bonn"}, unseen))(t), []float32{0, 0, 0, 2, 0, 1}, "features")
	datatest.Holds(t, len(unseen) == 1 && unseen[`rows with the level "Bonn" in column "city", which the model has not seen (it adds nothing)`] == 1, "unseen levels %v", unseen)
	datatest.Refused(featuresOf(&recipe, at, []string{"old", "", "2", "Bonn"}, unseen))(t, nil, `column "age": "old" is not a number`)
}

// With --na= the word none is a level, in the model too.
func TestEmptyListOfMissingCellsIsKept(t *testing.T) {
	none := Recipe{NA: []string{}}
	var kept Recipe
	err := json.Unmarshal(datatest.Must(json.Marshal(none))(t), &kept)
	datatest.Holds(t, err == nil && !kept.IsMissing("none"), "none is taken for a missing value (%v)", err)
}

// featuresOf are those of one row.
func featuresOf(recipe *Recipe, at []int, cells []string, unseen map[string]int) ([]float32, error) {
	columns := recipe.ColumnsAt(at)
	for _, c := range columns {
		c.Add(cells[c.At])
	}
	x, faults := recipe.Make(columns, 1, unseen)
	if faults != nil {
		return nil, faults[0].Err
	}
	return x, nil
}

func TestRecipesBind(t *testing.T) {
	named := Recipe{Columns: []Column{{Name: "x"}, {Name: "z"}}}
	bare := Recipe{Columns: []Column{{Name: "0"}, {Name: "2"}}, ByPosition: true}
	for _, c := range []struct {
		r     Recipe
		names []string
		zeros bool
		want  string
	}{
		{named, []string{"z", "w", "x"}, false, ""},
		{named, []string{"z"}, false, "there is no column x; there are z"},
		{named, []string{"z"}, true, ""},
		{named, []string{"z", "x", "x"}, false, `two columns are called "x"`},
		{named, format.Numbered(3), false, "it has no header; the columns x, z are known by name"},
		{bare, format.Numbered(3), false, ""},
		{bare, []string{"x", "y", "z"}, false, `it has a header, which begins with "x"`},
	} {
		_, err := c.r.Bind(c.names, c.names[0] == "0", c.zeros)
		datatest.Holds(t, (err == nil) == (c.want == "") && (err == nil || strings.Contains(err.Error(), c.want)),
			"%q: %v, want %q", c.names, err, c.want)
	}
}

// Whatever the table to be predicted is, its rows become finite features or an
// error.
func FuzzFeatures(f *testing.F) {
	for _, seed := range []string{"x,c\n1,red\n", "c,x\nblue,\n?,2\n", "x\n1\n", "x,c\n1e40,red\n", "x,c,c\n1,2,3\n", "1,2\n", "x,c\nNaN,NaN\n0x1p3,\"re\nd\"\n"} {
		f.Add(seed)
	}
	recipe := Recipe{Columns: []Column{{Name: "x", Mean: []float64{7}}, {Name: "c", Levels: []string{"blue", "red"}, Mean: []float64{0.5, 0.5}}}}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := format.OpenRows("fuzz", format.Options{From: io.NopCloser(strings.NewReader(text))})
		if err != nil || rows.Width == 0 {
			return
		}
		at, err := recipe.Bind(rows.Names, rows.Bare, true)
		if err != nil {
			return
		}
		columns := recipe.ColumnsAt(at)
		lines, err := rows.Read(columns)
		if err != nil {
			return
		}
		x, faults := recipe.Make(columns, len(lines), map[string]int{})
		if faults != nil {
			return
		}
		for _, v := range x {
			if v := float64(v); math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%q makes %v", text, x)
			}
		}
	})
}
