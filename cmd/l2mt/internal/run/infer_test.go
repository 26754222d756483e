package run

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/infer/solve"
	"l2mt/model/multitask"
)

// Tasks with files of their own count rows in these, and regression predicts
// its score.
func TestPredictionsOfOwnFilesAndOfRegression(t *testing.T) {
	x, err := data.NewDense(2, 1, []float32{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	r := &Inference{
		problem: &data.ProblemData{Problem: new(data.Problem), Tasks: []data.TaskData{{
			Task:    &data.Task{Name: "t", Kind: data.Regression, Files: &data.TaskFiles{Test: "rows.csv"}},
			TestSet: data.Samples{X: x, Y: []float64{7, 8}},
		}}},
		tuned: &multitask.Tuned{Result: &multitask.Result{W: mat.NewDense(1, 1, []float64{3}), B: []float64{0.5}}},
	}
	want := [][]string{{"task", "row", "prediction", "score", "label"}, {"t", "0", "3.5", "3.5", "7"}, {"t", "1", "6.5", "6.5", "8"}}
	if got := r.predictions(); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTitlesOfCovariancesFitAPicture(t *testing.T) {
	for _, trust := range []solve.Trust{{Network: 1}, {Network: 0.5}, {}, solve.InWeights()} {
		v := View{Trust: trust, Step: 20}
		if title := v.Title(); len(title) > plot.LongestTitle {
			t.Errorf("%d characters: %s", len(title), title)
		}
	}
}
