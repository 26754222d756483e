package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/data/format"
)

type problemsCmd struct {
	Sample     problemsSampleCmd `cmd:"" help:"Draw problems whose tasks tell pairs of classes apart."`
	FromGroups problemsGroupsCmd `cmd:"" help:"Draw problems whose tasks are the groups of a dataset, such as schools."`
	Check      problemsCheckCmd  `cmd:"" help:"Check problem files and name every fault with its place."`
}

// openDataset reads a dataset by path, or the embedded one by its name.
func openDataset(path string) (*data.Dataset, error) {
	if path == digits.Name {
		return digits.Load()
	}
	return format.Read(path, format.Options{})
}

// dataFlags say where the data of a problem file is.
type dataFlags struct {
	Dataset      string `help:"Dataset to use instead of the one that the file names."`
	AllowOutside bool   `help:"Let the problem file name any data outside of its directory. Without this only a dataset whose SHA-256 it states may lie elsewhere."`
}

// load reads a problem file.
func (f dataFlags) load(path string) (*data.ProblemFile, error) {
	file, err := data.LoadProblems(path)
	if err != nil {
		return nil, err
	}
	file.Outside = f.AllowOutside
	return file, nil
}

// open reads a problem file with its data.
func (f dataFlags) open(path string) ([]*data.ProblemData, error) {
	file, err := f.load(path)
	if err != nil {
		return nil, err
	}
	return f.bind(file, path)
}

// bind brings the data to a problem file that was read from path.
func (f dataFlags) bind(file *data.ProblemFile, path string) (_ []*data.ProblemData, err error) {
	var d *data.Dataset
	if file.Dataset != nil {
		if d, err = f.dataset(file, path); err != nil {
			return nil, err
		}
	}
	problems, err := file.Bind(d, filepath.Dir(path), format.Open)
	if err != nil {
		return nil, blame(path, err)
	}
	return problems, nil
}

// dataset reads the dataset of a problem file that was read from path.
func (f dataFlags) dataset(file *data.ProblemFile, path string) (*data.Dataset, error) {
	where, err := f.datasetFile(file, path)
	if err != nil {
		return nil, err
	}
	return openDataset(where)
}

// datasetFile is where the dataset of a problem file is: where the user says,
// else where the file says, relative to the file.
func (f dataFlags) datasetFile(file *data.ProblemFile, path string) (string, error) {
	switch {
	case f.Dataset != "":
		return f.Dataset, nil
	case file.Dataset.Path == digits.Name:
		return digits.Name, nil
	}
	where, err := file.DatasetFile(filepath.Dir(path))
	if err != nil {
		return "", blame(path, err)
	}
	return where, nil
}

// blame names the problem file in an error, and the flags that help.
func blame(path string, err error) error {
	if errors.Is(err, data.ErrOutside) {
		err = fmt.Errorf("%w (--dataset names another, --allow-outside allows it if you trust the file)", err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// sampleFlags are what both ways of drawing problems share. Their defaults
// are the paper's.
type sampleFlags struct {
	Dataset            string   `default:"digits" help:"Dataset: a file or directory, or the embedded \"digits\"."`
	Out                string   `required:"" type:"path" help:"Directory for train.json and test.json."`
	Train              int      `default:"100" help:"Number of training problems."`
	Test               int      `default:"50" help:"Number of test problems."`
	MinTasks           int      `default:"4" help:"Fewest tasks of a problem."`
	MaxTasks           int      `default:"8" help:"Most tasks of a problem."`
	TrainFraction      float64  `default:"0.3" help:"Share of a task's rows to train on."`
	ValidationFraction float64  `default:"0.3" help:"Share of a task's rows to choose hyperparameters on. The rest is the test split."`
	Prepare            []string `enum:"standardise,unit" help:"Steps fitted on the training rows of each problem (${enum})."`
	Seed               uint64   `default:"1" help:"Seed of everything that is random."`
}

func (f *sampleFlags) config() data.SampleConfig {
	return data.SampleConfig{
		Seed: f.Seed, Train: f.Train, Test: f.Test, MinTasks: f.MinTasks, MaxTasks: f.MaxTasks,
		TrainFraction: f.TrainFraction, ValidationFraction: f.ValidationFraction, Prepare: f.Prepare,
	}
}

type problemsSampleCmd struct {
	sampleFlags `embed:""`
}

func (c *problemsSampleCmd) Run(e *env) error {
	d, err := openDataset(c.Dataset)
	if err != nil {
		return err
	}
	train, test, err := data.SampleProblems(d, c.config())
	if err != nil {
		return err
	}
	return c.save(e, train, test)
}

type problemsGroupsCmd struct {
	sampleFlags `embed:""`
	All         bool   `help:"One problem of all groups, in train.json, instead of sampling."`
	Positive    string `help:"The class labelled +1; by default the second of two."`
}

func (c *problemsGroupsCmd) Run(e *env) error {
	d, err := openDataset(c.Dataset)
	if err != nil {
		return err
	}
	train, test, err := data.GroupProblems(d, data.GroupConfig{SampleConfig: c.config(), All: c.All, Positive: c.Positive})
	if err != nil {
		return err
	}
	return c.save(e, train, test)
}

// save writes the sets and says what they hold.
func (f *sampleFlags) save(e *env, train, test *data.ProblemFile) error {
	if err := os.MkdirAll(f.Out, 0o755); err != nil {
		return err
	}
	var rows []problemSummary
	for _, set := range []struct {
		name string
		file *data.ProblemFile
	}{{"train.json", train}, {"test.json", test}} {
		if set.file == nil {
			continue
		}
		ref, err := referTo(f.Dataset, f.Out)
		if err != nil {
			return err
		}
		set.file.Dataset.Path = ref
		path := filepath.Join(f.Out, set.name)
		if err := set.file.Save(path); err != nil {
			return err
		}
		rows = append(rows, summarise(path, set.file))
	}
	return e.print(rows, func(w io.Writer) { writeSummaries(w, rows) })
}

type problemsCheckCmd struct {
	Files     []string `arg:"" name:"file" type:"path" help:"Problem files."`
	dataFlags `embed:""`
}

func (c *problemsCheckCmd) Run(e *env) error {
	var rows []problemSummary
	for _, path := range c.Files {
		f, err := c.load(path)
		if err != nil {
			return err
		}
		if _, err := c.bind(f, path); err != nil {
			return err
		}
		rows = append(rows, summarise(path, f))
	}
	return e.print(rows, func(w io.Writer) { writeSummaries(w, rows) })
}

// problemSummary describes one problem file.
type problemSummary struct {
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

func summarise(path string, f *data.ProblemFile) problemSummary {
	s := problemSummary{File: path, Problems: len(f.Problems), MinTasks: len(f.Problems[0].Tasks)}
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

func writeSummaries(w io.Writer, rows []problemSummary) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "problems\ttasks\tper problem\ttrain rows\tvalidation\ttest\t  file")
	for _, r := range rows {
		fmt.Fprintf(t, "%d\t%d\t%d..%d\t%d\t%d\t%d\t  %s\n", r.Problems, r.Tasks, r.MinTasks, r.MaxTasks, r.TrainRows, r.Validation, r.TestRows, r.File)
	}
	t.Flush()
}
