package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"l2mt/data"
	"l2mt/data/experience"
)

// Summary describes one problem file.
type Summary struct {
	File       string `json:"file"`
	Dataset    string `json:"dataset,omitempty"`
	Problems   int    `json:"problems"`
	Tasks      int    `json:"tasks"`
	MinTasks   int    `json:"min_tasks"`
	MaxTasks   int    `json:"max_tasks"`
	TrainRows  int    `json:"train_rows"`
	Validation int    `json:"validation_rows"`
	TestRows   int    `json:"test_rows"`
}

// Summarise describes the problem file of a path.
func Summarise(path string, f *data.ProblemFile) Summary {
	s := Summary{File: path, Problems: len(f.Problems), MinTasks: len(f.Problems[0].Tasks)}
	if f.Dataset != nil {
		s.Dataset = f.Dataset.Path
	}
	for _, p := range f.Problems {
		s.Tasks += len(p.Tasks)
		s.MinTasks, s.MaxTasks = min(s.MinTasks, len(p.Tasks)), max(s.MaxTasks, len(p.Tasks))
		for _, t := range p.Tasks {
			s.TrainRows += len(t.Train)
			s.Validation += len(t.Validation)
			s.TestRows += len(t.Test)
		}
	}
	return s
}

// Count takes the numbers of rows from the data, which tasks may have in files of
// their own.
func (s Summary) Count(problems []*data.ProblemData) Summary {
	s.TrainRows, s.Validation, s.TestRows = 0, 0, 0
	for _, p := range problems {
		for _, t := range p.Tasks {
			s.TrainRows += t.TrainSet.X.Rows()
			s.Validation += t.ValidationSet.X.Rows()
			s.TestRows += t.TestSet.X.Rows()
		}
	}
	return s
}

// WriteSummaries prints what problem files hold.
func WriteSummaries(w io.Writer, rows []Summary) {
	t := Columns(w)
	fmt.Fprintln(t, "problems\ttasks\tper problem\ttrain rows\tvalidation\ttest\t  file")
	for _, r := range rows {
		fmt.Fprintf(t, "%d\t%d\t%d..%d\t%d\t%d\t%d\t  %s\n", r.Problems, r.Tasks, r.MinTasks, r.MaxTasks, r.TrainRows, r.Validation, r.TestRows, r.File)
	}
	t.Flush()
}

// SaveProblems writes problems of a dataset as train.json and test.json, which may
// be nil, into a directory. Other ones that are there already stay.
func SaveProblems(dir, dataset string, train, test *data.ProblemFile) (rows []Summary, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, set := range []struct {
		name string
		file *data.ProblemFile
	}{{"train.json", train}, {"test.json", test}} {
		if set.file == nil {
			continue
		}
		if set.file.Dataset.Path, err = experience.ReferTo(dataset, dir); err != nil {
			return nil, err
		}
		path := filepath.Join(dir, set.name)
		if err := saveNew(path, set.file); err != nil {
			return nil, err
		}
		rows = append(rows, Summarise(path, set.file))
	}
	return rows, nil
}

// saveNew writes a problem file, unless there is another one.
func saveNew(path string, f *data.ProblemFile) error {
	raw, err := f.Encode()
	if err != nil {
		return err
	}
	switch old, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
		return f.Save(path)
	case err != nil:
		return err
	case !bytes.Equal(old, raw):
		return fmt.Errorf("%w: %s has other problems; remove it, or give another --out", ErrUsage, path)
	}
	return nil
}
