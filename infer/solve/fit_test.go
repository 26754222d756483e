package solve

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/model/evidence"
)

// Fit is the bench with its defaults. What it saves predicts the same, and knows how sure it
// is from the rows held out.
func TestFitIsTheBenchAndCanBeSaved(t *testing.T) {
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		f, p := random(t, 1, nil), made(2, "p", kind, 3)
		got, err := Fit(t.Context(), f, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		choice, want := solved(t, f, p, Options{}, Parts{})
		if got.Choice.Name() != choice.Name() || !mat.Equal(got.Result.W, want.Result.W) || len(got.Choice.Tried) != len(choice.Tried) {
			t.Errorf("%s: Fit chooses %s, the bench %s", kind, got.Choice.Name(), choice.Name())
		}
		s, err := got.Saved(table.Numbers(nil, features))
		if err != nil {
			t.Fatal(err)
		}
		temperature := 0.0
		if kind == data.Classification {
			temperature, _ = evidence.Temperature(choice.Scores, choice.Y)
		}
		scores, rows := got.Scores(), 0
		for i, task := range s.Tasks {
			held := scores[i]
			if rows += held.Held; held.Rows != task.Rows || held.Error < 0 || s.Temperature != temperature || kind == data.Regression && task.StandardError != held.Error {
				t.Errorf("%s, %s: saved with temperature %v and error %v; rows held out have %v, %+v", kind, task.Name, s.Temperature, task.StandardError, temperature, held)
			}
			x := p.Tasks[i].TestSet.X
			predicted, err := s.Predict(task.Name, x)
			if err != nil || floats.Distance(predicted, got.Result.Scores(i, x), math.Inf(1)) > 1e-12 {
				t.Errorf("%s, %s: saved it predicts %v, %v", kind, task.Name, predicted, err)
			}
		}
		if rows != choice.Rows || s.Model != choice.Name() {
			t.Errorf("%s: %s is saved, with scores of %d rows; want %s, %d", kind, s.Model, rows, choice.Name(), choice.Rows)
		}
	}
}
