package command

import (
	"strings"

	"l2mt/data/files"
	"l2mt/data/table"
	"l2mt/infer/report"
	"l2mt/infer/solve"
)

// report fits, saves the model if there is a directory for it, and prints the results.
func (c *fitCmd) report(e *env, b *solve.Bench, t *table.Table,
	candidate *solve.Candidate) (err error) {
	var folder *files.Folder
	if c.Out == "" {
		e.remark("without --out DIRECTORY the model is not saved")
	} else {
		folder, err = files.Claim(c.Out)
		if err != nil {
			return err
		}
		defer folder.Close()
	}
	r, err := report.Fit(e, b, t, report.Options{Candidate: candidate,
		View: c.View, Scale: c.TargetScale, Threshold: c.Threshold})
	if err != nil {
		return err
	}
	for _, note := range r.Notes[len(t.Notes):] {
		e.remark("%s", note)
	}
	if c.Out != "" {
		kept := *r
		text, err := said("answers", r)
		if err != nil {
			return err
		}
		kept.Text = strings.TrimSpace(text)
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
	var names []string
	var rows []int
	for _, t := range r.Tasks {
		names = append(names, t.Task)
		rows = append(rows, t.By[report.ByModel].Rows)
	}
	return e.print(struct {
		*report.Report
		Weights bool          `json:"-"`
		Listed  []report.Task `json:"-"`
		Related *related      `json:"-"`
	}{r, c.Structures, c.listing.tasks(r.Measured),
		relate("correlations of tasks", names, r.Correlation, rows...)}, "fit")
}
