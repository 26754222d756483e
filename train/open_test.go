package train

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/digits"
	"l2mt/data/experience"
	"l2mt/layers"
	"l2mt/model"
)

// collected makes an experience directory of three problems on the digits, as
// collecting leaves it, and returns their problem file.
func collected(t *testing.T, dir string, head model.Head) *experience.Problems {
	t.Helper()
	d := datatest.Must(digits.Load())(t)
	file, _, err := data.SampleProblems(d, data.SampleConfig{Seed: 1, Train: 3, Test: 1, MinTasks: 2, MaxTasks: 2, TrainFraction: 0.04})
	datatest.Check(t, err)
	path := filepath.Join(t.TempDir(), "problems.json")
	datatest.Check(t, file.Save(path))
	problems := datatest.Must(experience.OpenProblems(path, "", false))(t)
	if head != nil {
		problems = problems.Through(Through(head, "head"))
	}
	ref := problems.Reference()
	w := datatest.Must(experience.OpenWriter(dir, "shard", experience.Manifest{Dataset: ref}))(t)
	datatest.Check(t, problems.Keep(dir))
	record := func(problem int, source string, o float64, status experience.Status) {
		p := file.Problems[problem]
		id := experience.ProblemID(p, ref.SHA256)
		r := &experience.Record{Problem: p.Name, ProblemID: id, Source: source, Status: status}
		r.ID = datatest.Must(experience.TupleID(id, source, 0, nil))(t)
		if r.Reason = "it had to"; status == experience.OK {
			r.Reason = ""
			r.Omega = [][]float64{{0.5, 0.1}, {0.1, 0.5}}
			r.Result = &experience.Result{Lambda1: 1, Test: []float64{o / 2, o / 2}, O: o}
		}
		datatest.Check(t, w.Append(r))
	}
	record(2, "explore/b", 0.9, experience.OK)
	record(0, "explore/a", 1.1, experience.OK)
	record(0, "explore/b", 1.2, experience.OK)
	record(2, "explore/a", 0.8, experience.OK)
	record(1, "explore/a", 0, experience.Failed)
	datatest.Check(t, w.Close())
	return problems
}

func TestOpenJoinsRecordsWithTheirProblems(t *testing.T) {
	datatest.Long(t)
	dir := filepath.Join(t.TempDir(), "experience")
	problems := collected(t, dir, nil)
	e, err := Open(dir, "", nil)
	if err != nil || e.Len() != 3 || e.ThroughHead {
		t.Fatal(e, err)
	}
	for i, want := range [][]float64{{1.1, 1.2}, nil, {0.8, 0.9}} { // in canonical order
		x := datatest.Must(e.Example(i))(t)
		var o []float64
		for _, tuple := range x.Tuples {
			o = append(o, tuple.O)
			datatest.Equal(t, tuple.Omega, []float64{0.5, 0.1, 0.1, 0.5}, "problem %d: Omega", i)
		}
		if !slices.Equal(o, want) || x.Problem.Name != problems.File().Problems[i].Name || x.Problem.Cols() != 64 {
			t.Errorf("problem %d is %s with %d features and the outcomes %v, want %v", i, x.Problem.Name, x.Problem.Cols(), o, want)
		}
	}
	config := datatest.Must(Preset("default", 64))(t).Defaults()
	config.Model.Hidden, config.Epochs, config.Start = 4, 1, FromPreset
	datatest.Equal(t, len(datatest.Must(Run(t.Context(), config, e, Options{}))(t).Metrics), 2, "a run on it")
}

// Tuples belong to features: those of the problems, or those that one head makes.
func TestOpenChecksWhatTuplesWereMadeOn(t *testing.T) {
	datatest.Long(t)
	head, other := layers.RandomHead(1, 64, 5), layers.RandomHead(2, 64, 5)
	plain, through := filepath.Join(t.TempDir(), "plain"), filepath.Join(t.TempDir(), "through")
	collected(t, plain, nil)
	collected(t, through, head)
	for _, c := range []struct {
		dir         string
		head        model.Head
		throughHead bool
		want        error
	}{
		{plain, nil, false, nil}, {plain, head, false, nil}, {through, head, true, nil},
		{through, nil, false, data.ErrMismatch}, {through, other, false, data.ErrMismatch},
	} {
		e, err := Open(c.dir, "", c.head)
		if !errors.Is(err, c.want) {
			t.Errorf("%s with the head %v: the error is %v, want %v", filepath.Base(c.dir), c.head, err, c.want)
		}
		if err != nil {
			continue
		}
		datatest.Equal(t, e.ThroughHead, c.throughHead, "%s with the head %v: through it", filepath.Base(c.dir), c.head)
		datatest.Equal(t, datatest.Must(e.Example(0))(t).Problem.Cols(), 64, "%s: the examples come through the head", filepath.Base(c.dir))
	}
	datatest.Refused(Open(plain, filepath.Join(t.TempDir(), "gone.csv"), nil))(t, os.ErrNotExist)
	kept, err := filepath.Glob(filepath.Join(plain, "problems-*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	file := datatest.Must(data.LoadProblems(kept[0]))(t)
	file.Problems = file.Problems[:2]
	datatest.Check(t, file.Save(kept[0]))
	datatest.Refused(Open(plain, "", nil))(t, data.ErrMismatch, "train-0003")
	datatest.Check(t, os.Remove(kept[0]))
	datatest.Refused(Open(plain, "", nil))(t, data.ErrInvalid, "problems-*.json")
}
