package command

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/format"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

type predictCmd struct {
	File     string `arg:"" help:"CSV or TSV file of rows to predict, or npz, or - for a table that comes in through stdin."`
	Model    string `required:"" type:"path" help:"Directory that fit or infer saved a model to."`
	rowFlags `embed:""`
	Interval float64  `help:"Adds columns low and high, between which a fresh row lies with this probability, 0.9 say; regression only."`
	Keep     []string `help:"Columns of the table to carry along, such as an id."`
	Out      string   `type:"path" help:"File to write, CSV or with --json JSON; by default stdout."`
}

func (c *predictCmd) Run(e *env) error {
	if info, err := os.Stat(c.Out); err == nil && info.IsDir() {
		return fmt.Errorf("--out=%s: it is a directory; give a file", c.Out)
	}
	models, err := loadBeside(c.Model)
	if err != nil {
		return err
	}
	if err := c.checkInterval(models[0]); err != nil {
		return err
	}
	p, err := newPredictor(c.File, c.rowFlags, models, "", false)
	if err != nil {
		return err
	}
	defer p.close()
	if !p.labelled() {
		p.models = models[:1]
	}
	l := &lineWriter{predictor: p, json: e.json, level: c.Interval}
	if err := l.keep(c.Keep); err != nil {
		return err
	}
	s := newScoring(p)
	if err := c.write(e, func(w io.Writer) error { return l.run(e, w, s) }); err != nil || !s.any() {
		return err
	}
	return s.print(e, c.Out != "")
}

func (c *predictCmd) checkInterval(m *saved.Fit) error {
	switch {
	case c.Interval == 0:
		return nil
	case !(c.Interval > 0 && c.Interval < 1):
		return fmt.Errorf("%w: --interval=%v: it must be between 0 and 1", errUsage, c.Interval)
	case m.Residuals == nil:
		return fmt.Errorf("--interval: %w: the model has no residuals of rows held out; classes have probabilities instead", data.ErrInvalid)
	case math.IsInf(m.Interval(0, c.Interval), 1):
		return fmt.Errorf("--interval=%v: %w: %d rows were held out, which tell %.2f at most", c.Interval, data.ErrInvalid, len(m.Residuals), 1-1/float64(len(m.Residuals)+1))
	}
	return nil
}

// write writes to the file that is asked for, or to stdout.
func (c *predictCmd) write(e *env, f func(w io.Writer) error) error {
	if c.Out != "" {
		var fault error // of what is read, not of the file that is written
		err := files.Write(c.Out, func(w io.Writer) error {
			fault = f(w)
			return fault
		})
		return cmp.Or(fault, err)
	}
	out := bufio.NewWriter(e.stdout)
	if err := f(out); err != nil {
		return err
	}
	return out.Flush()
}

// lineWriter writes predictions: CSV with a header, or an array of JSON objects.
type lineWriter struct {
	*predictor
	json  bool
	level float64 // of intervals, 0 for none
	kept  []string
}

// keep finds the columns that are carried along.
func (l *lineWriter) keep(asked []string) error {
	var names []string
	if l.rows != nil {
		if names = l.rows.Names; names == nil {
			names = format.Numbered(l.rows.Width)
		}
	}
	for _, name := range asked {
		j, err := format.FindColumn(names, name)
		if err != nil {
			return fmt.Errorf("%s: --keep: %w", l.file, err)
		}
		l.carried, l.kept = append(l.carried, j), append(l.kept, names[j])
	}
	return nil
}

// wide says that every row has a prediction for each of several tasks.
func (l *lineWriter) wide() bool { return l.column < 0 && len(l.tasks) > 1 }

// names are those of the cells of a line.
func (l *lineWriter) names() []string {
	m, names := l.models[0], slices.Clone(l.kept)
	if l.wide() {
		for _, i := range l.tasks {
			names = append(names, m.Tasks[i].Name)
			names = append(names, l.behind(m.Tasks[i].Name+" ", m.Tasks[i].Positive)...)
		}
		return names
	}
	positive := m.Tasks[0].Positive
	if slices.ContainsFunc(m.Tasks, func(t saved.Task) bool { return t.Positive != positive }) {
		positive = "the positive class"
	}
	names = append(append(names, "task", "prediction"), l.behind("", positive)...)
	if m.Kind == data.Regression {
		names = append(names, "standard_error")
	}
	return names
}

// behind names what stands behind a prediction.
func (l *lineWriter) behind(of, positive string) (names []string) {
	switch m := l.models[0]; {
	case m.Classes != nil:
		for _, class := range m.Classes {
			names = append(names, "probability of "+of+class)
		}
	case m.Kind == data.Classification:
		names = []string{"probability of " + of + positive}
	case l.level > 0:
		names = []string{of + "low", of + "high"}
	}
	return names
}

// run writes all rows, in order, and takes what they are for the scoring.
func (l *lineWriter) run(e *env, w io.Writer, s *scoring) error {
	names, first := l.names(), true
	if l.json {
		fmt.Fprint(w, "[")
	} else if err := csv.NewWriter(w).WriteAll([][]string{names}); err != nil {
		return err
	}
	err := l.predictor.run(e, func(b *rowBlock) { b.text = l.text(b, names) }, func(b *rowBlock) error {
		s.add(b)
		if l.json && first { // objects begin with a comma
			first, b.text = false, b.text[1:]
		}
		_, err := w.Write(b.text)
		return err
	})
	if l.json && err == nil {
		_, err = fmt.Fprint(w, "\n]\n")
	}
	return err
}

// text are the lines of a block.
func (l *lineWriter) text(b *rowBlock, names []string) []byte {
	var text bytes.Buffer
	lines := csv.NewWriter(&text)
	for j := range b.x.Rows() {
		var cells []string
		for k, c := range l.cells(b, j) {
			switch c := c.(type) {
			case json.Number:
				cells = append(cells, string(c))
			case string:
				cells = append(cells, c)
			default:
				cells = append(cells, "")
			}
			if l.json {
				name, _ := json.Marshal(names[k]) // texts and numbers have no errors
				value, _ := json.Marshal(c)
				cells[k] = fmt.Sprintf("%s:%s", name, value)
			}
		}
		if l.json {
			fmt.Fprintf(&text, ",\n{%s}", strings.Join(cells, ","))
		} else {
			_ = lines.Write(cells) // a buffer has no errors
		}
	}
	lines.Flush()
	return text.Bytes()
}

// number is a cell of so many digits, nil where it is not known.
func number(v float64, digits int) any {
	if math.IsNaN(v) {
		return nil
	}
	return json.Number(strconv.FormatFloat(v, 'g', digits, 64))
}

// cells are those of row j.
func (l *lineWriter) cells(b *rowBlock, j int) (cells []any) {
	m := l.models[0]
	for _, c := range b.carried {
		cells = append(cells, c.Texts[c.Text(j)])
	}
	for k, scores := range b.scores[0] {
		i, name, deviation := b.of[k][j], l.fresh, math.NaN()
		if b.names != nil {
			name = b.names[j]
		}
		if i != saved.Average {
			name = m.Tasks[i].Name
			if s := m.Tasks[i].StandardError; s > 0 {
				deviation = s
			}
		}
		if !l.wide() {
			cells = append(cells, name)
		}
		score := row(scores, j, b.x.Rows())
		if m.Kind == data.Classification {
			cells = append(cells, m.ClassesOf(i)[multitask.ClassOf(score)])
			p := make([]float64, max(2, len(m.Classes)))
			m.Probabilities(p, score)
			if m.Classes == nil {
				p = p[1:]
			}
			for _, v := range p {
				cells = append(cells, number(v, 6))
			}
			continue
		}
		cells = append(cells, number(score[0], -1))
		if l.level > 0 {
			half := m.Interval(i, l.level)
			cells = append(cells, number(score[0]-half, 8), number(score[0]+half, 8))
		}
		if !l.wide() {
			cells = append(cells, number(deviation, 4))
		}
	}
	return cells
}
