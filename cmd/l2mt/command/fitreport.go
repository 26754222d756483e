package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/table"
	"l2mt/infer/solve"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// fitReport is what a fit of tables or of a problem prints, and what the page of the model
// shows. Errors are those of rows that folds held out.
type fitReport struct {
	Problem     string           `json:"problem"`
	Kind        data.Kind        `json:"kind"`
	Model       string           `json:"model"`
	Title       string           `json:"title"`
	Params      multitask.Params `json:"params"`
	Status      multitask.Status `json:"status"`
	Rows        int              `json:"rows"`
	Features    int              `json:"features"`
	Classes     []string         `json:"classes,omitempty"`
	Structures  []solve.Weighed  `json:"structures"` // that were weighed
	Shares      []solve.Share    `json:"shares,omitempty"`
	Tasks       []taskReport     `json:"tasks"`
	Mean        taskReport       `json:"mean"`
	Rivals      []rivalReport    `json:"rivals"`
	Temperature float64          `json:"temperature,omitempty"`
	// Correlation is that of the tasks, if they share anything.
	Correlation [][]float64 `json:"correlation,omitempty"`
	Test        *testReport `json:"test,omitempty"`
	Notes       []string    `json:"notes"`
	Seconds     float64     `json:"seconds,omitempty"`
	Text        string      `json:"text,omitempty"` // the verdicts

	table *table.Table
	fit   *solve.Fitted
	stl   *solve.Fitted // single-task learning in the same view
	alone bool          // nothing is shared

	structures bool // are printed
}

// rivalReport is what a user would try instead: the mean of its tasks' scores, and how much
// more the model loses than it. The model errs less for Better tasks and more for Worse.
type rivalReport struct {
	Name   string          `json:"name"`
	Title  string          `json:"title"`
	Loss   float64         `json:"loss"`
	Score  evidence.Score  `json:"score"`
	Less   evidence.Paired `json:"difference"`
	Better int             `json:"better"`
	Worse  int             `json:"worse"`
}

// The first rivals.
const (
	rivalMean = iota
	rivalSTL
)

// run fits the problem, saves the model if there is a directory for it, and prints what came of it.
func (r *fitReport) run(e *env, b *solve.Bench, candidates []solve.Candidate, view, out string) (err error) {
	var folder *files.Folder
	if out != "" {
		if folder, err = files.Claim(out); err != nil {
			return err
		}
		defer folder.Close()
	}
	if err := r.fill(e, b, candidates, view); err != nil {
		return err
	}
	for _, note := range r.Notes[len(r.table.Notes):] {
		e.remark("%s", note)
	}
	if out != "" {
		if err := r.save(folder); err != nil {
			return err
		}
	}
	return e.print(r, r.write)
}

// fill fits the problem, beside its rivals.
func (r *fitReport) fill(ctx context.Context, b *solve.Bench, candidates []solve.Candidate, view string) (err error) {
	begin := time.Now()
	p := r.table.Problem
	var choice *solve.Choice
	if candidates == nil {
		choice, err = b.Choose(ctx, solve.Parts{View: view})
	} else {
		choice, err = b.Best(ctx, candidates)
	}
	if err != nil {
		return err
	}
	if r.fit, err = b.Fit(ctx, choice); err != nil {
		return err
	}
	r.alone = !choice.Shares()
	r.Problem = p.Name
	r.Kind = p.Kind()
	r.Model = choice.Name()
	r.Title = choice.Title()
	r.Params = r.fit.Params
	r.Status = r.fit.Result.Status
	r.Features = p.Cols()
	r.Classes = p.Classes
	r.Notes = r.table.Notes
	r.Structures = choice.Weighed
	r.Shares = r.fit.Shares
	kept := 0
	single := 0
	same := 0
	for i, score := range choice.ScoresOf(p) {
		t := p.Tasks[i]
		r.Tasks = append(r.Tasks, taskReport{t.Name, map[string]evidence.Score{byModel: score}})
		if r.Rows += score.Rows; score.Held < score.Rows && r.table.Held == nil {
			kept++
		}
		switch train := t.TrainSet; {
		case len(train.Y) == 1:
			single++
		case train.Borrows(t.Kind == data.Classification):
			same++
		}
	}
	if err := r.judgeRivals(ctx, b, choice); err != nil {
		return err
	}
	r.Mean = meanOf(r.Tasks)
	note := func(n int, format string) {
		if n > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf(format, n))
		}
	}
	if choice.Rows == 0 {
		r.Notes = append(r.Notes, "there are too few rows to hold some out: nothing is measured, and nothing compared")
		r.Structures = nil
		r.Rivals = nil
	}
	note(single, "%d tasks of one row borrow everything else from the others")
	note(same, "%d tasks of one class borrow the odds of the other from the others")
	note(kept, "%d tasks have rows that no fold holds out, as no other row has their class; errors are without these")
	note(r.fit.Landmarks(), "the model contains %d of the rows that it was fitted on, with which its kernel compares; --view curves does without")
	if r.Kind == data.Classification {
		r.Temperature = evidence.Temperature(choice.Scores, choice.Y)
	}
	if len(r.fit.Test.Task) > 0 {
		r.Test = &testReport{r.fit.Test, r.stl.Test}
	}
	r.Seconds = time.Since(begin).Seconds()
	return nil
}

// judgeRivals judges what a user would try instead.
func (r *fitReport) judgeRivals(ctx context.Context, b *solve.Bench, choice *solve.Choice) error {
	alone, pooled := b.Rivals(choice)
	mean, err := b.Mean(ctx)
	if err != nil {
		return err
	}
	r.addRival("", "mean", "the mean of each task", choice, mean)
	r.Rivals[rivalMean].Score.AUC = files.Float(math.NaN()) // its scores differ by fold alone
	single, err := b.Best(ctx, []solve.Candidate{alone})
	if err != nil {
		return err
	}
	r.addRival(bySTL, single.Name(), "every task on its own", choice, single.HeldOut)
	one, err := b.Judge(ctx, pooled)
	if err != nil {
		return err
	}
	r.addRival(byPooled, one.Name(), "one model for all, at levels of each task", choice, one.HeldOut)
	if !r.alone {
		r.Correlation = correlationOf(r.fit.Omega)
	}
	r.stl, err = b.Fit(ctx, single)
	return err
}

// addRival compares the model with a rival, of which tasks are reported by a name too.
func (r *fitReport) addRival(by, name, title string, choice *solve.Choice, h *evidence.HeldOut) {
	scores := h.ScoresOf(r.table.Problem)
	of := rivalReport{Name: name, Title: title, Loss: h.Loss, Score: evidence.MeanScore(scores), Less: evidence.PairedLoss(choice.HeldOut, h)}
	for i, s := range scores {
		switch d := r.Tasks[i].By[byModel].Error - s.Error; {
		case d < 0:
			of.Better++
		case d > 0:
			of.Worse++
		}
		if by != "" {
			r.Tasks[i].By[by] = s
		}
	}
	r.Rivals = append(r.Rivals, of)
}

// save writes the model, single-task learning beside it, and what a page shows of them:
// without times, which no two fits have the same.
func (r fitReport) save(folder *files.Folder) error {
	fit, err := r.saved(r.fit)
	if err == nil && !r.alone {
		fit.Beside, err = r.saved(r.stl)
	}
	if err != nil {
		return err
	}
	r.Seconds = 0
	r.Correlation = nil
	var text strings.Builder
	r.writeVerdicts(&text)
	r.Text = text.String()
	report, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	fit.Report = append(report, '\n')
	return fit.SaveTo(folder)
}

func (r *fitReport) saved(fit *solve.Fitted) (*saved.Fit, error) {
	s, err := fit.Saved(r.table.Recipe)
	if err != nil {
		return nil, fmt.Errorf("problem %q: %w", r.Problem, err)
	}
	v := versions()
	s.Versions = map[string]string{"l2mt": v["l2mt"], "go": v["go"], "system": v["system"]}
	return s, nil
}

// write prints the report, with what was weighed if that is asked for.
func (r *fitReport) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s of %d tasks, %d labelled rows, %d features", r.Problem, r.Kind, len(r.Tasks), r.Rows, r.Features)
	if r.Classes != nil {
		fmt.Fprintf(w, ", %d classes", len(r.Classes))
	}
	fmt.Fprintf(w, "\n%s (%.2g s)\n\n", r.Title, r.Seconds)
	if r.structures {
		r.writeStructures(w)
	}
	r.writeShares(w)
	writeTasks(w, r.Kind, r.Tasks, r.Mean)
	if r.Kind == data.Classification {
		fmt.Fprintf(w, "probabilities are at temperature %.3g\n", r.Temperature)
	}
	if r.Rivals != nil {
		r.writeRivals(w)
	}
	if r.writeVerdicts(w); r.Correlation != nil {
		fmt.Fprintln(w)
		var names []string
		for _, t := range r.Tasks {
			names = append(names, t.Task)
		}
		writeCorrelations(w, "task correlations", names, r.Correlation)
	}
	if r.Test != nil {
		r.writeTest(w)
	}
}

// writeStructures lists what was weighed.
func (r *fitReport) writeStructures(w io.Writer) {
	_, _, loss := units(r.Kind)
	t := newGrid(loss, "weight", "structure")
	for _, c := range r.Structures {
		t.row(c.Loss, c.Weight, c.Titled)
	}
	t.write(w)
	fmt.Fprintln(w)
}

// writeShares says where the targets vary.
func (r *fitReport) writeShares(w io.Writer) {
	shares := r.LargeShares()
	if shares == nil {
		return
	}
	fmt.Fprintln(w, "shares of the variance")
	t := newGrid("common", "of each task", "part")
	for _, s := range shares {
		t.row(percent(s.Common), percent(s.Own), s.Name)
	}
	t.write(w)
	fmt.Fprintln(w)
}

// leastShare is the share of the variance from which on a part is shown.
const leastShare = 0.005

// LargeShares are the parts of the variance that are shown.
func (r fitReport) LargeShares() (large []solve.Share) {
	for _, s := range r.Shares {
		if s.Common+s.Own >= leastShare {
			large = append(large, s)
		}
	}
	return large
}

func percent(share float64) string {
	return fmt.Sprintf("%.0f %%", 100*max(0, min(share, 1)))
}

// writeRivals compares the model, which is marked, with what a user would try instead.
func (r *fitReport) writeRivals(w io.Writer) {
	what, good, loss := units(r.Kind)
	fmt.Fprintf(w, "\nthe model (*) and what else could be done, the mean of all tasks; differences are of the %s of held-out rows\n", loss)
	t := newGrid(what, good, "the model's less", "95 % from", "to", "better for", "worse for", "method")
	model := r.Mean.By[byModel]
	t.row(errorGap(model.Error), goodOf(model, r.Kind), "", "", "", "", "", "* "+r.Title)
	for _, v := range r.Rivals {
		if v.Name != r.Model {
			t.row(errorGap(v.Score.Error), goodOf(v.Score, r.Kind), v.Less.Loss, v.Less.Low, v.Less.High, v.Better, v.Worse, v.Title)
		}
	}
	t.write(w)
}

// asGood is a share of single-task learning's loss. A difference whose interval lies within it
// counts as none.
const asGood = 0.05

// writeVerdicts explains the differences by their intervals.
func (r *fitReport) writeVerdicts(w io.Writer) {
	if len(r.Tasks) == 1 {
		fmt.Fprintln(w, "there is a single task, and nothing to share")
		return
	}
	if r.Rivals == nil {
		return
	}
	_, _, loss := units(r.Kind)
	verdict := func(text, than string, d evidence.Paired) {
		fmt.Fprintf(w, "%s: the %s of held-out rows less that of %s is %s\n", text, loss, than, d)
	}
	switch d := r.Rivals[rivalMean].Less; d.Sign() {
	case 0:
		verdict("too few rows to separate the model from the mean of each task", "the mean", d)
	case 1:
		verdict("the mean of each task predicts better than the model: its features do not help", "the mean", d)
	}
	stl := r.Rivals[rivalSTL]
	d := stl.Less
	switch most := files.Float(asGood * stl.Loss); {
	case r.alone && len(r.Structures) > 1:
		fmt.Fprintln(w, "nothing is shared: every task is on its own")
	case r.alone:
	case math.IsInf(float64(d.Low), 0):
		fmt.Fprintln(w, "too few rows were held out to measure whether sharing pays")
	case d.Sign() < 0:
		verdict("sharing pays", "STL", d)
	case d.Sign() > 0:
		verdict(fmt.Sprintf("sharing does harm; single-task learning (--model %s) is better", stl.Name), "STL", d)
	case d.Low > -most && d.High < most:
		verdict(fmt.Sprintf("single-task learning (--model %s) is as good", stl.Name), "STL", d)
	default:
		verdict("too few rows to separate sharing from single-task learning", "STL", d)
	}
}
