package format

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"l2mt/data"
)

func TestProblemsOfOwnFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.svmlight": "1 1:1 3:2\n-1 2:1\n", "a-test.svmlight": "-1 5:1\n",
		"b.svmlight": "1 1:2\n-1 4:1\n",
		"p.json": `{"schema": 1, "problems": [{"name": "mine", "tasks": [
			{"name": "a", "kind": "classification", "files": {"train": "a.svmlight", "test": "a-test.svmlight"}},
			{"name": "b", "kind": "classification", "positive": "-1", "negative": "1", "files": {"train": "b.svmlight"}}]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := must(data.LoadProblems(filepath.Join(dir, "p.json")))(t)
	problems := must(f.Bind(nil, dir, Open))(t)
	p := problems[0]
	if p.Cols() != 5 || p.Tasks[1].TestSet.X.Cols() != 5 {
		t.Errorf("%d and %d columns, want the 5 of the widest file", p.Cols(), p.Tasks[1].TestSet.X.Cols())
	}
	if got := [][]float64{p.Tasks[0].TrainSet.Y, p.Tasks[0].TestSet.Y, p.Tasks[1].TrainSet.Y}; !cmp.Equal(got, [][]float64{{1, -1}, {-1}, {-1, 1}}) {
		t.Errorf("labels %v", got)
	}
}

// What Bind reads, and so everybody else, goes the same way.
func TestBindRefusesFilesOutside(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "problems")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "rows.csv"), []byte("1,2,a\n3,4,b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "problems.json")
	if err := os.WriteFile(path, []byte(`{"schema": 1, "problems": [{"name": "p", "tasks": [{"name": "t", "kind": "classification", "files": {"train": "../rows.csv"}}]}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	f := must(data.LoadProblems(path))(t)
	if _, err := f.Bind(nil, dir, Open); !errors.Is(err, data.ErrOutside) {
		t.Errorf("error %v, want ErrOutside", err)
	}
	f.Outside = true
	if _, err := f.Bind(nil, dir, Open); err != nil {
		t.Error(err)
	}
	if _, err := f.Bind(nil, root, Open); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want ErrNotExist", err)
	}
}

// Columns are matched by name, in whichever order: the reversed file has the rows of
// the other.
func TestProblemsMatchColumnsByName(t *testing.T) {
	for _, c := range []struct{ name, test, want string }{
		{"reversed", "label,c,b,a\nyes,3,2,1\nno,6,5,4\n", ""},
		{"strange", "a,b,d,label\n1,2,3,yes\n4,5,6,no\n", `test.csv has no feature "c", which .*train.csv has`},
		{"more", "a,b,c,d,label\n1,2,3,0,yes\n4,5,6,0,no\n", `test.csv has a feature "d", which .*train.csv has not`},
		{"bare", "1,2,3,yes\n4,5,6,no\n", "test.csv does not name its features"},
		{"twice", "a,c,b,b,label\n1,3,2,2,yes\n4,6,5,5,no\n", `equal names`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := bind(t, "classification", "a,b,c,label\n1,2,3,yes\n4,5,6,no\n", c.test)
			if c.want != "" {
				if err == nil || !errors.Is(err, data.ErrMismatch) || !regexp.MustCompile(c.want).MatchString(err.Error()) {
					t.Errorf("error %v, want %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for j := range 2 {
				if train, test := p.Tasks[0].TrainSet.X.Row(j).Value, p.Tasks[0].TestSet.X.Row(j).Value; !cmp.Equal(train, test) {
					t.Errorf("row %d is %v, want %v", j, test, train)
				}
			}
		})
	}
}

// Whole numbers, which could be classes, are targets where the task says regression.
func TestWholeNumbersAreTargetsOfARegression(t *testing.T) {
	p := must(bind(t, "regression", "a,y\n1,20\n2,30\n3,25\n", "a,y\n1,22\n"))(t)
	if y := p.Tasks[0].TrainSet.Y; !cmp.Equal(y, []float64{20, 30, 25}) {
		t.Errorf("targets %v", y)
	}
	if _, err := bind(t, "regression", "a,y\n1,low\n2,high\n", "a,y\n1,low\n"); !errors.Is(err, data.ErrMismatch) {
		t.Errorf("error %v, want ErrMismatch", err)
	}
}

// bind reads a problem of one task with files of its own.
func bind(t *testing.T, kind, train, test string) (*data.ProblemData, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"train.csv": train, "test.csv": test,
		"p.json": `{"schema": 1, "problems": [{"name": "p", "tasks": [{"name": "t", "kind": "` + kind + `", "files": {"train": "train.csv", "test": "test.csv"}}]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := must(data.LoadProblems(filepath.Join(dir, "p.json")))(t)
	problems, err := f.Bind(nil, dir, Open)
	if err != nil {
		return nil, err
	}
	return problems[0], nil
}
