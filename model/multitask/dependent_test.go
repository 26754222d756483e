package multitask

import (
	"context"
	"testing"

	"l2mt/data"
)

// perProblem is a Dependent that notes the problems that it is asked about.
type perProblem struct {
	Model
	asked *[]*data.ProblemData
}

func (d perProblem) On(_ context.Context, p *data.ProblemData) (Model, error) {
	*d.asked = append(*d.asked, p)
	return d.Model, nil
}

// A model that depends on the problem is asked for once in every fold, where the rows
// held out are not among those to train on, and on all rows where it is fitted on them;
// and what comes of it is what comes of the model itself.
func TestDependentModelsSeeTheirFoldAlone(t *testing.T) {
	p, err := slopeProblem(shapes[0], 1).Labelled()
	if err != nil {
		t.Fatal(err)
	}
	folds, err := p.Folds(3, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	stl, err := Lookup("stl")
	if err != nil {
		t.Fatal(err)
	}
	var asked []*data.ProblemData
	got, err := CrossValidate(t.Context(), perProblem{stl, &asked}, p, folds, TuneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != len(folds) {
		t.Fatalf("asked for %d problems", len(asked))
	}
	for k, q := range asked {
		if q != folds[k].ProblemData || len(q.Tasks[0].TrainSet.Y) >= len(p.Tasks[0].TrainSet.Y) {
			t.Errorf("fold %d: it was asked about other rows", k)
		}
	}
	r := fitAll(t, got)
	if len(asked) != 1+len(folds) || asked[len(folds)] != p {
		t.Errorf("asked for %d problems and not for that of all rows", len(asked))
	}
	want, err := CrossValidate(t.Context(), stl, p, folds, TuneOptions{})
	if err != nil || got.Loss != want.Loss {
		t.Errorf("loss %v, want %v (%v)", got.Loss, want.Loss, err)
	}
	if objective := fitAll(t, want).Objective; r.Objective != objective {
		t.Errorf("objective %v on all rows, want %v", r.Objective, objective)
	}
}
