package format

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	f, err := data.LoadProblems(filepath.Join(dir, "p.json"))
	if err != nil {
		t.Fatal(err)
	}
	problems, err := f.Bind(nil, dir, Open)
	if err != nil {
		t.Fatal(err)
	}
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
	f, err := data.LoadProblems(path)
	if err != nil {
		t.Fatal(err)
	}
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
