package digits

import (
	"testing"

	"l2mt/data/datatest"
)

// The numbers are those that the UCI repository gives for the test set.
func TestTheDatasetIsComplete(t *testing.T) {
	d := datatest.Must(Load())(t)
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
