package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model/multitask"
)

type inferCmd struct {
	Network      string `required:"" type:"existingdir" help:"Trained network."`
	problemFlags `embed:""`
	Out          string `type:"path" help:"Directory for predictions.csv, omega.json, correlation.png, embedding.json, seconds.json and result.json; with several problems, one folder for each."`
	OmegaOnly    bool   `help:"Stop at the covariance. Needs no validation or test rows."`
	Select       bool   `help:"Also fit the paper's ten models, tuned, and rank their covariances by the estimated error: which model suits the problem."`
	Score        string `type:"path" placeholder:"FILE" help:"Estimate the error of given covariances instead: a JSON list of {\"name\": ..., \"omega\": [[...]]}."`
	Steps        int    `default:"20" help:"Steps that refine the covariance by what the validation rows say; 0 keeps the network's, with the multiple of rho that they choose."`
	Nearest      int    `default:"3" help:"Training problems to name, nearest first."`
	Workers      int    `help:"Fits at a time; 0 means one per CPU."`
}

func (c *inferCmd) Validate() error {
	switch {
	case c.OmegaOnly && c.Select:
		return errors.New("--omega-only and --select exclude each other: the models must be fitted to be ranked")
	case c.Score != "" && (c.OmegaOnly || c.Select || c.Out != ""):
		return errors.New("--score only estimates: it goes with none of --omega-only, --select and --out")
	case c.Steps < 0:
		return fmt.Errorf("--steps=%d: it must not be negative", c.Steps)
	case c.Nearest < 0:
		return fmt.Errorf("--nearest=%d: it must not be negative", c.Nearest)
	}
	return nil
}

func (c *inferCmd) Run(e *env) error {
	begin := time.Now()
	network, err := loadNetwork(c.Network)
	if err != nil {
		return err
	}
	problems, err := c.open()
	if err != nil {
		return err
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Score != "" {
		return c.score(e, network, problems)
	}
	atlas, err := solve.LoadAtlas(c.Network)
	if errors.Is(err, fs.ErrNotExist) {
		e.remark("%s has no %s, so there is no telling how far a problem is from those of training; l2mt train makes it", c.Network, solve.AtlasFile)
	} else if err != nil {
		return err
	}
	sum, err := networkSum(c.Network)
	if err != nil {
		return err
	}
	reading := time.Since(begin).Seconds()
	results, err := c.inferAll(e, network, atlas, problems)
	if err != nil {
		return err
	}
	results[0].Seconds.Reading = reading
	for _, r := range results {
		r.Network = sum
	}
	for _, r := range results {
		if err := r.save(c.dir(r, len(results))); err != nil {
			return err
		}
	}
	return e.print(results, func(w io.Writer) {
		for _, r := range results {
			r.write(w)
		}
	})
}

// inferAll solves the problems one after the other. Progress is that of the
// problems, or within the only one.
func (c *inferCmd) inferAll(e *env, network *solve.Network, atlas *solve.Atlas, problems []*data.ProblemData) (results []*inferred, err error) {
	within, over := e.reporter(), progress.Silent()
	if len(problems) > 1 {
		within, over = over, within
	}
	over.Start("problems", len(problems))
	defer over.Finish()
	for _, p := range problems {
		r, err := c.infer(e, network, atlas, p, within)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
		over.Advance(1, p.Name)
	}
	return results, nil
}

// dir is where a result goes, or empty.
func (c *inferCmd) dir(r *inferred, results int) string {
	if c.Out == "" || results == 1 {
		return c.Out
	}
	return filepath.Join(c.Out, url.PathEscape(r.Problem))
}

// inferred is what the network makes of a problem, for print and for files.
type inferred struct {
	Problem string   `json:"problem"`
	Tasks   []string `json:"tasks"`
	// Found is the covariance with rho as the network says, and Used the one
	// that the problem was solved with; nil if it was not.
	Found   *view             `json:"found"`
	Used    *view             `json:"used,omitempty"`
	Nearest []solve.Neighbour `json:"nearest"`
	Radius  compare.Float     `json:"radius"`
	Outside bool              `json:"outside"`
	Fit     *inferredFit      `json:"fit,omitempty"`
	Models  []rankedModel     `json:"models,omitempty"`
	// Network is a checksum of the network.
	Network string  `json:"network"`
	Seconds *phases `json:"seconds,omitempty"`

	problem *data.ProblemData
	result  *multitask.Result
	place   solve.Place
}

// view is a covariance with what the network says about it.
type view struct {
	Omega       [][]float64   `json:"omega"`
	Correlation [][]float64   `json:"correlation"`
	Rho         compare.Float `json:"rho"`
	// Scale is the multiple of the network's rho.
	Scale compare.Float `json:"scale"`
	// Step is the step of refinement that led here from there.
	Step int `json:"step,omitempty"`
	// Expected is the relative error that the network expects.
	Expected compare.Float `json:"expected_relative_error"`
}

func newView(f *solve.Found, scale float64, step int) *view {
	return &view{
		Omega: compare.Entries(f.Omega), Correlation: correlation(f.Omega),
		Rho: compare.Float(f.Rho), Scale: compare.Float(scale), Step: step, Expected: compare.Float(f.Estimated),
	}
}

// title says in words what the scale and the step mean.
func (v *view) title() string {
	switch scale := float64(v.Scale); {
	case v.Step > 0 && math.IsInf(scale, 1):
		return fmt.Sprintf("Omega after step %d of refinement from I/m", v.Step)
	case v.Step > 0:
		return fmt.Sprintf("Omega after step %d of refinement from rho times %v", v.Step, scale)
	case scale == 1:
		return "Omega as the network says"
	case math.IsInf(scale, 1):
		return "Omega = I/m, which shares nothing"
	case scale < 1:
		return fmt.Sprintf("Omega with rho times %v, which shares more", scale)
	default:
		return fmt.Sprintf("Omega with rho times %v, which shares less", scale)
	}
}

// inferredFit is the solution with the covariance found, beside single-task
// learning.
type inferredFit struct {
	Lambda1    float64          `json:"lambda1"`
	Status     multitask.Status `json:"status"`
	Validation multitask.Errors `json:"validation"`
	Test       multitask.Errors `json:"test"`
	STL        multitask.Errors `json:"stl"`
	Relative   compare.Float    `json:"relative_error"`
}

// rankedModel is a model with the error that the network expects of its
// covariance.
type rankedModel struct {
	Model      string           `json:"model"`
	Title      string           `json:"title"`
	Expected   compare.Float    `json:"expected_relative_error"`
	Validation float64          `json:"validation"`
	Test       float64          `json:"test"`
	Relative   compare.Float    `json:"relative_error"`
	Params     multitask.Params `json:"params"`
}

// phases says where the time went, in seconds.
type phases struct {
	Reading   float64 `json:"reading"`
	Embedding float64 `json:"label_graph_and_embedding"`
	Solving   float64 `json:"eigendecomposition_and_scan"`
	Fitting   float64 `json:"fits"`
	Selecting float64 `json:"models"`
}

// check finds what no inference writes and pictures rely on.
func (r *inferred) check() error {
	if r.Found == nil {
		return errors.New("there is no covariance in \"found\"")
	}
	for _, v := range r.views() {
		if err := checkCorrelation(v.Correlation, r.Tasks); err != nil {
			return err
		}
	}
	return nil
}

// checkCorrelation checks that there is a correlation for each pair of tasks.
func checkCorrelation(correlation [][]float64, tasks []string) error {
	if len(tasks) == 0 || len(correlation) != len(tasks) {
		return fmt.Errorf("correlations of %d tasks, but %d tasks", len(correlation), len(tasks))
	}
	for i, row := range correlation {
		if len(row) != len(tasks) {
			return fmt.Errorf("correlations: row %d has %d entries for %d tasks", i, len(row), len(tasks))
		}
		for j, v := range row {
			if !(math.Abs(v) < 1.01) { // rounding
				return fmt.Errorf("correlations: entry (%d, %d) is %v; it must be within -1..1", i, j, v)
			}
		}
	}
	return nil
}

func (c *inferCmd) infer(e *env, network *solve.Network, atlas *solve.Atlas, p *data.ProblemData, report progress.Reporter) (*inferred, error) {
	embedding, err := network.Embed(p)
	if err != nil {
		return nil, err
	}
	r := &inferred{Problem: p.Name, problem: embedding.Problem(), place: embedding.Place(), Seconds: &phases{Embedding: embedding.Seconds}}
	for _, t := range p.Tasks {
		r.Tasks = append(r.Tasks, t.Name)
	}
	if err := r.locate(atlas, embedding, c.Nearest); err != nil {
		return nil, err
	}
	found, err := embedding.Omega(1)
	if err != nil {
		return nil, err
	}
	r.Seconds.Solving = found.Seconds
	r.Found = newView(found, 1, 0)
	if c.OmegaOnly {
		return r, nil
	}
	if err := r.fit(e, embedding, c.Steps, c.Workers, report); err != nil {
		return nil, err
	}
	if c.Select {
		return r, r.rank(e, embedding, c.Workers, report)
	}
	return r, nil
}

// locate says how far the problem is from those of training.
func (r *inferred) locate(atlas *solve.Atlas, embedding *solve.Embedding, k int) error {
	r.Radius = compare.Float(math.NaN())
	if atlas == nil {
		return nil
	}
	near, err := atlas.Nearest(embedding.Place(), max(k, 1))
	if err != nil {
		return err
	}
	r.Radius, r.Outside = compare.Float(atlas.Radius), len(near) > 0 && atlas.Outside(near[0].Distance)
	r.Nearest = near[:min(k, len(near))]
	return nil
}

// fit solves the problem, and by single-task learning too.
func (r *inferred) fit(e *env, embedding *solve.Embedding, steps, workers int, report progress.Reporter) error {
	if steps == 0 {
		steps = -1 // none
	}
	fitted, err := embedding.Fit(e, solve.FitOptions{Steps: steps, Tune: multitask.TuneOptions{Workers: workers, Progress: report}})
	if err != nil {
		return err
	}
	begin := time.Now()
	stl, err := multitask.Tune(e, mustModel(compare.STL), r.problem, multitask.TuneOptions{Workers: workers})
	if err != nil {
		return err
	}
	r.Used = newView(fitted.Found, fitted.Scale, fitted.Step)
	t := fitted.Tuned
	r.result = t.Result
	r.Fit = &inferredFit{
		Lambda1: t.Params.Lambda1, Status: t.Result.Status, Validation: t.Validation, Test: t.Test, STL: stl.Test,
		Relative: compare.Float(t.Test.Mean / stl.Test.Mean),
	}
	r.Seconds.Fitting = fitted.Fitting + time.Since(begin).Seconds()
	return nil
}

// rank fits the ten models and asks the network which of their covariances
// suits the problem.
func (r *inferred) rank(e *env, embedding *solve.Embedding, workers int, report progress.Reporter) error {
	begin := time.Now()
	outcomes, err := compare.Evaluate(e, nil, []*data.ProblemData{r.problem}, compare.EvaluateOptions{Workers: workers, Progress: report})
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		omega, err := covariance(o.Omega)
		if err != nil {
			return err
		}
		expected, err := embedding.Estimated(omega)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Model, err)
		}
		r.Models = append(r.Models, rankedModel{
			Model: o.Model, Title: mustModel(o.Model).Info().Title, Expected: compare.Float(expected),
			Validation: o.Validation.Mean, Test: o.Test.Mean, Relative: compare.Float(o.Test.Mean / r.Fit.STL.Mean), Params: o.Params,
		})
	}
	slices.SortStableFunc(r.Models, func(a, b rankedModel) int { return cmp.Compare(a.Expected, b.Expected) })
	r.Seconds.Selecting = time.Since(begin).Seconds()
	return nil
}

// covariance is a matrix written out row by row.
func covariance(rows [][]float64) (*mat.SymDense, error) {
	if len(rows) == 0 {
		return nil, errors.New("the matrix is empty")
	}
	size := 0.0
	for i, row := range rows {
		if len(row) != len(rows) {
			return nil, fmt.Errorf("row %d has %d entries; a matrix of %d rows needs %d", i, len(row), len(rows), len(rows))
		}
		for _, v := range row {
			size = max(size, math.Abs(v))
		}
	}
	a := mat.NewSymDense(len(rows), nil)
	for i, row := range rows {
		for j, v := range row[:i+1] {
			if w := rows[j][i]; math.Abs(v-w) > 1e-9*size {
				return nil, fmt.Errorf("it is not symmetric: entry (%d, %d) is %v, entry (%d, %d) is %v", i, j, v, j, i, w)
			}
			a.SetSym(i, j, v)
		}
	}
	return a, nil
}

// mostPrinted is the number of tasks up to which a correlation matrix is printed.
const mostPrinted = 20

func (r *inferred) write(w io.Writer) {
	fmt.Fprintf(w, "problem %s, %d tasks\n\n", r.Problem, len(r.Tasks))
	for _, v := range r.views() {
		fmt.Fprintf(w, "task correlations of %s; relative error expected %.4f\n", v.title(), v.Expected)
		if len(r.Tasks) > mostPrinted {
			fmt.Fprintf(w, "too many to print: see correlation.png and result.json of --out, or --json\n\n")
			continue
		}
		writeMatrix(w, v.Correlation, r.Tasks)
		fmt.Fprintln(w)
	}
	if r.Fit != nil {
		r.writeFit(w)
	}
	if r.Models != nil {
		r.writeModels(w)
	}
	r.writeNearest(w)
	s := r.Seconds
	fmt.Fprintf(w, "\nseconds: reading %.3f, label graph and embedding %.3f, eigendecomposition and scan %.6f", s.Reading, s.Embedding, s.Solving)
	if r.Fit != nil {
		fmt.Fprintf(w, ", fits %.3f", s.Fitting)
	}
	if r.Models != nil {
		fmt.Fprintf(w, ", models %.3f", s.Selecting)
	}
	fmt.Fprintln(w)
}

// views are the covariance found and, if it is another, the one used.
func (r *inferred) views() []*view {
	if r.Used == nil || r.Used.Step == 0 && r.Used.Scale == r.Found.Scale {
		return []*view{r.Found}
	}
	return []*view{r.Found, r.Used}
}

func (r *inferred) writeFit(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	what := "error"
	if r.problem.Kind() == data.Regression {
		what = "nMSE"
	}
	fmt.Fprintf(t, "test %s\tSTL\trelative\t  task\n", what)
	row := func(l2mt, stl float64, name string) {
		fmt.Fprintf(t, "%.4f\t%.4f\t%s\t  %s\n", l2mt, stl, ratio(l2mt, stl), name)
	}
	for i, name := range r.Tasks {
		row(r.Fit.Test.Task[i], r.Fit.STL.Task[i], name)
	}
	row(r.Fit.Test.Mean, r.Fit.STL.Mean, "mean")
	t.Flush()
	fmt.Fprintf(w, "\nrelative error %s, expected %.4f\n", ratio(r.Fit.Test.Mean, r.Fit.STL.Mean), r.Used.Expected)
	fmt.Fprintf(w, "chosen on the validation rows: %s; lambda1 = %s\n", r.Used.title(), number(r.Fit.Lambda1))
}

// ratio is a over b, or a dash where that is undefined.
func ratio(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return strconv.FormatFloat(a/b, 'f', 4, 64)
}

func (r *inferred) writeModels(w io.Writer) {
	fmt.Fprintf(w, "\nof the paper's ten models the network expects most of the covariance of %s\n", r.Models[0].Title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "expected\trelative\ttest error\tvalidation\t  model")
	for _, m := range r.Models {
		fmt.Fprintf(t, "%.4f\t%s\t%.4f\t%.4f\t  %s\n", m.Expected, decimals(m.Relative), m.Test, m.Validation, m.Title)
	}
	t.Flush()
}

func (r *inferred) writeNearest(w io.Writer) {
	if r.Nearest == nil {
		return
	}
	fmt.Fprint(w, "\nnearest training problems, with their distances:")
	for _, n := range r.Nearest {
		fmt.Fprintf(w, " %s (%.3f)", n.Name, n.Distance)
	}
	fmt.Fprintln(w)
	if r.Outside {
		fmt.Fprintf(w, "warning: no training problem is this near: they are at most %.3f from their nearest one, so do not trust the covariance; look at the errors\n", r.Radius)
	}
}

// embeddingFile has the tasks' embeddings, for the map of tasks in a report.
const embeddingFile = "embedding.json"

// save writes the result to a directory, each file whole or not at all.
func (r *inferred) save(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var omega []namedCovariance
	for _, v := range r.views() {
		omega = append(omega, namedCovariance{r.Problem + ", " + v.title(), v.Omega})
	}
	if err := saveJSON(filepath.Join(dir, "omega.json"), omega); err != nil {
		return err
	}
	picture, err := plotCorrelations(r.Tasks, r.views())
	if err := savePicture(filepath.Join(dir, "correlation.png"), picture, err); err != nil {
		return err
	}
	if r.result != nil {
		if err := saveCSV(filepath.Join(dir, "predictions.csv"), r.predictions()); err != nil {
			return err
		}
	}
	if err := saveJSON(filepath.Join(dir, embeddingFile), r.place); err != nil {
		return err
	}
	if err := saveJSON(filepath.Join(dir, secondsFile), r.Seconds); err != nil {
		return err
	}
	timeless := *r
	timeless.Seconds = nil
	return saveJSON(filepath.Join(dir, "result.json"), timeless)
}

// predictions are those for the test rows. The row counts in the dataset, or in
// the task's own file, from 0.
func (r *inferred) predictions() [][]string {
	rows := [][]string{{"task", "row", "prediction", "score", "label"}}
	for i, t := range r.problem.Tasks {
		class := func(v float64) string {
			switch {
			case t.Kind == data.Regression:
				return full(v)
			case v >= 0:
				return t.Positive
			}
			return t.Negative
		}
		for j, score := range solve.Score(r.result, i, t.TestSet.X) {
			row := j
			if t.Files == nil {
				row = t.Test[j]
			}
			rows = append(rows, []string{t.Name, strconv.Itoa(row), class(score), full(score), class(t.TestSet.Y[j])})
		}
	}
	return rows
}

// namedCovariance is one entry of a file for --score. The file omega.json is
// such a list too.
type namedCovariance struct {
	Name  string      `json:"name"`
	Omega [][]float64 `json:"omega"`
}

// scored is a covariance with the error that the network expects of it.
type scored struct {
	Problem  string        `json:"problem"`
	Name     string        `json:"name"`
	Expected compare.Float `json:"expected_relative_error"`
}

// score estimates the errors of given covariances.
func (c *inferCmd) score(e *env, network *solve.Network, problems []*data.ProblemData) error {
	given, err := readCovariances(c.Score)
	if err != nil {
		return err
	}
	var scores []scored
	for _, p := range problems {
		embedding, err := network.Embed(p)
		if err != nil {
			return err
		}
		for i, g := range given {
			omega, err := covariance(g.Omega)
			if err != nil {
				return fmt.Errorf("%s: entry %d (%q): %w: %w", c.Score, i, g.Name, data.ErrInvalid, err)
			}
			expected, err := embedding.Estimated(omega)
			if err != nil {
				return fmt.Errorf("%s: entry %d (%q): %w", c.Score, i, g.Name, err)
			}
			scores = append(scores, scored{p.Name, g.Name, compare.Float(expected)})
		}
	}
	return e.print(scores, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "expected relative error\tproblem\tcovariance")
		for _, s := range scores {
			fmt.Fprintf(t, "%.4f\t%s\t%s\n", s.Expected, s.Problem, s.Name)
		}
		t.Flush()
	})
}

func readCovariances(path string) (given []namedCovariance, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if given, err = parseCovariances(raw); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, data.ErrFormat, err)
	}
	return given, nil
}

func parseCovariances(raw []byte) (given []namedCovariance, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&given); err != nil {
		return nil, fmt.Errorf("it must be a JSON list of {\"name\": ..., \"omega\": [[...]]}: %w", err)
	}
	if len(given) == 0 {
		return nil, errors.New("the list is empty")
	}
	return given, nil
}
