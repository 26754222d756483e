package command

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"l2mt/data/files"
	"l2mt/data/format"
	"l2mt/infer/report"
	"l2mt/model/saved"
)

type predictCmd struct {
	File             string `arg:"" help:"CSV, TSV or Parquet file of rows to predict; - reads it from stdin."`
	Model            string `required:"" type:"path" help:"Directory of a saved model, which l2mt fit --out wrote."`
	saved.RowOptions `embed:""`
	listing          `embed:""`
	Adapt            string   `type:"existingfile" help:"Table of a few labelled rows of new tasks, from which the model learns before it predicts."`
	Interval         float64  `help:"Add columns low and high, between which a new row lies with this probability, such as 0.9; for regression only."`
	Keep             []string `help:"Columns of the table to copy to the output, such as an id."`
	Out              string   `type:"path" help:"CSV file to write, or Parquet by its name (.parquet). By default, or with -, predictions go to stdout, and the errors on labelled rows to stderr."`
}

func (c *predictCmd) Run(e *env) error {
	if c.Out == "-" {
		c.Out = ""
	}
	if err := apart(c.Out, false, c.File, filepath.Join(c.Model, saved.File),
		filepath.Join(c.Model, saved.WeightsFile)); err != nil {
		return err
	}
	fit, err := saved.Load(c.Model)
	if err == nil && c.Adapt != "" {
		fit, err = fit.Adapt(e, c.Adapt, c.RowOptions)
	}
	if err != nil {
		return err
	}
	name := c.File
	if name == "-" {
		name = "stdin"
	}
	c.RowOptions.Format.From = e.stream(c.File)
	rows, err := fit.OpenRows(name, c.RowOptions)
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, column := range c.Keep {
		err := rows.Carry(column)
		if err != nil {
			return fmt.Errorf("%s: --keep: %w", c.File, err)
		}
	}
	l, err := rows.Lines(c.Interval)
	if err != nil {
		return errUsage.Errorf("%w", err)
	}
	var answers []saved.Answer
	if c.Out != "" {
		var fault error // of the rows read, not of the file written
		err = files.Write(c.Out, func(w io.Writer) error {
			answers, fault = c.predict(e, rows, l, w)
			return fault
		})
		err = cmp.Or(fault, err)
	} else {
		answers, err = c.predict(e, rows, l, e.stdout)
	}
	if err != nil || len(answers) == 0 {
		return err
	}
	s := report.Score(rows.Fits, answers)
	printed := struct {
		*report.Scores
		Listed []report.Task `json:"-"`
	}{s, c.listing.tasks(s.Measured)}
	if c.Out != "" {
		return e.print(printed, "scores")
	}
	if e.quiet {
		return nil
	}
	return tell(e.stderr, "scores", printed)
}

// mostNotes bounds the notes that are printed.
const mostNotes = 8

// predict writes the predictions of all rows as CSV, or as Parquet if the file is called so, and
// returns the answers to rows with labels. It remarks on cells and tasks that are new to the model.
func (c *predictCmd) predict(e *env, rows *saved.Rows, l *saved.Lines,
	w io.Writer) (answers []saved.Answer, err error) {
	if strings.HasSuffix(strings.ToLower(c.Out), ".parquet") {
		table, fault := format.NewParquetWriter(w, l.Heads, l.Words)
		if fault != nil {
			return nil, fault
		}
		defer func() {
			err = cmp.Or(err, table.Close())
		}()
		w = table
	} else if err := csv.NewWriter(w).WriteAll([][]string{l.Heads}); err != nil {
		return nil, err
	}
	report := e.reporter()
	report.Start("predicting", 0)
	defer report.Finish()
	err = rows.Each(e, func(b *saved.Block) {
		var text bytes.Buffer
		out := csv.NewWriter(&text)
		for j := range b.Rows {
			_ = out.Write(l.Row(b, j)) // a buffer has no errors
		}
		out.Flush()
		b.Text = text.Bytes()
	}, func(b *saved.Block) error {
		report.Advance(b.Rows, "")
		for _, a := range b.Answers {
			if !math.IsNaN(a.Label) {
				answers = append(answers, a)
			}
		}
		_, err := w.Write(b.Text)
		return err
	})
	if err != nil {
		return nil, err
	}
	notes, written := rows.Notes()
	for _, note := range notes[:min(mostNotes, len(notes))] {
		e.remark("%s", note)
	}
	if len(notes) > mostNotes {
		e.remark("(and %d more such notes)", len(notes)-mostNotes)
	}
	if written != "" {
		e.remark("%s (--separator, --decimal)", written)
	}
	return answers, nil
}
