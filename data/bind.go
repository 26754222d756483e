package data

import (
	"fmt"
	"slices"
)

// Bind brings the data to every problem of the file: the rows of d. An error names
// problem, task and field.
func (f *ProblemFile) Bind(d *Dataset) ([]*ProblemData, error) {
	want, got := f.Dataset.SHA256, d.Fingerprint()
	if want != "" && want != got {
		return nil, Mismatch("problems: they were made on a dataset with SHA-256 %s, but %s has %s; give the dataset that they were made on", want, d.Name, got)
	}
	var bound []*ProblemData
	for _, p := range f.Problems {
		b, err := p.bind(d)
		if err != nil {
			return nil, fmt.Errorf("problem %q: %w", p.Name, err)
		}
		bound = append(bound, b)
	}
	return bound, nil
}

func (p *Problem) bind(d *Dataset) (*ProblemData, error) {
	b := &ProblemData{
		Problem:  p,
		Features: d.Features,
	}
	for _, t := range p.Tasks {
		task, err := t.bind(d, p.Classes)
		if err != nil {
			return nil, fmt.Errorf("task %q, %w", t.Name, err)
		}
		b.Tasks = append(b.Tasks, task)
	}
	return b, b.learnable()
}

func (t *Task) bind(d *Dataset, classes []string) (b TaskData, err error) {
	b.Task = t
	if (t.Kind == Regression) != d.Regression() {
		return b, Mismatch("field \"kind\": a %s task cannot use %s, which has %d classes",
			t.Kind, d.Name, len(d.Classes))
	}
	for i, s := range b.sets() {
		if err == nil {
			*s, err = t.samples(d, t.splits()[i], classes)
		}
	}
	return b, err
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
			return Samples{}, Invalid("field %q: entry %d is row %d; %s has rows 0..%d", s.field,
				i, r, d.Name, n-1)
		}
		v, err := t.value(d, r, classes)
		if err != nil {
			return Samples{}, fmt.Errorf("field %q: entry %d: %w",
				s.field, i, err)
		}
		y[i] = v
	}
	return Samples{
		X: d.X.Take(s.rows),
		Y: y,
	}, nil
}

// value is what the task predicts of row r: the target, or -1 or +1, or the number
// among the classes of the problem if it lists them.
func (t *Task) value(d *Dataset, r int, classes []string) (float64, error) {
	if t.Kind == Regression {
		return d.Target[r], nil
	}
	class := d.Classes[d.Label[r]]
	c := slices.Index(classes, class)
	switch {
	case c >= 0:
		return float64(c), nil
	case classes != nil:
		return 0, Invalid("row %d has the class %q, which the problem does not list", r, class)
	case class == t.Positive:
		return 1, nil
	case class == t.Negative:
		return -1, nil
	}
	return 0, Invalid("row %d has the class %q; the task tells %q from %q",
		r, class, t.Positive, t.Negative)
}

// learnable checks that the training rows of all tasks together can teach something. One
// alone may have nothing to say.
func (p *ProblemData) learnable() error {
	var y []float64
	for _, t := range p.Tasks {
		y = append(y, t.TrainSet.Y...)
	}
	if len(y) == 0 || p.Kind() == Classification &&
		slices.Min(y) == slices.Max(y) {
		return Invalid("field \"train\": all tasks together have %d rows; they need some, and of classes at least two", len(y))
	}
	return nil
}

// TrainingRows are the training rows of all tasks. Rows that neighbours share are there once.
func (p *ProblemData) TrainingRows() Matrix {
	var parts []Matrix
	for _, t := range p.Tasks {
		parts = append(parts, t.TrainSet.X)
	}
	return Stack(slices.CompactFunc(parts, sameRows))
}

// Mapped returns a problem with other rows, whose features have no names. Rows that tasks share
// are made once.
func (p *ProblemData) Mapped(rows func(x Matrix) (Matrix, error)) (*ProblemData, error) {
	q := p.clone()
	q.Features = nil
	var given, images []Matrix
	for i, t := range q.Tasks {
		for j, set := range q.Tasks[i].sets() {
			x := set.X
			if x == nil {
				continue
			}
			same := slices.IndexFunc(given, func(y Matrix) bool {
				return sameRows(x, y)
			})
			if same < 0 {
				image, err := rows(x)
				if err != nil {
					return nil, fmt.Errorf("task %q, %s rows: %w", t.Name,
						t.splits()[j].field, err)
				}
				same = len(given)
				given = append(given, x)
				images = append(images, image)
			}
			set.X = images[same]
		}
	}
	return q, nil
}

// sameRows says that two matrices have the same rows of one place in memory.
func sameRows(a, b Matrix) bool {
	x, ok1 := a.(*Stored)
	y, ok2 := b.(*Stored)
	if !ok1 || !ok2 || len(x.value) == 0 ||
		len(y.value) == 0 || &x.value[0] != &y.value[0] {
		return a == b
	}
	return x.cols == y.cols && slices.Equal(x.begin, y.begin) &&
		slices.Equal(x.end, y.end)
}

// Stack puts matrices of the same width on top of each other. It is dense if one of them is.
func Stack(parts []Matrix) Matrix {
	like := parts[max(0, slices.IndexFunc(parts, func(x Matrix) bool {
		return x.Rows() > 0 && !IsSparse(x)
	}))]
	b := NewBuilder(like, like.Cols())
	for _, x := range parts {
		for i := range x.Rows() {
			b.Add(x.Row(i))
		}
	}
	return b.Matrix()
}
