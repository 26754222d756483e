package table

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/format"
)

// Options say what the columns of tables are. Columns are called by name, or by
// number from 0; lists of columns may have patterns, such as "tox*". Tags explain the fields,
// here and as flags of a command line.
type Options struct {
	Task           string    `help:"Column that names the task of each row. Without it each target is a task or, with several files, each file."`
	Targets        []string  `name:"target" help:"Columns of the labels, by name or pattern (tox*); a blank cell is a missing label. By default the column called label, class, y or target."`
	Validation     []string  `xor:"validation,group" type:"path" help:"Files of rows on which the model is chosen, in place of a cross-validation. In the end it is fitted on these rows too."`
	Group          []string  `xor:"group" help:"Columns that say which rows belong together, such as a patient. Folds hold out rows with the same values together, whatever their tasks."`
	Time           string    `xor:"group" help:"Column of the time of each row, a number or a date. Folds hold out later rows, so that errors and intervals hold for the future. The column stays a feature unless ignored."`
	Weight         string    `help:"Column of the weight of each row, 0 or more, in the fit, the folds and all errors. Rows of weight 0 are left out. The column is no feature."`
	Kind           data.Kind `enum:",classification,regression" default:"" help:"Kind of the labels, classification or regression. By default words are classes, and numbers if there are only two; other numbers are targets of a regression."`
	Positive       string    `help:"The positive one of two classes; by default the larger number, or the word later in the alphabet."`
	Ignore         []string  `help:"Columns to leave out, by name or pattern."`
	Categorical    []string  `help:"Columns whose values are categories, by name or pattern; * means all columns with words. By default columns of mostly words."`
	Strict         bool      `help:"Refuse words, dates and missing values in features. By default they become categories, numbers and means."`
	NA             []string  `name:"na" help:"Words that mark a missing value, besides empty cells; by default NA, N/A, #N/A, NaN, null, none and ?. With --na= only empty cells are missing values."`
	MissingColumns string    `enum:",mean" default:"" help:"\"mean\" fills a column that one of several files lacks with its mean."`
	Steps          []string  `name:"step" xor:"after" help:"Steps to apply to the features: standardise, unit, tfidf, or none. By default dense features of unlike scales are standardised."`
	SkipUnlabelled bool      `help:"Leave out rows without a label. With several targets a row may always lack some labels."`
	SkipTasks      bool      `help:"Leave out tasks with a single row or a single class, which learn from the other tasks alone."`
	// After is the recipe of an older model, which makes the features; nil for none.
	After *Recipe `kong:"-"`
	// Format is how the files are read. Its Label is the column or array of the labels, and
	// Task stands for its Group.
	Format format.Options `embed:""`
}

// Values of options.
const (
	Mean = "mean" // of MissingColumns
	None = "none" // of Steps
)

// Table is what comes of labelled tables.
type Table struct {
	// Problem has all labelled rows to train on, with the steps applied.
	Problem *data.ProblemData
	// Recipe makes such features of other rows.
	Recipe Recipe
	// Together has a number for every row of every task: the number of its group or, where
	// tasks are the targets of the same rows, of the row. Else it is nil.
	Together [][]int
	// Held are the rows of every task that come from files for validation,
	// nil if there are none.
	Held [][]int
	// Suspects are columns that may name together what rows repeat, nil if nobody need ask for a
	// group. Suspected has its number for every row of every task.
	Suspects  []string
	Suspected [][]int
	// Times say when the rows of every task are from, nil if no column does.
	Times [][]float64
	// Notes say what was decided or left out, a line each.
	Notes []string
}

// Read reads the tables that make one problem. Errors name the file, the line
// and the column.
func Read(paths []string, o Options) (*Table, error) {
	if len(paths) == 0 {
		return nil, data.Invalid("there are no files")
	}
	r := newReader(o)
	err := r.read(paths)
	if err == nil {
		err = r.build(paths)
	}
	return &r.Table, err
}

// read reads the rows of files, and leaves out rows that teach nothing.
func (r *reader) read(paths []string) error {
	kind, err := format.Of(paths[0], r.Format)
	if err == nil && kind.HasColumns() {
		err = r.readText(paths)
	} else if err == nil {
		err = r.readFrame(paths)
	}
	if err != nil {
		return err
	}
	r.labelled()
	r.date()
	if len(r.places) == 0 {
		return data.Invalid("%s: it has no labelled rows",
			strings.Join(paths, ", "))
	}
	return nil
}

// newReader has read nothing yet.
func newReader(o Options) *reader {
	r := &reader{Options: o, byName: map[string]*format.Column{},
		found: map[string]bool{}, dates: map[string]string{}}
	r.Recipe = Recipe{Task: o.Task, Time: o.Time, Group: o.Group, Weight: o.Weight,
		NA: o.NA, Strict: o.Strict}
	return r
}

// reader collects the rows of all files.
type reader struct {
	Options
	Table
	sheets   []sheet
	columns  []*format.Column          // all that are read, in the first of the files that has them
	byName   map[string]*format.Column // of features and targets
	features []*format.Column          // columns AsText are categories
	blurred  []string                  // columns that single precision is too little for
	found    map[string]bool           // columns of words that nobody called categories
	dates    map[string]string         // how columns of dates are written
	task     *format.Column            // names the task of a row; nil if none does
	groups   []*format.Column          // name together what belongs together
	time     *format.Column            // says when a row is from; nil if none does
	times    []float64                 // by it, of every row
	weight   *format.Column            // says how much a row counts; nil if none does
	weights  []float64                 // by it, of every row
	targets  []*target
	places   []place // of the rows
	perFile  bool    // every file is a task
	skipped  int     // rows without a label
	faults   []Fault // of all columns
	tasks    []*task
	classes  []string // where tasks have more than two
	x        data.Matrix
	frame    *format.Frame     // of a file that is not text, else nil
	flags    map[string]string // of a Dataset, by the flags that are fit's
}

// sheet is a file that has been read.
type sheet struct {
	path  string
	bare  bool            // without a header
	names map[string]bool // the names of its columns, but for ignored ones
}

// What columns may be.
const (
	isIgnored  = "ignored"
	isTarget   = "a target"
	isTask     = "the task"
	isGroup    = "the group"
	isTime     = "the time"
	isWeight   = "the weight"
	isCategory = "a category"
)

// place is where a row is. Lines count from 1; of a file without lines it is the row, from 0,
// negative.
type place struct{ sheet, line int }

// Fault is a fault of a column: of some rows, the first with the number Row, or of all of it
// where Row is negative.
type Fault struct {
	Row int
	Err error

	rows int
}

// add counts a row that has the fault.
func (f *Fault) add(row int, err error) {
	if f.rows == 0 {
		f.Row = row
		f.Err = err
	}
	f.rows++
}

// faulty names the faults of all columns, nil if there are none.
func (r *reader) faulty() error {
	var errs []error
	for _, f := range r.faults {
		if f.rows == 0 {
			continue
		}
		err := f.Err
		if f.rows > 1 {
			err = fmt.Errorf("%w (%d such rows)", err, f.rows)
		}
		if f.Row >= 0 {
			err = r.fault(f.Row, err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// fault says where an error is.
func (r *reader) fault(row int, err error) error {
	p := r.places[row]
	s := &r.sheets[p.sheet]
	if p.line <= 0 {
		return fmt.Errorf("%s: row %d: %w", s.path, -p.line, err)
	}
	if s.bare && p.line == 1 {
		err = fmt.Errorf("%w (if this line names the columns say --header yes)", err)
	}
	return fmt.Errorf("%s: line %d: %w", s.path, p.line, err)
}

// readText reads CSV and TSV files.
func (r *reader) readText(paths []string) error {
	if r.Format.Label != "" {
		r.Targets = []string{r.Format.Label}
	}
	r.task = r.owner(r.Task, true)
	r.time = r.owner(r.Time, false)
	r.weight = r.owner(r.Weight, false)
	for _, asked := range r.Group {
		r.groups = append(r.groups, r.owner(asked, true))
	}
	read := func() error {
		r.sheets = nil
		r.places = nil
		for _, c := range r.columns {
			*c = format.Column{
				Name:   c.Name,
				AsText: c.AsText,
				Joins:  true,
			}
		}
		for _, path := range slices.Concat(paths, r.Validation) {
			err := r.readSheet(path)
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := read()
	if err != nil {
		return err
	}
	err = r.align()
	if err != nil {
		return err
	}
	r.perFile = r.Task == "" && len(paths) > 1 && len(r.targets) == 1
	if r.perFile && len(r.Validation) > 0 {
		return data.Invalid("%s: it does not say which tasks its rows are of, as each file is a task; put the tasks into one file with a column that names them", r.Validation[0])
	}
	if r.findWords() {
		err := read()
		if err != nil { // numbers among words as they are written
			return err
		}
	}
	r.join()
	return nil
}

// owner is a column that says of words or numbers what a row belongs to, nil if none is asked for.
func (r *reader) owner(asked string, words bool) *format.Column {
	if asked == "" {
		return nil
	}
	c := &format.Column{
		Name:   asked,
		AsText: words && r.flags == nil,
		Joins:  true,
	}
	r.columns = append(r.columns, c)
	return c
}

// readSheet reads the rows of a file behind the rows of the files before. The names of columns that
// are asked for tell a header from a first row.
func (r *reader) readSheet(path string) error {
	o := r.Format
	o.Group = r.Task
	if len(r.Targets) > 0 {
		o.Label = r.Targets[0]
	}
	rows, err := format.OpenRows(path, o)
	if err != nil {
		return err
	}
	defer rows.Close()
	if rows.Width == 0 {
		return data.Invalid("%s: it is empty; it needs a header and rows", path)
	}
	written := rows.Written()
	if written != "" && len(r.sheets) == 0 {
		r.note("%s (--separator, --decimal)", written)
	}
	s := sheet{
		path:  path,
		bare:  rows.Bare,
		names: map[string]bool{},
	}
	names := rows.Names
	if len(r.sheets) > 0 && s.bare != r.sheets[0].bare {
		return data.Mismatch("%s: either it or %s has a header, and the other has none; give both a header, or neither",
			path, r.sheets[0].path)
	}
	if r.flags != nil {
		r.usual(names)
	}
	columns, err := r.columnsOf(s, names)
	if err != nil {
		return err
	}
	lines, err := rows.Read(columns)
	if err != nil {
		return err
	}
	for _, line := range lines {
		r.places = append(r.places, place{len(r.sheets), line})
	}
	r.sheets = append(r.sheets, s)
	for _, c := range r.columns {
		c.Pad(len(r.places))
	}
	return nil
}

// columnsOf finds the roles of the columns of a file, and returns the columns to read. The error has
// all faults.
func (r *reader) columnsOf(s sheet, names []string) (columns []*format.Column, err error) {
	fault := func(one error) {
		err = errors.Join(err, fmt.Errorf("%s: %w", s.path, one))
	}
	targets := r.Targets
	if j := format.FindUsual(names,
		format.LabelNames); len(targets) == 0 && j >= 0 {
		targets = names[j : j+1]
	} else if len(targets) == 0 {
		fault(data.Invalid("--target: no column is called label, class, y or target; name the column of the labels, one of %s",
			format.Abridge(names)))
	}
	roles := make([]string, len(names))
	give := func(flag, role string, owner *format.Column, asked ...string) {
		for _, pattern := range asked {
			if pattern == "" {
				continue
			}
			found, unknown := match(names, pattern, owner == nil)
			optional := role == isIgnored || role == isCategory // in further files
			if unknown != nil && !(optional && len(r.sheets) > 0) {
				fault(fmt.Errorf("--%s: %w", cmp.Or(r.flags[flag], flag), unknown))
			}
			for _, j := range found {
				if owner != nil {
					owner.At = j
					columns = append(columns, owner)
				}
				switch former := roles[j]; {
				case former == "" && role != isTime:
					roles[j] = role
				case role == isTime || role == isGroup: // its role stays
				case former == isIgnored && role == isTarget: // a pattern matches it
				default:
					fault(data.Invalid("column %q: it cannot be %s and %s", names[j], former, role))
				}
			}
		}
	}
	give("ignore", isIgnored, nil, r.Ignore...)
	give("task", isTask, r.task, r.Task)
	give("time", isTime, r.time, r.Time)
	give("weight", isWeight, r.weight, r.Weight)
	for _, c := range r.groups {
		give("group", isGroup, c, c.Name)
	}
	give("target", isTarget, nil, targets...)
	if !r.wordsAreCategories() {
		give("categorical", isCategory, nil, r.Categorical...)
	}
	count := map[string]int{}
	for j, name := range names {
		role := roles[j]
		switch count[role]++; {
		case role == isIgnored:
			continue
		case role == "" && name == "":
			fault(data.Invalid("column %d has no name, as columns of row numbers have none; name it, or leave it out with --ignore %d", j, j))
			continue
		case s.names[name]:
			fault(data.Invalid("two columns are called %q; rename one, or leave it out by its number with --ignore %d", name, j))
			continue
		}
		s.names[name] = true
		if role != isTask && role != isGroup && role != isWeight {
			c := r.column(name, role)
			c.At = j
			columns = append(columns, c)
		}
	}
	switch {
	case err != nil:
	case count[isTarget] == 0:
		fault(data.Invalid("the target is among the columns to --ignore; leave it out there"))
	case r.Task != "" && count[isTarget] > 1:
		fault(data.Invalid("a column names the task, and %d are targets; give one target", count[isTarget]))
	case count[""]+count[isCategory] == 0:
		fault(data.Invalid("no column is left for features; --ignore fewer"))
	}
	return columns, err
}

// column is the column of a name in all files. A new one has the rows before.
func (r *reader) column(name, role string) *format.Column {
	if c := r.byName[name]; c != nil {
		return c
	}
	c := &format.Column{
		Name:   name,
		AsText: role == isCategory,
		Joins:  true,
	}
	if r.After != nil {
		isText := func(older Column) bool {
			return older.Name == name && older.Levels != nil
		}
		c.AsText = slices.ContainsFunc(r.After.Columns, isText)
	}
	r.byName[name] = c
	r.columns = append(r.columns, c)
	if role == isTarget {
		r.target(c)
	} else {
		r.features = append(r.features, c)
	}
	c.Pad(len(r.places))
	return c
}

// align checks that all files have the same columns, by name.
func (r *reader) align() (err error) {
	for _, c := range r.features {
		var holder, lacks string // the first file
		for _, s := range r.sheets {
			if s.names[c.Name] {
				holder = cmp.Or(holder, s.path)
			} else {
				lacks = cmp.Or(lacks, s.path)
			}
		}
		if lacks != "" && r.MissingColumns == "" {
			err = errors.Join(err,
				data.Mismatch("%s: there is no column %q, which %s has (--missing-columns mean fills it in)", lacks, c.Name, holder))
		}
	}
	r.Recipe.ByPosition = r.sheets[0].bare
	if r.Recipe.ByPosition {
		r.note("no header: columns are known by their numbers, from 0, and matched by position")
	}
	return err
}

func (r *reader) note(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
	}
}

func (r *reader) wordsAreCategories() bool {
	return slices.Equal(r.Categorical, []string{"*"})
}

// labelled leaves out the rows without a label, if they may lack it, and rows of no weight.
// In the mean the others count 1.
func (r *reader) labelled() {
	var rows []int
	var missing, refused Fault
	for i := range r.places {
		weight, err := r.weightOf(i)
		labelled := slices.ContainsFunc(r.targets, func(t *target) bool {
			return !r.gap(t.Column, i)
		})
		switch {
		case err != nil:
			refused.add(i, err)
		case weight == 0:
		case labelled:
			rows = append(rows, i)
			r.weights = append(r.weights, weight)
		case len(r.targets) == 1 && !r.SkipUnlabelled:
			c := r.targets[0].Column
			missing.add(i,
				data.Invalid("column %q, the target: it is missing (%q); fill it in, leave such rows out with --skip-unlabelled, or say with --na what means missing",
					c.Name, c.Label(i).Text))
		}
	}
	floats.Scale(float64(len(rows))/floats.Sum(r.weights), r.weights)
	r.faults = append(r.faults, missing, refused)
	r.skipped = len(r.places) - len(rows)
	if r.skipped == 0 || missing.rows+refused.rows > 0 {
		return
	}
	r.places = data.Picked(r.places, rows)
	if r.x != nil {
		r.x = r.x.Take(rows)
	}
	for _, c := range r.columns {
		c.Keep(rows)
	}
}

// weightOf is how much a row counts.
func (r *reader) weightOf(row int) (float64, error) {
	if r.weight == nil {
		return 1, nil
	}
	l := r.weight.Label(row)
	if r.weight.Text(row) >= 0 ||
		!(l.Number >= 0 && l.Number <= math.MaxFloat32) {
		return 0, data.Invalid("column %q, the weight: it is %q; it must be a number of 0 or more",
			r.weight.Name, l)
	}
	return l.Number, nil
}

// gap reports whether a row has no value.
func (r *reader) gap(c *format.Column, row int) bool {
	k := c.Text(row)
	if k >= 0 {
		return r.Recipe.IsMissing(c.Texts[k])
	}
	return !c.AsText && math.IsNaN(c.Numbers[row])
}

// split makes the tasks of the rows.
func (r *reader) split() error {
	byName := map[string]*task{}
	add := func(name string, t *target) *task {
		if byName[name] == nil {
			byName[name] = &task{
				name:   name,
				target: t,
			}
			r.tasks = append(r.tasks, byName[name])
		}
		return byName[name]
	}
	if r.perFile {
		for i, s := range r.sheets {
			if add(baseName(s.path), r.targets[0]); len(r.tasks) == i {
				return data.Invalid("%s: two files make a task %q; give them different names",
					s.path, baseName(s.path))
			}
		}
	}
	for _, target := range r.targets {
		for i, p := range r.places {
			name := target.Name
			switch {
			case r.task != nil:
				name = r.task.Label(i).String()
			case r.perFile:
				name = r.tasks[p.sheet].name
			}
			t := add(name, target)
			if !r.gap(target.Column, i) {
				t.rows = append(t.rows, i)
			}
		}
	}
	return nil
}

// baseName is the name of a file without folders and endings.
func baseName(path string) string {
	name := filepath.Base(path)
	rest, _, _ := strings.Cut(name[1:], ".")
	return name[:1] + rest
}
