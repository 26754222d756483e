package command

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/data/experience"
	"l2mt/data/table"
)

type problemsCmd struct {
	Sample problemsSampleCmd `cmd:"" help:"Draw training and test problems from a dataset. A task tells a pair of classes apart, or is a group of the dataset (--groups). Training and test problems share no task, but may share classes and rows."`
	Check  problemsCheckCmd  `cmd:"" help:"Check problem files, and name the problem, task and field of the first fault in each."`
}

// dataFlags say where the data of a problem file is.
type dataFlags struct {
	Dataset      string `help:"Dataset to use instead of the one that the file names."`
	AllowOutside bool   `help:"Let the problem file name data outside of its directory. By default only a dataset whose SHA-256 the file states may lie elsewhere."`
}

func (f dataFlags) problems(path string) (*experience.Problems, error) {
	return experience.OpenProblems(path, f.Dataset, f.AllowOutside)
}

type problemsSampleCmd struct {
	Dataset           string    `default:"digits" help:"Dataset: a file, or the embedded \"digits\"."`
	Out               string    `required:"" type:"path" help:"Directory to write train.json and test.json to."`
	Groups            bool      `help:"Make each group of the dataset, such as a school, a task."`
	Kind              data.Kind `enum:",classification,regression" default:"" help:"Kind of the labels with --groups: classification or regression; by default from the labels."`
	data.SampleConfig `embed:""`
}

// Validate checks the flags before the dataset is read.
func (c *problemsSampleCmd) Validate() error {
	if c.Groups && (c.DisjointClasses || c.DisjointRows) ||
		!c.Groups && (c.All || c.Kind != "") {
		return errors.New("--all and --kind go with --groups; --disjoint-classes and --disjoint-rows do not")
	}
	return c.SampleConfig.Validate()
}

// Run writes the sets that are asked for as train.json and test.json, and prints their summaries.
// Other problems in the folder stay.
func (c *problemsSampleCmd) Run(e *env) error {
	draw := data.GroupProblems
	if !c.Groups {
		draw = data.SampleProblems
		c.Kind = data.Classification
	}
	d, err := digits.Open(c.Dataset, table.Options{Kind: c.Kind})
	if err != nil {
		return err
	}
	train, test, err := draw(d, c.SampleConfig)
	if err != nil {
		return err
	}
	if train != nil && test != nil && !c.Groups &&
		!c.DisjointRows && !c.DisjointClasses {
		e.remark("training and test problems have rows in common, so that a network has seen some test rows in training (--disjoint-rows prevents it)")
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return err
	}
	var rows []summary
	for i, file := range []*data.ProblemFile{train, test} {
		if file == nil {
			continue
		}
		file.Dataset.Path, err = experience.ReferTo(c.Dataset, c.Out)
		if err != nil {
			return err
		}
		raw, _ := file.Encode() // it has texts and numbers
		path := filepath.Join(c.Out, []string{"train.json", "test.json"}[i])
		old, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = file.Save(path)
		case err == nil && !bytes.Equal(old, raw):
			err = data.Invalid("%s has other problems than these; remove it, or give another --out", path)
		}
		if err != nil {
			return err
		}
		rows = append(rows, summarise(path, file))
	}
	return e.print(rows, "problems")
}

type problemsCheckCmd struct {
	Files     []string `arg:"" name:"file" type:"path" help:"Problem files to check."`
	dataFlags `embed:""`
}

func (c *problemsCheckCmd) Run(e *env) error {
	var rows []summary
	for _, path := range c.Files {
		p, err := c.problems(path)
		if err == nil {
			_, err = p.All()
		}
		if err != nil {
			return err
		}
		rows = append(rows, summarise(path, p.File))
	}
	return e.print(rows, "problems")
}

// summary describes one problem file.
type summary struct {
	File       string `json:"file"`
	Problems   int    `json:"problems"`
	Tasks      int    `json:"tasks"`
	MinTasks   int    `json:"min_tasks"`
	MaxTasks   int    `json:"max_tasks"`
	TrainRows  int    `json:"train_rows"`
	Validation int    `json:"validation_rows"`
	TestRows   int    `json:"test_rows"`
}

// summarise describes the problem file of a path.
func summarise(path string, f *data.ProblemFile) summary {
	s := summary{File: path, Problems: len(f.Problems),
		MinTasks: len(f.Problems[0].Tasks)}
	for _, p := range f.Problems {
		s.Tasks += len(p.Tasks)
		s.MinTasks = min(s.MinTasks, len(p.Tasks))
		s.MaxTasks = max(s.MaxTasks, len(p.Tasks))
		for _, t := range p.Tasks {
			s.TrainRows += len(t.Train)
			s.Validation += len(t.Validation)
			s.TestRows += len(t.Test)
		}
	}
	return s
}
