package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
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
	Candidates  []solve.Tried    `json:"candidates"` // in the order in which they were tried
	Tasks       []taskReport     `json:"tasks"`
	Mean        taskReport       `json:"mean"`
	Rivals      []rivalReport    `json:"rivals"`
	Temperature float64          `json:"temperature,omitempty"`
	// Correlation is that of the tasks. Unclear means that there is none: on rows held out the
	// model is no better than the same fit with every task on its own.
	Correlation [][]float64      `json:"correlation,omitempty"`
	Unclear     bool             `json:"correlation_unclear"`
	Bends       *evidence.Paired `json:"bends,omitempty"` // what columns that bend bring to STL
	Test        *testReport      `json:"test,omitempty"`
	Notes       []string         `json:"notes"`
	Seconds     float64          `json:"seconds,omitempty"`
	Text        string           `json:"text,omitempty"` // the verdicts

	table *table.Table
	fit   *solve.Fitted
	stl   *solve.Fitted // single-task learning in the same view
	alone bool          // nothing is shared
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
	r.Problem, r.Kind, r.Model, r.Title, r.Params, r.Status = p.Name, p.Kind(), choice.Name(), choice.Title(), r.fit.Params, r.fit.Result.Status
	r.Features, r.Classes, r.Notes, r.Candidates = p.Cols(), p.Classes, r.table.Notes, choice.Tried
	kept, single, same := 0, 0, 0
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
	if b.InTurn() {
		r.Notes = append(r.Notes, "no task has two rows of each class, so that no fold can hold rows out: each row was left out in turn, approximately, and candidates were not compared")
	}
	note(single, "%d tasks of one row borrow everything else from the others")
	note(same, "%d tasks of one class borrow the odds of the other from the others")
	note(kept, "%d tasks have rows that no fold holds out, as no other row has their class; errors are without these")
	note(r.fit.Landmarks(), "the model contains %d of the rows that it was fitted on, with which its kernel compares; --view curves does without")
	if r.Kind == data.Classification {
		r.Temperature = evidence.Temperature(choice.Scores, choice.Y)
	}
	r.Seconds = time.Since(begin).Seconds()
	return nil
}

// judgeRivals judges what a user would try instead, and tasks on their own in the view of the
// model, which its correlations have to be better than.
func (r *fitReport) judgeRivals(ctx context.Context, b *solve.Bench, choice *solve.Choice) error {
	// Rivals see the columns alike: what bends bring is not what sharing brings.
	alone := solve.Candidate{View: solve.View{Bent: choice.Bent, Width: choice.Width}}
	pooled, weighted, apart := alone, alone, choice.Candidate
	pooled.Mixture, pooled.Drawn = solve.Mixture{Pooled: 1}, choice.Drawn
	weighted.Balanced = r.Kind == data.Classification
	apart.Model, apart.Mixture = nil, solve.Mixture{}
	mean, err := b.Mean(ctx)
	if err != nil {
		return err
	}
	var judged [5]*solve.Judged
	for k, c := range []solve.Candidate{alone, pooled, weighted, {}, apart} {
		if judged[k], err = b.Judge(ctx, c); err != nil {
			return err
		}
	}
	r.addRival("", "mean", "the mean of each task", choice, mean)
	r.Rivals[rivalMean].Score.AUC = files.Float(math.NaN()) // its scores differ by fold alone
	r.addRival(bySTL, judged[0].Name(), "STL, every task on its own", choice, judged[0].HeldOut)
	r.addRival(byPooled, judged[1].Name(), "pooled, one model with task effects", choice, judged[1].HeldOut)
	if judged[2] != judged[0] {
		r.addRival("", judged[2].Name(), "STL with class weights", choice, judged[2].HeldOut)
	}
	if judged[3] != judged[0] && choice.Bent != "" {
		d := evidence.PairedLoss(judged[0].HeldOut, judged[3].HeldOut)
		r.Bends = &d
	}
	if r.Unclear = evidence.PairedLoss(choice.HeldOut, judged[4].HeldOut).Sign() >= 0; !r.Unclear {
		r.Correlation = correlationOf(r.fit.Omega)
	}
	r.stl, err = b.Fit(ctx, judged[0])
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
	r.Seconds, r.Correlation, r.Candidates = 0, nil, slices.Clone(r.Candidates)
	for k := range r.Candidates {
		r.Candidates[k].Seconds = 0
	}
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

// write prints the report, with all candidates if they are asked for.
func (r *fitReport) write(w io.Writer, candidates bool) {
	fmt.Fprintf(w, "%s: %s of %d tasks, %d labelled rows, %d features", r.Problem, r.Kind, len(r.Tasks), r.Rows, r.Features)
	if r.Classes != nil {
		fmt.Fprintf(w, ", %d classes", len(r.Classes))
	}
	fmt.Fprintf(w, "\n%s; lambda1 = %s, chosen on rows held out, fitted on all (%s, %.2g s)\n\n", r.Title, number(r.Params.Lambda1), r.Status, r.Seconds)
	if candidates {
		r.writeCandidates(w)
	}
	writeTasks(w, r.Kind, r.Tasks, r.Mean)
	if r.Kind == data.Classification {
		fmt.Fprintf(w, "probabilities are at temperature %.3g\n", r.Temperature)
	}
	r.writeRivals(w)
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

// writeCandidates lists candidates in the order in which they were tried.
func (r *fitReport) writeCandidates(w io.Writer) {
	_, _, loss := units(r.Kind)
	t := grid{Heads: []string{loss, "less the best", "95 % from", "to", "seconds", "verdict", "candidate"}}
	for _, c := range r.Candidates {
		t.row(c.Loss, c.More.Loss, c.More.Low, c.More.High, fmt.Sprintf("%.2f", c.Seconds), c.Verdict, c.Titled)
	}
	t.write(w)
	fmt.Fprintln(w)
}

// writeRivals compares the model, which is marked, with what a user would try instead.
func (r *fitReport) writeRivals(w io.Writer) {
	what, good, loss := units(r.Kind)
	fmt.Fprintf(w, "\nthe model (*) and what else could be done, the mean of all tasks; differences are of the %s of held-out rows\n", loss)
	t := grid{Heads: []string{what, good, "the model's less", "95 % from", "to", "better for", "worse for", "method"}}
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
	d := r.Rivals[rivalSTL].Less
	switch most := files.Float(asGood * r.Rivals[rivalSTL].Loss); {
	case r.alone && len(r.Candidates) > 1:
		fmt.Fprintln(w, "nothing is shared: single-task learning is chosen")
	case r.alone:
	case math.IsInf(float64(d.Low), 0):
		fmt.Fprintln(w, "too few rows were held out to measure whether sharing pays")
	case d.Sign() < 0:
		verdict("sharing pays", "STL", d)
	case d.Sign() > 0:
		verdict("sharing does harm; single-task learning (--model stl) is better", "STL", d)
	case d.Low > -most && d.High < most:
		verdict("single-task learning (--model stl) is as good", "STL", d)
	default:
		verdict("too few rows to separate sharing from single-task learning", "STL", d)
	}
	if r.Bends != nil {
		fmt.Fprintf(w, "columns bend: the %s of STL with them less that with straight columns is %s\n", loss, r.Bends)
	}
	if r.Unclear && !r.alone {
		fmt.Fprintln(w, "no task correlations: on rows held out this covariance is no better than every task on its own")
	}
}
