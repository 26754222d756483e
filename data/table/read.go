package table

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"l2mt/data"
	"l2mt/data/format"
)

// Options say what the columns of tables are. Columns are called by name, or by
// number from 0; lists of columns may have patterns, such as "tox*".
type Options struct {
	// Task is the column that names the task of a row. Without it every target
	// is a task or, if there are several files, every file.
	Task string
	// Targets are the columns of the labels. If empty, the column called label,
	// class, y or target.
	Targets []string
	// Validation are more files, whose rows are for validation.
	Validation []string
	// Group is a column of what belongs together: rows with the same value.
	Group string
	// Kind is the kind of the tasks. If empty the labels decide: words and pairs
	// of numbers are classes, other numbers are targets of a regression.
	Kind data.Kind
	// Positive names the class that is +1. If empty it is the second of the two,
	// where numbers are in order and words in that of the alphabet.
	Positive string
	// Ignore are columns to leave out.
	Ignore []string
	// Categorical are columns of categories. "*" alone means every column that
	// has a word in it.
	Categorical []string
	// Impute is what becomes of missing values: Mean, or if empty an error.
	Impute string
	// MissingColumns is what becomes of columns that one of several files lacks:
	// Zero, or if empty an error.
	MissingColumns string
	// Steps are applied to the features: kinds as of data.FitStep, or None. If
	// empty, dense features of unlike scales are standardised.
	Steps []string
	// SkipUnlabelled leaves out rows whose one target is missing, which are
	// errors otherwise. Among several targets some may always be missing.
	SkipUnlabelled bool
	// SkipTasks leaves out tasks that cannot be learned: with a single row, or
	// with one class.
	SkipTasks bool
	// Format says how the files are read. What it says of labels, groups and
	// kinds is used for formats that are not text.
	Format format.Options
}

// Values of options.
const (
	Mean = "mean" // of Impute
	Zero = "zero" // of MissingColumns
	None = "none" // of Steps
)

// Table is what comes of labelled tables.
type Table struct {
	// Problem has all labelled rows to train on, with the steps applied.
	Problem *data.ProblemData
	// Recipe makes such features of other rows.
	Recipe Recipe
	// Together has a number for every row of every task: that of its group or, where
	// tasks are the targets of the same rows, of the row. Else it is nil.
	Together [][]int
	// Held are the rows of every task that come from files for validation,
	// nil if there are none.
	Held [][]int
	// Notes say what was decided or left out, a line each.
	Notes []string
}

// Read reads the tables that make one problem. Errors name the file, the line
// and the column.
func Read(paths []string, o Options) (*Table, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("table: %w: there are no files", data.ErrInvalid)
	}
	r := &reader{Options: o, targets: map[string]*target{}}
	var err error
	if texts, err2 := areText(slices.Concat(paths, o.Validation), o.Format.Format); err2 != nil {
		return nil, err2
	} else if texts {
		err = r.readText(paths)
	} else {
		err = r.readDatasets(paths)
	}
	if err == nil {
		err = r.build(paths)
	}
	if err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	return &r.Table, nil
}

func (o *Options) validate() error {
	for _, v := range []struct{ what, is, may string }{
		{"--impute", o.Impute, Mean}, {"--missing-columns", o.MissingColumns, Zero},
	} {
		if v.is != "" && v.is != v.may {
			return fmt.Errorf("%s: %q: %w: it is %q or empty", v.what, v.is, data.ErrInvalid, v.may)
		}
	}
	if !slices.Contains([]data.Kind{"", data.Classification, data.Regression}, o.Kind) {
		return fmt.Errorf("--kind: %q: %w: it is %s or %s", o.Kind, data.ErrInvalid, data.Classification, data.Regression)
	}
	return nil
}

// areText tells text tables from other datasets, which are not read together.
func areText(paths []string, asked format.Format) (bool, error) {
	texts := 0
	for _, path := range paths {
		kind, err := format.Of(path, asked)
		if err != nil {
			return false, fmt.Errorf("table: %w", err)
		}
		if kind == format.CSV || kind == format.TSV {
			texts++
		}
	}
	if texts != 0 && texts != len(paths) {
		return false, fmt.Errorf("table: %w: some files are text tables, others are not; give files of one format", data.ErrMismatch)
	}
	return texts > 0, nil
}

// reader collects the rows of all files.
type reader struct {
	Options
	Table
	sheets  []sheet
	columns []column
	value   []float32 // rows x columns; NaN where missing, levels by number
	rows    int
	group   []int          // of every row
	groups  map[string]int // their numbers
	first   int            // the first row for validation
	classes []string       // where tasks have more than two
	skipped int            // rows without a label
	grouped bool           // tasks have come with the rows
	tasks   []*labels
	byName  map[string]*labels
	targets map[string]*target

	x data.Matrix
}

// column is a column that becomes features.
type column struct {
	name   string
	levels map[string]int32 // nil for numbers
}

// sheet is a file and where its columns are.
type sheet struct {
	path     string
	names    []string
	bare     bool // without a header
	task     int  // -1 if there is none
	group    int  // likewise
	targets  []int
	category []int
	features []int // of the reader's columns, -1 where the file lacks one
	labels   []*labels
}

// taskPerFile reports whether every file is a task.
func (r *reader) taskPerFile() bool {
	return r.Task == "" && len(r.sheets)-len(r.Validation) > 1 && len(r.sheets[0].targets) == 1
}

// readText reads CSV and TSV files: first all headers, then all rows.
func (r *reader) readText(paths []string) error {
	for _, path := range slices.Concat(paths, r.Validation) {
		s, err := r.header(path)
		if err != nil {
			return err
		}
		r.sheets = append(r.sheets, s)
	}
	if r.taskPerFile() && len(r.Validation) > 0 {
		return fmt.Errorf("%s: %w: every file is a task, so that it does not say of which its rows are; put the tasks into one file with a column that names them", r.Validation[0], data.ErrInvalid)
	}
	if err := r.align(); err != nil {
		return err
	}
	if r.wordsAreCategories() {
		if err := r.words(); err != nil {
			return err
		}
	}
	if err := r.startTasks(); err != nil {
		return err
	}
	r.groups = map[string]int{}
	for i := range r.sheets {
		if i == len(paths) {
			r.first = r.rows
		}
		if err := r.sheet(&r.sheets[i], r.row); err != nil {
			return err
		}
	}
	if r.rows == 0 {
		return fmt.Errorf("%s: %w: it has no labelled rows", strings.Join(paths, ", "), data.ErrInvalid)
	}
	return nil
}

// open opens a file; the names of columns that are asked for tell a header from
// a first row.
func (r *reader) open(path string) (*format.Rows, error) {
	o := r.Format
	o.Group, o.Label = r.Task, ""
	if len(r.Targets) > 0 {
		o.Label = r.Targets[0]
	}
	return format.OpenRows(path, o)
}

// header reads what the first line of a file says.
func (r *reader) header(path string) (s sheet, err error) {
	rows, err := r.open(path)
	if err != nil {
		return s, err
	}
	defer rows.Close()
	if rows.Width == 0 {
		return s, fmt.Errorf("%s: %w: it is empty; it needs a header and rows", path, data.ErrInvalid)
	}
	s = sheet{path: path, names: rows.Names, bare: rows.Names == nil, task: -1, group: -1}
	if s.bare {
		s.names = numbered(rows.Width)
	}
	if err := r.roles(&s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// usualTargets are what labels are called.
var usualTargets = []string{"label", "class", "y", "target"}

// roles finds the columns of a file that are not features.
func (r *reader) roles(s *sheet) (err error) {
	if r.Task != "" {
		if s.task, err = find(s.names, r.Task); err != nil {
			return fmt.Errorf("--task: %w", err)
		}
	}
	if r.Group != "" {
		if s.group, err = find(s.names, r.Group); err != nil {
			return fmt.Errorf("--group: %w", err)
		}
	}
	if len(r.Targets) > 0 {
		s.targets, err = match(s.names, r.Targets)
	} else {
		err = fmt.Errorf("%w: no column is called label, class, y or target, so say which it is; there are %s", data.ErrInvalid, abridge(s.names))
		for _, usual := range usualTargets {
			if j := slices.IndexFunc(s.names, func(n string) bool { return strings.EqualFold(n, usual) }); j >= 0 {
				s.targets, err = []int{j}, nil
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("--target: %w", err)
	}
	ignored, err := match(s.names, r.Ignore)
	if err != nil && len(r.sheets) == 0 { // another file need not have it
		return fmt.Errorf("--ignore: %w", err)
	}
	if !r.wordsAreCategories() {
		if s.category, err = match(s.names, r.Categorical); err != nil && len(r.sheets) == 0 {
			return fmt.Errorf("--categorical: %w", err)
		}
	}
	ignore := among(ignored, s.names)
	s.targets = slices.DeleteFunc(s.targets, func(j int) bool { return ignore[j] })
	switch {
	case len(s.targets) == 0:
		return fmt.Errorf("%w: the target is ignored", data.ErrInvalid)
	case slices.Contains(s.targets, s.group):
		return fmt.Errorf("column %q: %w: it cannot be the group and a target", s.names[s.group], data.ErrInvalid)
	case slices.Contains(s.targets, s.task) || slices.Contains(ignored, s.task):
		return fmt.Errorf("column %q: %w: it cannot name the task and be a target, or ignored", s.names[s.task], data.ErrInvalid)
	case r.Task != "" && len(s.targets) > 1:
		return fmt.Errorf("%w: a column names the task, and %d are targets; give one target", data.ErrInvalid, len(s.targets))
	}
	target, category, named := among(s.targets, s.names), among(s.category, s.names), map[string]bool{}
	for j, name := range s.names {
		feature := j != s.task && j != s.group && !target[j] && !ignore[j]
		switch {
		case category[j] && !feature:
			return fmt.Errorf("column %q: %w: it is no feature and cannot be categorical: it is the task, the group, a target, or ignored", name, data.ErrInvalid)
		case ignore[j]:
			continue
		case feature && name == "":
			return fmt.Errorf("%w: column %d has no name, as if it were the numbers of the rows; name it, or leave it out with --ignore %d", data.ErrInvalid, j, j)
		case named[name]:
			return fmt.Errorf("%w: two columns are called %q; rename one, or leave it out by its number with --ignore %d", data.ErrInvalid, name, j)
		}
		named[name] = true
		if feature {
			s.features = append(s.features, j)
		}
	}
	if len(s.features) == 0 {
		return fmt.Errorf("%w: no column is left for features", data.ErrInvalid)
	}
	return nil
}

// among says of every column whether it is one of these.
func among(columns []int, names []string) []bool {
	is := make([]bool, len(names))
	for _, j := range columns {
		is[j] = true
	}
	return is
}

// align gives all files the same features, by name.
func (r *reader) align() error {
	index := map[string]int{}
	first := map[string]string{} // the file that a column is first in
	for _, s := range r.sheets {
		if s.bare != r.sheets[0].bare {
			return fmt.Errorf("%s: %w: it has a header and %s has none, or the other way round", s.path, data.ErrMismatch, r.sheets[0].path)
		}
		for _, j := range s.features {
			name := s.names[j]
			if _, ok := index[name]; !ok {
				index[name], first[name] = len(r.columns), s.path
				r.columns = append(r.columns, column{name: name})
			}
			if slices.Contains(s.category, j) {
				r.columns[index[name]].levels = map[string]int32{}
			}
		}
	}
	for i := range r.sheets {
		s := &r.sheets[i]
		at := make([]int, len(r.columns))
		for k := range at {
			at[k] = -1
		}
		for _, j := range s.features {
			at[index[s.names[j]]] = j
		}
		if k := slices.Index(at, -1); k >= 0 && r.MissingColumns != Zero {
			name := r.columns[k].name
			return fmt.Errorf("%s: %w: there is no column %q, which %s has (--missing-columns zero puts zeros)", s.path, data.ErrMismatch, name, first[name])
		}
		s.features = at
	}
	r.Recipe.Task, r.Recipe.ByPosition = r.Task, r.sheets[0].bare
	if r.Recipe.ByPosition {
		r.note("no header: columns are known by their numbers, from 0, and matched by position")
	}
	return nil
}

func (r *reader) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r *reader) wordsAreCategories() bool { return slices.Equal(r.Categorical, []string{"*"}) }

// words reads all files to find the features that have a word in them.
func (r *reader) words() error {
	for i := range r.sheets {
		err := r.sheet(&r.sheets[i], func(s *sheet, _ int, cells []string) error {
			for k, j := range s.features {
				if j < 0 || r.columns[k].levels != nil || isMissing(cells[j]) {
					continue
				}
				if _, err := strconv.ParseFloat(cells[j], 32); err != nil {
					r.columns[k].levels = map[string]int32{}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sheet calls f for every row of a file.
func (r *reader) sheet(s *sheet, f func(s *sheet, line int, cells []string) error) error {
	rows, err := r.open(s.path)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		block, err := rows.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = block.Each(func(line int, cells []string) error {
				err := f(s, line, cells)
				if err != nil && s.bare && line == 1 {
					err = fmt.Errorf("%w (if this line names the columns say --header yes)", err)
				}
				return err
			})
		}
		if err != nil {
			return err
		}
	}
}

// startTasks makes the tasks that are known before the rows.
func (r *reader) startTasks() error {
	r.byName, r.grouped = map[string]*labels{}, r.Task != ""
	perFile := r.taskPerFile()
	for i := range r.sheets {
		s := &r.sheets[i]
		for _, j := range s.targets {
			column := s.names[j]
			if r.targets[column] == nil {
				r.Recipe.Targets = append(r.Recipe.Targets, column)
				r.targets[column] = newTarget(column)
			}
			name := column
			switch {
			case r.Task != "": // tasks come with the rows
				s.labels = append(s.labels, nil)
				continue
			case perFile:
				name = baseName(s.path)
				if r.byName[name] != nil {
					return fmt.Errorf("%s: %w: two files make a task %q; give them different names", s.path, data.ErrInvalid, name)
				}
			}
			s.labels = append(s.labels, r.task(name, r.targets[column]))
		}
	}
	return nil
}

// baseName is the name of a file without folders and endings.
func baseName(path string) string {
	name := filepath.Base(path)
	if i := strings.IndexByte(name[1:], '.'); i >= 0 {
		name = name[:i+1]
	}
	return name
}

// task returns the labels of a task.
func (r *reader) task(name string, t *target) *labels {
	l := r.byName[name]
	if l == nil {
		l = &labels{name: strings.Clone(name), target: t}
		r.byName[l.name] = l
		r.tasks = append(r.tasks, l)
	}
	return l
}

// row takes the labels and the features of a row.
func (r *reader) row(s *sheet, line int, cells []string) error {
	labelled := false
	for i, j := range s.targets {
		if isMissing(cells[j]) {
			continue
		}
		l := s.labels[i]
		if r.Task != "" {
			name := cells[s.task]
			if isMissing(name) {
				return fmt.Errorf("column %q, the task: %w: it is missing (%q); every row needs one", s.names[s.task], data.ErrInvalid, name)
			}
			l = r.task(name, r.targets[s.names[j]])
		}
		if err := l.add(r.rows, cells[j], fmt.Sprintf("%s: line %d", s.path, line)); err != nil {
			return err
		}
		labelled = true
	}
	if !labelled {
		if len(s.targets) == 1 && !r.SkipUnlabelled {
			j := s.targets[0]
			return fmt.Errorf("column %q, the target: %w: it is missing (%q); fill it in, or leave such rows out with --skip-unlabelled", s.names[j], data.ErrInvalid, cells[j])
		}
		r.skipped++
		return nil
	}
	if s.group >= 0 {
		r.group = append(r.group, r.groupOf(cells[s.group]))
	}
	r.rows++
	for k, j := range s.features {
		v, err := r.columns[k].value(j, cells, r.Impute == Mean)
		if err != nil {
			return err
		}
		r.value = append(r.value, v)
	}
	return nil
}

// groupOf is the number of a group; a row without one is its own.
func (r *reader) groupOf(cell string) int {
	if isMissing(cell) {
		return -1 - r.rows
	}
	n, ok := r.groups[cell]
	if !ok {
		n = len(r.groups)
		r.groups[strings.Clone(cell)] = n
	}
	return n
}

var missing = float32(math.NaN())

// mostLevels bounds the levels of a category.
const mostLevels = 1000

// value is the number of a cell, or that of its level.
func (c *column) value(j int, cells []string, impute bool) (float32, error) {
	switch {
	case j < 0 && c.levels != nil:
		return -1, nil // no level
	case j < 0:
		return 0, nil
	case isMissing(cells[j]) && impute:
		return missing, nil
	case isMissing(cells[j]):
		return 0, missingError(c.name, cells[j])
	case c.levels == nil:
		return parseNumber(c.name, cells[j])
	}
	level, ok := c.levels[cells[j]]
	if !ok {
		if level = int32(len(c.levels)); level == mostLevels {
			return 0, fmt.Errorf("column %q: %w: it has more than %d different levels; is it an identifier? then leave it out with --ignore", c.name, data.ErrInvalid, mostLevels)
		}
		c.levels[strings.Clone(cells[j])] = level
	}
	return float32(level), nil
}
