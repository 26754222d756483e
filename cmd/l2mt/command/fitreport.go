package command

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/infer/compare"
	"l2mt/model/multitask"
)

// tableReport is what a fit of tables says. Errors are those of rows that folds
// held out.
type tableReport struct {
	Problem  string           `json:"problem"`
	Kind     data.Kind        `json:"kind"`
	Model    string           `json:"model"`
	Params   multitask.Params `json:"params"`
	Status   multitask.Status `json:"status"`
	Rows     int              `json:"rows"`
	Features int              `json:"features"`
	Classes  []string         `json:"classes,omitempty"`
	Folds    int              `json:"folds"`
	// Models are all that were fitted, with their cross-validated losses.
	Models      []modelLoss  `json:"models"`
	Tasks       []taskReport `json:"tasks"`
	Mean        taskReport   `json:"mean"`
	Temperature float64      `json:"temperature,omitempty"`
	Brier       float64      `json:"brier,omitempty"`
	Correlation [][]float64  `json:"correlation"`
	// Sharing compares the model with STL, and Network says what became of the
	// network's word; nil where it was not asked.
	Sharing sharing        `json:"sharing"`
	Network *networkReport `json:"network,omitempty"`
	Notes   []string       `json:"notes"`
	Stages  []stage        `json:"stages"`
	Saved   string         `json:"saved,omitempty"`

	title string
}

type modelLoss struct {
	Model string  `json:"model"`
	Title string  `json:"title"`
	Loss  float64 `json:"loss"`
	Error float64 `json:"error"`
}

// taskReport is how well a task is predicted by the model and its rivals.
type taskReport struct {
	Task   string      `json:"task"`
	Rows   int         `json:"rows"`
	Held   int         `json:"held_out"`
	Fit    scoreReport `json:"fit"`
	STL    scoreReport `json:"stl"`
	Pooled scoreReport `json:"pooled"`
}

// scoreReport is a Score whose gaps JSON can hold. Good is the AUC or R^2.
type scoreReport struct {
	Error         compare.Float `json:"error"`
	StandardError compare.Float `json:"standard_error"`
	AUC           compare.Float `json:"auc"`
	R2            compare.Float `json:"r2"`
}

func (s scoreReport) good(k data.Kind) float64 {
	if k == data.Classification {
		return float64(s.AUC)
	}
	return float64(s.R2)
}

func reportOf(s multitask.Score) scoreReport {
	return scoreReport{compare.Float(s.Error), compare.Float(s.StandardError), compare.Float(s.AUC), compare.Float(s.R2)}
}

// meanOf averages over the tasks that have a value. The errors of the tasks are
// of different rows, so their variances add up.
func meanOf(scores []multitask.Score) scoreReport {
	mean := func(of func(multitask.Score) float64) compare.Float {
		sum, n := 0.0, 0.0
		for _, s := range scores {
			if v := of(s); !math.IsNaN(v) {
				sum += v
				n++
			}
		}
		return compare.Float(sum / n)
	}
	variance := mean(func(s multitask.Score) float64 { return s.StandardError * s.StandardError })
	n := 0.0
	for _, s := range scores {
		if s.Held > 0 {
			n++
		}
	}
	return scoreReport{
		Error:         mean(func(s multitask.Score) float64 { return s.Error }),
		StandardError: compare.Float(math.Sqrt(float64(variance) / n)),
		AUC:           mean(func(s multitask.Score) float64 { return s.AUC }),
		R2:            mean(func(s multitask.Score) float64 { return s.R2 }),
	}
}

func (f *tableFitter) report(best *fitted) (*tableReport, error) {
	p := f.table.Problem
	stl, pooled := f.done[compare.STL], f.done[modelPooled]
	r := &tableReport{
		Problem: p.Name, Kind: p.Kind(), Model: best.name, title: best.title, Params: best.result.Params, Status: best.result.Status,
		Features: p.Cols(), Classes: p.Classes, Folds: len(f.folds), Correlation: run.Correlation(best.result.Omega), Notes: f.table.Notes, Stages: f.seconds,
	}
	for _, v := range f.order {
		r.Models = append(r.Models, modelLoss{v.name, v.title, v.Loss, float64(meanOf(v.Scores).Error)})
	}
	never, partly := 0, 0
	for i, t := range p.Tasks {
		s := best.Scores[i]
		r.Rows += s.Rows
		r.Tasks = append(r.Tasks, taskReport{t.Name, s.Rows, s.Held, reportOf(s), reportOf(stl.Scores[i]), reportOf(pooled.Scores[i])})
		switch {
		case f.table.Held != nil:
		case s.Held == 0:
			never++
		case s.Held < s.Rows:
			partly++
		}
	}
	r.Mean = taskReport{"mean", r.Rows, 0, meanOf(best.Scores), meanOf(stl.Scores), meanOf(pooled.Scores)}
	if never > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d tasks have a single row of a class: it is always trained on, and they have no cross-validated error", never))
	}
	if partly > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d tasks have rows that are always trained on, as the other parts have none of their class", partly))
	}
	if r.Kind == data.Classification {
		r.Temperature, r.Brier = multitask.Temperature(best.Held, best.Y)
	}
	r.Sharing = newSharing(best, stl, p)
	var err error
	r.Network, err = f.networkReport(best)
	return r, err
}

// mostListed bounds the tasks that are listed as text; JSON has all.
const mostListed = 200

func (r *tableReport) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s of %d tasks, %d labelled rows, %d features", r.Problem, r.Kind, len(r.Tasks), r.Rows, r.Features)
	if r.Classes != nil {
		fmt.Fprintf(w, ", %d classes", len(r.Classes))
	}
	fmt.Fprintln(w)
	by := fmt.Sprintf("by %d-fold cross-validation", r.Folds)
	if r.Folds == 1 {
		by = "on the validation rows"
	}
	fmt.Fprintf(w, "%s, lambda1 = %s, chosen %s, fitted on all labelled rows (%s)\n\n", r.title, run.Number(r.Params.Lambda1), by, r.Status)
	if len(r.Models) > 2 {
		r.writeModels(w)
	}
	r.writeTasks(w)
	if len(r.Tasks) > 1 {
		r.writeRivals(w)
	}
	if r.Kind == data.Classification {
		fmt.Fprintf(w, "probabilities: Brier score %.4f, at temperature %.3g\n", r.Brier, r.Temperature)
	}
	if len(r.Tasks) > 1 {
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
	fmt.Fprint(w, "\ntime:")
	for i, s := range r.Stages {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, " %s %.2g s", s.Name, s.Seconds)
	}
	fmt.Fprintln(w)
	if r.Saved != "" {
		fmt.Fprintf(w, "saved to %s\n", r.Saved)
	}
}

// units are what errors are called.
func units(k data.Kind) (error, good, loss string) {
	if k == data.Classification {
		return "error", "AUC", "logistic loss"
	}
	return "RMSE", "R^2", "nMSE"
}

func (r *tableReport) writeModels(w io.Writer) {
	what, _, loss := units(r.Kind)
	run.ErrorName(w, r.Kind) // says what nMSE is
	t := run.Columns(w)
	fmt.Fprintf(t, "%s\t%s\t  model\n", loss, what)
	for _, m := range slices.SortedStableFunc(slices.Values(r.Models), func(a, b modelLoss) int { return cmp.Compare(a.Loss, b.Loss) }) {
		fmt.Fprintf(t, "%.4f\t%.4f\t  %s\n", m.Loss, m.Error, m.Title)
	}
	t.Flush()
	fmt.Fprintln(w)
}

func (r *tableReport) writeTasks(w io.Writer) {
	what, good, _ := units(r.Kind)
	t := run.Columns(w)
	fmt.Fprintf(t, "rows\t%s\t+-\t%s\tSTL %s\t%s\tpooled %s\t%s\t  task\n", what, good, what, good, what, good)
	line := func(t io.Writer, v taskReport) {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s", v.Rows, gap(float64(v.Fit.Error)), gap(float64(v.Fit.StandardError)), gap(v.Fit.good(r.Kind)))
		for _, s := range []scoreReport{v.STL, v.Pooled} {
			fmt.Fprintf(t, "\t%s\t%s", gap(float64(s.Error)), gap(s.good(r.Kind)))
		}
		fmt.Fprintf(t, "\t  %s\n", v.Task)
	}
	for _, v := range r.Tasks[:min(len(r.Tasks), mostListed)] {
		line(t, v)
	}
	line(t, r.Mean)
	t.Flush()
	if more := len(r.Tasks) - mostListed; more > 0 {
		fmt.Fprintf(w, "(%d more tasks: --json lists them)\n", more)
	}
}

// gap writes a number, or a dash where there is none.
func gap(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', 4, 64)
}

// writeRivals compares the model with learning nothing together and everything.
func (r *tableReport) writeRivals(w io.Writer) {
	what, _, _ := units(r.Kind)
	for _, rival := range []struct {
		name string
		of   func(taskReport) scoreReport
	}{
		{"STL", func(t taskReport) scoreReport { return t.STL }},
		{"pooled", func(t taskReport) scoreReport { return t.Pooled }},
	} {
		better, worse := 0, 0
		for _, t := range r.Tasks {
			switch d := t.Fit.Error - rival.of(t).Error; {
			case d < 0:
				better++
			case d > 0:
				worse++
			}
		}
		ours, theirs := float64(r.Mean.Fit.Error), float64(rival.of(r.Mean).Error)
		fmt.Fprintf(w, "against %s: mean %s %.4f, %.4f of it; lower for %d tasks, higher for %d\n", rival.name, what, theirs, ours/theirs, better, worse)
	}
}

// mostInTable bounds the tasks whose correlations are all printed.
const mostInTable = 12

func writeCorrelations(w io.Writer, names []string, correlation [][]float64) {
	if len(names) <= mostInTable {
		fmt.Fprintln(w, "task correlations")
		run.WriteMatrix(w, correlation, names)
		return
	}
	type pair struct {
		a, b int
		v    float64
	}
	var pairs []pair
	for i, row := range correlation {
		for j, v := range row[:i] {
			pairs = append(pairs, pair{j, i, v})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(math.Abs(b.v), math.Abs(a.v)) })
	if pairs[0].v == pairs[len(pairs)-1].v {
		fmt.Fprintf(w, "task correlations: %.3f, of every pair\n", pairs[0].v)
		return
	}
	fmt.Fprintln(w, "strongest task correlations")
	for _, p := range pairs[:10] {
		fmt.Fprintf(w, "%6.3f  %s and %s\n", p.v, names[p.a], names[p.b])
	}
	fmt.Fprintln(w, "clusters of tasks that correlate by more than 0.5")
	alone := 0
	for i, group := range clusters(correlation) {
		switch {
		case len(group) == 1:
			alone++
		case i < 10:
			var list []string
			for _, j := range group {
				list = append(list, names[j])
			}
			fmt.Fprintf(w, "%6d  %s\n", len(group), few(list))
		}
	}
	fmt.Fprintf(w, "%6d  on their own\n", alone)
}
