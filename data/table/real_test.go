package table

import (
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

func TestRealData(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path                             []string
		rows, cols, nnz, classes, groups int
		smallest, largest                int       // class sizes, or group sizes of regression
		kind                             data.Kind // given for whole numbers that are classes
	}{
		{[]string{"20newsgroups", "20newsgroups.svmlight.gz"}, 18774, 61188, 2435219, 20, 0, 627, 997, data.Classification},
		{[]string{"classics", "school.npz"}, 15362, 28, 15362 * 28, 0, 139, 22, 251, ""},
		{[]string{"classics", "landmine.npz"}, 14820, 9, 14820 * 9, 2, 29, 904, 14820 - 904, ""},
		{[]string{"classics", "parkinsons.npz"}, 5875, 19, 5875 * 19, 0, 42, 101, 168, ""},
		{[]string{"caltech101", "caltech101_mobilenetv2_logits.npz"}, 8677, 1000, 8677000, 101, 0, 31, 800, data.Classification},
	} {
		t.Run(strings.Join(c.path, "/"), func(t *testing.T) {
			d := datatest.Must(Dataset(datatest.Path(t, c.path...), Options{Kind: c.kind}))(t)
			datatest.Holds(t, d.X.Rows() == c.rows && d.X.Cols() == c.cols && d.X.NNZ() == c.nnz && len(d.Classes) == c.classes && len(d.Groups) == c.groups,
				"%d x %d with %d entries, %d classes, %d groups", d.X.Rows(), d.X.Cols(), d.X.NNZ(), len(d.Classes), len(d.Groups))
			names, numbers := d.Classes, d.Label
			if d.Regression() {
				names, numbers = d.Groups, d.Group
			}
			sizes := make([]int, len(names))
			for _, k := range numbers {
				sizes[k]++
			}
			datatest.Holds(t, slices.Min(sizes) == c.smallest && slices.Max(sizes) == c.largest,
				"sizes %d..%d, want %d..%d", slices.Min(sizes), slices.Max(sizes), c.smallest, c.largest)
		})
	}
}
