package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"l2mt/data/experience"
)

type experienceCmd struct {
	Check  experienceCheckCmd  `cmd:"" help:"Look for damage and contradictions."`
	List   experienceListCmd   `cmd:"" help:"List the tuples."`
	Merge  experienceMergeCmd  `cmd:"" help:"Make one store of several, such as the shards of a run."`
	Remove experienceRemoveCmd `cmd:"" help:"Make a store without some of the tuples."`
	Stats  experienceStatsCmd  `cmd:"" help:"Count tuples and average relative errors by source."`
}

type experienceCheckCmd struct {
	Dir string `arg:"" type:"path" help:"Directory of the experience."`
}

func (c *experienceCheckCmd) Run(e *env) error {
	store, err := experience.Open(c.Dir)
	if err != nil {
		return err
	}
	report, err := store.Check(e)
	if err != nil {
		return err
	}
	for _, w := range report.Warnings {
		e.remark("warning: %v", w)
	}
	type fault struct {
		File  string `json:"file"`
		Line  int    `json:"line"`
		Fault string `json:"fault"`
	}
	result := struct {
		Records int     `json:"records"`
		Faults  []fault `json:"faults"`
	}{Records: report.Records, Faults: []fault{}}
	for _, f := range report.Faults {
		result.Faults = append(result.Faults, fault{f.File, f.Line, f.Err.Error()})
	}
	err = e.print(result, func(w io.Writer) {
		for _, f := range report.Faults {
			fmt.Fprintln(w, f)
		}
		fmt.Fprintf(w, "%d records, %d faults\n", report.Records, len(report.Faults))
	})
	if err != nil {
		return err
	}
	return report.Err()
}

type experienceListCmd struct {
	Dir     string `arg:"" type:"path" help:"Directory of the experience."`
	Problem string `help:"Only this problem."`
	Source  string `help:"Only this source, such as mtrl or explore/wishart."`
}

func (c *experienceListCmd) Run(e *env) error {
	store, err := experience.Open(c.Dir)
	if err != nil {
		return err
	}
	records, warnings, err := store.Load()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		e.remark("warning: %v", w)
	}
	t := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	defer t.Flush()
	if !e.json {
		fmt.Fprintln(t, "problem\tsource\tdraw\to\tlambda1\tstatus")
	}
	for _, r := range records {
		switch {
		case (c.Problem != "" && r.Problem != c.Problem) || (c.Source != "" && r.Source != c.Source):
		case e.json: // one object a line: there may be many
			if err := json.NewEncoder(e.stdout).Encode(r); err != nil {
				return err
			}
		case r.Result == nil:
			fmt.Fprintf(t, "%s\t%s\t%d\t-\t-\t%s: %s\n", r.Problem, r.Source, r.Draw, r.Status, r.Reason)
		default:
			fmt.Fprintf(t, "%s\t%s\t%d\t%.4f\t%.3g\t%s\n", r.Problem, r.Source, r.Draw, r.Result.O, r.Result.Lambda1, r.Status)
		}
	}
	return nil
}

type experienceMergeCmd struct {
	Dirs []string `arg:"" type:"existingdir" help:"Directories to merge."`
	Out  string   `required:"" type:"path" help:"Directory to make."`
}

func (c *experienceMergeCmd) Run(e *env) error {
	summary, err := experience.Merge(e, c.Out, c.Dirs...)
	return e.made(c.Out, summary, err, c.Dirs...)
}

type experienceRemoveCmd struct {
	Dir     string `arg:"" type:"existingdir" help:"Directory of the experience. It stays as it is."`
	Problem string `help:"Drop this problem."`
	Source  string `help:"Drop this source, such as mtrl or explore/wishart."`
	Failed  bool   `help:"Drop failed tuples, so that they are tried again."`
	Out     string `required:"" type:"path" help:"Directory to make."`
}

func (c *experienceRemoveCmd) Validate() error {
	if c.Problem == "" && c.Source == "" && !c.Failed {
		return fmt.Errorf("nothing to remove: give --problem, --source or --failed")
	}
	return nil
}

// drop is true of tuples that all given flags fit.
func (c *experienceRemoveCmd) drop(r *experience.Record) bool {
	return (c.Problem == "" || r.Problem == c.Problem) &&
		(c.Source == "" || r.Source == c.Source) &&
		(!c.Failed || r.Status == experience.Failed)
}

func (c *experienceRemoveCmd) Run(e *env) error {
	summary, err := experience.Remove(e, c.Out, c.Dir, c.drop)
	return e.made(c.Out, summary, err, c.Dir)
}

// made completes and reports a new store.
func (e *env) made(out string, s *experience.Summary, err error, from ...string) error {
	if err != nil {
		return err
	}
	if err := mergeProblems(out, from...); err != nil {
		return err
	}
	for _, w := range s.Warnings {
		e.remark("warning: %v", w)
	}
	return e.print(s, func(w io.Writer) { fmt.Fprintf(w, "%s: %d records, %d left out\n", out, s.Records, s.Left) })
}

type experienceStatsCmd struct {
	Dir string `arg:"" type:"path" help:"Directory of the experience."`
}

func (c *experienceStatsCmd) Run(e *env) error {
	store, err := experience.Open(c.Dir)
	if err != nil {
		return err
	}
	stats, err := store.Stats()
	if err != nil {
		return err
	}
	return e.print(stats, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "tuples\tfailed\tmean o\tmin o\tmax o\tseconds\t  source")
		for _, s := range stats {
			fmt.Fprintf(t, "%d\t%d\t%.4f\t%.4f\t%.4f\t%.2f\t  %s\n", s.Count, s.Failures, s.Mean, s.Min, s.Max, s.Seconds, s.Source)
		}
		t.Flush()
	})
}
