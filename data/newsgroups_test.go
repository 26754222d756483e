package data_test

import (
	"context"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/format"
	"l2mt/data/progress"
)

// newsgroups is the paper's first dataset, as word counts.
func newsgroups(t testing.TB) *data.Dataset {
	t.Helper()
	d, err := format.Read(datatest.Path(t, "20newsgroups", "20newsgroups.svmlight.gz"), format.Options{
		FeatureNames: datatest.Path(t, "20newsgroups", "vocabulary.txt.gz"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func with(t testing.TB, d *data.Dataset, steps ...data.Step) *data.Dataset {
	t.Helper()
	for _, s := range steps {
		d = must(d.With(s))(t)
	}
	return d
}

func fit(t testing.TB, kind string, d *data.Dataset) data.Step {
	t.Helper()
	return must(data.FitStep(kind, d.X))(t)
}

// weighed drops stop words and rare words and weighs the others.
func weighed(t testing.TB, d *data.Dataset) *data.Dataset {
	t.Helper()
	terms := must(data.SelectTerms(d.X, d.Features, 3))(t)
	d = with(t, d, terms)
	for _, kind := range []string{data.StepTFIDF, data.StepUnit} {
		d = with(t, d, fit(t, kind, d))
	}
	return d
}

// A prototype found 23.5 entries a row with stop words of its own.
func TestNewsgroupsFeaturesAreAsMany(t *testing.T) {
	t.Parallel()
	d := weighed(t, newsgroups(t))
	s := must(data.SelectByRidge(context.Background(), d, 1000, 1, progress.Silent()))(t)
	selected := with(t, d, s)
	selected = with(t, selected, fit(t, data.StepUnit, selected))
	if perRow := float64(selected.X.NNZ()) / float64(selected.X.Rows()); perRow < 22.5 || perRow > 24.5 {
		t.Errorf("%.2f entries a row of %d features", perRow, selected.X.Cols())
	}
	for _, word := range []string{"god", "windows", "car", "hockey", "encryption"} {
		if !slices.Contains(selected.Features, word) {
			t.Errorf("the word %q is not among the features", word)
		}
	}
}
