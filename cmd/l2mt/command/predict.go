package command

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/model/saved"
)

type predictCmd struct {
	File             string `arg:"" help:"CSV or TSV file of rows to predict, or - for a table that comes in through stdin."`
	Model            string `required:"" type:"path" help:"Directory that fit or infer saved a model to."`
	saved.RowOptions `embed:""`
	listing          `embed:""`
	Adapt            string   `type:"existingfile" help:"Table of a few labelled rows of new tasks, which the model then predicts as if it had been fitted to them too."`
	Interval         float64  `help:"Adds columns low and high, between which a fresh row lies with this probability, 0.9 say; regression only."`
	Keep             []string `help:"Columns of the table to carry along, such as an id."`
	Out              string   `type:"path" help:"CSV file to write, by default stdout, as -. Where the table has labels, the errors of the model then go to stdout, and else to stderr."`
}

func (c *predictCmd) Run(e *env) error {
	if info, err := os.Stat(c.Out); err == nil && info.IsDir() {
		return fmt.Errorf("--out=%s: it is a directory; give a file", c.Out)
	}
	if c.Out == "-" {
		c.Out = ""
	}
	model := filepath.Join(c.Model, saved.File)
	weights := filepath.Join(c.Model, saved.WeightsFile)
	if err := apart(c.Out, c.File, model, weights); err != nil {
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
	l := &lineWriter{Fit: fit, level: c.Interval}
	if err := checkInterval(c.Interval, fit); err != nil {
		return err
	}
	for _, column := range c.Keep {
		name, err := rows.Carry(column)
		if err != nil {
			return fmt.Errorf("%s: --keep: %w", c.File, err)
		}
		l.heads = append(l.heads, name)
	}
	l.predictions(rows.Asked)
	s := &scoring{models: rows.Fits}
	write := func(w io.Writer) error {
		if err := csv.NewWriter(w).WriteAll([][]string{l.heads}); err != nil {
			return err
		}
		return predictRows(e, rows, func(b *saved.Block) { b.Text = l.text(b, len(rows.Asked)) }, func(b *saved.Block) error {
			s.answers = append(s.answers, slices.DeleteFunc(b.Answers, func(a saved.Answer) bool { return math.IsNaN(a.Label) })...)
			_, err := w.Write(b.Text)
			return err
		})
	}
	if c.Out != "" {
		var fault error // of what is read, not of the file that is written
		err = files.Write(c.Out, func(w io.Writer) error { fault = write(w); return fault })
		err = cmp.Or(fault, err)
	} else {
		err = write(e.stdout)
	}
	if err != nil || len(s.answers) == 0 {
		return err
	}
	t := s.table()
	t.every = c.Tasks
	if c.Out != "" {
		return e.print(t, t.write)
	}
	if !e.quiet {
		t.write(e.stderr)
	}
	return nil
}

func checkInterval(level float64, m *saved.Fit) error {
	switch {
	case level == 0:
		return nil
	case !(level > 0 && level < 1):
		return errUsage.Errorf("--interval=%v: it must be between 0 and 1", level)
	case m.Residuals == nil:
		return data.ErrInvalid.Errorf("--interval: the model has no residuals of rows held out; classes have probabilities instead")
	case math.IsInf(m.Interval(level), 1):
		return data.ErrInvalid.Errorf("--interval=%v: %d rows were held out, which are enough for %.2f at most", level, len(m.Residuals), 1-1/float64(len(m.Residuals)+1))
	}
	return nil
}

// lineWriter writes predictions as lines of CSV.
type lineWriter struct {
	*saved.Fit
	level float64  // of intervals, 0 for none
	wide  bool     // a row has predictions for several tasks
	heads []string // of the cells of a line
}

// predictions adds the heads of what cells returns.
func (l *lineWriter) predictions(all []saved.Answer) {
	l.wide = len(all) > 1
	for _, a := range all {
		first := []string{"task", "prediction"}
		of := ""
		positive := l.Tasks[0].Positive
		if l.wide {
			first = []string{a.Name}
			of = a.Name + " "
			positive = l.Tasks[a.Task].Positive
		} else if slices.ContainsFunc(l.Tasks, func(t saved.Task) bool { return t.Positive != positive }) {
			positive = "the positive class"
		}
		l.heads = append(l.heads, first...)
		switch {
		case l.Classes != nil:
			for _, class := range l.Classes {
				l.heads = append(l.heads, "probability of "+of+class)
			}
		case l.Kind == data.Classification:
			l.heads = append(l.heads, "probability of "+of+positive)
		case l.level > 0:
			l.heads = append(l.heads, of+"low", of+"high", of+"standard_error")
		default:
			l.heads = append(l.heads, of+"standard_error")
		}
	}
}

// cells are those of a prediction, empty where there is no value.
func (l *lineWriter) cells(a saved.Answer) (cells []string) {
	if !l.wide {
		cells = append(cells, a.Name)
	}
	score := a.Scores[:max(1, len(l.Classes))]
	if l.Kind == data.Classification {
		p := make([]float64, max(2, len(l.Classes)))
		l.Probabilities(p, score)
		if l.Classes == nil {
			p = p[1:]
		}
		cells = append(cells, l.ClassesOf(a.Task)[data.ClassOf(score)])
		for _, v := range p {
			cells = append(cells, rounded(v, 6))
		}
		return cells
	}
	cells = append(cells, rounded(score[0], -1))
	if l.level > 0 {
		half := l.Interval(l.level) * a.Error
		cells = append(cells, rounded(score[0]-half, 8), rounded(score[0]+half, 8))
	}
	if a.Error == 0 {
		return append(cells, "")
	}
	return append(cells, rounded(a.Error, 4))
}

// rounded is a number of so many digits, or empty where it is undefined.
func rounded(v float64, digits int) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// text are the lines of a block, with so many predictions each.
func (l *lineWriter) text(b *saved.Block, each int) []byte {
	var text bytes.Buffer
	lines := csv.NewWriter(&text)
	for j := range b.Rows {
		var cells []string
		for _, c := range b.Carried {
			cells = append(cells, c.Texts[c.Text(j)])
		}
		for _, a := range b.Answers[j*each:][:each] {
			cells = append(cells, l.cells(a)...)
		}
		_ = lines.Write(cells) // a buffer has no errors
	}
	lines.Flush()
	return text.Bytes()
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
		return err
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
