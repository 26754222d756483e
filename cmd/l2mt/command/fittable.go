package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/format"
	"l2mt/data/progress"
	"l2mt/data/table"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model/multitask"
)

// tableFlags say what the columns of labelled tables are, and how they are
// fitted.
type tableFlags struct {
	Task           string        `help:"Tables: column that names the task of a row. Without it every target or, of several files, every file is a task."`
	Target         []string      `help:"Tables: columns of the labels, by name or pattern (tox*); blanks where a row has none."`
	Validation     []string      `type:"path" help:"Tables: files of rows to choose by, instead of a cross-validation. The model is fitted on these rows too in the end."`
	Group          string        `help:"Tables: column of what belongs together, such as a patient: folds do not part rows that have the same value, of whichever tasks."`
	Kind           data.Kind     `help:"Tables: classification or regression, if the labels do not say."`
	Positive       string        `help:"Tables: the class that is +1; by default the larger number, or the word that is later in the alphabet."`
	Ignore         []string      `help:"Tables: columns to leave out, by name or pattern."`
	Categorical    []string      `help:"Tables: columns of categories, by name or pattern; * means all that have words in them."`
	Impute         string        `help:"Tables: \"mean\" puts the mean of its column where a value is missing."`
	MissingColumns string        `help:"Tables: \"zero\" puts zeros where a file lacks a column."`
	Step           []string      `help:"Tables: steps to apply to the features: standardise, unit, log, tfidf, or none. By default dense features of unlike scales are standardised."`
	SkipUnlabelled bool          `help:"Tables: leave out rows without a label."`
	SkipTasks      bool          `help:"Tables: leave out tasks that cannot be learned: with a single row, or one class."`
	Header         format.Header `help:"Tables: whether they have a header, yes or no, if the first line does not say."`
	Format         format.Format `help:"Tables: csv, tsv, npz and so on, if the name does not say."`
	Folds          int           `help:"Tables: folds of the cross-validation; 0 means 5."`
	Seed           uint64        `help:"Tables: seed of the folds."`
	Omega          string        `type:"existingfile" help:"Tables: fit with this covariance of the tasks: a CSV file of numbers, a row a task."`
	Out            string        `type:"path" help:"Tables: directory to save the model to."`
}

func (f *tableFlags) given() bool { return !reflect.ValueOf(*f).IsZero() }

func (f *tableFlags) options() table.Options {
	return table.Options{
		Task: f.Task, Targets: f.Target, Validation: f.Validation, Group: f.Group, Kind: f.Kind, Positive: f.Positive, Ignore: f.Ignore, Categorical: f.Categorical,
		Impute: f.Impute, MissingColumns: f.MissingColumns, Steps: f.Step, SkipUnlabelled: f.SkipUnlabelled, SkipTasks: f.SkipTasks,
		Format: format.Options{Header: f.Header, Format: f.Format},
	}
}

// Names of models that are no entries of the registry.
const (
	modelL2MT   = run.L2MT
	modelPooled = "pooled"
	modelBest   = "best"
	modelAll    = "all"
	modelOmega  = "omega"
)

func (c *fitCmd) validateTables() error {
	switch {
	case c.Problems != "" || c.Name != "" || c.Dataset != "" || c.AllowOutside:
		return fmt.Errorf("tables exclude --problems, --name, --dataset and --allow-outside")
	case c.Tune || c.Lambda2 != 0 || len(c.Hyper) > 0:
		return fmt.Errorf("a cross-validation chooses the hyperparameters for tables; only --lambda1 can be given")
	case c.Lambda1 < 0:
		return fmt.Errorf("--lambda1=%v: it must be positive", c.Lambda1)
	case c.Network != "" && (c.Omega != "" || c.Model != "" && c.Model != modelL2MT):
		return fmt.Errorf("of tables --network is asked by the model %q alone; leave --model and --omega out", modelL2MT)
	case c.Omega != "" && c.Model != "":
		return fmt.Errorf("--omega is a model of its own; leave --model out")
	case len(c.Validation) > 0 && (c.Folds != 0 || c.Group != ""):
		return fmt.Errorf("--validation takes the place of the folds; leave --folds and --group out")
	case c.Folds == 1 || c.Folds < 0:
		return fmt.Errorf("--folds=%d: it must be at least 2", c.Folds)
	}
	if c.Folds == 0 {
		c.Folds = 5
	}
	if c.Omega != "" {
		c.Model = modelOmega
	} else if c.Model == "" {
		c.Model = modelL2MT
	}
	return nil
}

// wideTasks is the number of tasks from which memory is mostly matrices of tasks x tasks.
// Collecting them costs next to nothing, as they have no pointers.
const wideTasks = 512

// mostTasks bounds the tasks of a fit, which keeps matrices of tasks x tasks.
const mostTasks = 4096

func (c *fitCmd) fitTables(e *env) error {
	begin := time.Now()
	if info, err := os.Stat(c.Out); err == nil && !info.IsDir() {
		return fmt.Errorf("--out=%s: it is a file; give a directory", c.Out)
	}
	network, err := c.asked()
	if err != nil {
		return err
	}
	t, err := table.Read(c.Files, c.options())
	if err != nil {
		return err
	}
	if network != nil && network.Directed() && network.Directions(t.Problem) == nil {
		t.Notes = append(t.Notes, fmt.Sprintf("the directions that %s has are of other features, and are left out", c.Network))
	}
	t.Notes = append(t.Notes, c.leftOut(len(t.Problem.Tasks))...)
	for _, note := range t.Notes {
		e.remark("%s", note)
	}
	if m := len(t.Problem.Tasks); m > mostTasks {
		return fmt.Errorf("%d tasks: a fit keeps covariances of tasks x tasks, and takes %d at most; put tasks together, or fit parts of them", m, mostTasks)
	}
	folds, err := c.parts(t)
	if err != nil {
		return err
	}
	if len(t.Problem.Tasks) >= wideTasks {
		defer debug.SetGCPercent(debug.SetGCPercent(25))
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	f := &tableFitter{table: t, folds: folds, network: network, dir: c.Network, done: map[string]*fitted{}}
	f.options = multitask.TuneOptions{Points: c.Points, Workers: c.Workers, Progress: e.reporter()}
	if c.Lambda1 != 0 {
		f.options.Lambda1 = []float64{c.Lambda1}
	}
	f.spent("reading", begin)
	best, err := f.best(e, c)
	if err != nil {
		return err
	}
	fitting := time.Now()
	if best.result, err = best.Fit(e); err != nil {
		return err
	}
	f.spent("the fit on all rows", fitting)
	report, err := f.report(best)
	if err != nil {
		return err
	}
	for _, note := range report.Notes[len(t.Notes):] {
		e.remark("%s", note)
	}
	if c.Out != "" {
		if err := f.save(c.Out, best); err != nil {
			return err
		}
		report.Saved = c.Out
	}
	return e.print(report, report.write)
}

// asked is the network that the model l2mt asks, or nil. One of one's own gets the features
// as they are in the tables, as in the problems that it was trained on.
func (c *fitCmd) asked() (*solve.Finder, error) {
	if c.Model != modelL2MT {
		return nil, nil
	}
	network, err := run.LoadNetwork(c.Network)
	if err != nil || c.Network == "" {
		return network, err
	}
	if head := network.Head(); head != "" {
		return nil, fmt.Errorf("%w: --network=%s: it makes features by a head (%s), which saved models do not have; tables take networks without one", errUsage, c.Network, head)
	}
	if c.Step == nil {
		c.Step = []string{"none"}
	}
	return network, nil
}

// parts are the folds, or the one that validation files make.
func (c *fitCmd) parts(t *table.Table) ([]data.Fold, error) {
	if t.Held == nil {
		return t.Problem.Folds(c.Folds, c.Seed, t.Together)
	}
	fold, err := t.Problem.Hold(t.Held)
	return []data.Fold{fold}, err
}

// tableFitter fits models to one table, each once.
type tableFitter struct {
	table   *table.Table
	folds   []data.Fold
	network *solve.Finder // nil where none is asked, and where that is from
	dir     string
	along   *solve.Directions // that it has of these features
	options multitask.TuneOptions
	done    map[string]*fitted
	order   []*fitted
	seconds []stage
}

// stage is a part of the work and the time it took.
type stage struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

func (f *tableFitter) spent(name string, begin time.Time) {
	f.seconds = append(f.seconds, stage{name, time.Since(begin).Seconds()})
}

// candidate is a model to be fitted.
type candidate struct {
	name, title string
	model       multitask.Model
	view
}

// view is how a candidate sees the features: in the tasks' common metric of a ridge, 0 is
// none, and along the directions of the training tasks or not.
type view struct {
	ridge float64
	along *mat.Dense
}

// under is the candidate with a view of the features.
func (c candidate) under(v view) candidate {
	c.view = v
	if v.ridge > 0 {
		c.name, c.title = c.name+"-metric", c.title+", in the common metric"
	}
	if v.ridge > 0 && v.ridge != 1 {
		c.name, c.title = fmt.Sprintf("%s-%g", c.name, v.ridge), fmt.Sprintf("%s, ridge %g", c.title, v.ridge)
	}
	if v.along != nil {
		c.name, c.title = c.name+"-directed", c.title+", along the directions of the training tasks"
	}
	return c
}

// fitted is a candidate with what the folds say of it.
type fitted struct {
	candidate
	*multitask.CrossValidated
	result *multitask.Result // on all rows, of the one chosen
}

// best fits what was asked for, beside STL and pooled, and returns that of the
// least loss.
func (f *tableFitter) best(ctx context.Context, c *fitCmd) (best *fitted, err error) {
	m := len(f.table.Problem.Tasks)
	asked, err := c.candidates(f.network, m)
	if err != nil {
		return nil, err
	}
	for _, rival := range []candidate{known(compare.STL), pooled(m)} {
		if _, err := f.fit(ctx, rival); err != nil {
			return nil, err
		}
	}
	try := func(all ...candidate) error {
		for _, a := range all {
			v, err := f.fit(ctx, a)
			if err != nil {
				return err
			}
			if best == nil || v.Loss < best.Loss {
				best = v
			}
		}
		return nil
	}
	if err := try(asked...); err != nil || c.Model != modelL2MT {
		return best, err
	}
	if err := try(f.weighed(best)); err != nil {
		return best, err
	}
	plain := []candidate{best.candidate, f.done[modelL2MT].candidate}
	if data.HasMetric(f.table.Problem) {
		within, err := f.viewed(ctx, best, plain, view{ridge: 1})
		if err != nil {
			return nil, err
		}
		if within.Loss < best.Loss {
			best = within
		}
	}
	if f.along = f.network.Directions(f.table.Problem); f.along == nil {
		return best, nil
	}
	return f.directed(ctx, best, append(plain, f.done[compare.STL].candidate))
}

// directed returns the best of some candidates along directions, if held-out rows do not
// object more than these have credit for.
func (f *tableFitter) directed(ctx context.Context, best *fitted, plain []candidate) (*fitted, error) {
	v := view{along: f.along.M}
	if data.HasMetric(f.table.Problem) {
		v.ridge = 1
	}
	at, err := f.viewed(ctx, nil, plain, v)
	if err != nil {
		return nil, err
	}
	if more := f.more(at, best); more.Loss <= f.along.Margin()*more.StandardError {
		best = at
	}
	return best, nil
}

// more is how much more one fit loses on held-out rows than another.
func (f *tableFitter) more(a, b *fitted) multitask.Paired {
	return multitask.PairedLoss(a.CrossValidated, b.CrossValidated, f.table.Problem)
}

// viewed returns the best of some candidates with another view of the features: in metrics
// from that of ridge 1 on as far as each is better than the one before by a standard error,
// as solve.Finder has it, unless the first is worse than a rival by as much.
func (f *tableFitter) viewed(ctx context.Context, rival *fitted, plain []candidate, of view) (at *fitted, err error) {
	var base candidate
	for _, c := range plain {
		v, err := f.fit(ctx, c.under(of))
		if err != nil {
			return nil, err
		}
		if at == nil || v.Loss < at.Loss {
			at, base = v, c
		}
	}
	if of.ridge == 0 {
		return at, nil
	}
	if rival != nil {
		if more := f.more(at, rival); more.Loss > more.StandardError {
			return at, nil
		}
	}
	for _, way := range [][]float64{{3, 10}, {0.1}} {
		for _, ridge := range way {
			v, err := f.fit(ctx, base.under(view{ridge, of.along}))
			if err != nil {
				return nil, err
			}
			if p := f.more(v, at); !(p.Loss < -p.StandardError) {
				break
			}
			at = v
		}
		if at.ridge > 1 {
			break
		}
	}
	return at, nil
}

func (f *tableFitter) fit(ctx context.Context, c candidate) (*fitted, error) {
	if v := f.done[c.name]; v != nil {
		return v, nil
	}
	begin := time.Now()
	options := f.options
	options.Ridge, options.Directions = c.ridge, c.along
	options.Progress = titled{options.Progress, "cross-validating " + c.title}
	v, err := multitask.CrossValidate(ctx, c.model, f.table.Problem, f.folds, options)
	if err != nil {
		return nil, err
	}
	f.spent(c.title, begin)
	f.done[c.name] = &fitted{candidate: c, CrossValidated: v}
	f.order = append(f.order, f.done[c.name])
	return f.done[c.name], nil
}

// titled is a reporter of work that has a title of its own.
type titled struct {
	progress.Reporter
	title string
}

func (t titled) Start(_ string, total int) { t.Reporter.Start(t.title, total) }

// candidates are the models among which the least cross-validated loss chooses.
func (c *fitCmd) candidates(network *solve.Finder, m int) ([]candidate, error) {
	switch c.Model {
	case modelL2MT:
		return l2mtCandidates(network, m), nil
	case modelPooled:
		return []candidate{pooled(m)}, nil
	case modelBest, modelAll:
		all := []candidate{pooled(m)}
		for _, b := range multitask.Baselines() {
			if within(b, m) {
				all = append(all, known(b.Info().Name))
			}
		}
		return all, nil
	case modelOmega:
		omega, err := readOmega(c.Omega, m)
		if err != nil {
			return nil, err
		}
		model, err := multitask.Given(omega)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Omega, err)
		}
		return []candidate{{name: modelOmega, title: "given covariance", model: model}}, nil
	}
	if _, err := multitask.Lookup(c.Model); err != nil {
		return nil, fmt.Errorf("%w: %w, or %s, %s, %s, %s", errUsage, err, modelL2MT, modelPooled, modelBest, modelAll)
	}
	return []candidate{known(c.Model)}, nil
}

// within says whether a model is one of those that are tried with m tasks.
func within(model multitask.Model, m int) bool {
	most := model.Info().MostTasks
	return most == 0 || m <= most
}

// leftOut says which models would be tried with fewer tasks.
func (c *fitCmd) leftOut(m int) (notes []string) {
	if c.Model != modelBest && c.Model != modelAll {
		return nil
	}
	for _, b := range multitask.Baselines() {
		if i := b.Info(); !within(b, m) {
			notes = append(notes, fmt.Sprintf("%s is left out: with more than %d tasks it takes too long; --model %s fits it all the same", i.Title, i.MostTasks, i.Name))
		}
	}
	return notes
}

// l2mtCandidates are the covariance that the network finds, tasks on their
// own, one model for all, and what lies between these: the network knows relations of
// tasks, but not that most tables' tasks are alike.
func l2mtCandidates(network *solve.Finder, m int) []candidate {
	stl := known(compare.STL)
	all := []candidate{stl, {name: modelL2MT, title: "the network's covariance", model: &foundBy{Model: stl.model, network: network}}}
	for _, share := range []float64{0.5, 0.8, 0.95} {
		all = append(all, blend(m, share))
	}
	return append(all, pooled(m))
}

// perProblem keeps what was found for every problem: folds come again in the metric.
// Folds may ask side by side.
type perProblem[T any] struct{ found sync.Map }

func (p *perProblem[T]) of(problem *data.ProblemData, find func() (T, error)) (T, error) {
	if v, ok := p.found.Load(problem); ok {
		return v.(T), nil
	}
	v, err := find()
	if err == nil {
		p.found.Store(problem, v)
	}
	return v, err
}

// foundBy is the model of the covariance that a network finds for a problem.
type foundBy struct {
	multitask.Model // for its Info until the problem is known
	network         *solve.Finder
	answers         perProblem[answer]
}

// answer is what a network says of a problem: the model of its covariance, and the
// relative error that it expects of that.
type answer struct {
	multitask.Model
	expected float64
}

func (f *foundBy) ask(p *data.ProblemData) (answer, error) {
	return f.answers.of(p, func() (a answer, err error) {
		found, err := f.network.Omega(p, 1)
		if err != nil {
			return a, err
		}
		a.expected = found.Estimated
		a.Model, err = multitask.Given(found.Omega)
		return a, err
	})
}

// On is the model on a problem.
func (f *foundBy) On(_ context.Context, p *data.ProblemData) (multitask.Model, error) {
	a, err := f.ask(p)
	return a.Model, err
}

// weighed is a model's covariance with that of the weights fitted with it, which from
// many rows say more of how tasks relate.
func (f *tableFitter) weighed(v *fitted) candidate {
	c := v.candidate
	c.name, c.title = c.name+"-weights", c.title+" + weights"
	c.model = &byWeights{Model: v.model, params: v.Params, workers: f.options.Workers}
	return c
}

type byWeights struct {
	multitask.Model
	params  multitask.Params
	workers int
	made    perProblem[multitask.Model]
}

// On fits the model to a problem.
func (w *byWeights) On(ctx context.Context, p *data.ProblemData) (multitask.Model, error) {
	return w.made.of(p, func() (multitask.Model, error) {
		model, err := multitask.On(ctx, w.Model, p)
		if err != nil {
			return nil, err
		}
		train, err := multitask.Training(p, "")
		if err != nil {
			return nil, err
		}
		r, err := multitask.Fit(ctx, model, train, w.params, multitask.Options{Tolerance: 1e-6, Workers: w.workers})
		if err != nil {
			return nil, err
		}
		return multitask.Given(solve.InWeights().Mixed(r.Omega, r)) // of trace 1, as all that l2mt tries
	})
}

func known(name string) candidate {
	m := run.MustModel(name)
	return candidate{name: m.Info().Name, title: m.Info().Title, model: m}
}

func pooled(m int) candidate {
	c := blend(m, 1)
	c.name, c.title = modelPooled, "pooled"
	return c
}

// blend is the covariance share 11'/m + (1 - share) I/m.
func blend(m int, share float64) candidate {
	omega := mat.NewSymDense(m, nil)
	for i := range m {
		omega.SetSym(i, i, 1/float64(m))
		for j := range i {
			omega.SetSym(i, j, share/float64(m))
		}
	}
	model, err := multitask.Given(omega)
	if err != nil {
		panic(err) // it is a covariance
	}
	percent := fmt.Sprintf("%.0f", 100*share)
	return candidate{name: modelPooled + percent, title: modelPooled + " by " + percent + " %", model: model}
}

// readOmega reads the covariance of m tasks.
func readOmega(path string, m int) (*mat.SymDense, error) {
	rows, err := format.OpenRows(path, format.Options{Header: format.HeaderNo})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns := make([]*format.Column, rows.Width)
	for j := range columns {
		columns[j] = &format.Column{At: j}
	}
	lines, err := rows.Read(columns)
	if err != nil {
		return nil, err
	}
	if len(lines) != m || rows.Width != m {
		return nil, fmt.Errorf("%s: %d rows of %d numbers; the covariance of %d tasks has %d of %d", path, len(lines), rows.Width, m, m, m)
	}
	for j, c := range columns {
		for i, line := range lines {
			if k := c.Text(i); k >= 0 {
				return nil, rows.Fault(line, fmt.Errorf("column %d: %q is not a number", j+1, c.Texts[k]))
			}
		}
	}
	omega := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			v, w := columns[j].Numbers[i], columns[i].Numbers[j]
			if v != w {
				return nil, fmt.Errorf("%s: entry %d of row %d is %v, but entry %d of row %d is %v; a covariance is symmetric", path, j+1, i+1, v, i+1, j+1, w)
			}
			omega.SetSym(i, j, v)
		}
	}
	return omega, nil
}

// save writes the model and the picture of its correlations.
func (f *tableFitter) save(dir string, best *fitted) error {
	s, err := multitask.NewSaved(best.result, f.table.Problem, f.table.Recipe)
	if err != nil {
		return err
	}
	s.Model = best.name
	s.Judge(best.Held, best.Y)
	if err := run.SaveModel(dir, s); err != nil {
		return err
	}
	if len(s.Tasks) > mostDrawn {
		return nil
	}
	return drawCorrelations(filepath.Join(dir, "correlation.png"), s)
}

// mostDrawn bounds the tasks of a picture.
const mostDrawn = 300

func drawCorrelations(path string, s *multitask.Saved) error {
	picture, err := plot.Correlations([]plot.Correlation{{Title: "Task correlations\n" + s.Model, Tasks: taskNames(s), Correlation: run.Correlation(s.Omega)}})
	return plot.Save(path, picture, err)
}

func taskNames(s *multitask.Saved) []string {
	names := make([]string, len(s.Tasks))
	for i, t := range s.Tasks {
		names[i] = t.Name
	}
	return names
}

// clusters are the groups of tasks that correlations above a half connect, the
// largest first.
func clusters(correlation [][]float64) [][]int {
	m := len(correlation)
	seen := make([]bool, m)
	var found [][]int
	for i := range m {
		if seen[i] {
			continue
		}
		group := []int{i}
		seen[i] = true
		for k := 0; k < len(group); k++ {
			for j, v := range correlation[group[k]] {
				if v > 0.5 && !seen[j] {
					seen[j] = true
					group = append(group, j)
				}
			}
		}
		slices.Sort(group)
		found = append(found, group)
	}
	slices.SortStableFunc(found, func(a, b []int) int { return len(b) - len(a) })
	return found
}

// few lists some names.
func few(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, ... (%d in all)", strings.Join(names[:most], ", "), len(names))
}
