package infer

import (
	"errors"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/layers"
	"l2mt/model"
)

// headed is a random network on 3 features that a head makes, and the same
// network on these features as those of the dataset.
func headed(t testing.TB) (with, without *Network) {
	t.Helper()
	r := data.Stream(1, "headed")
	head := layers.Head{{In: features, Out: 4}, {In: 4, Out: 3}}
	for i := range head {
		l := &head[i]
		for range l.In * l.Out {
			l.W = append(l.W, float32(r.NormFloat64()))
		}
		for range l.Out {
			l.B = append(l.B, float32(r.NormFloat64()))
		}
	}
	with = random(t, 1, func(c *model.Config) { c.Features, c.Head = head.Out(), head.String() })
	with.of.Head = head
	without = random(t, 1, func(c *model.Config) { c.Features = head.Out() })
	return with, without
}

// A network with a head does to a problem what the network behind it does to the
// features that the head makes: covariances, fits, every model and the atlas.
func TestEverythingIsDoneOnTheFeaturesOfTheHead(t *testing.T) {
	with, without := headed(t)
	problems := twoProblems()
	var made []*data.ProblemData
	for _, p := range problems {
		q, err := model.Through(with.of.Head, len(with.of.Head), p)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, q)
	}
	for i, p := range problems {
		a, err1 := with.Fit(t.Context(), p, FitOptions{})
		b, err2 := without.Fit(t.Context(), made[i], FitOptions{})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(a.Omega, b.Omega) || !mat.Equal(a.Tuned.Result.W, b.Tuned.Result.W) || a.Tuned.Test.Mean != b.Tuned.Test.Mean {
			t.Errorf("%s: the fit is another", p.Name)
		}
		e, err := with.Embed(p)
		if err != nil || e.Problem().Cols() != 3 || e.Problem().Tasks[1].TestSet.X.Cols() != 3 {
			t.Errorf("%s: the embedding's problem has other features (%v)", p.Name, err)
		}
	}
	o := quick(t)
	want := o
	o.Pool, want.Pool = problems[1:], made[1:]
	same(t, "outcomes", evaluate(t, with, problems[:1], o), evaluate(t, without, made[:1], want))
	raw := evaluate(t, nil, problems[:1], o)
	if slices.Equal(raw[0].Test.Task, evaluate(t, with, problems[:1], o)[0].Test.Task) {
		t.Error("single-task learning does not see the features of the head")
	}
	a, err1 := NewAtlas(with, each(problems))
	b, err2 := NewAtlas(without, each(made))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if a.Radius != b.Radius || !slices.Equal(a.Problems[1].E[0], b.Problems[1].E[0]) {
		t.Error("the atlas is another")
	}
}
