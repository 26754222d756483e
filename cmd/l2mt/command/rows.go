package command

import (
	"errors"
	"fmt"

	"l2mt/model/saved"
)

// openRows opens a table, "-" for one of stdin, for a saved model.
func openRows(e *env, dir, file string, o saved.RowOptions) (*saved.Rows, error) {
	fit, err := saved.Load(dir)
	if err != nil {
		return nil, err
	}
	if in := e.stream(file); in != nil {
		o.From = in
	}
	if file == "-" {
		file = "stdin"
	}
	rows, err := fit.OpenRows(file, o)
	return rows, withFlags(err)
}

// withFlags adds the flag that helps against an error of rows.
func withFlags(err error) error {
	if errors.Is(err, saved.ErrNoTask) {
		return fmt.Errorf("%w (--task)", err)
	}
	return err
}

// mostNotes bounds the notes that are printed.
const mostNotes = 8

// predictRows predicts all rows, lets work finish each block and passes the blocks on in
// order. Then it remarks what the model has not seen.
func predictRows(e *env, rows *saved.Rows, work func(*saved.Block), sink func(*saved.Block) error) error {
	defer room()()
	report := e.reporter()
	report.Start("predicting", 0)
	defer report.Finish()
	err := rows.Each(e, work, func(b *saved.Block) error {
		report.Advance(b.Rows, "")
		return sink(b)
	})
	if err != nil {
		return withFlags(err)
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
	return nil
}
