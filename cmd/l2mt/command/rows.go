package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"golang.org/x/sync/errgroup"

	"l2mt/data"
	"l2mt/data/format"
	"l2mt/data/table"
	"l2mt/model/saved"
)

// rowFlags say how the rows of a table are read, and of which task each is.
type rowFlags struct {
	Task           string `help:"Column that names the task of a row, or the name of one task for all rows. By default the column that named it in the tables fitted; where these had a target column for every task, every row is one of each."`
	NewTask        string `enum:",mean" default:"" help:"\"mean\" predicts rows of tasks that the model does not know by the mean of all its tasks."`
	Target         string `help:"Column of the labels, if it is not called as in the tables fitted."`
	MissingColumns string `enum:",mean" default:"" help:"\"mean\" puts the mean of the tables fitted for columns that the table lacks."`
	textFlags      `embed:""`
	Workers        int `help:"Blocks of rows at a time; 0 means one per CPU."`
}

// predictor predicts the rows of a table, block by block. A row has one prediction or, where
// nothing names its task, one for each of several tasks.
type predictor struct {
	rowFlags
	*saved.Fit              // what reads the rows
	models     []*saved.Fit // the same, and single-task learning if that is beside it
	rows       *format.Rows
	names      []string       // of the columns
	at         []int          // the columns that features are made of
	column     int            // the column that names the task of a row, or -1
	number     map[string]int // of a task by its name
	asked      []asked        // the predictions of a row
	carried    []int          // columns that are carried along
}

// asked is a prediction of every row.
type asked struct {
	task  int // which the Average stands for where a column names it
	name  string
	label int // the column of what it should be, or -1
}

// answer is a prediction of a row.
type answer struct {
	task   int // or the Average
	name   string
	y      float64   // what it should be, NaN where there is no label
	scores []float64 // by every model
}

// rowBlock is some rows, with what becomes of them.
type rowBlock struct {
	size    int
	answers []answer // row by row
	carried []*format.Column
	notes   map[string]int // what the user should know, of how many rows or cells
	text    []byte
	err     error
}

// loadPredictor opens a table, "-" for that of stdin, for a saved model.
func loadPredictor(dir, file string, f rowFlags) (*predictor, error) {
	models, err := loadBeside(dir)
	if err != nil {
		return nil, err
	}
	m := models[0]
	p := &predictor{rowFlags: f, Fit: m, models: models, column: -1, number: map[string]int{}}
	if p.Workers == 0 {
		p.Workers = runtime.GOMAXPROCS(0)
	}
	for i, t := range m.Tasks {
		p.number[t.Name] = i
	}
	o := f.options()
	o.IgnoreCase, o.Group, o.Label = m.Recipe.IgnoreCase, cmp.Or(f.Task, m.Recipe.Task), m.Recipe.Columns[0].Name
	if file == "-" {
		p.rows, err = format.NewRows(os.Stdin, "stdin", o)
	} else {
		p.rows, err = format.OpenRows(file, o)
	}
	if err != nil {
		return nil, err
	}
	if err := p.bind(); err != nil {
		p.rows.Close()
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !p.labelled() {
		p.models = models[:1]
	}
	return p, nil
}

// bind finds the columns.
func (p *predictor) bind() (err error) {
	if p.rows.Width == 0 {
		return fmt.Errorf("%w: it is empty; it needs a header", data.ErrInvalid)
	}
	if p.at, err = p.Recipe.Bind(p.rows.Names, p.rows.Width, p.MissingColumns != ""); err != nil {
		return err
	}
	if p.names = p.rows.Names; p.names == nil {
		p.names = format.Numbered(p.rows.Width)
	}
	if err := p.findTasks(); err != nil {
		return err
	}
	targets := p.Recipe.Targets
	for k, a := range p.asked {
		label := p.Target
		switch {
		case label != "" || len(targets) == 0:
		case slices.Contains(targets, a.name):
			label = a.name
		default:
			label = targets[0]
		}
		p.asked[k].label = slices.Index(p.names, label)
	}
	return nil
}

// findTasks finds out which tasks the rows are of.
func (p *predictor) findTasks() error {
	task := p.rowFlags.Task
	column := cmp.Or(task, p.Recipe.Task)
	number, unknown := p.Fit.Task(task)
	at := slices.Index(p.names, column)
	switch {
	case unknown == nil && column != p.Recipe.Task: // a target of the tables fitted may be a column too
		p.asked = []asked{{task: number, name: task}}
	case column != "" && at >= 0:
		if slices.Contains(p.names[at+1:], column) {
			return fmt.Errorf("%w: two columns are called %q, which names the task", data.ErrInvalid, column)
		}
		p.column, p.asked = at, []asked{{task: saved.Average}}
	case task != "" && p.NewTask != "":
		p.asked = []asked{{task: saved.Average, name: task}}
	case task != "":
		return fmt.Errorf("--task=%s is no column, and %w; --new-task mean predicts others too", task, unknown)
	case len(p.Tasks) == 1 || !slices.ContainsFunc(p.Tasks, func(t saved.Task) bool { return !slices.Contains(p.Recipe.Targets, t.Name) }):
		for i, t := range p.Tasks {
			p.asked = append(p.asked, asked{task: i, name: t.Name})
		}
	case p.Recipe.Task != "":
		return fmt.Errorf("%w: there is no column %q, which names the tasks; give another with --task, or the name of one task", data.ErrMismatch, p.Recipe.Task)
	default:
		return fmt.Errorf("%w: say with --task which task the rows are of, or which column names it; the model has %s", data.ErrMismatch, format.Abridge(taskNames(p.Fit)))
	}
	return nil
}

// labelled reports whether there are labels.
func (p *predictor) labelled() bool {
	return slices.ContainsFunc(p.asked, func(a asked) bool { return a.label >= 0 })
}

// mostNotes bounds the notes that are printed.
const mostNotes = 8

// run predicts all rows, several blocks at a time, lets work finish each block and passes the
// blocks on in order. Then it remarks what the model has not seen.
func (p *predictor) run(e *env, work func(*rowBlock), sink func(*rowBlock) error) error {
	// Blocks come and go, and little else is kept: a heap of some 50 MB instead of 4
	// saves a fifth of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	report := e.reporter()
	report.Start("predicting", 0)
	defer report.Finish()
	notes := map[string]int{}
	for more := true; more; {
		var blocks []*rowBlock
		var group errgroup.Group
		group.SetLimit(p.Workers)
		for more && len(blocks) < 4*p.Workers {
			text, err := p.rows.Next()
			if more = err == nil; err == io.EOF {
				break
			}
			b := &rowBlock{notes: map[string]int{}, err: err}
			blocks = append(blocks, b)
			group.Go(func() error {
				if b.err == nil {
					b.err = p.fill(b, text)
				}
				if b.err == nil {
					work(b)
				}
				return nil
			})
		}
		_ = group.Wait() // errors are those of the blocks, in order
		for _, b := range blocks {
			if err := cmp.Or(e.Err(), b.err); err != nil {
				return err
			}
			if err := sink(b); err != nil {
				return err
			}
			for note, n := range b.notes {
				notes[note] += n
			}
			report.Advance(b.size, "")
		}
	}
	most := slices.SortedFunc(maps.Keys(notes), func(a, b string) int { return cmp.Or(notes[b]-notes[a], cmp.Compare(a, b)) })
	for _, note := range most[:min(mostNotes, len(most))] {
		e.remark("%d %s", notes[note], note)
	}
	if len(most) > mostNotes {
		e.remark("(and %d more such notes)", len(most)-mostNotes)
	}
	if how := p.rows.Written(); how != "" {
		e.remark("%s (--separator, --decimal)", how)
	}
	return nil
}

// fill predicts the rows of a block of text.
func (p *predictor) fill(b *rowBlock, text *format.Block) error {
	features, labels, tasks := p.Recipe.ColumnsAt(p.at), []*format.Column(nil), &format.Column{At: p.column, AsText: true}
	for _, a := range p.asked {
		labels = append(labels, &format.Column{At: a.label})
	}
	for _, j := range p.carried {
		b.carried = append(b.carried, &format.Column{At: j, AsText: true})
	}
	lines, err := text.Into(slices.Concat(features, labels, b.carried, []*format.Column{tasks}))
	if err != nil || len(lines) == 0 {
		return err
	}
	b.size = len(lines)
	unseen := table.Unseen{}
	value, row, err := p.Recipe.Make(features, b.size, unseen)
	if err != nil {
		return p.rows.Fault(lines[row], err)
	}
	for u, n := range unseen {
		note := fmt.Sprintf("rows have the level %q in column %q, which the model has not seen; it counts for nothing", u.Level, u.Column)
		if u.Level == "" {
			note = fmt.Sprintf("rows have no value in column %q, where the tables fitted had one in every row; they have the mean", u.Column)
		}
		b.notes[note] = n
	}
	for j := range b.size {
		for k, a := range p.asked {
			if p.column >= 0 {
				a.name = tasks.Texts[tasks.Text(j)]
				if a.task, err = p.taskOf(b, a.name); err != nil {
					return p.rows.Fault(lines[j], err)
				}
			}
			b.answers = append(b.answers, answer{task: a.task, name: a.name, y: p.label(b, labels[k], j, a.task)})
		}
	}
	x, err := data.NewDense(b.size, p.Recipe.Width(), value)
	if err != nil {
		return err
	}
	return p.predict(b, x)
}

// taskOf finds the task of a name, or the Average where that stands for others.
func (p *predictor) taskOf(b *rowBlock, name string) (int, error) {
	i, known := p.number[name]
	switch {
	case known:
		return i, nil
	case p.NewTask == "":
		_, err := p.Fit.Task(name)
		return 0, fmt.Errorf("%w; --new-task mean predicts others too", err)
	}
	b.notes[fmt.Sprintf("rows are of the task %q, which the model does not know; they have the mean of its tasks", name)]++
	return saved.Average, nil
}

// label is what row j of a task should be, NaN where there is no label, or one that the model
// does not know.
func (p *predictor) label(b *rowBlock, c *format.Column, j, task int) float64 {
	if c.At < 0 {
		return math.NaN()
	}
	l, words := c.Label(j), c.Text(j) >= 0
	number := slices.Index(p.ClassesOf(task), l.String())
	switch {
	case words && p.Recipe.IsMissing(l.Text):
	case p.Kind == data.Regression && !words:
		return l.Number
	case number >= 0 && p.Classes == nil:
		return float64(2*number - 1)
	case number >= 0:
		return float64(number)
	default:
		b.notes[fmt.Sprintf("rows have labels in column %q that the model does not know; they are not measured", p.names[c.At])]++
	}
	return math.NaN()
}

// least is the value of a kernel with the nearest landmark below which a row is far from all.
const least = 0.05

// predict scores the rows by every model, each by the weights of its task.
func (p *predictor) predict(b *rowBlock, given data.Matrix) error {
	each := len(p.models) * max(1, len(p.Classes))
	room, of := make([]float64, each*len(b.answers)), map[int][]int{} // the answers of a task
	for k, a := range b.answers {
		b.answers[k].scores = room[k*each : k*each : (k+1)*each]
		of[a.task] = append(of[a.task], k)
	}
	for n, m := range p.models {
		x, outside, err := m.Prepare(given)
		if err != nil {
			return err
		}
		if n == 0 && outside > 0 {
			b.notes["cells are outside of the values that the model was fitted on, where curves go on straight and kernels end"] = outside
		}
		if last := len(m.Recipe.Steps) - 1; n == 0 && last >= 0 && m.Recipe.Steps[last].Landmarks != nil {
			for i := range x.Rows() {
				if slices.Max(x.Row(i).Value) < least {
					b.notes["rows are far from all that the model was fitted on; their predictions are next to the intercept"]++
				}
			}
		}
		for task, answers := range of {
			part := x
			if len(answers) < b.size {
				rows := make([]int, len(answers))
				for i, k := range answers {
					rows[i] = k / len(p.asked)
				}
				part = x.Take(rows)
			}
			scores := m.Linear(task).Scores(part)
			for i, k := range answers {
				n := len(scores) / len(answers)
				b.answers[k].scores = append(b.answers[k].scores, scores[i*n:][:n]...)
			}
		}
	}
	return nil
}
