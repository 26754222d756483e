package solve

import (
	"errors"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/infer/solve/solvetest"
	"l2mt/model"
)

// headed is a random network with a head, and the same one behind it.
func headed(t testing.TB) (with, without *Finder) {
	t.Helper()
	a, b := solvetest.Headed(t)
	with, err1 := NewFinder(a)
	without, err2 := NewFinder(b)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return with, without
}

// A network with a head does to a problem what the network behind it does to the
// features that the head makes: covariances and fits.
func TestEverythingIsDoneOnTheFeaturesOfTheHead(t *testing.T) {
	with, without := headed(t)
	problems := []*data.ProblemData{made(1, "a", data.Classification, 3), made(2, "b", data.Classification, 2)}
	var made []*data.ProblemData
	for _, p := range problems {
		q := must(model.Through(with.of.Head, len(with.of.Head), p))(t)
		made = append(made, q)
	}
	for i, p := range problems {
		a, x := solved(t, with, p, Options{}, Parts{})
		b, y := solved(t, without, made[i], Options{}, Parts{})
		if a.Name() != b.Name() || !mat.Equal(x.Result.W, y.Result.W) || x.Test.Mean != y.Test.Mean {
			t.Errorf("%s: the fit is another", p.Name)
		}
		e, err := with.Embed(p)
		if err != nil || e.Problem().Cols() != 3 || e.Problem().Tasks[1].TestSet.X.Cols() != 3 {
			t.Errorf("%s: the embedding's problem has other features (%v)", p.Name, err)
		}
	}
}
