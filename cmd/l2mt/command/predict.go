package command

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/format"
	"l2mt/data/table"
	"l2mt/model/multitask"
)

type predictCmd struct {
	File           string        `arg:"" help:"CSV or TSV file of rows to predict, or npz, or - for a table that comes in through stdin."`
	Model          string        `required:"" type:"path" help:"Directory that fit or infer saved a model to."`
	Task           string        `help:"Column that names the task of a row, or the name of one task for all rows. By default the column that named it in the tables fitted; where these had a target column for every task, every row gets a prediction for each."`
	NewTask        string        `enum:",mean" default:"" help:"\"mean\" predicts rows of tasks that the model does not know by the mean of all its tasks."`
	MissingColumns string        `enum:",mean,zero" default:"" help:"\"mean\" puts the mean of the tables fitted for columns that the table lacks, and 0 in columns of zeros and ones."`
	Header         format.Header `help:"Whether the table has a header, yes or no, if the first line does not say."`
	Format         format.Format `help:"csv or tsv, if the name does not say."`
	Out            string        `type:"path" help:"CSV file to write; by default stdout."`
	Workers        int           `help:"Blocks of rows at a time; 0 means one per CPU."`
}

func (c *predictCmd) Run(e *env) error {
	if info, err := os.Stat(c.Out); err == nil && info.IsDir() {
		return fmt.Errorf("--out=%s: it is a directory; give a file", c.Out)
	}
	model, err := multitask.Load(c.Model)
	if err != nil {
		return err
	}
	if kind, err := format.Of(c.File, c.Format); err == nil && kind == format.NPZ {
		return c.dataset(e, model)
	}
	rows, err := c.open(model)
	if err != nil {
		return err
	}
	defer rows.Close()
	// Blocks come and go, and little else is kept: a heap of some 50 MB instead of 4
	// saves a fifth of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	p, err := c.predictor(model, rows)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	return c.write(e, func(w io.Writer) error { return p.run(e, rows, w) })
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

// dataset predicts the rows of an npz, whose groups are tasks.
func (c *predictCmd) dataset(e *env, m *multitask.Saved) error {
	o := format.Options{Unlabelled: true}
	if _, err := m.Task(c.Task); err != nil && c.NewTask == "" {
		o.Group = c.Task
	}
	d, err := format.Read(c.File, o)
	if err != nil {
		return err
	}
	p := c.start(m)
	switch want := m.Recipe.Features(); {
	case d.X.Cols() != len(want):
		err = fmt.Errorf("%w: it has %d features, the model %d", data.ErrMismatch, d.X.Cols(), len(want))
	case d.Features != nil && !m.Recipe.ByPosition && !slices.Equal(d.Features, want):
		err = fmt.Errorf("%w: its features (%s) are not those of the model (%s)", data.ErrMismatch, few(d.Features), few(want))
	case d.Groups != nil:
		err = p.findTasks(c.Task, []string{cmp.Or(c.Task, m.Recipe.Task)})
	default:
		err = p.findTasks(c.Task, []string{})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if (d.Features == nil) != m.Recipe.ByPosition {
		e.remark("%s: features are matched by position, as only one of file and model names them", c.File)
	}
	return c.write(e, func(w io.Writer) error { return p.all(e, d, w) })
}

// all predicts the rows of a dataset, in order, some at a time.
func (p *predictor) all(e *env, d *data.Dataset, w io.Writer) error {
	if _, err := io.WriteString(w, p.header()); err != nil {
		return err
	}
	fresh := map[string]int{}
	const most = 4096
	for first := 0; first < d.X.Rows(); first += most {
		var rows []int
		b := predicted{fresh: fresh}
		for i := first; i < min(first+most, d.X.Rows()); i++ {
			rows = append(rows, i)
			if p.column >= 0 {
				if err := p.taskOf(&b, d.Groups[d.Group[i]]); err != nil {
					return fmt.Errorf("%s: row %d: %w", d.Name, i, err)
				}
			}
		}
		if p.predict(&b, d.X.Take(rows)); b.err != nil {
			return b.err
		}
		if _, err := w.Write(b.text); err != nil {
			return err
		}
		if err := e.Err(); err != nil {
			return err
		}
	}
	p.remark(e, nil, fresh)
	return nil
}

func (c *predictCmd) open(m *multitask.Saved) (*format.Rows, error) {
	o := format.Options{Header: c.Header, Format: c.Format, Group: cmp.Or(c.Task, m.Recipe.Task), Label: m.Recipe.Columns[0].Name}
	if c.File == "-" {
		return format.NewRows(os.Stdin, "stdin", o)
	}
	return format.OpenRows(c.File, o)
}

// predictor predicts blocks of rows.
type predictor struct {
	model   *multitask.Saved
	binding *table.Binding
	column  int            // of the task, -1 if all rows have the same tasks
	tasks   []int          // then these
	number  map[string]int // of a task by name
	mean    bool           // tasks that are not known are the Average
	fresh   string         // the one such task of all rows
	linear  map[int]multitask.Linear
	name    []string         // of every task, as a cell
	class   map[int][]string // of every task, as cells
	workers int
}

func (c *predictCmd) predictor(m *multitask.Saved, rows *format.Rows) (*predictor, error) {
	if rows.Width == 0 {
		return nil, fmt.Errorf("%w: it is empty; it needs a header", data.ErrInvalid)
	}
	p, names, err := c.start(m), rows.Names, error(nil)
	if p.binding, err = m.Recipe.Bind(names, rows.Width, c.MissingColumns != ""); err != nil {
		return nil, err
	}
	if names == nil {
		for j := range rows.Width {
			names = append(names, strconv.Itoa(j))
		}
	}
	return p, p.findTasks(c.Task, names)
}

// start is a predictor that does not know yet what the rows are.
func (c *predictCmd) start(m *multitask.Saved) *predictor {
	p := &predictor{model: m, column: -1, number: map[string]int{}, mean: c.NewTask != "", linear: map[int]multitask.Linear{}, class: map[int][]string{}, workers: c.Workers}
	if p.workers == 0 {
		p.workers = runtime.GOMAXPROCS(0)
	}
	for i, t := range m.Tasks {
		p.number[t.Name] = i
		p.name = append(p.name, cell(t.Name))
		p.know(i)
	}
	p.know(multitask.Average)
	return p
}

// know takes what predicts a task from the model.
func (p *predictor) know(i int) {
	p.linear[i] = p.model.Linear(i)
	for _, class := range p.model.ClassesOf(i) {
		p.class[i] = append(p.class[i], cell(class))
	}
}

// findTasks finds out which tasks the rows are of.
func (p *predictor) findTasks(asked string, names []string) error {
	m := p.model
	column := cmp.Or(asked, m.Recipe.Task)
	task, err := m.Task(asked)
	switch {
	case err == nil && column != m.Recipe.Task: // a target of the tables fitted may be a column too
		p.tasks = []int{task}
		return nil
	case column != "" && slices.Contains(names, column):
		p.column = slices.Index(names, column)
		if slices.Contains(names[p.column+1:], column) {
			return fmt.Errorf("%w: two columns are called %q, which names the task", data.ErrInvalid, column)
		}
		return nil
	case asked != "" && p.mean:
		p.tasks, p.fresh = []int{multitask.Average}, cell(asked)
		return nil
	case asked != "":
		return fmt.Errorf("--task=%s is no column, and %w; --new-task mean predicts others too", asked, err)
	}
	wide := !slices.ContainsFunc(m.Tasks, func(t multitask.SavedTask) bool { return !slices.Contains(m.Recipe.Targets, t.Name) })
	if wide || len(m.Tasks) == 1 {
		for i := range m.Tasks {
			p.tasks = append(p.tasks, i)
		}
		return nil
	}
	if m.Recipe.Task != "" {
		return fmt.Errorf("%w: there is no column %q, which names the tasks; give another with --task, or the name of one task", data.ErrMismatch, m.Recipe.Task)
	}
	return fmt.Errorf("%w: say with --task which task the rows are of, or which column names it; the model has %s", data.ErrMismatch, few(taskNames(m)))
}

// header is the first line of the predictions.
func (p *predictor) header() string {
	if p.column < 0 && len(p.tasks) > 1 {
		var names []string
		for _, i := range p.tasks {
			names = append(names, p.name[i])
			if p.model.Kind == data.Classification {
				names = append(names, cell(strings.TrimSpace("probability of "+p.model.Tasks[i].Name+" "+p.model.Tasks[i].Positive)))
			}
		}
		return strings.Join(names, ",") + "\n"
	}
	if p.model.Kind == data.Regression {
		return "task,prediction,standard_error\n"
	}
	if p.model.Classes != nil {
		return "task,prediction,probability\n"
	}
	positive := p.model.Tasks[0].Positive
	for _, t := range p.model.Tasks {
		if t.Positive != positive {
			return "task,prediction,probability of the positive class\n"
		}
	}
	return "task,prediction," + cell("probability of "+positive) + "\n"
}

// cell is a text as a cell of a CSV file.
func cell(text string) string {
	if strings.ContainsAny(text, "\",\n\r") || strings.TrimSpace(text) != text {
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return text
}

// predicted is what comes of a block.
type predicted struct {
	text   []byte
	rows   int
	unseen table.Unseen
	fresh  map[string]int // rows of tasks that the model does not know
	of     []int          // the task of every row
	names  []string       // its name, where the model does not know it
	err    error
}

// run predicts all rows, in order, several blocks at a time.
func (p *predictor) run(e *env, rows *format.Rows, w io.Writer) error {
	if _, err := io.WriteString(w, p.header()); err != nil {
		return err
	}
	report := e.reporter()
	report.Start("predicting", 0)
	defer report.Finish()
	queue, stop := make(chan chan predicted, p.workers), make(chan struct{})
	defer close(stop)
	go p.read(rows, queue, stop)
	unseen, fresh := table.Unseen{}, map[string]int{}
	for done := range queue {
		var b predicted
		select {
		case b = <-done:
		case <-e.Done():
			return e.Err()
		}
		if b.err != nil {
			return b.err
		}
		if _, err := w.Write(b.text); err != nil {
			return err
		}
		for level, n := range b.unseen {
			unseen[level] += n
		}
		for name, n := range b.fresh {
			fresh[name] += n
		}
		report.Advance(b.rows, "")
	}
	p.remark(e, unseen, fresh)
	return nil
}

// read passes blocks on, each to work of its own, until stop.
func (p *predictor) read(rows *format.Rows, queue chan<- chan predicted, stop <-chan struct{}) {
	defer close(queue)
	for {
		done := make(chan predicted, 1)
		select {
		case queue <- done:
		case <-stop:
			return
		}
		block, err := rows.Next()
		if err == io.EOF {
			done <- predicted{}
			return
		}
		if err != nil {
			done <- predicted{err: err}
			return
		}
		go func() { done <- p.block(rows, block) }()
	}
}

// remark says what the model did not know.
func (p *predictor) remark(e *env, unseen table.Unseen, fresh map[string]int) {
	for _, u := range slices.SortedFunc(maps.Keys(unseen), func(a, b table.UnseenLevel) int {
		return cmp.Or(unseen[b]-unseen[a], cmp.Compare(a.Column, b.Column), cmp.Compare(a.Level, b.Level))
	})[:min(5, len(unseen))] {
		e.remark("column %q: %d rows have the level %q, which the model has not seen; it counts for nothing", u.Column, unseen[u], u.Level)
	}
	if len(unseen) > 5 {
		e.remark("(and %d more such levels)", len(unseen)-5)
	}
	if len(fresh) > 0 {
		e.remark("rows of tasks that the model does not know were predicted by the mean of its tasks: %s", few(slices.Sorted(maps.Keys(fresh))))
	}
}

// block predicts the rows of a block.
func (p *predictor) block(rows *format.Rows, block *format.Block) (b predicted) {
	b.unseen, b.fresh = table.Unseen{}, map[string]int{}
	task := &format.Column{At: p.column, AsText: true}
	features := p.binding.Columns()
	lines, err := block.Into(append(features, task))
	if err != nil {
		b.err = err
		return b
	}
	value, row, err := p.binding.Features(features, len(lines), b.unseen)
	if err != nil {
		b.err = rows.Fault(lines[row], err)
		return b
	}
	for i := range task.Len() {
		if err := p.taskOf(&b, task.Texts[task.Text(i)]); err != nil {
			b.err = rows.Fault(lines[i], err)
			return b
		}
	}
	var x data.Matrix
	if x, b.err = data.NewDense(len(lines), p.model.Recipe.Width(), value); b.err == nil {
		p.predict(&b, x)
	}
	return b
}

// taskOf notes the task of the next row.
func (p *predictor) taskOf(b *predicted, name string) error {
	i, known := p.number[name]
	if !known {
		if !p.mean {
			_, err := p.model.Task(name)
			return fmt.Errorf("%w; --new-task mean predicts others too", err)
		}
		i = multitask.Average
		b.fresh[name]++
		b.names = append(b.names, name)
	}
	b.of = append(b.of, i)
	return nil
}

// predict writes down what becomes of rows whose tasks are noted.
func (p *predictor) predict(b *predicted, x data.Matrix) {
	b.rows = x.Rows()
	if x, b.err = p.model.Prepare(x); b.err != nil {
		return
	}
	if p.column < 0 {
		scores := make([][]float64, len(p.tasks))
		for k, i := range p.tasks {
			scores[k] = p.linear[i].Scores(x)
		}
		for j := range b.rows {
			for k, i := range p.tasks {
				if k > 0 {
					b.text = append(b.text, ',')
				}
				b.text = p.append(b.text, i, p.fresh, row(scores[k], j, b.rows), len(p.tasks) == 1)
			}
			b.text = append(b.text, '\n')
		}
		return
	}
	score, fresh := p.eachOfItsTask(x, b.of), b.names
	for j, i := range b.of {
		name := ""
		if i == multitask.Average {
			name, fresh = cell(fresh[0]), fresh[1:]
		}
		b.text = append(p.append(b.text, i, name, row(score, j, b.rows), true), '\n')
	}
}

// row is what stands for row j of n.
func row(scores []float64, j, n int) []float64 {
	k := len(scores) / n
	return scores[j*k:][:k]
}

// eachOfItsTask predicts every row by the weights of its task.
func (p *predictor) eachOfItsTask(x data.Matrix, of []int) []float64 {
	rows := map[int][]int{}
	for j, i := range of {
		rows[i] = append(rows[i], j)
	}
	score := make([]float64, len(of)*max(1, len(p.model.Classes)))
	for i, list := range rows {
		scores := p.linear[i].Scores(x.Take(list))
		for k, j := range list {
			copy(row(score, j, len(of)), row(scores, k, len(list)))
		}
	}
	return score
}

// append writes a prediction, with its task or without. A name is that of a task
// which the model does not know.
func (p *predictor) append(text []byte, i int, name string, score []float64, withTask bool) []byte {
	of := multitask.SavedTask{}
	if i != multitask.Average {
		name, of = p.name[i], p.model.Tasks[i]
	}
	if withTask {
		text = append(append(text, name...), ',')
	}
	if p.model.Kind == data.Classification {
		class := multitask.ClassOf(score)
		text = append(append(text, p.class[i][class]...), ',')
		return strconv.AppendFloat(text, p.model.Probability(score), 'g', 6, 64)
	}
	text = strconv.AppendFloat(text, score[0], 'g', -1, 64)
	if withTask {
		text = append(text, ',')
		if of.StandardError > 0 {
			text = strconv.AppendFloat(text, of.StandardError, 'g', 4, 64)
		}
	}
	return text
}
