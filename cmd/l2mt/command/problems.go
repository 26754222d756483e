package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/data/experience"
)

type problemsCmd struct {
	Sample     problemsSampleCmd `cmd:"" help:"Draw problems whose tasks tell pairs of classes apart. No pair is in training and in test problems, but rows of a class may be: they say how new pairs of known classes will do."`
	FromGroups problemsGroupsCmd `cmd:"" help:"Draw problems whose tasks are the groups of a dataset, such as schools."`
	Check      problemsCheckCmd  `cmd:"" help:"Check problem files: the first fault of each is named with problem, task and field."`
}

// dataFlags say where the data of a problem file is.
type dataFlags struct {
	Dataset      string `help:"Dataset to use instead of the one that the file names."`
	AllowOutside bool   `help:"Let the problem file name any data outside of its directory. Without this only a dataset whose SHA-256 it states may lie elsewhere."`
}

func (f dataFlags) problems(path string) (*experience.Problems, error) {
	return experience.OpenProblems(path, experience.DataOptions(f))
}

// all brings the data to all problems of a file.
func (f dataFlags) all(path string) ([]*data.ProblemData, error) {
	p, err := f.problems(path)
	if err != nil {
		return nil, err
	}
	return p.All()
}

// sampleFlags are what both ways of drawing problems share. Their defaults
// are the paper's.
type sampleFlags struct {
	Dataset            string   `default:"digits" help:"Dataset: a file or directory, or the embedded \"digits\"."`
	Out                string   `required:"" type:"path" help:"Directory for train.json and test.json."`
	Train              int      `default:"${train}" help:"Number of training problems. Without any the test problems have all there is to draw from, and as few of it do."`
	Test               int      `default:"${test}" help:"Number of test problems."`
	MinTasks           int      `default:"${mintasks}" help:"Fewest tasks of a problem."`
	MaxTasks           int      `default:"${maxtasks}" help:"Most tasks of a problem."`
	TrainFraction      float64  `default:"${trainfraction}" help:"Share of a task's rows to train on."`
	ValidationFraction float64  `default:"${validationfraction}" help:"Share of a task's rows to choose hyperparameters on. The rest is the test split."`
	Prepare            []string `enum:"standardise,unit" help:"Steps fitted on the training rows of each problem (${enum})."`
	Seed               uint64   `default:"1" help:"Seed of everything that is random."`
}

func (f *sampleFlags) Validate() error {
	if f.Train < 0 || f.Test < 0 || f.Train+f.Test == 0 {
		return fmt.Errorf("--train=%d --test=%d: they must not be negative, nor both 0", f.Train, f.Test)
	}
	return nil
}

func (f *sampleFlags) config() data.SampleConfig {
	return data.SampleConfig{
		Seed: f.Seed, Train: run.OrNone(f.Train), Test: run.OrNone(f.Test), MinTasks: f.MinTasks, MaxTasks: f.MaxTasks,
		TrainFraction: f.TrainFraction, ValidationFraction: f.ValidationFraction, Prepare: f.Prepare,
	}
}

type problemsSampleCmd struct {
	sampleFlags     `embed:""`
	DisjointClasses bool     `help:"No class is in training and in test problems: how will classes do that nothing is known of?"`
	DisjointRows    bool     `help:"No row is in training and in test problems, which share out the rows of every class: what training problems teach of rows then tells nothing of test rows."`
	Case            []string `placeholder:"CLASSES" help:"Make one test problem, whose tasks tell the first of these classes from each other one, and leave these tasks out of the training problems."`
}

// Validate replaces that of the flags, which it calls.
func (c *problemsSampleCmd) Validate() error {
	if err := c.sampleFlags.Validate(); err != nil {
		return err
	}
	if n := len(c.Case); n > 0 && (n < 3 || c.Test == 0) {
		return fmt.Errorf("--case=%s --test=%d: it takes three classes or more, and makes a test problem", strings.Join(c.Case, ","), c.Test)
	}
	return c.config().Defaults().Validate()
}

func (c *problemsSampleCmd) config() data.SampleConfig {
	config := c.sampleFlags.config()
	config.DisjointClasses, config.DisjointRows = c.DisjointClasses, c.DisjointRows
	return config
}

func (c *problemsSampleCmd) Run(e *env) error {
	d, err := digits.Open(c.Dataset)
	if err != nil {
		return err
	}
	train, test, err := data.SampleProblems(d, c.config())
	if err == nil && c.Case != nil {
		err = c.study(d, train, test)
	}
	if err != nil {
		return err
	}
	if train != nil && test != nil && !c.DisjointRows && !c.DisjointClasses {
		e.remark("training and test problems have rows in common; a network trained on the former knows some of the latter's test rows (--disjoint-rows gives each their own)")
	}
	return c.save(e, train, test)
}

// study puts the case in the place of the test problems.
func (c *problemsSampleCmd) study(d *data.Dataset, train, test *data.ProblemFile) error {
	one, err := caseProblem(d, c.Case, c.config())
	if err != nil {
		return err
	}
	test.Problems = []*data.Problem{one}
	if train == nil {
		return nil
	}
	for _, p := range train.Problems {
		p.Tasks = slices.DeleteFunc(p.Tasks, func(t *data.Task) bool {
			return slices.ContainsFunc(c.Case[1:], func(class string) bool { return isPair(t, class, c.Case[0]) })
		})
	}
	train.Problems = slices.DeleteFunc(train.Problems, func(p *data.Problem) bool { return len(p.Tasks) < 2 })
	return nil
}

// caseProblem is a problem whose tasks tell the first of some classes from each other one,
// with splits as c says.
func caseProblem(d *data.Dataset, classes []string, c data.SampleConfig) (*data.Problem, error) {
	pairs := len(d.Classes) * (len(d.Classes) - 1) / 2
	c.Train, c.Test, c.MinTasks, c.MaxTasks, c.DisjointRows = -1, 1, pairs, pairs, false
	_, all, err := data.SampleProblems(d, c)
	if err != nil {
		return nil, fmt.Errorf("--case: %w", err)
	}
	p := &data.Problem{Name: "case study", Prepare: c.Prepare}
	for _, class := range classes[1:] {
		tasks := all.Problems[0].Tasks
		i := slices.IndexFunc(tasks, func(t *data.Task) bool { return isPair(t, class, classes[0]) })
		if i < 0 {
			return nil, fmt.Errorf("--case: %w: %s has no pair of classes %q and %q; its classes are %q", data.ErrInvalid, d.Name, class, classes[0], d.Classes)
		}
		t := tasks[i]
		t.Name, t.Positive, t.Negative = class+" vs "+classes[0], class, classes[0]
		p.Tasks = append(p.Tasks, t)
	}
	return p, nil
}

func isPair(t *data.Task, a, b string) bool {
	return t.Positive == a && t.Negative == b || t.Positive == b && t.Negative == a
}

type problemsGroupsCmd struct {
	sampleFlags `embed:""`
	All         bool      `help:"One problem of all groups, in train.json, instead of sampling."`
	Kind        data.Kind `enum:",classification,regression" default:"" help:"\"regression\" takes classes that are numbers for targets."`
}

func (c *problemsGroupsCmd) Run(e *env) error {
	d, err := digits.Open(c.Dataset)
	if err != nil {
		return err
	}
	train, test, err := data.GroupProblems(d, data.GroupConfig{SampleConfig: c.config(), All: c.All, Kind: c.Kind})
	if err != nil && c.Kind == "" && len(d.Classes) > 2 && slices.IndexFunc(d.Classes, isWord) < 0 {
		return fmt.Errorf("%w; its %d different whole numbers were taken for classes, and --kind regression takes them for targets", err, len(d.Classes))
	}
	if err != nil {
		return err
	}
	return c.save(e, train, test)
}

func isWord(class string) bool {
	_, err := strconv.ParseFloat(class, 64)
	return err != nil
}

// save writes the sets and says what they hold.
func (f *sampleFlags) save(e *env, train, test *data.ProblemFile) error {
	rows, err := saveProblems(f.Out, f.Dataset, train, test)
	if err != nil {
		return err
	}
	return e.print(rows, func(w io.Writer) { writeSummaries(w, rows) })
}

type problemsCheckCmd struct {
	Files     []string `arg:"" name:"file" type:"path" help:"Problem files."`
	dataFlags `embed:""`
}

func (c *problemsCheckCmd) Run(e *env) error {
	var rows []run.Summary
	for _, path := range c.Files {
		p, err := c.problems(path)
		if err != nil {
			return err
		}
		if _, err := p.All(); err != nil {
			return err
		}
		rows = append(rows, run.Summarise(path, p.File()))
	}
	return e.print(rows, func(w io.Writer) { writeSummaries(w, rows) })
}

// writeSummaries prints what problem files hold.
func writeSummaries(w io.Writer, rows []run.Summary) {
	t := run.Columns(w)
	fmt.Fprintln(t, "problems\ttasks\tper problem\ttrain rows\tvalidation\ttest\t  file")
	for _, r := range rows {
		fmt.Fprintf(t, "%d\t%d\t%d..%d\t%d\t%d\t%d\t  %s\n", r.Problems, r.Tasks, r.MinTasks, r.MaxTasks, r.TrainRows, r.Validation, r.TestRows, r.File)
	}
	t.Flush()
}

// saveProblems writes problems of a dataset as train.json and test.json, which may
// be nil, into a directory. Other ones that are there already stay.
func saveProblems(dir, dataset string, train, test *data.ProblemFile) (rows []run.Summary, err error) {
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
		rows = append(rows, run.Summarise(path, set.file))
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
		return fmt.Errorf("%w: %s has other problems; remove it, or give another --out", data.ErrInvalid, path)
	}
	return nil
}
