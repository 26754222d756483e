package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/table"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// fitReport is what a fit says, of tables or of a problem. Errors are those of rows that folds
// held out.
type fitReport struct {
	Problem  string           `json:"problem"`
	Kind     data.Kind        `json:"kind"`
	Model    string           `json:"model"`
	Title    string           `json:"title"`
	Params   multitask.Params `json:"params"`
	Status   multitask.Status `json:"status"`
	Rows     int              `json:"rows"`
	Features int              `json:"features"`
	Classes  []string         `json:"classes,omitempty"`
	// Candidates are all that were tried, in order.
	Candidates  []solve.Tried `json:"candidates"`
	Tasks       []taskReport  `json:"tasks"`
	Mean        taskReport    `json:"mean"`
	Rivals      []rivalReport `json:"rivals"`
	Temperature float64       `json:"temperature,omitempty"`
	Brier       float64       `json:"brier,omitempty"`
	Reliability []reliable    `json:"reliability,omitempty"`
	// Correlation is that of the tasks, nil where it is Untold: where rows held out cannot
	// tell the covariance from tasks on their own.
	Correlation [][]float64 `json:"correlation"`
	Untold      bool        `json:"correlation_untold"`
	// Bends is what columns that bend bring to single-task learning.
	Bends   *difference    `json:"bends,omitempty"`
	Network *networkReport `json:"network,omitempty"`
	Test    *testReport    `json:"test,omitempty"`
	Ranked  []rankedModel  `json:"models,omitempty"`
	Notes   []string       `json:"notes"`
	Seconds float64        `json:"seconds"`
	Saved   string         `json:"saved,omitempty"`
	// Text and Titles, those of the candidates, are for the page of a report.
	Text   string   `json:"text,omitempty"`
	Titles []string `json:"titles,omitempty"`

	table   *table.Table
	network string
	fit     *solve.Fitted
	stl     *solve.Fitted // likewise, of single-task learning
	alone   bool          // nothing is shared
	all     bool          // lists every candidate
}

// difference is how much more the model loses on the rows held out than something else,
// between Low and High with a confidence of 95 %.
type difference struct {
	Loss compare.Float `json:"loss"`
	Low  compare.Float `json:"low"`
	High compare.Float `json:"high"`
	sign int
}

func differenceOf(a, b *evidence.HeldOut) difference {
	d := evidence.PairedLoss(a, b)
	low, high := d.Interval()
	return difference{compare.Float(d.Loss), compare.Float(low), compare.Float(high), d.Sign()}
}

func (d difference) String() string {
	return fmt.Sprintf("%.4f (95 %%: %.4f to %.4f)", d.Loss, d.Low, d.High)
}

// rivalReport is what a user would try instead: the mean of its tasks' scores, and how much
// more the model loses than it. The model errs less for Better tasks and more for Worse.
type rivalReport struct {
	Name   string      `json:"name"`
	Title  string      `json:"title"`
	Score  scoreReport `json:"score"`
	Less   difference  `json:"difference"`
	Better int         `json:"better"`
	Worse  int         `json:"worse"`

	loss   float64
	scores []evidence.Score
}

// The rivals, of which classes have one more.
const (
	rivalMean = iota
	rivalSTL
	rivalPooled
)

// fill fits the problem, beside its rivals.
func (r *fitReport) fill(ctx context.Context, b *solve.Bench, candidates []solve.Candidate, view string) error {
	begin, p := time.Now(), r.table.Problem
	choose := func() (*solve.Choice, error) { return b.Choose(ctx, solve.Parts{View: view}) }
	if candidates != nil {
		choose = func() (*solve.Choice, error) { return b.Best(ctx, candidates) }
	}
	choice, err := choose()
	if err != nil {
		return err
	}
	if r.fit, err = b.Fit(ctx, choice.Judged); err != nil {
		return err
	}
	r.alone = choice.Model == nil && choice.Mixture == solve.Mixture{}
	if err := r.judgeRivals(ctx, b, choice); err != nil {
		return err
	}
	r.Problem, r.Kind, r.Model, r.Title, r.Params, r.Status = p.Name, p.Kind(), choice.Name(), choice.Title(), r.fit.Params, r.fit.Result.Status
	r.Features, r.Classes, r.Candidates = p.Cols(), p.Classes, choice.Tried
	of := choice.ScoresOf(p)
	r.Mean = taskReport{Task: "mean", Fit: *reportOf(evidence.MeanScore(of)), STL: &r.Rivals[rivalSTL].Score, Pooled: &r.Rivals[rivalPooled].Score}
	never, partly := 0, 0
	for i, t := range p.Tasks {
		s := of[i]
		r.Mean.Rows += s.Rows
		r.Tasks = append(r.Tasks, taskReport{Task: t.Name, Rows: s.Rows, Held: s.Held, Fit: *reportOf(s), STL: reportOf(r.Rivals[rivalSTL].scores[i]), Pooled: reportOf(r.Rivals[rivalPooled].scores[i])})
		switch {
		case r.table.Held != nil:
		case s.Held == 0:
			never++
		case s.Held < s.Rows:
			partly++
		}
	}
	r.Rows, r.Notes = r.Mean.Rows, r.table.Notes
	if never > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d tasks have a single row of a class: it is always trained on, and they have no cross-validated error", never))
	}
	if partly > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d tasks have rows that are always trained on, as the other parts have none of their class", partly))
	}
	if n := r.fit.Landmarks(); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("the model contains %d of the rows that it was fitted on, with which its kernel compares; --view curves does without", n))
	}
	if r.Kind == data.Classification {
		r.Temperature, r.Brier = evidence.Temperature(choice.Scores, choice.Y), float64(r.Mean.Fit.Brier)
		r.Reliability = reliability(r.Temperature, max(1, len(r.Classes)), slices.Concat(choice.Scores...), slices.Concat(choice.Y...))
	}
	if candidates == nil {
		r.Network, err = r.networkReport(b, choice)
	}
	r.Seconds = time.Since(begin).Seconds()
	return err
}

// judgeRivals judges what a user would try instead, and tasks on their own in the view of the
// model, which its correlations have to be better than.
func (r *fitReport) judgeRivals(ctx context.Context, b *solve.Bench, choice *solve.Choice) error {
	// Rivals see the columns alike: what bends bring is not what sharing brings.
	alone := solve.Candidate{View: solve.View{Bent: choice.Bent, Width: choice.Width}}
	pooled := solve.Candidate{View: alone.View, Mixture: solve.Mixture{Pooled: 1}, Drawn: choice.Drawn}
	mean, err := b.Mean(ctx)
	if err != nil {
		return err
	}
	r.addRival("mean", "the mean of each task", choice, mean)
	r.Rivals[rivalMean].Score.AUC = compare.Float(math.NaN()) // its scores differ by fold alone
	add := func(title string, c solve.Candidate) (*solve.Judged, error) {
		j, err := b.Judge(ctx, c)
		if err == nil {
			r.addRival(j.Name(), title, choice, j.HeldOut)
		}
		return j, err
	}
	stl, err := add("STL, every task on its own", alone)
	if err == nil {
		_, err = add("pooled, one model with task effects", pooled)
	}
	if err == nil && r.table.Problem.Kind() == data.Classification && !stl.Balanced {
		weighted := alone
		weighted.Balanced = true
		_, err = add("STL with class weights", weighted)
	}
	if err == nil {
		r.stl, err = b.Fit(ctx, stl)
	}
	if err != nil {
		return err
	}
	if alone.Bent != "" {
		straight, err := b.Judge(ctx, solve.Candidate{})
		if err != nil {
			return err
		}
		d := differenceOf(stl.HeldOut, straight.HeldOut)
		r.Bends = &d
	}
	c := choice.Candidate
	c.Model, c.Mixture = nil, solve.Mixture{}
	apart, err := b.Judge(ctx, c)
	if err != nil {
		return err
	}
	if r.Untold = evidence.PairedLoss(choice.HeldOut, apart.HeldOut).Sign() >= 0; !r.Untold {
		r.Correlation = run.Correlation(r.fit.Omega)
	}
	return nil
}

func (r *fitReport) addRival(name, title string, choice *solve.Choice, h *evidence.HeldOut) {
	of := rivalReport{Name: name, Title: title, Less: differenceOf(choice.HeldOut, h), loss: h.Loss, scores: h.ScoresOf(r.table.Problem)}
	of.Score = *reportOf(evidence.MeanScore(of.scores))
	for i, s := range choice.ScoresOf(r.table.Problem) {
		switch d := s.Error - of.scores[i].Error; {
		case d < 0:
			of.Better++
		case d > 0:
			of.Worse++
		}
	}
	r.Rivals = append(r.Rivals, of)
}

// save writes the model, single-task learning beside it, what a report shows of them, and
// the picture of its correlations.
func (r *fitReport) save(dir string) error {
	stl := filepath.Join(dir, besideSTL)
	if err := os.Remove(filepath.Join(stl, saved.File)); err != nil && !errors.Is(err, fs.ErrNotExist) { // of another fit
		return err
	}
	err := r.saveFit(dir, r.fit)
	if err == nil && !r.alone {
		err = r.saveFit(stl, r.stl)
	}
	if err == nil {
		err = run.SaveJSON(filepath.Join(dir, run.FitFile), r.forPage())
	}
	if err == nil && r.Correlation != nil {
		err = drawCorrelations(filepath.Join(dir, "correlation.png"), r.Model, r.names(), r.Correlation)
	}
	r.Saved = dir
	return err
}

func (r *fitReport) saveFit(dir string, fit *solve.Fitted) error {
	s, err := fit.Saved(r.table.Recipe)
	if err != nil {
		return fmt.Errorf("problem %q: %w", r.Problem, err)
	}
	v := run.CurrentVersions()
	s.Versions = map[string]string{"l2mt": v.L2MT, "go": v.Go, "system": v.System}
	return s.Save(dir)
}

// mostDrawn bounds the tasks of a picture.
const mostDrawn = 300

func drawCorrelations(path, title string, tasks []string, correlation [][]float64) error {
	if len(tasks) > mostDrawn {
		return nil
	}
	picture, err := plot.Correlations([]plot.Correlation{{Title: "Task correlations\n" + title, Tasks: tasks, Correlation: correlation}})
	return plot.Save(path, picture, err)
}

// names are those of the tasks.
func (r *fitReport) names() (names []string) {
	for _, t := range r.Tasks {
		names = append(names, t.Task)
	}
	return names
}

// forPage is what a report shows: without times, which no two fits have the same.
func (r fitReport) forPage() *fitReport {
	r.Candidates, r.Seconds = slices.Clone(r.Candidates), 0
	for k := range r.Candidates {
		r.Candidates[k].Seconds = 0
		r.Titles = append(r.Titles, r.Candidates[k].Title())
	}
	var text strings.Builder
	if r.writeVerdicts(&text); len(r.Tasks) > 1 {
		r.Text = text.String()
	}
	if len(r.Tasks) > mostDrawn {
		r.Correlation = nil
	}
	return &r
}

func (r *fitReport) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s of %d tasks, %d labelled rows, %d features", r.Problem, r.Kind, len(r.Tasks), r.Rows, r.Features)
	if r.Classes != nil {
		fmt.Fprintf(w, ", %d classes", len(r.Classes))
	}
	fmt.Fprintf(w, "\n%s; lambda1 = %s, chosen on rows held out, fitted on all (%s, %.2g s)\n\n", r.Title, run.Number(r.Params.Lambda1), r.Status, r.Seconds)
	if r.all {
		r.writeCandidates(w)
	}
	writeTasks(w, r.Kind, r.Tasks, r.Mean)
	if r.Kind == data.Classification {
		fmt.Fprintf(w, "probabilities: Brier score %.4f, at temperature %.3g\n", r.Brier, r.Temperature)
	}
	r.writeRivals(w)
	if len(r.Tasks) > 1 {
		r.writeVerdicts(w)
		r.writeCorrelations(w)
	} else {
		fmt.Fprintln(w, "there is a single task, and nothing to share")
	}
	r.writeTest(w)
	if r.Saved != "" {
		fmt.Fprintf(w, "\nsaved to %s\n", r.Saved)
	}
}

func (r *fitReport) writeCorrelations(w io.Writer) {
	switch {
	case r.Correlation != nil:
		fmt.Fprintln(w)
		writeCorrelations(w, "task correlations", r.names(), r.Correlation)
	case !r.alone:
		fmt.Fprintln(w, "no task correlations: rows held out cannot tell this covariance from tasks on their own")
	}
}

// writeRivals compares the model, which is marked, with what a user would try instead.
func (r *fitReport) writeRivals(w io.Writer) {
	what, good, loss := units(r.Kind)
	fmt.Fprintf(w, "\nthe model (*) and what else could be done, the mean of all tasks; differences are of the %s of held-out rows\n", loss)
	t := run.Columns(w)
	fmt.Fprintf(t, "%s\t%s\tthe model's less\t95 %% from\tto\tbetter for\tworse for\t  method\n", what, good)
	fmt.Fprintf(t, "%s\t%s\t\t\t\t\t\t* %s\n", errorGap(r.Mean.Fit.Error), run.Decimals(r.Mean.Fit.good(r.Kind)), r.Title)
	for _, v := range r.Rivals {
		if v.Name == r.Model {
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t  %s\n", errorGap(v.Score.Error), run.Decimals(v.Score.good(r.Kind)), run.Decimals(v.Less.Loss), run.Decimals(v.Less.Low), run.Decimals(v.Less.High), v.Better, v.Worse, v.Title)
	}
	t.Flush()
}

// asGood is the share of single-task learning's loss within which the interval of a
// difference lies that is none.
const asGood = 0.05

// writeVerdicts says what to make of the differences, as far as their intervals bear it.
func (r *fitReport) writeVerdicts(w io.Writer) {
	_, _, loss := units(r.Kind)
	mean, stl := r.Rivals[rivalMean].Less, r.Rivals[rivalSTL]
	if mean.sign >= 0 {
		verdict := "too few rows to tell the model from the mean of each task"
		if mean.sign > 0 {
			verdict = "the mean of each task predicts better than the model: its features tell nothing"
		}
		fmt.Fprintf(w, "%s: the %s of held-out rows less that of the mean is %s\n", verdict, loss, mean)
	}
	d := stl.Less
	switch {
	case r.alone && len(r.Candidates) > 1:
		fmt.Fprintln(w, "nothing is shared: single-task learning is chosen")
	case r.alone:
	case math.IsInf(float64(d.Low), 0):
		fmt.Fprintln(w, "too few rows were held out to tell whether sharing pays")
	default:
		verdict := "too few rows to tell sharing from single-task learning"
		switch most := asGood * stl.loss; {
		case d.sign < 0:
			verdict = "sharing pays"
		case d.sign > 0:
			verdict = "sharing does harm; single-task learning (--model stl) is better"
		case float64(d.Low) > -most && float64(d.High) < most:
			verdict = "single-task learning (--model stl) is as good"
		}
		fmt.Fprintf(w, "%s: the %s of held-out rows less that of STL is %s\n", verdict, loss, d)
	}
	if r.Bends != nil {
		fmt.Fprintf(w, "columns bend: the %s of STL with them less that with straight columns is %s\n", loss, r.Bends)
	}
	if r.Network != nil {
		r.Network.write(w)
	}
}

// writeCandidates lists candidates in the order in which they were tried.
func (r *fitReport) writeCandidates(w io.Writer) {
	run.ErrorName(w, r.Kind) // says what nMSE is
	_, _, loss := units(r.Kind)
	t := run.Columns(w)
	fmt.Fprintf(t, "%s\tless the best\t95 %% from\tto\tseconds\tverdict\t  candidate\n", loss)
	for _, c := range r.Candidates {
		fmt.Fprintf(t, "%.4f\t%s\t%s\t%s\t%.2f\t%s\t  %s\n", c.Loss, run.Decimals(c.Less), run.Decimals(c.Low), run.Decimals(c.High), c.Seconds, c.Verdict, c.Title())
	}
	t.Flush()
	fmt.Fprintln(w)
}
