package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/format"
	"l2mt/data/table"
	"l2mt/infer/solve"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// fitReport is what a fit of tables or of a problem prints, and what the page of the model
// shows. Errors are errors on rows that folds held out.
type fitReport struct {
	Problem    string           `json:"problem"`
	Kind       data.Kind        `json:"kind"`
	Model      string           `json:"model"`
	Title      string           `json:"title"`
	Params     multitask.Params `json:"params"`
	Status     multitask.Status `json:"status"`
	Rows       int              `json:"rows"`
	Features   int              `json:"features"`
	Classes    []string         `json:"classes,omitempty"`
	Structures []solve.Weighed  `json:"structures"` // that were weighed
	Shares     []solve.Share    `json:"shares,omitempty"`
	measured
	Rivals      []rivalReport `json:"rivals"`
	Temperature float64       `json:"temperature,omitempty"`
	// Correlation of the tasks, if they share anything.
	Correlation [][]float64 `json:"correlation,omitempty"`
	Test        *testReport `json:"test,omitempty"`
	Notes       []string    `json:"notes"`
	Seconds     float64     `json:"seconds,omitempty"`
	Text        string      `json:"text,omitempty"` // the answers
	// Points are predictions of rows held out and what the rows are: of classes, each of which has
	// a set, the mean probability in each tenth, and the share that has come true.
	Points [][][2]float64 `json:"points,omitempty"`

	table    *table.Table
	fit      *solve.Fitted
	stl      *solve.Fitted // single-task learning in the same view
	separate bool          // nothing is shared
	scale    string        // of the targets

	threshold string  // that is asked for, or empty
	decided   float64 // the probability that it comes to

	structures bool // are printed
	every      bool // task is listed
}

// rivalReport is what a user would try instead, whose scores are those By it, and how much more
// the model loses than it.
type rivalReport struct {
	By    string          `json:"by"`
	Name  string          `json:"name"`
	Title string          `json:"title"`
	Loss  float64         `json:"loss"`
	Less  evidence.Paired `json:"difference"`
}

// saves is how much less the model loses, in percent of the rival's loss, and its interval.
func (v rivalReport) saves() [3]float64 {
	d := v.Less
	percents := [3]float64{d.Loss, float64(d.High), float64(d.Low)}
	for i := range percents {
		percents[i] = min(100, -100*percents[i]/v.Loss)
	}
	return percents
}

// run fits the problem, saves the model if there is a directory for it, and prints what came of it.
func (r *fitReport) run(e *env, b *solve.Bench,
	candidates []solve.Candidate, view, out string) (err error) {
	var folder *files.Folder
	if out == "" {
		e.remark("without --out DIRECTORY nothing is kept but what is printed")
	} else {
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
func (r *fitReport) fill(ctx context.Context, b *solve.Bench,
	candidates []solve.Candidate, view string) (err error) {
	begin := time.Now()
	p := r.table.Problem
	if r.threshold != "" && (p.Kind() != data.Classification || p.Several() > 0) {
		return data.Invalid("--threshold=%s: it is of two classes; leave it out", r.threshold)
	}
	parts := solve.Parts{View: view}
	b, choice, err := b.Scaled(ctx, r.scale,
		func(b *solve.Bench) (*solve.Choice, error) {
			if candidates == nil {
				return b.Choose(ctx, parts)
			}
			return b.Best(ctx, candidates)
		})
	if err != nil {
		return err
	}
	if r.fit, err = b.Fit(ctx, choice); err != nil {
		return err
	}
	if choice.HeldOut, err = b.Told(choice.HeldOut); err != nil {
		return err
	}
	r.decided = r.decide(choice.HeldOut)
	r.separate = !choice.Shares()
	r.Problem = p.Name
	r.Kind = p.Kind()
	r.Model = choice.Name()
	r.Title = choice.Title()
	r.Params = r.fit.Params
	r.Status = r.fit.Result.Status
	r.Features = p.Cols()
	r.Classes = p.Classes
	r.Notes = append(slices.Clip(r.table.Notes), choice.Recalled...)
	r.Structures = choice.Weighed
	r.Shares = r.fit.Shares
	kept := 0
	single := 0
	same := 0
	scores, total := choice.ScoresOf(p)
	r.All = taskReport{"all rows", map[string]evidence.Score{byModel: total}}
	for i, score := range scores {
		t := p.Tasks[i]
		r.add(taskReport{t.Name, map[string]evidence.Score{byModel: score}}, t.Positive)
		if r.Rows += score.Rows; score.Held < score.Rows &&
			r.table.Held == nil && r.table.Times == nil {
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
	note(choice.LeftOut, "%d ways to fit were left out by --time-limit")
	note(single, "tasks of one row: %d; all else comes from the other tasks")
	note(same, "tasks of one class: %d; the odds of the other come from the other tasks")
	note(kept, "tasks with rows that no fold holds out, as no other row has their class: %d; errors are without these rows")
	if r.table.Times != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("folds hold out the rows that come later by %q: errors and intervals are those of the future, as far as half of the table goes", r.table.Recipe.Time))
	}
	if r.decided > 0 {
		r.Notes = append(r.Notes,
			fmt.Sprintf("rows are taken for %s from a probability of %.3g on, which suits the rows held out best (--threshold %s)", r.PositiveClass(), r.decided, r.threshold))
	}
	if how := scaleWords[r.fit.Scale()]; how != "" {
		r.Notes = append(r.Notes, how+"; --target-scale identity takes targets as they are")
	}
	if err := r.warn(ctx, b, choice); err != nil {
		return err
	}
	note(r.fit.Landmarks(), "the model contains %d of the rows that it was fitted on, to compare others with; --view curves does without")
	if r.Kind == data.Classification {
		r.Temperature = choice.Temperature()
	}
	r.Points = pointsOf(choice.HeldOut, p, r.Temperature)
	if len(r.fit.Test.Task) > 0 {
		r.Test = &testReport{r.fit.Test, r.stl.Test}
	}
	r.Seconds = time.Since(begin).Seconds()
	return nil
}

// scaleWords say how targets are fitted.
var scaleWords = map[string]string{
	solve.Log:   "targets are fitted as logarithms, and predictions and intervals are of targets",
	solve.Huber: "rows that are far off count by their distance, not by its square (Huber's loss)",
	solve.Count: "targets are fitted as counts, by the logarithm of what is expected",
}

const (
	// mostPoints bounds the rows held out that the page draws.
	mostPoints = 500
	// bins are parts of the probabilities from 0 to 1.
	bins = 10
)

// pointsOf are the points that the page draws. Targets in units of their own are in standard
// deviations.
func pointsOf(h *evidence.HeldOut, p *data.ProblemData, temperature float64) (sets [][][2]float64) {
	if p.Kind() == data.Regression {
		var points [][2]float64
		for i, y := range h.Y {
			mean, deviation := stat.PopMeanStdDev(y, nil)
			if !p.OwnUnits {
				mean = 0
				deviation = 1
			}
			for j, v := range y {
				if deviation > 0 {
					points = append(points,
						[2]float64{(h.Scores[i][j] - mean) / deviation, (v - mean) / deviation})
				}
			}
		}
		var sample [][2]float64
		for i := 0; i < len(points); i += 1 + len(points)/mostPoints {
			sample = append(sample, points[i])
		}
		return [][][2]float64{sample}
	}
	scores := slices.Concat(h.Scores...)
	y := slices.Concat(h.Y...)
	k := max(1, p.Several())
	different := k
	if k > plot.MostSets {
		different = 1
	}
	parts := make([][bins]struct{ rows, predicted, came float64 }, different)
	for i, v := range y {
		p := make([]float64, max(2, k))
		data.Probabilities(p, scores[i*k:][:k], temperature)
		label := multitask.LabelOf(v, k)
		for class := len(p) - k; class < len(p); class++ { // of two the positive one
			part := &parts[class%different][min(int(bins*p[class]), bins-1)]
			part.rows++
			part.predicted += p[class]
			if class == label {
				part.came++
			}
		}
	}
	for _, of := range parts {
		var points [][2]float64
		for _, part := range of {
			if part.rows > 0 {
				points = append(points, [2]float64{part.predicted / part.rows, part.came / part.rows})
			}
		}
		sets = append(sets, points)
	}
	return sets
}

// warn says what error to expect of new things, where rows may repeat some.
func (r *fitReport) warn(ctx context.Context, b *solve.Bench, choice *solve.Choice) error {
	if r.table.Suspects == nil || choice.Rows == 0 {
		return nil
	}
	regrouped, err := b.Regrouped(r.table.Suspected)
	if err != nil {
		return err
	}
	held, err := regrouped.Held(ctx, choice.First().Candidate)
	if r.late(b, err, "measure what to expect of another "+format.Abridge(r.table.Suspects)) {
		return nil
	}
	if err == nil {
		held, err = regrouped.Told(held)
	}
	if err != nil {
		return err
	}
	_, total := held.ScoresOf(r.table.Problem)
	what := "RMSE"
	if r.Kind == data.Classification {
		what = "error rate"
	}
	r.Notes = append(r.Notes, fmt.Sprintf("rows with the same %s are alike: of rows with another expect an %s of about %.3g, not %.3g; --group %s fits and measures for these",
		format.Abridge(r.table.Suspects), what, total.Error,
		r.All.By[byModel].Error, strings.Join(r.table.Suspects, ",")))
	return nil
}

// judgeRivals judges what a user would try instead, while there is time.
func (r *fitReport) judgeRivals(ctx context.Context, b *solve.Bench, choice *solve.Choice) error {
	single, pooled := b.Rivals(choice)
	held := func(by string) (*evidence.HeldOut, error) {
		switch by {
		case bySTL:
			return b.Held(ctx, single)
		case byPooled:
			return b.Held(ctx, pooled)
		}
		return b.Mean(ctx)
	}
	for _, v := range []rivalReport{
		{By: byMean, Name: solve.Level, Title: "the mean of each task"},
		{By: bySTL, Name: single.Name(), Title: "every task on its own"},
		{By: byPooled, Name: pooled.Name(), Title: "one model for all, at own levels"},
	} {
		h, err := held(v.By)
		if r.late(b, err, "compare with "+v.Title) {
			continue
		}
		if err == nil {
			err = r.addRival(v, b, choice, h)
		}
		if err != nil {
			return err
		}
	}
	if !r.separate {
		r.Correlation = correlationOf(r.fit.Omega)
	}
	if single.Name() == r.Model {
		r.stl = r.fit
	}
	if r.stl != nil || b.Late() {
		return nil
	}
	best, err := b.Best(ctx, []solve.Candidate{single})
	if err == nil {
		r.stl, err = b.Fit(ctx, best)
	}
	return err
}

// late says that there was no time for something, and notes it.
func (r *fitReport) late(b *solve.Bench, err error, what string) bool {
	late := b.CutOff(err)
	if late {
		r.Notes = append(r.Notes, "--time-limit left no time to "+what)
	}
	return late
}

// addRival compares the model with a rival.
func (r *fitReport) addRival(
	v rivalReport, b *solve.Bench, choice *solve.Choice, h *evidence.HeldOut,
) error {
	h, err := b.Told(h)
	if err != nil {
		return err
	}
	r.decide(h)
	v.Loss = h.Loss
	v.Less = evidence.PairedLoss(choice.HeldOut, h)
	r.Rivals = append(r.Rivals, v)
	scores, total := h.ScoresOf(r.table.Problem)
	r.All.By[v.By] = total
	for i, s := range scores {
		if v.By == byMean {
			s.AUC = files.Float(math.NaN()) // its scores differ by fold alone
		}
		r.Tasks[i].By[v.By] = s
	}
	return nil
}

// decide finds the threshold that is asked for, of the rows held out.
func (r *fitReport) decide(h *evidence.HeldOut) float64 {
	if r.threshold == "" || h.Rows == 0 {
		return 0
	}
	return h.Decide(costOf(r.threshold))
}

// save writes the model, single-task learning beside it, and what a page shows of them:
// without times, which no two fits have the same.
func (r fitReport) save(folder *files.Folder) error {
	fit, err := r.saved(r.fit)
	if err == nil && !r.separate && r.stl != nil {
		fit.Beside, err = r.saved(r.stl)
	}
	if err != nil {
		return err
	}
	r.Seconds = 0
	r.Correlation = nil
	r.Text = r.answers()
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
	s.Threshold = r.decided
	v := versions()
	s.Versions = map[string]string{"l2mt": v["l2mt"],
		"go": v["go"], "system": v["system"]}
	return s, nil
}

// write prints the report: the answer first, with what was weighed if that is asked for.
func (r *fitReport) write(w io.Writer) {
	wrap(w, r.Problem+": "+r.Size()+"\n\n"+r.answers()+"\n")
	if r.Rivals != nil {
		r.Beside().named(w)
		_, _, loss := units(r.Kind)
		wrap(w, fmt.Sprintf("saved: how much less %s the method has, and the range of 95 %%; where 0 is in it, this may be chance\n", loss))
	}
	wrap(w, fmt.Sprintf("the method: %s (%.2g s)\n", r.Title, r.Seconds))
	if r.structures {
		r.writeStructures(w)
	}
	r.writeShares(w)
	r.measured.write(w, r.table.Recipe, r.Kind, r.every)
	if r.Correlation != nil {
		fmt.Fprintln(w)
		var names []string
		var rows []int
		for _, t := range r.Tasks {
			names = append(names, t.Task)
			rows = append(rows, t.By[byModel].Rows)
		}
		writeCorrelations(w, "correlations of tasks", names, r.Correlation, rows)
	}
	if r.Test != nil {
		r.writeTest(w)
	}
}

// Size says how much was fitted.
func (r *fitReport) Size() string {
	tasks := count(len(r.Tasks), "task")
	rows := count(r.Rows, "labelled row")
	features := count(r.Features, "feature")
	size := fmt.Sprintf("%s of %s, %s, %s", r.Kind, tasks, rows, features)
	if r.Classes != nil {
		size += fmt.Sprintf(", %d classes", len(r.Classes))
	}
	return size
}

// writeStructures lists what was weighed.
func (r *fitReport) writeStructures(w io.Writer) {
	const numbers = "__0.0000__0.0000_ " // are as wide, and one word to fill
	t := newGrid("loss", "weight", "structure")
	for _, c := range r.Structures {
		lines := strings.Split(fill(numbers+c.Titled, numbers), "\n")
		t.row(c.Loss, c.Weight, lines[0][len(numbers):])
		for _, line := range lines[1:] {
			t.row("", "", line[len(numbers):])
		}
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

// LargeShares are the parts of the variance that are shown, the largest first and noise last.
func (r fitReport) LargeShares() (large []solve.Share) {
	words := map[string]string{
		solve.Straight: "all columns",
		solve.Curves:   "bends of all columns",
		solve.Kernel:   "similar rows",
	}
	for _, s := range r.Shares {
		if s.Common+s.Own < leastShare {
			continue
		}
		s.Name = strings.TrimPrefix(s.Name, "straight ")
		if column, bent := strings.CutPrefix(s.Name, "curves "); bent {
			s.Name = column + ", its bends"
		}
		s.Name = cmp.Or(words[s.Name], s.Name)
		large = append(large, s)
	}
	size := func(s solve.Share) float64 {
		if s.Name == noise {
			return 0
		}
		return s.Common + s.Own
	}
	slices.SortStableFunc(large, func(a, b solve.Share) int {
		return cmp.Compare(size(b), size(a))
	})
	return large
}

// noise is the share that nothing explains.
const noise = "noise"

func percent(share float64) string {
	return fmt.Sprintf("%.0f %%", 100*max(0, min(share, 1)))
}

// Beside compares the model, which is marked, with what a user would try instead.
func (r fitReport) Beside() *grid {
	what, good, _ := units(r.Kind)
	t := newGrid(what, good, "saved", "from", "to", "rows held out")
	add := func(by, title string, saved ...any) {
		s := r.overall(r.table.Recipe).By[by]
		cells := []any{number(s.Error), goodOf(s, r.Kind)}
		t.row(append(append(cells, saved...), title)...)
	}
	add(byModel, "* the method", "", "", "")
	for _, v := range r.Rivals {
		if v.Name == r.Model {
			continue
		}
		var saved []any
		for _, share := range v.saves() {
			text := "-"
			if !math.IsInf(share, 0) && !math.IsNaN(share) {
				text = fmt.Sprintf("%.1f %%", share)
			}
			saved = append(saved, text)
		}
		add(v.By, v.Title, saved...)
	}
	return t
}

// asGood is a share of the loss of tasks on their own. A difference whose interval lies within it
// counts as none.
const asGood = 0.05

// answers say, a sentence a line, how well rows are predicted, what is shared and whether it pays.
func (r *fitReport) answers() string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if r.Rivals != nil {
		add("%s", r.answer(r.table.Recipe, r.Kind, "rows held out"))
	}
	common := 0.0
	explained := 0.0
	for _, s := range r.Shares {
		if s.Name != noise {
			common += s.Common
			explained += s.Common + s.Own
		}
	}
	switch {
	case len(r.Tasks) == 1:
		add("There is a single task, and nothing to share.")
	case r.separate:
		add("Nothing is shared: every task is on its own.")
	case explained > 0:
		add("Of what is explained %s is common to all tasks, and %s each task's own.", percent(common/explained), percent(1-common/explained))
	}
	if r.Rivals != nil && len(r.Tasks) > 1 {
		lines = append(lines, r.verdicts()...)
	}
	return strings.Join(lines, "\n")
}

// verdicts explain the differences by their intervals.
func (r *fitReport) verdicts() (lines []string) {
	_, _, loss := units(r.Kind)
	say := func(text string) { lines = append(lines, text) }
	add := func(v rivalReport, text string) {
		saved := v.saves()
		format := ": the method saves %.1f %% of the %s of %s (95 %% from %.1f to %.1f %%)."
		if saved[0] < 0 {
			format = ": the method has %.1f %% more %s than %s (95 %% from %.1f to %.1f %%)."
			saved = [3]float64{-saved[0], -saved[2], -saved[1]}
		}
		text += fmt.Sprintf(format, saved[0], loss, v.Title, saved[1], saved[2])
		say(text)
	}
	worse := func(v rivalReport, text string) { add(v, text+" (try --model "+v.Name+")") }
	for _, v := range r.Rivals {
		d := v.Less
		sign := d.Sign()
		limit := files.Float(asGood * v.Loss)
		switch {
		case v.By == byPooled:
			if sign > 0 {
				worse(v, "One model for all is better")
			}
		case v.By == byMean:
			switch {
			case v.Name == r.Model && r.fit.Choice.LeftOut > 0:
				say("There was no time to try whether the columns help.")
			case v.Name == r.Model:
				say("The columns do not help: nothing is better than the mean of each task.")
			case sign > 0:
				worse(v, "The columns do not help")
			case sign == 0:
				add(v, "Too few rows to tell whether the columns help")
			}
		case r.separate:
		case math.IsInf(float64(d.Low), 0):
			say("Too few rows were held out to measure whether sharing pays.")
		case sign < 0:
			add(v, "Sharing pays")
		case sign > 0:
			worse(v, "Sharing does harm")
		case d.Low > -limit && d.High < limit:
			add(v, "Without sharing it is as good")
		default:
			add(v, "Too few rows to tell whether sharing pays")
		}
	}
	return lines
}

// testReport has the errors on test rows, which no choice depends on.
type testReport struct {
	Fit evidence.Errors `json:"fit"`
	STL evidence.Errors `json:"stl"`
}

// writeTest prints the errors on test rows.
func (r *fitReport) writeTest(w io.Writer) {
	what := "error"
	if r.Kind == data.Regression {
		what = "nMSE"
	}
	fmt.Fprintln(w)
	t := newGrid("test "+what, "STL", "relative", "task")
	for i, task := range r.Tasks {
		t.row(r.Test.Fit.Task[i], r.Test.STL.Task[i],
			r.Test.Fit.Task[i]/r.Test.STL.Task[i], task.Task)
	}
	t.row(r.Test.Fit.Mean, r.Test.STL.Mean,
		r.Test.Fit.Mean/r.Test.STL.Mean, "mean")
	t.write(w)
}
