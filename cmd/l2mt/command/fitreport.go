package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/table"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
	"l2mt/model/pretrained"
)

// tableReport is what a fit of tables says. Errors are those of rows that folds
// held out.
type tableReport struct {
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
	Temperature float64       `json:"temperature,omitempty"`
	Brier       float64       `json:"brier,omitempty"`
	Reliability []reliable    `json:"reliability,omitempty"`
	Correlation [][]float64   `json:"correlation"`
	// Sharing is what it brings beside single-task learning with the columns seen alike, and
	// Bends what columns that bend bring to that.
	Sharing difference     `json:"sharing"`
	Bends   *difference    `json:"bends,omitempty"`
	Network *networkReport `json:"network,omitempty"`
	Notes   []string       `json:"notes"`
	Seconds float64        `json:"seconds"`
	Saved   string         `json:"saved,omitempty"`
	// Text and Titles, those of the candidates, are for the page of a report.
	Text   string   `json:"text,omitempty"`
	Titles []string `json:"titles,omitempty"`

	table   *table.Table
	network string
	view    string // asked for, or empty
	fit     *solve.Fitted
	stl     *solve.Fitted // likewise, of single-task learning
	alone   bool          // nothing is shared
	all     bool          // lists every candidate
}

// difference is how much more of two candidates the first loses on the rows held out, between
// Low and High with a confidence of 95 %.
type difference struct {
	Loss compare.Float `json:"loss"`
	Low  compare.Float `json:"low"`
	High compare.Float `json:"high"`
	sign int
}

func differenceOf(a, b *solve.Judged) *difference {
	d := evidence.PairedLoss(a.HeldOut, b.HeldOut)
	low, high := d.Interval()
	return &difference{compare.Float(d.Loss), compare.Float(low), compare.Float(high), d.Sign()}
}

// taskReport is how well a task is predicted by the model and its rivals: the mean of the
// targets that it was fitted on (of classes their shares), single-task learning, and one
// model for all tasks.
type taskReport struct {
	Task   string       `json:"task"`
	Rows   int          `json:"rows"`
	Held   int          `json:"held_out"`
	Fit    scoreReport  `json:"fit"`
	Mean   *scoreReport `json:"mean,omitempty"`
	STL    *scoreReport `json:"stl,omitempty"`
	Pooled *scoreReport `json:"pooled,omitempty"`
}

// rival is what else predicts a task.
type rival struct {
	name string
	*scoreReport
}

// rivals are those that there are.
func (t taskReport) rivals() []rival {
	all := []rival{{"mean", t.Mean}, {"STL", t.STL}, {"pooled", t.Pooled}}
	return slices.DeleteFunc(all, func(r rival) bool { return r.scoreReport == nil })
}

// scoreReport is a Score whose gaps JSON can hold.
type scoreReport struct {
	Error         compare.Float `json:"error"`
	StandardError compare.Float `json:"standard_error"`
	AUC           compare.Float `json:"auc"`
	R2            compare.Float `json:"r2"`
	LogLoss       compare.Float `json:"log_loss"`
	Brier         compare.Float `json:"brier"`
}

func (s scoreReport) good(k data.Kind) float64 {
	if k == data.Classification {
		return float64(s.AUC)
	}
	return float64(s.R2)
}

func reportOf(s evidence.Score) *scoreReport {
	return &scoreReport{compare.Float(s.Error), compare.Float(s.StandardError), compare.Float(s.AUC), compare.Float(s.R2), compare.Float(s.LogLoss), compare.Float(s.Brier)}
}

// networkReport is what the network says of a problem, and what held-out
// rows say to that.
type networkReport struct {
	Name string `json:"name"`
	// Expected is the error that it expects of its covariance, over STL's.
	Expected compare.Float `json:"expected_relative_error"`
	// Taken says that its covariance is part of the one fitted with.
	Taken bool `json:"taken"`
	// Directed says that the fit is along the directions of its training tasks, and Signal
	// how much of the usual signal lies there.
	Directed bool          `json:"directed"`
	Signal   compare.Float `json:"signal_along_directions"`
	*run.Unlike
}

// fill fits the table, beside its rivals.
func (r *tableReport) fill(ctx context.Context, b *solve.Bench, candidates []solve.Candidate) error {
	begin, p := time.Now(), r.table.Problem
	choice, fit, err := choose(ctx, b, candidates, r.view)
	if err != nil {
		return err
	}
	// Rivals see the columns alike: what bends bring is not what sharing brings.
	alone := solve.Candidate{View: solve.View{Bent: choice.Bent, Width: choice.Width}}
	stl, err := b.Judge(ctx, alone)
	if err != nil {
		return err
	}
	if r.stl, err = b.Fit(ctx, stl); err != nil {
		return err
	}
	pooled, err := b.Judge(ctx, solve.Candidate{View: alone.View, Mixture: solve.Mixture{Pooled: 1}})
	if err != nil {
		return err
	}
	if alone.Bent != "" {
		straight, err := b.Judge(ctx, solve.Candidate{})
		if err != nil {
			return err
		}
		r.Bends = differenceOf(stl, straight)
	}
	r.fit, r.Candidates, r.Notes = fit, choice.Tried, r.table.Notes
	r.Problem, r.Kind, r.Model, r.Title, r.Params, r.Status = p.Name, p.Kind(), choice.Name(), choice.Title(), fit.Params, fit.Result.Status
	r.Features, r.Classes, r.Correlation = p.Cols(), p.Classes, run.Correlation(fit.Omega)
	of := [][]evidence.Score{choice.ScoresOf(p), stl.ScoresOf(p), pooled.ScoresOf(p)}
	never, partly := 0, 0
	for i, t := range p.Tasks {
		s := of[0][i]
		r.Rows += s.Rows
		r.Tasks = append(r.Tasks, taskReport{Task: t.Name, Rows: s.Rows, Held: s.Held, Fit: *reportOf(s), STL: reportOf(of[1][i]), Pooled: reportOf(of[2][i])})
		switch {
		case r.table.Held != nil:
		case s.Held == 0:
			never++
		case s.Held < s.Rows:
			partly++
		}
	}
	mean := func(k int) *scoreReport { return reportOf(evidence.MeanScore(of[k])) }
	r.Mean = taskReport{Task: "mean", Rows: r.Rows, Fit: *mean(0), STL: mean(1), Pooled: mean(2)}
	if never > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d tasks have a single row of a class: it is always trained on, and they have no cross-validated error", never))
	}
	if partly > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d tasks have rows that are always trained on, as the other parts have none of their class", partly))
	}
	if n := fit.Landmarks(); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("the model contains %d of the rows that it was fitted on, with which its kernel compares; --view curves does without", n))
	}
	if r.Kind == data.Classification {
		r.Temperature, r.Brier = evidence.Temperature(choice.Scores, choice.Y)
		r.Reliability = reliability(r.Temperature, max(1, len(r.Classes)), slices.Concat(choice.Scores...), slices.Concat(choice.Y...))
	}
	r.Sharing = *differenceOf(choice.Judged, stl)
	r.alone = choice.Model == nil && choice.Mixture == solve.Mixture{}
	if candidates == nil {
		r.Network, err = r.networkReport(b, choice)
	}
	r.Seconds = time.Since(begin).Seconds()
	return err
}

func (r *tableReport) networkReport(b *solve.Bench, choice *solve.Choice) (*networkReport, error) {
	said, err := b.Said()
	if err != nil {
		return nil, err
	}
	n := &networkReport{Name: cmp.Or(r.network, pretrained.Name), Expected: compare.Float(said.Estimated), Taken: choice.Network > 0, Directed: choice.Directed, Signal: compare.Float(b.Signal())}
	seen, err := run.LoadSeen(r.network)
	if err != nil { // as networks that embed tasks have none
		return n, run.Optional(err)
	}
	n.Unlike, err = run.NewUnlike(seen, r.table.Problem)
	return n, err
}

// forPage is what a report shows: without times, which no two fits have the same.
func (r tableReport) forPage() *tableReport {
	r.Candidates, r.Seconds = slices.Clone(r.Candidates), 0
	for k := range r.Candidates {
		r.Candidates[k].Seconds = 0
		r.Titles = append(r.Titles, r.Candidates[k].Title())
	}
	var text strings.Builder
	if r.writeSharing(&text); len(r.Tasks) > 1 {
		r.Text = text.String()
	}
	if len(r.Tasks) > mostDrawn {
		r.Correlation = nil
	}
	return &r
}

// mostListed bounds the tasks that are listed as text; JSON has all.
const mostListed = 200

func (r *tableReport) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s of %d tasks, %d labelled rows, %d features", r.Problem, r.Kind, len(r.Tasks), r.Rows, r.Features)
	if r.Classes != nil {
		fmt.Fprintf(w, ", %d classes", len(r.Classes))
	}
	fmt.Fprintf(w, "\n%s; lambda1 = %s, chosen on rows held out, fitted on all (%s, %.2g s)\n\n", r.Title, run.Number(r.Params.Lambda1), r.Status, r.Seconds)
	if r.all {
		run.ErrorName(w, r.Kind) // says what nMSE is
		run.WriteCandidates(w, r.Kind, r.Candidates)
	}
	writeTasks(w, r.Kind, r.Tasks, r.Mean)
	if r.Kind == data.Classification {
		fmt.Fprintf(w, "probabilities: Brier score %.4f, at temperature %.3g\n", r.Brier, r.Temperature)
	}
	if len(r.Tasks) > 1 {
		r.writeRivals(w)
		r.writeSharing(w)
	} else {
		fmt.Fprintln(w, "there is a single task, and nothing to share")
	}
	fmt.Fprintln(w)
	names := make([]string, len(r.Tasks))
	for i, t := range r.Tasks {
		names[i] = t.Task
	}
	writeCorrelations(w, names, r.Correlation)
	if r.Saved != "" {
		fmt.Fprintf(w, "\nsaved to %s\n", r.Saved)
	}
}

// units are what errors are called.
func units(k data.Kind) (error, good, loss string) {
	if k == data.Classification {
		return "error", "AUC", "log loss"
	}
	return "RMSE", "R^2", "nMSE"
}

// writeTasks lists tasks, and behind them what is of all.
func writeTasks(w io.Writer, kind data.Kind, tasks []taskReport, all ...taskReport) {
	what, good, _ := units(kind)
	t := run.Columns(w)
	fmt.Fprintf(t, "rows\t%s\t+-\t%s", what, good)
	for _, r := range all[0].rivals() {
		fmt.Fprintf(t, "\t%s %s\t%s", r.name, what, good)
	}
	if kind == data.Classification {
		fmt.Fprint(t, "\tlog loss\tBrier")
	}
	fmt.Fprint(t, "\t  task\n")
	for _, v := range slices.Concat(tasks[:min(len(tasks), mostListed)], all) {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s", v.Rows, errorGap(v.Fit.Error), errorGap(v.Fit.StandardError), gap(v.Fit.good(kind)))
		for _, r := range v.rivals() {
			fmt.Fprintf(t, "\t%s\t%s", errorGap(r.Error), gap(r.good(kind)))
		}
		if kind == data.Classification {
			fmt.Fprintf(t, "\t%s\t%s", run.Decimals(v.Fit.LogLoss), run.Decimals(v.Fit.Brier))
		}
		fmt.Fprintf(t, "\t  %s\n", v.Task)
	}
	t.Flush()
	if more := len(tasks) - mostListed; more > 0 {
		fmt.Fprintf(w, "(%d more tasks: --json lists them)\n", more)
	}
}

// gap writes a number, or a dash where there is none.
func gap(v float64) string { return run.Decimals(compare.Float(v)) }

// errorGap writes an error, very small and large ones with four digits.
func errorGap(v compare.Float) string {
	if v != 0 && v < 5e-4 || v >= 1e6 && v <= math.MaxFloat64 {
		return run.Number(float64(v))
	}
	return run.Decimals(v)
}

// writeRivals compares the model with learning nothing together and everything.
func (r *tableReport) writeRivals(w io.Writer) {
	what, _, _ := units(r.Kind)
	for k, rival := range r.Mean.rivals() {
		better, worse := 0, 0
		for _, t := range r.Tasks {
			switch d := t.Fit.Error - t.rivals()[k].Error; {
			case d < 0:
				better++
			case d > 0:
				worse++
			}
		}
		ours, theirs := float64(r.Mean.Fit.Error), float64(rival.Error)
		fmt.Fprintf(w, "against %s: mean %s %s, %.4f of it; lower for %d tasks, higher for %d\n", rival.name, what, errorGap(rival.Error), ours/theirs, better, worse)
	}
}

// writeSharing says what to make of it.
func (r *tableReport) writeSharing(w io.Writer) {
	_, _, loss := units(r.Kind)
	s := r.Sharing
	switch {
	case r.alone && len(r.Candidates) > 1:
		fmt.Fprintln(w, "nothing is shared: single-task learning is chosen")
	case r.alone:
	case math.IsInf(float64(s.Low), 0):
		fmt.Fprintln(w, "too few rows were held out to tell whether sharing brought something")
	default:
		verdict := "rows held out cannot tell sharing from single-task learning"
		if s.sign < 0 {
			verdict = "sharing pays"
		} else if s.sign > 0 {
			verdict = "sharing does harm; single-task learning (--model stl) is better"
		}
		fmt.Fprintf(w, "%s: the %s of held-out rows less that of STL is %.4f (95 %%: %.4f to %.4f)\n", verdict, loss, s.Loss, s.Low, s.High)
	}
	if d := r.Bends; d != nil {
		fmt.Fprintf(w, "columns bend: the %s of STL with them less that with straight columns is %.4f (95 %%: %.4f to %.4f)\n", loss, d.Loss, d.Low, d.High)
	}
	if r.Network != nil {
		r.Network.write(w)
	}
}

func (r *networkReport) write(w io.Writer) {
	expected := "had no sound expectation of its covariance"
	if r.Expected > 0 {
		expected = fmt.Sprintf("expected its covariance to make %.2f of STL's error", r.Expected)
	}
	taken := "another was chosen"
	if r.Taken {
		taken = "it was chosen"
	}
	network := "the network " + r.Name
	if r.Name == pretrained.Name {
		network = "the pretrained network"
	}
	fmt.Fprintf(w, "%s %s; %s\n", network, expected, taken)
	if signal := float64(r.Signal); !math.IsNaN(signal) {
		directed := "which are left"
		if r.Directed {
			directed = "along which it is fitted"
		}
		fmt.Fprintf(w, "%.2f of the usual signal lies along the directions of its training tasks, %s\n", signal, directed)
	}
	if r.Unlike != nil {
		fmt.Fprintln(w, r.Unlike)
	}
}
