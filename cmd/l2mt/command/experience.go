package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"l2mt/data"
	"l2mt/data/experience"
)

type experienceCmd struct {
	Check experienceCheckCmd `cmd:"" help:"Look for damage and contradictions, count tuples and average relative errors by source."`
	List  experienceListCmd  `cmd:"" help:"List the tuples."`
}

type experienceCheckCmd struct {
	Dir string `arg:"" type:"path" help:"Directory of the experience."`
}

func (c *experienceCheckCmd) Run(e *env) error {
	store, err := experience.Open(c.Dir)
	if err != nil {
		return err
	}
	sources, all, err := store.Check()
	if err != nil {
		return err
	}
	result := struct {
		Records int                      `json:"records"`
		Faults  []string                 `json:"faults"`
		Sources []experience.SourceStats `json:"sources,omitempty"`
	}{0, []string{}, sources}
	for _, s := range sources {
		result.Records += s.Tuples
	}
	for _, f := range all {
		if errors.Is(f, experience.ErrTorn) {
			e.remark("warning: %v", f)
			continue
		}
		result.Faults = append(result.Faults, fmt.Sprint(f))
	}
	n, records := len(result.Faults), result.Records
	err = e.print(result, func(w io.Writer) {
		t := grid{Heads: []string{"tuples", "failed", "mean o", "min o", "max o", "seconds", "source"}}
		for _, s := range sources {
			t.row(s.Tuples, s.Failed, s.Mean, s.Min, s.Max, fmt.Sprintf("%.2f", s.Seconds), s.Source)
		}
		if n == 0 {
			t.write(w)
		}
		for _, f := range result.Faults {
			fmt.Fprintln(w, f)
		}
		fmt.Fprintf(w, "%d records, %d faults\n", records, n)
	})
	if n > 0 && err == nil {
		err = fmt.Errorf("experience: %w: %d faults in %d records; the first: %s", data.ErrInvalid, n, records, result.Faults[0])
	}
	return err
}

type experienceListCmd struct {
	Dir    string `arg:"" type:"path" help:"Directory of the experience."`
	Failed bool   `help:"Only tuples that failed."`
}

func (c *experienceListCmd) Run(e *env) error {
	store, err := experience.Open(c.Dir)
	if err != nil {
		return err
	}
	records, err := store.Load()
	if err != nil {
		return err
	}
	t := fields(e.stdout)
	defer t.Flush()
	if !e.json {
		fmt.Fprintln(t, "problem\tsource\tdraw\to\tlambda1\tstatus")
	}
	for _, r := range records {
		switch {
		case c.Failed && r.Status != experience.Failed:
		case e.json: // one object a line: there may be many
			if err := json.NewEncoder(e.stdout).Encode(r); err != nil {
				return err
			}
		case r.Result == nil:
			fmt.Fprintf(t, "%s\t%s\t%d\t-\t-\t%s: %s\n", r.Problem, r.Source, r.Draw, r.Status, oneLine.Replace(r.Reason))
		default:
			fmt.Fprintf(t, "%s\t%s\t%d\t%.4f\t%.3g\t%s\n", r.Problem, r.Source, r.Draw, r.Result.O, r.Result.Lambda1, r.Status)
		}
	}
	return nil
}

// oneLine keeps a text within its row of a table.
var oneLine = strings.NewReplacer("\n", "; ", "\t", " ")
