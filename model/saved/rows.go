package saved

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"

	"l2mt/data"
	"l2mt/data/format"
	"l2mt/data/table"
)

// RowOptions say how the rows of a table are read, and how each names its task. The zero value
// gives columns the roles that they had in the tables fitted, and refuses a table that lacks one. Tags
// explain the fields, here and as flags of a command line.
type RowOptions struct {
	Task           string `help:"Column that names the task of each row, or the task of all rows. By default the fitted tables' task column; where each target was a task, each row is predicted for all tasks."`
	Target         string `help:"Column of the labels, where its name differs from the fitted tables'."`
	MissingColumns string `enum:",mean" default:"" help:"\"mean\" fills columns that the table lacks with their means in the fitted tables."`
	Workers        int    `help:"Number of blocks of rows predicted at the same time; 0 means one per CPU."`
	// Format is the format of the table. The fit names its labels and tasks.
	Format format.Options `embed:""`
}

// Rows are the rows of a table, read and predicted block by block, however many there are. A
// row has one prediction or, where nothing names its task, one for each of several tasks.
type Rows struct {
	// Fits predict the rows: the fit that reads them and, where there are labels, the fit beside
	// it.
	Fits []*Fit
	// Asked are the answers that every row has, without labels and scores. Where a column
	// names the task there is one, of the Average.
	Asked []Answer

	fit     *Fit
	o       RowOptions
	in      *format.Rows
	places  []int          // the columns that features are made of
	column  int            // the column that names the task of a row, or -1
	labels  []int          // the column of the label of each of Asked, or -1
	weight  int            // the column of how much a row counts, or -1
	carried []int          // columns that are carried along
	notes   map[string]int // notes for the user, each with its number of rows or cells
}

// Answer is a prediction of a row.
type Answer struct {
	Task   int // or the Average
	Name   string
	Label  float64   // what it should be, NaN where there is no label, or it counts nothing
	Weight float64   // how much the row counts
	Scores []float64 // as Predict returns them, by one of the Fits after the other
	Error  float64   // the standard error of a regression's prediction, 0 if unknown
}

// Block is some rows, with their predictions.
type Block struct {
	Rows    int
	Answers []Answer         // row by row, each as in Asked
	Carried []*format.Column // as text
	Text    []byte           // for what work makes of them
	x       data.Matrix      // the rows as the fit makes them
	notes   map[string]int
}

// ErrNoTask marks a table whose rows name no task.
var ErrNoTask = data.Mismatch("its rows name no task")

// OpenRows opens a CSV, TSV or Parquet file of rows to predict. Close the rows after use.
func (s *Fit) OpenRows(path string, o RowOptions) (r *Rows, err error) {
	r = &Rows{Fits: []*Fit{s}, fit: s, o: o,
		column: -1, notes: map[string]int{}}
	if o.Workers <= 0 {
		r.o.Workers = runtime.GOMAXPROCS(0)
	}
	o.Format.Group = cmp.Or(o.Task, s.Recipe.Task)
	o.Format.Label = s.Recipe.Columns[0].Name
	r.in, err = format.OpenRows(path, o.Format)
	if err != nil {
		return nil, err
	}
	if err := r.bind(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), r.Close())
	}
	return r, nil
}

// index finds tasks by their names and the keys of these.
func (s *Fit) index() {
	s.number = map[string]int{}
	for i, t := range s.Tasks {
		s.number[format.Key(t.Name)] = i
	}
	for i, t := range s.Tasks { // of tasks with one key each has its own name
		s.number[t.Name] = i
	}
}

// bind finds the columns.
func (r *Rows) bind() (err error) {
	if r.in.Width == 0 {
		return data.Invalid("it is empty; it needs a header")
	}
	if r.places, err = r.fit.Recipe.Bind(r.in.Names,
		r.in.Bare, r.o.MissingColumns == table.Mean); err != nil {
		return err
	}
	if err := r.findTasks(); err != nil {
		return err
	}
	for _, a := range r.Asked {
		label := r.o.Target
		targets := r.fit.Recipe.Targets
		if label == "" && len(targets) > 0 {
			label = targets[max(0, slices.Index(targets, a.Name))]
		}
		r.labels = append(r.labels, slices.Index(r.in.Names, label))
	}
	labelled := slices.Max(r.labels) >= 0
	r.weight = slices.Index(r.in.Names, r.fit.Recipe.Weight)
	if r.o.Target != "" && !labelled {
		return data.Mismatch("there is no column %q of labels", r.o.Target)
	}
	b := r.fit.Beside
	if b != nil && labelled {
		r.Fits = append(r.Fits, b)
		same := slices.Equal(b.TaskNames(), r.fit.TaskNames()) &&
			b.Kind == r.fit.Kind
		if !same || !slices.Equal(b.Classes, r.fit.Classes) {
			return data.Mismatch("the fit to compare with has other tasks or classes; both must be of the same tables")
		}
	}
	return nil
}

// findTasks finds out which tasks the rows are of.
func (r *Rows) findTasks() error {
	task := r.o.Task
	column := cmp.Or(r.o.Task, r.fit.Recipe.Task)
	number := r.fit.known(task)
	j := slices.Index(r.in.Names, column)
	switch {
	case number != Average && column != r.fit.Recipe.Task: // a target of the tables fitted may be a column too
		r.Asked = []Answer{{
			Task: number,
			Name: task,
		}}
	case column != "" && j >= 0:
		if slices.Contains(r.in.Names[j+1:], column) {
			return data.Invalid("two columns are called %q; only one may name the task", column)
		}
		r.column = j
		r.Asked = []Answer{{Task: Average}}
	case task != "":
		r.Asked = []Answer{{
			Task: Average,
			Name: task,
		}}
	case len(r.fit.Tasks) == 1 ||
		!slices.ContainsFunc(r.fit.Tasks, func(t Task) bool {
			return !slices.Contains(r.fit.Recipe.Targets, t.Name)
		}):
		for i, t := range r.fit.Tasks {
			r.Asked = append(r.Asked, Answer{
				Task: i,
				Name: t.Name,
			})
		}
	case r.fit.Recipe.Task != "":
		return fmt.Errorf("%w: there is no column %q; give another column, or the name of one task (--task)",
			ErrNoTask, r.fit.Recipe.Task)
	default:
		return fmt.Errorf("%w: give --task with one of the model's tasks, %s, or with a column that names them",
			ErrNoTask, format.Abridge(r.fit.TaskNames()))
	}
	return nil
}

// Close closes the file or stream of the rows.
func (r *Rows) Close() error {
	return r.in.Close()
}

// Carry carries a column along, by name or number.
func (r *Rows) Carry(column string) error {
	j, err := format.FindColumn(r.in.Names, column)
	r.carried = append(r.carried, j)
	return err
}

// Notes tell of how many rows or cells read so far the fit has not seen something, most
// first, and how the table is written where that was to be guessed.
func (r *Rows) Notes() (unseen []string, written string) {
	for _, note := range slices.SortedFunc(maps.Keys(r.notes),
		func(a, b string) int {
			return cmp.Or(r.notes[b]-r.notes[a], cmp.Compare(a, b))
		}) {
		unseen = append(unseen, fmt.Sprintf("%s: %d", note, r.notes[note]))
	}
	return unseen, r.in.Written()
}

// Each predicts all rows. It lets work, if there is any, finish several blocks at a time,
// and passes the blocks on in order, the same for any number of workers.
func (r *Rows) Each(ctx context.Context, work func(*Block), sink func(*Block) error) error {
	return format.Each(r.in, r.o.Workers,
		func(text *format.Block) (*Block, error) {
			b := &Block{notes: map[string]int{}}
			err := r.fill(b, text)
			if err == nil && work != nil {
				work(b)
			}
			return b, err
		}, func(b *Block) error {
			err := ctx.Err()
			if err != nil {
				return err
			}
			for note, n := range b.notes {
				r.notes[note] += n
			}
			return sink(b)
		})
}

// fill predicts the rows of a block of text.
func (r *Rows) fill(b *Block, text *format.Block) error {
	features := r.fit.Recipe.ColumnsAt(r.places)
	var labels []*format.Column
	tasks := &format.Column{
		At:     r.column,
		AsText: true,
	}
	for _, j := range r.labels {
		labels = append(labels, &format.Column{At: j})
	}
	weights := &format.Column{At: r.weight}
	for _, j := range r.carried {
		b.Carried = append(b.Carried, &format.Column{
			At:     j,
			AsText: true,
		})
	}
	lines, err := text.Into(slices.Concat(features, labels,
		b.Carried, []*format.Column{tasks, weights}))
	if err != nil || len(lines) == 0 {
		return err
	}
	b.Rows = len(lines)
	value, faults := r.fit.Recipe.Make(features, b.Rows, b.notes)
	if faults != nil {
		return r.in.Fault(lines[faults[0].Row], faults[0].Err)
	}
	substitute := "the mean of its tasks"
	if r.fit.Shared != nil {
		substitute = "what its tasks have in common"
	}
	for j := range b.Rows {
		for k, a := range r.Asked {
			if r.column >= 0 {
				a.Name = tasks.Texts[tasks.Text(j)]
				a.Task = r.fit.known(a.Name)
			}
			if a.Task == Average {
				b.notes[fmt.Sprintf("rows of the task %q, which the model does not know (they have %s)",
					a.Name, substitute)]++
			}
			a.Label = r.label(b, labels[k], j, a.Task)
			a.Weight = 1
			if r.weight >= 0 {
				a.Weight = weights.Label(j).Number
			}
			if !(a.Weight > 0) {
				a.Label = math.NaN()
			}
			b.Answers = append(b.Answers, a)
		}
	}
	x, err := data.NewDense(b.Rows, r.fit.Recipe.Width(), value)
	if err != nil {
		return err
	}
	return r.predict(b, x)
}

// known is the task of a name, spelt as in the tables fitted or nearly so, else the Average.
func (s *Fit) known(name string) int {
	for _, spelling := range []string{name, format.Key(name)} {
		task, known := s.number[spelling]
		if known {
			return task
		}
	}
	return Average
}

// label is what row j of a task should be, NaN where there is no label, or one that the model
// does not know.
func (r *Rows) label(b *Block, c *format.Column, j, task int) float64 {
	if c.At < 0 {
		return math.NaN()
	}
	l := c.Label(j)
	words := c.Text(j) >= 0
	number := format.FindName(r.fit.ClassesOf(task), l.String())
	switch {
	case words && r.fit.Recipe.IsMissing(l.Text):
	case r.fit.Kind == data.Regression && !words:
		return l.Number
	case number >= 0 && r.fit.Classes == nil:
		return float64(2*number - 1)
	case number >= 0:
		return float64(number)
	default:
		b.notes[fmt.Sprintf("rows with labels in column %q that the model does not know (they are not measured)",
			r.in.Names[c.At])]++
	}
	return math.NaN()
}

// farKernel is the value of a kernel with the nearest landmark below which a row is far from all.
const farKernel = 0.05

// predict scores the rows by every model, each by the weights of its task.
func (r *Rows) predict(b *Block, given data.Matrix) error {
	classes := max(1, len(r.fit.Classes))
	tasks := map[int][]int{} // the answers of a task
	for k, a := range b.Answers {
		tasks[a.Task] = append(tasks[a.Task], k)
	}
	for n, m := range r.Fits {
		x, strangers, err := m.Prepare(given)
		if err != nil {
			return err
		}
		if n == 0 {
			b.x = x
			columns := m.Recipe.Features()
			for j, count := range strangers {
				if count > 0 {
					b.notes[fmt.Sprintf("cells of column %q outside of the values that the model was fitted on (curves go on as straight lines there, and kernels add nothing)",
						columns[j])] += count
				}
			}
			landmarks := m.Recipe.Steps.Landmarks()
			if landmarks > 0 {
				kernel := x.Cols() - landmarks
				for i := range x.Rows() {
					if slices.Max(x.Row(i).Value[kernel:]) < farKernel {
						b.notes["rows far from all rows that the model was fitted on (its kernel adds nothing there)"]++
					}
				}
			}
		}
		for task, answers := range tasks {
			part := x
			if len(answers) < b.Rows { // a column names the task, and each row has one answer
				part = x.Take(answers)
			}
			scores := m.scores(task, part)
			if n == 0 && m.Kind == data.Regression {
				for i, v := range m.Deviations(task, part) {
					b.Answers[answers[i]].Error = v
				}
			}
			for i, k := range answers {
				b.Answers[k].Scores = append(b.Answers[k].Scores,
					scores[i*classes:][:classes]...)
			}
		}
	}
	return nil
}
