package view_test

import (
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/format"
	"l2mt/data/table"
	"l2mt/data/view"
	"l2mt/model/multitask"
)

// Without stop words and rare words, weighed, and of these the best 1,000. A prototype found
// 23.5 entries a row with stop words of its own.
func TestNewsgroupsFeaturesAreAsMany(t *testing.T) {
	t.Parallel()
	d, err := table.Dataset(datatest.Path(t, "20newsgroups", "20newsgroups.svmlight.gz"), table.Options{
		Kind:   data.Classification,
		Format: format.Options{FeatureNames: datatest.Path(t, "20newsgroups", "vocabulary.txt.gz")},
	})
	for _, kind := range []string{"terms", view.TFIDF, view.Unit, "ridge", view.Unit} {
		var s view.Step
		if err == nil {
			switch kind {
			case "terms":
				s, err = view.Terms(d.X, d.Features, 3)
			case "ridge":
				s, err = multitask.SelectByRidge(t.Context(), d, 1000, 1, 2)
			default:
				s, err = view.Fit(kind, d.X)
			}
		}
		if err == nil {
			d.Features = s.Names(d.Features)
			d.X, err = s.Apply(d.X)
		}
	}
	datatest.Check(t, err)
	perRow := float64(d.X.NNZ()) / float64(d.X.Rows())
	datatest.Holds(t, perRow >= 22.5 && perRow <= 24.5, "%.2f entries a row of %d features", perRow, d.X.Cols())
	for _, word := range []string{"god", "windows", "car", "hockey", "encryption"} {
		datatest.Holds(t, slices.Contains(d.Features, word), "the word %q is not among the features", word)
	}
}
