// Package report has the results of a fit as values: errors on rows held out, of the fit and of its
// rivals, whether sharing pays, the shares of the variance, and the curves of columns.
package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/format"
	"l2mt/data/table"
	"l2mt/infer/solve"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// Report has the results of a fit. Errors are errors on rows that folds held out.
type Report struct {
	Problem    string          `json:"problem"`
	Kind       data.Kind       `json:"kind"`
	Model      string          `json:"model"`
	Title      string          `json:"title"`
	Rows       int             `json:"rows"`
	Features   int             `json:"features"`
	Classes    []string        `json:"classes,omitempty"`
	Structures []solve.Weighed `json:"structures"` // that were weighed
	Shares     []solve.Share   `json:"shares,omitempty"`
	Measured
	Rivals      []Rival `json:"rivals"`
	Temperature float64 `json:"temperature,omitempty"`
	// Correlation of the tasks, if they share anything.
	Correlation [][]float64 `json:"correlation,omitempty"`
	Test        *Test       `json:"test,omitempty"`
	Notes       []string    `json:"notes"`
	Seconds     float64     `json:"seconds,omitempty"`
	// Text is for readers, in the words of the program that saves the model.
	Text string `json:"text,omitempty"`
	// Points are predictions of rows held out and their targets. Each class has a set: the mean
	// probability in each tenth, and the share that has come true.
	Points [][][2]float64 `json:"points,omitempty"`

	// Fit is the model, and STL single-task learning in the same view, if there was time. Both are
	// there until the report is saved.
	Fit *solve.Fitted `json:"-"`
	STL *solve.Fitted `json:"-"`

	table     *table.Table
	threshold string  // that is asked for, or empty
	decided   float64 // the probability that it comes to
}

// Test has the errors on test rows, which no choice depends on.
type Test struct {
	Fit evidence.Errors `json:"fit"`
	STL evidence.Errors `json:"stl"`
}

// Options say how to fit.
type Options struct {
	// Candidate is the way to fit; nil leaves the choice to solve.Bench.
	Candidate *solve.Candidate
	// View is how columns are seen, and Scale the scale of the targets; rows held out choose where
	// they are empty.
	View  string
	Scale string
	// Threshold is when a row is taken for the positive of two classes: "f1", "cost=C", or empty
	// for the likelier class.
	Threshold string
}

// Cost is the cost of a threshold, 0 for f1, and negative where it is none.
func Cost(threshold string) float64 {
	if threshold == "f1" {
		return 0
	}
	text, costly := strings.CutPrefix(threshold, "cost=")
	cost, err := strconv.ParseFloat(text, 64)
	if !costly || err != nil || !(cost > 0 && cost < 1e9) {
		return -1
	}
	return cost
}

// Fit fits the problem of a bench, which a table has made, beside its rivals.
func Fit(ctx context.Context, b *solve.Bench, t *table.Table, o Options) (*Report, error) {
	begin := time.Now()
	p := b.Problem()
	if o.Threshold != "" &&
		(p.Kind() != data.Classification || p.Several() > 0) {
		return nil, data.Invalid("--threshold=%s: it is for two classes; leave it out", o.Threshold)
	}
	b, choice, err := b.Scaled(ctx, o.Scale,
		func(b *solve.Bench) (*solve.Choice, error) {
			if o.Candidate == nil {
				return b.Choose(ctx, solve.Parts{View: o.View})
			}
			return b.Take(ctx, *o.Candidate)
		})
	if err != nil {
		return nil, err
	}
	fit, err := b.Fit(ctx, choice)
	if err != nil {
		return nil, err
	}
	choice.HeldOut, err = b.Told(choice.HeldOut)
	if err != nil {
		return nil, err
	}
	r := &Report{Fit: fit, table: t, threshold: o.Threshold,
		Problem: p.Name, Kind: p.Kind(), Features: p.Cols(), Classes: p.Classes,
		Model: choice.Name(), Title: choice.Title(),
		Structures: choice.Weighed, Shares: fit.Shares,
		Notes: append(slices.Clip(t.Notes), choice.Recalled...)}
	r.Recipe = t.Recipe
	r.All = newTask("all rows")
	for _, t := range p.Tasks {
		r.add(newTask(t.Name), t.Positive)
	}
	r.decided = r.score(ByModel, choice.HeldOut)
	r.Rows = r.All.By[ByModel].Rows
	if err := r.judgeRivals(ctx, b, choice); err != nil {
		return nil, err
	}
	r.Mean = meanOf(r.Tasks)
	r.describe(p)
	if choice.Rows == 0 {
		r.Structures = nil
		r.Rivals = nil
	} else if err := r.warn(ctx, b, choice); err != nil {
		return nil, err
	}
	n := fit.Landmarks()
	r.note(n > 0, "the model contains %d of the rows that it was fitted on, to compare others with; --view curves does without", n)
	if r.Kind == data.Classification {
		r.Temperature = choice.Temperature
	}
	r.Points = pointsOf(choice.HeldOut, p, r.Temperature)
	if len(fit.Test.Task) > 0 && r.STL != nil {
		r.Test = &Test{fit.Test, r.STL.Test}
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}

// note notes something where it holds.
func (r *Report) note(holds bool, format string, args ...any) {
	if holds {
		r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
	}
}

// describe notes the special things about the fit of a problem.
func (r *Report) describe(p *data.ProblemData) {
	choice := r.Fit.Choice
	kept := 0
	single := 0
	same := 0
	for i, t := range p.Tasks {
		switch train := t.TrainSet; {
		case len(train.Y) == 1:
			single++
		case train.Borrows(t.Kind == data.Classification):
			same++
		}
		score := r.Tasks[i].By[ByModel]
		if score.Held < score.Rows {
			kept++
		}
	}
	later := r.table.Times != nil
	r.note(choice.Rows == 0, "there are too few rows to hold some out: errors are not measured, and nothing is compared")
	r.note(choice.LeftOut > 0,
		"%d ways to fit were left out by --time-limit", choice.LeftOut)
	r.note(single > 0, "tasks of one row: %d; all but their level comes from the other tasks", single)
	r.note(same > 0, "tasks of one class: %d; the odds of the class that they lack come from the other tasks", same)
	r.note(kept > 0 &&
		r.table.Held == nil && !later, "tasks with rows that no fold holds out, as no other row has their class: %d; errors are without these rows", kept)
	r.note(later, "folds hold out the rows that come later by %q: errors and intervals hold for a future half as long as the table", r.Recipe.Time)
	r.note(r.Recipe.Group != nil,
		"folds hold out rows of one %s together: errors are those of a new one", format.Abridge(r.Recipe.Group))
	r.note(r.Recipe.Weight != "",
		"rows have the weights of column %q", r.Recipe.Weight)
	r.note(r.decided > 0, "%s is predicted from a probability of %.3g on, which rows held out have chosen (--threshold %s)",
		r.PositiveClass(), r.decided, r.threshold)
	how := scaleWords[r.Fit.Scale]
	r.note(how != "", "%s; --target-scale identity takes targets as they are", how)
}

// scaleWords say how targets are fitted.
var scaleWords = map[string]string{
	solve.Log:   "targets are fitted as logarithms; predictions and intervals are in the targets' own unit",
	solve.Huber: "outliers count by their distance, not by its square (Huber's loss)",
	solve.Count: "targets are fitted as counts, by the logarithm of their mean",
}

const (
	// mostPoints bounds the points of targets.
	mostPoints = 500
	// bins are parts of the probabilities from 0 to 1.
	bins = 10
	// MostSets bounds the classes that have points of their own.
	MostSets = 6
)

// pointsOf are the points of a report. Targets in units of their own are in standard
// deviations.
func pointsOf(h *evidence.HeldOut, p *data.ProblemData, temperature float64) (sets [][][2]float64) {
	if p.Kind() == data.Regression {
		var points [][2]float64
		for i, y := range h.Y {
			mean := 0.0
			deviation := 1.0
			if p.OwnUnits {
				mean, deviation = stat.PopMeanStdDev(y, nil)
			}
			for j, v := range y {
				score := (h.Scores[i][j] - mean) / deviation
				if deviation > 0 {
					points = append(points,
						[2]float64{score, (v - mean) / deviation})
				}
			}
		}
		var sample [][2]float64
		for chunk := range slices.Chunk(points, 1+len(points)/mostPoints) {
			sample = append(sample, chunk[0])
		}
		return [][][2]float64{sample}
	}
	scores := slices.Concat(h.Scores...)
	y := slices.Concat(h.Y...)
	k := max(1, p.Several())
	different := k
	if k > MostSets {
		different = 1
	}
	parts := make([][bins]struct{ rows, predicted, came float64 }, different)
	for i, v := range y {
		p := make([]float64, max(2, k))
		data.Probabilities(p, scores[i*k:][:k], temperature)
		label := multitask.LabelOf(v, k)
		for class := len(p) -
			k; class < len(p); class++ { // of two the positive one
			part := &parts[class%different][min(int(bins*p[class]), bins-1)]
			part.rows++
			part.predicted += p[class]
			if class == label {
				part.came++
			}
		}
	}
	for _, tenths := range parts {
		var points [][2]float64
		for _, part := range tenths {
			if part.rows > 0 {
				points = append(points,
					[2]float64{part.predicted / part.rows,
						part.came / part.rows})
			}
		}
		sets = append(sets, points)
	}
	return sets
}

// warn notes where rows may repeat things, so that new things have a larger error.
func (r *Report) warn(ctx context.Context, b *solve.Bench, choice *solve.Choice) error {
	if r.table.Suspects == nil {
		return nil
	}
	regrouped, err := b.Regrouped(r.table.Suspected)
	if err != nil {
		return err
	}
	held, err := regrouped.Held(ctx, choice.First().Candidate)
	if r.late(b, err,
		"measure what to expect of another "+format.Abridge(r.table.Suspects)) {
		return nil
	}
	if err != nil {
		return err
	}
	_, total := held.ScoresOf(r.table.Problem)
	what := "RMSE"
	if r.Kind == data.Classification {
		what = "error rate"
	}
	r.note(true, "rows with the same %s are alike: of rows with another expect an %s of about %.3g, not %.3g; --group %s fits and measures for these",
		format.Abridge(r.table.Suspects), what, total.Error,
		r.All.By[ByModel].Error, strings.Join(r.table.Suspects, ","))
	return nil
}

// leastShare is the share of the variance from which on a part is shown.
const leastShare = 0.005

// LargeShares are the parts of the variance that count, the largest first and noise last.
func (r Report) LargeShares() (large []solve.Share) {
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
		column, bent := strings.CutPrefix(s.Name, "curves ")
		if bent {
			s.Name = column + ", its bends"
		}
		s.Name = cmp.Or(words[s.Name], s.Name)
		large = append(large, s)
	}
	size := func(s solve.Share) float64 {
		if s.Name == Noise {
			return 0
		}
		return s.Common + s.Own
	}
	slices.SortStableFunc(large, func(a, b solve.Share) int {
		return cmp.Compare(size(b), size(a))
	})
	return large
}

// Explained is the part of the variance by columns that all tasks have in common, and the part that
// is each task's own; 0 where nothing is known.
func (r Report) Explained() (sum solve.Share) {
	for _, s := range r.Shares {
		if s.Name != Noise {
			sum.Common += s.Common
			sum.Own += s.Own
		}
	}
	total := sum.Common + sum.Own
	if total > 0 {
		sum.Common /= total
		sum.Own /= total
	}
	return sum
}

// Noise is the share that nothing explains.
const Noise = "noise"

// score scores the model or a rival on the rows held out, with its best threshold if one is asked
// for.
func (r *Report) score(by string, h *evidence.HeldOut) (threshold float64) {
	if r.threshold != "" && h.Rows > 0 {
		threshold = h.Decide(Cost(r.threshold))
	}
	scores, total := h.ScoresOf(r.table.Problem)
	r.All.By[by] = total
	for i, s := range scores {
		if by == ByMean {
			s.AUC = files.Float(math.NaN()) // its scores differ by fold alone
		}
		r.Tasks[i].By[by] = s
	}
	return threshold
}

// Saved is the model, with single-task learning beside it and the report: without times, which
// differ from fit to fit. Versions name the program that made it.
func (r Report) Saved(versions map[string]string) (*saved.Fit, error) {
	fit, err := r.saved(r.Fit, versions)
	if err == nil && r.Correlation != nil && r.STL != nil {
		fit.Beside, err = r.saved(r.STL, versions)
	}
	if err != nil {
		return nil, err
	}
	r.Seconds = 0
	r.Correlation = nil
	report, err := json.MarshalIndent(r, "", "  ")
	fit.Report = append(report, '\n')
	return fit, err
}

func (r *Report) saved(fit *solve.Fitted, versions map[string]string) (*saved.Fit, error) {
	s, err := fit.Saved(r.Recipe)
	if err != nil {
		return nil, fmt.Errorf("problem %q: %w", r.Problem, err)
	}
	s.Threshold = r.decided
	s.Versions = versions
	return s, nil
}
