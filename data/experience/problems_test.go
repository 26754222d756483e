package experience_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
)

// onDataset makes a problem file on a dataset beside it.
func onDataset(t *testing.T, dir string) string {
	t.Helper()
	datatest.Check(t, os.MkdirAll(dir, 0o755))
	write(t, filepath.Join(dir, "rows.csv"), []byte("1,2,a\n3,4,b\n5,6,a\n7,8,b\n"))
	path := filepath.Join(dir, "mine.json")
	write(t, path, []byte(`{"schema": 1, "dataset": {"path": "rows.csv"}, "problems": [
		{"name": "p", "tasks": [{"name": "t", "kind": "classification", "positive": "a", "negative": "b", "train": [0, 1], "test": [2]}]},
		{"name": "q", "tasks": [{"name": "t", "kind": "classification", "positive": "b", "negative": "a", "train": [0, 1], "test": [3]}]}]}`))
	return path
}

func openProblems(t *testing.T, path string) *experience.Problems {
	t.Helper()
	return datatest.Must(experience.OpenProblems(path, "", false))(t)
}

// double doubles all features.
var double = experience.Transform{Name: "a doubling", Identity: "2x", Apply: func(p *data.ProblemData) (*data.ProblemData, error) {
	twice := *p
	twice.Tasks = slices.Clone(p.Tasks)
	for i, t := range twice.Tasks {
		values := slices.Clone(t.TrainSet.X.Row(0).Value)
		for j := range values {
			values[j] *= 2
		}
		x, err := data.NewDense(1, len(values), values)
		if err != nil {
			return nil, err
		}
		twice.Tasks[i].TrainSet.X = x
	}
	return &twice, nil
}}

func TestProblemsComeWithTheirData(t *testing.T) {
	p := openProblems(t, onDataset(t, t.TempDir()))
	all, err := p.All()
	if err != nil || len(all) != 2 || p.Len() != 2 {
		t.Fatal(all, err)
	}
	q, err := p.Problem(1)
	if err != nil || q.Name != "q" || !slices.Equal(q.Tasks[0].TrainSet.Y, []float64{-1, 1}) || !slices.Equal(q.Tasks[0].TestSet.X.Row(0).Value, []float32{7, 8}) {
		t.Errorf("%+v, %v", q, err)
	}
	datatest.Equal(t, datatest.Must(p.Through(double).Problem(1))(t).Tasks[0].TrainSet.X.Row(0).Value, []float32{2, 4}, "doubled")
}

// The reference follows everything that the numbers of a tuple depend on, and
// nothing else.
func TestTheReferenceIsThatOfTheContent(t *testing.T) {
	root := t.TempDir()
	on := func(name string) *experience.Problems {
		return openProblems(t, onDataset(t, filepath.Join(root, name)))
	}
	plain, elsewhere, doubled := on("a").Reference(), on("elsewhere").Reference(), on("b").Through(double).Reference()
	if plain != elsewhere || plain.Path != "rows.csv" || doubled.Path != "rows.csv through a doubling" || plain.SHA256 == doubled.SHA256 {
		t.Errorf("%+v, elsewhere %+v, doubled %+v", plain, elsewhere, doubled)
	}
}

// stored makes a store that keeps the problems.
func stored(t *testing.T, dir string, p *experience.Problems) {
	t.Helper()
	w := datatest.Must(experience.OpenWriter(dir, "one", experience.Manifest{Dataset: p.Reference()}))(t)
	datatest.Check(t, errors.Join(p.Keep(dir), w.Close()))
}

// Problem files find their data from every store that keeps them.
func TestStoresKeepTheirProblems(t *testing.T) {
	root := t.TempDir()
	p := openProblems(t, onDataset(t, filepath.Join(root, "[1] dataset")))
	dir := filepath.Join(root, "[3] store")
	stored(t, dir, p)
	if err := p.Keep(dir); err != nil { // the same file again
		t.Fatal(err)
	}
	kept, _, err := datatest.Must(experience.Open(dir))(t).Problems("", nil)
	if err != nil || kept.Reference().SHA256 != p.Reference().SHA256 {
		t.Fatalf("%+v, %v", kept, err)
	}
	if q, err := kept.Problem(0); err != nil || !slices.Equal(q.Tasks[0].TrainSet.X.Row(1).Value, []float32{3, 4}) {
		t.Error(err)
	}
}

func TestStoresRefuseOtherProblems(t *testing.T) {
	root := t.TempDir()
	path := onDataset(t, filepath.Join(root, "data"))
	dir := filepath.Join(root, "store")
	stored(t, dir, openProblems(t, path).Through(double))
	s := datatest.Must(experience.Open(dir))(t)
	if _, through, err := s.Problems("", &double); err != nil || !through {
		t.Errorf("through the doubling: %v, %v", through, err)
	}
	tripled := double
	tripled.Identity = "3x"
	for _, transform := range []*experience.Transform{nil, &tripled} {
		if _, _, err := s.Problems("", transform); !errors.Is(err, data.ErrMismatch) || !strings.Contains(err.Error(), "rows.csv through a doubling") {
			t.Errorf("another transform: %v", err)
		}
	}
	write(t, filepath.Join(root, "data", "rows.csv"), []byte("1,2,a\n3,4,b\n5,6,a\n7,9,b\n"))
	if _, _, err := s.Problems("", &double); !errors.Is(err, data.ErrMismatch) || !strings.Contains(err.Error(), "rows.csv") {
		t.Errorf("another dataset: %v", err)
	}
}
