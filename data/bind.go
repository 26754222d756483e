package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Bind brings the data to every problem of the file. Row indices refer to d,
// which may be nil when every task names files of its own; those are relative
// to dir, must lie in it unless f.Outside is set, and are read by read, which
// may be nil where there are none. All faults are reported, each with its
// problem, task and field.
func (f *ProblemFile) Bind(d *Dataset, dir string, read func(path string) (*Dataset, error)) ([]*ProblemData, error) {
	if f.Dataset != nil {
		if d == nil {
			return nil, fmt.Errorf("data: problems: %w: they need the dataset %q", ErrMismatch, f.Dataset.Path)
		}
		if want, got := f.Dataset.SHA256, d.Fingerprint(); want != "" && want != got {
			return nil, fmt.Errorf("data: problems: %w: they were made on a dataset with SHA-256 %s, but %s has %s", ErrMismatch, want, d.Name, got)
		}
	}
	bound := make([]*ProblemData, len(f.Problems))
	open := func(name string) (*Dataset, error) {
		path, err := f.File(dir, name)
		if err != nil {
			return nil, err
		}
		if read == nil {
			return nil, fmt.Errorf("%s: %w: there is nothing to read it with", path, ErrMismatch)
		}
		return read(path)
	}
	var faults []error
	for i, p := range f.Problems {
		b, err := p.bind(d, open)
		if err != nil {
			faults = append(faults, fmt.Errorf("data: problem %q: %w", p.Name, err))
		}
		bound[i] = b
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return bound, nil
}

// opener reads a file that a problem file names.
type opener func(name string) (*Dataset, error)

func (p *Problem) bind(d *Dataset, open opener) (*ProblemData, error) {
	b := &ProblemData{Problem: p, Tasks: make([]TaskData, len(p.Tasks))}
	var faults []error
	var features featureOrder
	if slices.ContainsFunc(p.Tasks, func(t *Task) bool { return t.Files == nil }) {
		features = featureOrder{d.Features, d.Name}
	}
	take := func(d *Dataset, err error) (*Dataset, error) {
		if err != nil {
			return nil, err
		}
		return features.match(d)
	}
	for i, t := range p.Tasks {
		bound, err := t.bind(d, func(name string) (*Dataset, error) { return take(open(name)) }, p.Classes)
		if err != nil {
			faults = append(faults, fmt.Errorf("task %q, %w", t.Name, err))
		}
		b.Tasks[i] = bound
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	b.Features = features.names
	if err := b.align(); err != nil {
		return nil, err
	}
	return b, b.prepare()
}

func (t *Task) bind(d *Dataset, open opener, classes []string) (TaskData, error) {
	b := TaskData{Task: t}
	if t.Files != nil {
		return b, b.read(open, classes)
	}
	for i, s := range b.sets() {
		set, err := t.samples(d, t.splits()[i], classes)
		if err != nil {
			return b, err
		}
		*s = set
	}
	return b, b.learnable()
}

// sets are the splits of the task in the order of splits.
func (t *TaskData) sets() []*Samples {
	return []*Samples{&t.TrainSet, &t.ValidationSet, &t.TestSet}
}

// samples takes the rows of one split from the dataset.
func (t *Task) samples(d *Dataset, s split, classes []string) (Samples, error) {
	n := d.X.Rows()
	y := make([]float64, len(s.rows))
	for i, r := range s.rows {
		if r < 0 || r >= n {
			return Samples{}, fmt.Errorf("field %q: %w: entry %d is row %d; %s has rows 0..%d", s.field, ErrInvalid, i, r, d.Name, n-1)
		}
		v, err := t.value(d, r, classes)
		if err != nil {
			return Samples{}, fmt.Errorf("field %q: entry %d: %w", s.field, i, err)
		}
		y[i] = v
	}
	return Samples{X: d.X.Take(s.rows), Y: y}, nil
}

// value is what the task predicts of row r: the target, or -1 or +1, or the number
// among the classes of the problem if it lists them.
func (t *Task) value(d *Dataset, r int, classes []string) (float64, error) {
	if t.Kind == Regression {
		return d.number(r)
	}
	if d.Regression() {
		return 0, fmt.Errorf("%w: a %s task cannot use %s, which has %s", ErrMismatch, t.Kind, d.Name, d.contents())
	}
	if classes != nil {
		class := d.Classes[d.Label[r]]
		if c := slices.Index(classes, class); c >= 0 {
			return float64(c), nil
		}
		return 0, fmt.Errorf("%w: row %d has the class %q, which the problem does not list", ErrInvalid, r, class)
	}
	switch class := d.Classes[d.Label[r]]; class {
	case t.Positive:
		return 1, nil
	case t.Negative:
		return -1, nil
	default:
		return 0, fmt.Errorf("%w: row %d has the class %q; the task tells %q from %q", ErrInvalid, r, class, t.Positive, t.Negative)
	}
}

// number is the target of row r. Whole numbers may have been read as classes,
// where nothing said what they are for.
func (d *Dataset) number(r int) (float64, error) {
	if d.Regression() {
		return d.Target[r], nil
	}
	v, err := strconv.ParseFloat(d.Classes[d.Label[r]], 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%w: a %s task cannot use %s, which has %s", ErrMismatch, Regression, d.Name, d.contents())
	}
	return v, nil
}

func (d *Dataset) contents() string {
	if d.Regression() {
		return "real targets"
	}
	return fmt.Sprintf("%d classes", len(d.Classes))
}

// read takes the splits from the task's own files. Where the task does not
// name its classes, the training file has two, and the second is +1.
func (t *TaskData) read(open opener, classes []string) error {
	task := *t.Task
	files := []string{task.Files.Train, task.Files.Validation, task.Files.Test}
	for i, s := range t.sets() {
		field := "files." + task.splits()[i].field
		if files[i] == "" {
			continue
		}
		d, err := open(files[i])
		if err != nil {
			return fmt.Errorf("field %q: %w", field, err)
		}
		if task.Kind == Classification && task.Positive == "" && classes == nil {
			if len(d.Classes) != 2 {
				return fmt.Errorf("field %q: %w: %s has %s; name the task's \"positive\" and \"negative\"", field, ErrInvalid, d.Name, d.contents())
			}
			task.Negative, task.Positive = d.Classes[0], d.Classes[1]
		}
		rows := make([]int, d.X.Rows())
		for r := range rows {
			rows[r] = r
		}
		if *s, err = task.samples(d, split{field, rows}, classes); err != nil {
			return err
		}
	}
	t.Task = &task
	return t.learnable()
}

// learnable checks that the training rows can teach something.
func (t *TaskData) learnable() error {
	y := t.TrainSet.Y
	if len(y) == 0 || slices.Min(y) == slices.Max(y) {
		what := "their targets are all equal"
		if t.Kind == Classification {
			what = fmt.Sprintf("they need both %q and %q", t.Positive, t.Negative)
			if t.Positive == "" {
				what = "they are of one class"
			}
		}
		return fmt.Errorf("field \"train\": %w: %d rows, and %s", ErrInvalid, len(y), what)
	}
	return nil
}

// align gives all splits the same number of columns, and empty ones a matrix.
// Sparse files do not know columns that are zero in all their rows.
func (p *ProblemData) align() error {
	cols := 0
	for i := range p.Tasks {
		for _, s := range p.Tasks[i].sets() {
			if s.X != nil {
				cols = max(cols, s.X.Cols())
			}
		}
	}
	for i := range p.Tasks {
		for j, s := range p.Tasks[i].sets() {
			switch x := s.X.(type) {
			case nil:
				s.X = &CSR{cols: cols}
			case *CSR:
				s.X = x.Widened(cols)
			default:
				if x.Cols() != cols {
					return fmt.Errorf("task %q, field %q: %w: it has %d features, another has %d", p.Tasks[i].Name, p.Tasks[i].splits()[j].field, ErrMismatch, x.Cols(), cols)
				}
			}
		}
	}
	return nil
}

// prepare fits the problem's steps on the training rows of all its tasks and
// applies them to all rows.
func (p *ProblemData) prepare() error {
	for _, kind := range p.Prepare {
		train := make([]Matrix, len(p.Tasks))
		for i := range p.Tasks {
			train[i] = p.Tasks[i].TrainSet.X
		}
		all, err := Stack(train)
		if err != nil {
			return fmt.Errorf("field \"prepare\": %w", err)
		}
		step, err := FitStep(kind, all)
		if err != nil {
			return fmt.Errorf("field \"prepare\": %w", err)
		}
		for i := range p.Tasks {
			for j, s := range p.Tasks[i].sets() {
				if s.X, err = step.Apply(s.X); err != nil {
					return fmt.Errorf("field \"prepare\": task %q, %s rows: %w", p.Tasks[i].Name, p.Tasks[i].splits()[j].field, err)
				}
			}
		}
	}
	return nil
}

// Stack puts matrices of the same width and storage on top of each other.
func Stack(parts []Matrix) (Matrix, error) {
	like := parts[max(0, slices.IndexFunc(parts, func(x Matrix) bool { return x.Rows() > 0 }))]
	b := newBuilder(like, like.Cols())
	for _, x := range parts {
		if _, sparse := x.(*CSR); sparse != b.sparse && x.Rows() > 0 {
			return nil, fmt.Errorf("%w: some tasks have dense features and others sparse ones; give all the same format", ErrMismatch)
		}
		for i := range x.Rows() {
			r := x.Row(i)
			copy(b.row(r.Index, len(r.Value)), r.Value)
		}
	}
	return b.matrix(), nil
}
