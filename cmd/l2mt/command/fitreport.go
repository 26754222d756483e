package command

import (
	"fmt"
	"io"
	"math"
	"strings"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/table"
	"l2mt/infer/report"
	"l2mt/infer/solve"
)

// report fits, saves the model if there is a directory for it, and prints the results.
func (c *fitCmd) report(e *env, b *solve.Bench, t *table.Table,
	candidates []solve.Candidate) (err error) {
	var folder *files.Folder
	if c.Out == "" {
		e.remark("without --out DIRECTORY the model is not saved")
	} else {
		if folder, err = files.Claim(c.Out); err != nil {
			return err
		}
		defer folder.Close()
	}
	r, err := report.Fit(e, b, t, report.Options{Candidates: candidates,
		View: c.View, Scale: c.TargetScale, Threshold: c.Threshold})
	if err != nil {
		return err
	}
	for _, note := range r.Notes[len(t.Notes):] {
		e.remark("%s", note)
	}
	if c.Out != "" {
		kept := *r
		kept.Text = answers(r)
		v := versions()
		fit, err := kept.Saved(map[string]string{"l2mt": v["l2mt"],
			"go": v["go"], "system": v["system"]})
		if err == nil {
			err = fit.SaveTo(folder)
		}
		if err != nil {
			return err
		}
	}
	return e.print(r, func(w io.Writer) { c.write(w, r) })
}

// write prints the report: the answer first, and the weights of structures if they are asked for.
func (c *fitCmd) write(w io.Writer, r *report.Report) {
	wrap(w, r.Problem+": "+size(r)+"\n\n"+answers(r)+"\n")
	if r.Rivals != nil {
		beside(r).named(w)
		_, _, loss := units(r.Kind)
		wrap(w, fmt.Sprintf("saved: how much less %s the method has, and the range of 95 %%; where 0 is in it, this may be chance\n", loss))
	}
	wrap(w, fmt.Sprintf("the method: %s (%.2g s)\n", r.Title, r.Seconds))
	if c.Structures {
		t := newGrid("loss", "weight", "structure")
		for _, s := range r.Structures {
			t.row(s.Loss, s.Weight, s.Titled)
		}
		t.named(w)
		fmt.Fprintln(w)
	}
	if shares := r.LargeShares(); shares != nil {
		t := newGrid("common", "of each task", "shares of the variance")
		for _, s := range shares {
			t.row(percent(s.Common), percent(s.Own), s.Name)
		}
		t.named(w)
		fmt.Fprintln(w)
	}
	c.listing.write(w, r.Measured, r.Kind)
	if r.Correlation != nil {
		fmt.Fprintln(w)
		var names []string
		var rows []int
		for _, t := range r.Tasks {
			names = append(names, t.Task)
			rows = append(rows, t.By[report.ByModel].Rows)
		}
		writeCorrelations(w, "correlations of tasks", names, r.Correlation, rows)
	}
	if r.Test != nil {
		writeTest(w, r)
	}
}

// size says how much was fitted.
func size(r *report.Report) string {
	tasks := count(len(r.Tasks), "task")
	rows := count(r.Rows, "labelled row")
	features := count(r.Features, "feature")
	size := fmt.Sprintf("%s of %s, %s, %s", r.Kind, tasks, rows, features)
	if r.Classes != nil {
		size += fmt.Sprintf(", %d classes", len(r.Classes))
	}
	return size
}

func percent(share float64) string {
	return fmt.Sprintf("%.0f %%", 100*max(0, min(share, 1)))
}

// beside compares the model, which is marked, with its rivals.
func beside(r *report.Report) *grid {
	what, good, _ := units(r.Kind)
	t := newGrid(what, good, "saved", "from", "to", "rows held out")
	add := func(by, title string, saved ...any) {
		s := r.Overall().By[by]
		cells := []any{number(s.Error), report.Good(s, r.Kind)}
		t.row(append(append(cells, saved...), title)...)
	}
	add(report.ByModel, "* the method", "", "", "")
	for _, v := range r.Rivals {
		if v.Name == r.Model {
			continue
		}
		var saved []any
		for _, share := range v.Saves() {
			text := "-"
			if math.Abs(share) <= math.MaxFloat64 { // NaN is not
				text = fmt.Sprintf("%.1f %%", share)
			}
			saved = append(saved, text)
		}
		add(v.By, v.Title, saved...)
	}
	return t
}

// answers say, a sentence a line, how well rows are predicted, what tasks share and whether it pays.
func answers(r *report.Report) (text string) {
	if r.Rivals != nil {
		text = answer(r.Measured, r.Kind, "rows held out") + "\n"
	}
	common := 0.0
	explained := 0.0
	for _, s := range r.Shares {
		if s.Name != report.Noise {
			common += s.Common
			explained += s.Common + s.Own
		}
	}
	switch {
	case len(r.Tasks) == 1:
		text += "There is a single task, and nothing to share.\n"
	case r.Correlation == nil:
		text += "Nothing is shared: every task is on its own.\n"
	case explained > 0:
		common /= explained
		text += fmt.Sprintf("Of what is explained %s is common to all tasks, and %s each task's own.\n", percent(common), percent(1-common))
	}
	if r.Rivals != nil && len(r.Tasks) > 1 {
		text += verdicts(r)
	}
	return strings.TrimSuffix(text, "\n")
}

// verdicts explain the differences by their intervals.
func verdicts(r *report.Report) (lines string) {
	_, _, loss := units(r.Kind)
	for _, v := range r.Rivals {
		verdict := v.Verdict()
		text := verdictWords[v.By][verdict]
		saved := v.Saves()
		format := "%s: the method saves %.1f %% of the %s of %s (95 %% from %.1f to %.1f %%)."
		switch {
		case v.By == report.ByMean && v.Name == r.Model:
			format = "The columns do not help: nothing is better than the mean of each task."
			if r.Fit.Choice.LeftOut > 0 {
				format = "There was no time to try whether the columns help."
			}
			lines += format + "\n"
			continue
		case text == "" || v.Name == r.Model || v.By == report.BySTL && r.Correlation == nil:
			continue
		case v.By == report.BySTL && math.IsInf(saved[1], 0):
			lines += "Too few rows were held out to measure whether sharing pays.\n"
			continue
		case verdict == report.Loses:
			text += " (try --model " + v.Name + ")"
		}
		if saved[0] < 0 {
			format = "%s: the method has %.1f %% more %s than %s (95 %% from %.1f to %.1f %%)."
			saved = [3]float64{-saved[0], -saved[2], -saved[1]}
		}
		lines += fmt.Sprintf(format+"\n", text, saved[0], loss,
			v.Title, saved[1], saved[2])
	}
	return lines
}

// verdictWords begin the sentence on a rival.
var verdictWords = map[string]map[report.Verdict]string{
	report.ByPooled: {report.Loses: "One model for all is better"},
	report.ByMean: {report.Loses: "The columns do not help",
		report.Ties:  "Too few rows to tell whether the columns help",
		report.Doubt: "Too few rows to tell whether the columns help"},
	report.BySTL: {report.Wins: "Sharing pays", report.Loses: "Sharing does harm",
		report.Ties:  "Without sharing it is as good",
		report.Doubt: "Too few rows to tell whether sharing pays"},
}

// writeTest prints the errors on test rows.
func writeTest(w io.Writer, r *report.Report) {
	what := "error"
	if r.Kind == data.Regression {
		what = "nMSE"
	}
	fmt.Fprintln(w)
	t := newGrid("test "+what, "STL", "relative", "task")
	row := func(fit, stl float64, name string) { t.row(fit, stl, fit/stl, name) }
	for i, task := range r.Tasks {
		row(r.Test.Fit.Task[i], r.Test.STL.Task[i], task.Task)
	}
	row(r.Test.Fit.Mean, r.Test.STL.Mean, "mean")
	t.write(w)
}
