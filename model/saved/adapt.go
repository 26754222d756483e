package saved

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/model/mixed"
)

// Adapt returns the model with new tasks, of a table with labelled rows of them. Their weights have
// the mean of the posterior under the Prior; other weights stay as they are.
func (s *Fit) Adapt(ctx context.Context, path string, o RowOptions) (*Fit, error) {
	prior, err := s.Prior()
	if err != nil {
		return nil, err
	}
	rows, err := s.OpenRows(path, o)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	rows.Fits = rows.Fits[:1]
	rows.keeps = true
	n := &newTasks{prior: prior, number: map[string]int{}}
	sink := func(b *Block) error {
		for i, a := range b.Answers {
			if a.Task != Average {
				return data.Invalid("%s: the model has the task %q already; give rows of new tasks", path, a.Name)
			}
			if math.IsNaN(a.Label) {
				return data.Invalid("%s: a row of task %q has no label; every row to learn from needs one", path, a.Name)
			}
			n.add(a, b.x.Row(i).Value)
		}
		return nil
	}
	if err := rows.Each(ctx, nil, sink); err != nil {
		return nil, err
	}
	if n.names == nil {
		return nil, data.Invalid("%s: it has no rows", path)
	}
	return n.fit(ctx, s)
}

// newTasks are tasks that a model is adapted to.
type newTasks struct {
	prior  *Prior
	names  []string
	number map[string]int // by name
	tasks  []mixed.Task
}

// add adds a row.
func (n *newTasks) add(a Answer, x []float32) {
	i, known := n.number[a.Name]
	if !known {
		i = len(n.names)
		n.number[a.Name] = i
		n.names = append(n.names, a.Name)
		n.tasks = append(n.tasks, mixed.Task{})
	}
	t := &n.tasks[i]
	t.Y = append(t.Y, a.Label)
	t.Offset = append(t.Offset, Affine(n.prior.Mean, x))
	for _, row := range n.prior.Root {
		t.Features = append(t.Features, Affine(row, x))
	}
}

// fit adds the tasks to a model.
func (n *newTasks) fit(ctx context.Context, s *Fit) (*Fit, error) {
	p := mixed.Problem{Tasks: n.tasks, Noise: n.prior.Noise}
	p.Components = []mixed.Component{{Own: 1}}
	p.Part = make([]int, len(n.prior.Root))
	if s.Kind == data.Classification {
		p.Loss = mixed.Logistic{}
	}
	found, err := mixed.New(ctx, p, mixed.Options{Given: true})
	if err != nil {
		return nil, err
	}
	fit := *s
	fit.Beside = nil
	fit.number = nil
	fit.B = slices.Clone(s.B)
	fit.Tasks = slices.Clone(s.Tasks)
	doubt := *s.Doubt
	fit.Doubt = &doubt
	last := len(s.Tasks)
	doubt.Tasks = slices.Clone(s.Doubt.Tasks[:last])
	w := mat.NewDense(len(s.Features), len(n.names), nil)
	for i, name := range n.names {
		weights := slices.Clone(n.prior.Mean)
		for k, v := range found.Own[i] {
			floats.AddScaled(weights, v, n.prior.Root[k])
		}
		w.SetCol(i, weights[1:])
		fit.B = append(fit.B, weights[0])
		task := s.Doubt.Tasks[last]
		task.Left = found.Left[i]
		doubt.Tasks = append(doubt.Tasks, task)
		older := s.Tasks[0]
		y := n.tasks[i].Y
		fit.Tasks = append(fit.Tasks, Task{
			Name: name, Negative: older.Negative, Positive: older.Positive,
			Rows: len(y), Mean: s.mean(data.Samples{Y: y}), Spread: s.Spread,
		})
	}
	doubt.Tasks = append(doubt.Tasks, s.Doubt.Tasks[last])
	fit.W = new(mat.Dense)
	fit.W.Augment(s.W, w)
	return &fit, nil
}
