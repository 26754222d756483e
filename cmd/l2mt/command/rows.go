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
	Task           string        `help:"Column that names the task of a row, or the name of one task for all rows. By default the column that named it in the tables fitted; where these had a target column for every task, every row is one of each."`
	NewTask        string        `enum:",mean" default:"" help:"\"mean\" predicts rows of tasks that the model does not know by the mean of all its tasks."`
	MissingColumns string        `enum:",mean" default:"" help:"\"mean\" puts the mean of the tables fitted for columns that the table lacks."`
	Header         format.Header `help:"Whether the table has a header, yes or no, if the first line does not say."`
	Format         format.Format `help:"csv or tsv, if the name does not say."`
	cellFlags      `embed:""`
	Workers        int `help:"Blocks of rows at a time; 0 means one per CPU."`
}

// predictor predicts the rows of a table, block by block.
type predictor struct {
	rowFlags
	file    string
	models  []*saved.Fit   // of the same tasks and features; the first is asked about these
	number  map[string]int // of a task by name
	column  int            // of the task, -1 if all rows are of the same tasks
	tasks   []int          // then these
	fresh   string         // the one task of all rows that the model does not know
	targets []int          // the columns of the labels: one, or one for each of tasks; -1 if there is none
	strict  bool           // labels have to be such as the model knows
	carried []int          // columns that are carried along
	at      []int          // the columns that features are made of
	rows    *format.Rows   // the rows of a text, or
	dataset *data.Dataset
	taken   bool // the rows of dataset, which are one block
}

// rowBlock is some rows, with what becomes of them.
type rowBlock struct {
	block   *format.Block // the text, or nil of a dataset
	x       data.Matrix
	names   []string      // of the tasks of the rows, where a column has them
	of      [][]int       // of each prediction of a row: its task
	y       [][]float64   // likewise: what it is, NaN where that is not known
	scores  [][][]float64 // by each model, likewise: what it is predicted by
	carried []*format.Column
	unseen  table.Unseen
	outside int // cells that bent columns were not fitted on
	far     int // rows that no landmark of a kernel is near
	text    []byte
	err     error
}

// newPredictor opens a file of rows. Label names the column of the labels, if the models do
// not.
func newPredictor(file string, f rowFlags, models []*saved.Fit, label string, strict bool) (*predictor, error) {
	p := &predictor{rowFlags: f, file: file, models: models, column: -1, number: map[string]int{}, strict: strict}
	if p.Workers == 0 {
		p.Workers = runtime.GOMAXPROCS(0)
	}
	for i, t := range models[0].Tasks {
		p.number[t.Name] = i
	}
	var err error
	if kind, unknown := format.Of(file, f.Format); unknown == nil && kind == format.NPZ {
		err = p.openDataset()
	} else {
		err = p.openText(label)
	}
	return p, err
}

func (p *predictor) close() {
	if p.rows != nil {
		p.rows.Close()
	}
}

// openText opens a CSV or TSV file, or stdin.
func (p *predictor) openText(label string) (err error) {
	m := p.models[0]
	o := format.Options{Header: p.Header, Format: p.Format, Separator: p.Separator, Decimal: p.Decimal, IgnoreCase: m.Recipe.IgnoreCase, Group: cmp.Or(p.Task, m.Recipe.Task), Label: m.Recipe.Columns[0].Name}
	if p.file == "-" {
		p.rows, err = format.NewRows(os.Stdin, "stdin", o)
	} else {
		p.rows, err = format.OpenRows(p.file, o)
	}
	if err != nil {
		return err
	}
	names := p.rows.Names
	if p.rows.Width == 0 {
		err = fmt.Errorf("%w: it is empty; it needs a header", data.ErrInvalid)
	} else if p.at, err = m.Recipe.Bind(names, p.rows.Width, p.MissingColumns != ""); err == nil {
		if names == nil {
			names = format.Numbered(p.rows.Width)
		}
		err = p.findTasks(names)
		p.findLabels(names, label)
	}
	if err != nil {
		p.rows.Close()
		return fmt.Errorf("%s: %w", p.file, err)
	}
	return nil
}

// findLabels finds the columns of the labels, if they are there.
func (p *predictor) findLabels(names []string, asked string) {
	recipe := &p.models[0].Recipe
	tasks := p.tasks
	if p.column >= 0 {
		tasks = []int{saved.Average}
	}
	for _, i := range tasks {
		label := asked
		switch {
		case asked != "" || len(recipe.Targets) == 0:
		case i != saved.Average && slices.Contains(recipe.Targets, p.models[0].Tasks[i].Name):
			label = p.models[0].Tasks[i].Name
		default:
			label = recipe.Targets[0]
		}
		p.targets = append(p.targets, slices.Index(names, label))
	}
}

// labelled says that there are labels.
func (p *predictor) labelled() bool {
	return slices.ContainsFunc(p.targets, func(j int) bool { return j >= 0 })
}

// openDataset reads an npz, whose groups are tasks.
func (p *predictor) openDataset() error {
	m := p.models[0]
	o := format.Options{Unlabelled: true}
	if _, err := m.Task(p.Task); err != nil && p.NewTask == "" {
		o.Group = p.Task
	}
	d, err := format.Read(p.file, o)
	if err != nil {
		return err
	}
	p.dataset = d
	names := []string{}
	if d.Groups != nil {
		names = append(names, cmp.Or(p.Task, m.Recipe.Task))
	}
	switch want := m.Recipe.Features(); {
	case d.X.Cols() != len(want):
		err = fmt.Errorf("%w: it has %d features, the model %d", data.ErrMismatch, d.X.Cols(), len(want))
	case d.Features != nil && !m.Recipe.ByPosition && !slices.Equal(d.Features, want):
		err = fmt.Errorf("%w: its features (%s) are not those of the model (%s)", data.ErrMismatch, few(d.Features), few(want))
	default:
		err = p.findTasks(names)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.file, err)
	}
	return nil
}

// findTasks finds out which tasks the rows are of.
func (p *predictor) findTasks(names []string) error {
	m, asked := p.models[0], p.Task
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
	case asked != "" && p.NewTask != "":
		p.tasks, p.fresh = []int{saved.Average}, asked
		return nil
	case asked != "":
		return fmt.Errorf("--task=%s is no column, and %w; --new-task mean predicts others too", asked, err)
	}
	wide := !slices.ContainsFunc(m.Tasks, func(t saved.Task) bool { return !slices.Contains(m.Recipe.Targets, t.Name) })
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

// run predicts all rows, several blocks at a time, finishes each block by work and passes
// the blocks on in order.
func (p *predictor) run(e *env, work func(*rowBlock), done func(*rowBlock) error) error {
	// Blocks come and go, and little else is kept: a heap of some 50 MB instead of 4
	// saves a fifth of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	report := e.reporter()
	report.Start("predicting", 0)
	defer report.Finish()
	unseen, fresh := table.Unseen{}, map[string]int{}
	outside, far := 0, 0
	for more := true; more; {
		var blocks []*rowBlock
		var group errgroup.Group
		group.SetLimit(p.Workers)
		for len(blocks) < 4*p.Workers && more {
			b := p.next()
			if more = b.err == nil; b.err == io.EOF {
				break
			}
			blocks = append(blocks, b)
			group.Go(func() error {
				p.fill(b, work)
				return nil
			})
		}
		_ = group.Wait() // errors are those of the blocks, in order
		for _, b := range blocks {
			if err := cmp.Or(e.Err(), b.err); err != nil {
				return err
			}
			if b.x == nil { // blank lines
				continue
			}
			if err := done(b); err != nil {
				return err
			}
			outside, far = outside+b.outside, far+b.far
			for level, n := range b.unseen {
				unseen[level] += n
			}
			for j, name := range b.names {
				if b.of[0][j] == saved.Average {
					fresh[name]++
				}
			}
			report.Advance(b.x.Rows(), "")
		}
	}
	if outside > 0 {
		e.remark("%d cells are outside of the values that the model was fitted on, where curves go on straight and kernels end", outside)
	}
	if far > 0 {
		e.remark("%d rows are far from all that the model was fitted on: their predictions are next to the intercept", far)
	}
	p.remark(e, unseen, fresh)
	return nil
}

// near is the least value of a kernel with some landmark that tells something of a row.
const near = 0.05

// far counts the rows that no landmark of a kernel is near.
func far(m *saved.Fit, made data.Matrix) (n int) {
	if last := len(m.Recipe.Steps) - 1; last < 0 || m.Recipe.Steps[last].Landmarks == nil {
		return 0
	}
	for i := range made.Rows() {
		if slices.Max(made.Row(i).Value) < near {
			n++
		}
	}
	return n
}

// next is the next block, which has not been looked at.
func (p *predictor) next() *rowBlock {
	b := &rowBlock{unseen: table.Unseen{}}
	switch {
	case p.rows != nil:
		b.block, b.err = p.rows.Next()
	case p.taken:
		b.err = io.EOF
	}
	p.taken = true
	return b
}

// fill predicts the rows of a block.
func (p *predictor) fill(b *rowBlock, work func(*rowBlock)) {
	switch {
	case b.err != nil:
	case b.block != nil:
		b.err = p.parse(b)
	default:
		b.err = p.take(b)
	}
	if b.err == nil && b.x != nil {
		if b.err = p.predict(b); b.err == nil {
			work(b)
		}
	}
}

// remark says what the model did not know.
func (p *predictor) remark(e *env, unseen table.Unseen, fresh map[string]int) {
	for _, u := range slices.SortedFunc(maps.Keys(unseen), func(a, b table.UnseenLevel) int {
		return cmp.Or(unseen[b]-unseen[a], cmp.Compare(a.Column, b.Column), cmp.Compare(a.Level, b.Level))
	})[:min(5, len(unseen))] {
		if u.Level == "" {
			e.remark("column %q: %d rows have no value, as none had in the tables fitted; they have the mean", u.Column, unseen[u])
			continue
		}
		e.remark("column %q: %d rows have the level %q, which the model has not seen; it counts for nothing", u.Column, unseen[u], u.Level)
	}
	if len(unseen) > 5 {
		e.remark("(and %d more such levels)", len(unseen)-5)
	}
	if len(fresh) > 0 {
		e.remark("rows of tasks that the model does not know were predicted by the mean of its tasks: %s", few(slices.Sorted(maps.Keys(fresh))))
	}
	if p.rows != nil && p.rows.Written() != "" {
		e.remark("%s (--separator, --decimal)", p.rows.Written())
	}
	if m := p.models[0]; p.dataset != nil && (p.dataset.Features == nil) != m.Recipe.ByPosition {
		e.remark("%s: features are matched by position, as only one of file and model names them", p.file)
	}
}

// parse makes rows of a block of text.
func (p *predictor) parse(b *rowBlock) error {
	features, labels, tasks := p.models[0].Recipe.ColumnsAt(p.at), []*format.Column(nil), &format.Column{At: p.column, AsText: true}
	for _, j := range p.targets {
		labels = append(labels, &format.Column{At: j})
	}
	for _, j := range p.carried {
		b.carried = append(b.carried, &format.Column{At: j, AsText: true})
	}
	lines, err := b.block.Into(slices.Concat(features, labels, b.carried, []*format.Column{tasks}))
	if err != nil || len(lines) == 0 {
		return err
	}
	for j := range tasks.Len() {
		b.names = append(b.names, tasks.Texts[tasks.Text(j)])
	}
	value, row, err := p.models[0].Recipe.Make(features, len(lines), b.unseen)
	if err == nil {
		row, err = p.tasksOf(b, len(lines))
	}
	for k := 0; k < len(labels) && err == nil; k++ {
		row, err = p.labels(b, k, labels[k])
	}
	if err != nil {
		return p.rows.Fault(lines[row], err)
	}
	b.x, err = data.NewDense(len(lines), p.models[0].Recipe.Width(), value)
	return err
}

// take takes the rows of a dataset.
func (p *predictor) take(b *rowBlock) error {
	d := p.dataset
	for i := 0; i < d.X.Rows() && p.column >= 0; i++ {
		b.names = append(b.names, d.Groups[d.Group[i]])
	}
	if row, err := p.tasksOf(b, d.X.Rows()); err != nil {
		return fmt.Errorf("%s: row %d: %w", d.Name, row, err)
	}
	b.x = d.X
	return nil
}

// tasksOf finds the tasks of n rows. An error is one of the row.
func (p *predictor) tasksOf(b *rowBlock, n int) (row int, err error) {
	for _, i := range p.tasks {
		b.of = append(b.of, slices.Repeat([]int{i}, n))
	}
	if p.column < 0 {
		return 0, nil
	}
	b.of = [][]int{make([]int, n)}
	for j, name := range b.names {
		i, known := p.number[name]
		if !known && p.NewTask == "" {
			_, err := p.models[0].Task(name)
			return j, fmt.Errorf("%w; --new-task mean predicts others too", err)
		}
		if !known {
			i = saved.Average
		}
		b.of[0][j] = i
	}
	return 0, nil
}

// labels notes what the rows of the k-th task are.
func (p *predictor) labels(b *rowBlock, k int, c *format.Column) (row int, err error) {
	m, y := p.models[0], make([]float64, c.Len())
	for j := range y {
		l := c.Label(j)
		y[j] = math.NaN()
		if c.Text(j) >= 0 && m.Recipe.IsMissing(l.Text) {
			continue
		}
		classes := m.ClassesOf(b.of[k][j])
		number := slices.Index(classes, l.String())
		switch {
		case m.Kind == data.Regression && l.Text == "":
			y[j] = l.Number
		case m.Kind == data.Regression && p.strict:
			return j, fmt.Errorf("the target %q: %w: it is not a number", l.Text, data.ErrFormat)
		case number >= 0 && m.Classes == nil:
			y[j] = float64(2*number - 1)
		case number >= 0:
			y[j] = float64(number)
		case p.strict:
			return j, fmt.Errorf("the class %q: %w: the model knows %s", l, data.ErrMismatch, few(classes))
		}
	}
	b.y = append(b.y, y)
	return 0, nil
}

// predict scores the rows by every model: each by the weights of its task.
func (p *predictor) predict(b *rowBlock) error {
	for k, m := range p.models {
		x, outside, err := m.Prepare(b.x)
		if err != nil {
			return err
		}
		if k == 0 {
			b.outside, b.far = outside, far(m, x)
		}
		var all [][]float64
		for _, of := range b.of {
			rows := map[int][]int{}
			for j, i := range of {
				rows[i] = append(rows[i], j)
			}
			score := make([]float64, len(of)*max(1, len(m.Classes)))
			for i, list := range rows {
				part := x
				if len(list) < len(of) {
					part = x.Take(list)
				}
				scores := m.Linear(i).Scores(part)
				for k, j := range list {
					copy(row(score, j, len(of)), row(scores, k, len(list)))
				}
			}
			all = append(all, score)
		}
		b.scores = append(b.scores, all)
	}
	return nil
}

// row is what stands for row j of n.
func row(scores []float64, j, n int) []float64 {
	k := len(scores) / n
	return scores[j*k:][:k]
}
