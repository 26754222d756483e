package command

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/infer/compare"
	"l2mt/infer/report"
	"l2mt/infer/solve"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

type fitCmd struct {
	Files         []string `arg:"" optional:"" name:"table" help:"Labelled tables: CSV, TSV, Parquet, or datasets with groups; - reads one from stdin."`
	table.Options `embed:""`
	Folds         int     `xor:"validation" help:"Number of folds of the cross-validation; 0 means 5."`
	Seed          uint64  `help:"Seed of the folds."`
	Network       string  `xor:"omega" type:"existingdir" help:"Directory of a trained network to use in place of the pretrained one. Features are then not standardised, except by --step."`
	Model         string  `xor:"model" help:"How to fit: \"l2mt\", the default; a multitask model (${models}); or a structure as --structures names it, such as \"curves-pooled\"."`
	Omega         string  `xor:"model,omega" type:"existingfile" help:"CSV file of the task covariance to fit with: a row and a column for each task, without names."`
	View          string  `enum:",${views}" default:"" help:"How predictions follow the columns: ${views}. By default rows held out choose. A kernel compares rows with fitted rows, some of which the saved model then contains."`
	ClassWeight   string  `enum:",balanced" default:"" help:"\"balanced\" weighs rows so that the classes of a task count the same in a fit. Probabilities still follow the frequencies in the tables, and the likeliest class is predicted."`
	Threshold     string  `help:"When to predict the positive of two classes: cost=10 where missing one costs as much as 10 false alarms, or f1 for the best F1. Rows held out choose the probability from which predict does so. By default the likeliest class is predicted."`
	TargetScale   string  `enum:",identity,log,count,huber" default:"" help:"How targets are fitted: identity (as they are), log (their logarithms), count (whole numbers, by the logarithm of their mean) or huber (outliers count by their distance, not its square). By default rows held out choose where targets are skewed or have outliers."`
	Lambda1       float64 `name:"lambda1" help:"Strength of the penalty tr(W Omega^-1 W')/2; by default rows held out choose."`
	After         string  `type:"existingdir" xor:"after,problems" help:"Directory of a saved model of older tasks of the same kind; rows held out choose how much the new tasks take from it. Columns are matched by name."`
	listing       `embed:""`
	Structures    bool          `help:"List the structures that were weighed, with their losses on rows held out and their weights."`
	TimeLimit     time.Duration `help:"About how long a fit may take, such as 60s. Structures not measured by then are left out, and the output says so. Results then depend on the machine's speed."`
	Workers       int           `help:"Number of fits at the same time; 0 means one per CPU."`
	Out           string        `type:"path" help:"Directory to save the model to."`
	givenProblem  `embed:"" group:"A problem of a file in place of tables:"`
}

func (c *fitCmd) Validate() error {
	switch {
	case (c.Problems == "") == (c.Files == nil):
		return errors.New("give tables to fit, or a problem file with --problems")
	case c.Problems == "" && c.givenProblem != givenProblem{}:
		return errors.New("--name, --dataset and --allow-outside go with --problems")
	case c.Problems != "" && !reflect.DeepEqual(c.Options, table.Options{}):
		return errors.New("--problems describes its data itself; leave the flags of tables out")
	case c.Lambda1 < 0:
		return fmt.Errorf("--lambda1=%v: it must be positive", c.Lambda1)
	case c.Threshold != "" && report.Cost(c.Threshold) < 0:
		return fmt.Errorf("--threshold=%s: it must be f1, or cost=C with a number C above 0", c.Threshold)
	case c.Folds == 1 || c.Folds < 0:
		return fmt.Errorf("--folds=%d: it must be at least 2", c.Folds)
	}
	return nil
}

const (
	// growth is how much the heap of a fit may grow, in percent, before it is collected. It is
	// mostly matrices without pointers: collecting them costs next to nothing.
	growth = 25
	// mostTasks bounds the tasks of a fit, which keeps matrices of tasks by tasks.
	mostTasks = 4096
)

func (c *fitCmd) Run(e *env) error {
	begin := time.Now()
	if err := apart(c.Out, true, c.Network); err != nil {
		return err
	}
	candidate, err := c.candidate()
	if err != nil {
		return err
	}
	network, err := c.asked(candidate)
	if err != nil {
		return err
	}
	for i, path := range c.Files {
		kept, remove, err := e.keep(path)
		if err != nil {
			return err
		}
		defer remove()
		c.Files[i] = kept
	}
	prior, err := c.older()
	if err != nil {
		return err
	}
	t, err := c.read()
	if err != nil {
		return err
	}
	m := len(t.Problem.Tasks)
	if c.Omega != "" {
		candidate.Model, err = readOmega(c.Omega, m)
		if err != nil {
			return err
		}
	}
	if candidate != nil || c.Problems != "" { // of targets as they are
		c.TargetScale = cmp.Or(c.TargetScale, solve.Identity)
	}
	for _, note := range t.Notes {
		e.remark("%s", note)
	}
	if m > mostTasks {
		return fmt.Errorf("there are %d tasks; a fit takes %d at most, as it keeps their covariances: merge tasks, or fit parts of them", m, mostTasks)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(growth))
	o := solve.Options{After: prior, Folds: c.Folds, Seed: c.Seed, Together: t.Together,
		Times: t.Times, Held: t.Held, Balanced: c.ClassWeight != "",
		Workers: cmp.Or(c.Workers,
			runtime.GOMAXPROCS(0)), Progress: e.reporter()}
	if c.TimeLimit > 0 {
		o.Until = begin.Add(c.TimeLimit * 2 / 3) // the rest is for the fit to all rows
	}
	if c.Lambda1 != 0 {
		o.Lambda1 = []float64{c.Lambda1}
	}
	b, err := solve.NewBench(network, t.Problem, o)
	if err != nil {
		return err
	}
	return c.report(e, b, t, candidate)
}

// candidate is the one to fit; nil leaves the choice to solve.Bench. The model of --omega is read
// with the tables.
func (c *fitCmd) candidate() (*solve.Candidate, error) {
	one, ok := solve.ParseCandidate(c.Model)
	switch {
	case c.Omega != "":
		return new(solve.Candidate), nil
	case c.Model == "" || c.Model == compare.L2MT:
		return nil, nil
	case c.View != "":
		return nil, errUsage.Errorf("--model=%s has a view already; leave --view out", c.Model)
	case ok:
		return &one, nil
	}
	model, err := multitask.Lookup(c.Model)
	if err != nil {
		err = errUsage.Errorf("--model: %w, or %s, or a structure such as curves-alone", err, compare.L2MT)
	}
	return &solve.Candidate{Model: model}, err
}

// older is the prior of the model of --after, whose recipe then reads the tables.
func (c *fitCmd) older() (*saved.Prior, error) {
	if c.After == "" {
		return nil, nil
	}
	model, err := saved.Load(c.After)
	if err != nil {
		return nil, err
	}
	prior, err := model.Prior()
	if err != nil {
		return nil, fmt.Errorf("--after=%s: %w", c.After, err)
	}
	c.Options.After = &prior.Recipe
	c.Kind = cmp.Or(c.Kind, model.Kind)
	return prior, nil
}

// asked is the network that the candidate asks, or nil. One of one's own gets the features as they
// are in the tables, as in the problems that it was trained on.
func (c *fitCmd) asked(candidate *solve.Candidate) (*solve.Finder, error) {
	if candidate != nil && candidate.Network == 0 && !candidate.Learned {
		if c.Network != "" {
			return nil, errUsage.Errorf("--model=%s asks no network; leave --network out", c.Model)
		}
		return nil, nil
	}
	network, err := loadNetwork(c.Network)
	if c.Network != "" && c.Steps == nil {
		c.Steps = []string{"none"}
	}
	return network, err
}

// readOmega reads the covariance of m tasks.
func readOmega(path string, m int) (multitask.Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	numbers := make([][]float64, len(lines))
	for i, line := range lines {
		for _, text := range line {
			v, bad := strconv.ParseFloat(strings.TrimSpace(text), 64)
			numbers[i] = append(numbers[i], v)
			if bad != nil && err == nil {
				err = data.Malformed("row %d, column %d: %q is not a number", i+1,
					len(numbers[i]), text)
			}
		}
	}
	omega, invalid := data.NewCovariance(numbers)
	err = cmp.Or(err, invalid)
	if err == nil && len(numbers) != m {
		err = data.Mismatch("it is for %d tasks; there are %d", len(numbers), m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return multitask.Given(omega)
}

// givenProblem is a problem of a file in place of tables.
type givenProblem struct {
	Problems  string `type:"path" xor:"problems" placeholder:"FILE" help:"Problem file, as l2mt problems sample writes it."`
	Name      string `help:"Name of the problem to fit, where the file has several."`
	dataFlags `embed:""`
}

// read reads the tables, or the problem.
func (c *fitCmd) read() (*table.Table, error) {
	if c.Problems == "" {
		return table.Read(c.Files, c.Options)
	}
	file, err := c.problems(c.Problems)
	if err != nil {
		return nil, err
	}
	problems, err := file.All()
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		if p.Name == c.Name || c.Name == "" && len(problems) == 1 {
			recipe := table.Numbers(p.Features, p.Cols())
			recipe.Task = "task"
			return &table.Table{
				Problem: p.Labelled(),
				Recipe:  recipe,
			}, nil
		}
	}
	return nil, errUsage.Errorf("--name=%q: %s has no such problem; of its %d the first is %q",
		c.Name, c.Problems, len(problems), problems[0].Name)
}
