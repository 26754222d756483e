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
	number := map[string]int{}
	var names []string
	var tasks []mixed.Task
	sink := func(b *Block) error {
		for i, a := range b.Answers {
			if a.Task != Average {
				return data.Invalid("%s: the model has the task %q already; give rows of new tasks", path, a.Name)
			}
			if math.IsNaN(a.Label) {
				return data.Invalid("%s: a row of task %q has no label; every row to learn from needs one", path, a.Name)
			}
			n, known := number[a.Name]
			if !known {
				n = len(names)
				number[a.Name] = n
				names = append(names, a.Name)
				tasks = append(tasks, mixed.Task{})
			}
			t := &tasks[n]
			t.Y = append(t.Y, a.Label)
			x := b.x.Row(i).Value
			t.Offset = append(t.Offset, Affine(prior.Mean, x))
			for _, row := range prior.Root {
				t.Features = append(t.Features, Affine(row, x))
			}
		}
		return nil
	}
	if err := rows.Each(ctx, nil, sink); err != nil {
		return nil, err
	}
	if names == nil {
		return nil, data.Invalid("%s: it has no rows", path)
	}
	return s.adapted(ctx, prior, names, tasks)
}

// adapted adds tasks to a model.
func (s *Fit) adapted(ctx context.Context,
	prior *Prior, names []string, tasks []mixed.Task) (*Fit, error) {
	p := mixed.Problem{
		Tasks: tasks,
		Noise: prior.Noise,
	}
	p.Components = []mixed.Component{{Own: 1}}
	p.Part = make([]int, len(prior.Root))
	if s.Kind == data.Classification {
		p.Loss = mixed.Logistic{}
	}
	found, err := mixed.New(ctx, p, mixed.Options{Given: true})
	if err != nil {
		return nil, err
	}
	fit := *s
	fit.Beside = nil
	fit.B = slices.Clip(s.B)
	fit.Tasks = slices.Clip(s.Tasks)
	doubt := *s.Doubt
	doubt.Tasks = slices.Clone(doubt.Tasks)
	fit.Doubt = &doubt
	w := mat.NewDense(len(s.Features), len(names), nil)
	for i, name := range names {
		weights := slices.Clone(prior.Mean)
		for k, v := range found.Own[i] {
			floats.AddScaled(weights, v, prior.Root[k])
		}
		w.SetCol(i, weights[1:])
		fit.B = append(fit.B, weights[0])
		added := s.Tasks[0] // of the same classes
		added.Name = name
		added.Rows = len(tasks[i].Y)
		added.Mean = s.mean(data.Samples{Y: tasks[i].Y})
		added.Spread = s.Spread
		added.StandardError = 0
		fit.Tasks = append(fit.Tasks, added)
		last := len(doubt.Tasks) - 1 // a new task's
		known := doubt.Tasks[last]
		known.Left = found.Left[i]
		doubt.Tasks = slices.Insert(doubt.Tasks, last, known)
	}
	fit.W = new(mat.Dense)
	fit.W.Augment(s.W, w)
	fit.index()
	return &fit, nil
}
