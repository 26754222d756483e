package digits

import (
	"testing"

	"l2mt/data/datatest"
)

// The numbers are those that the UCI repository gives for the test set.
func TestTheDatasetIsComplete(t *testing.T) {
	d := datatest.Must(Load())(t)
	if n, k, c := d.X.Rows(), d.X.Cols(), len(d.Classes); n != 1797 || k != 64 || c != 10 || len(d.Features) != 64 {
		t.Errorf("%d rows, %d features (%d names) and %d classes; want 1797, 64 and 10", n, k, len(d.Features), c)
	}
	var sizes [10]int
	for _, digit := range d.Label {
		sizes[digit]++
	}
	datatest.Equal(t, sizes, [10]int{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}, "images of the digits")
	for i := range d.X.Rows() {
		for j, v := range d.X.Row(i).Value {
			datatest.Need(t, v >= 0 && v <= 16, "image %d, %s: %v; want 0..16", i, d.Features[j], v)
		}
	}
}
