// Package digits embeds the default dataset: the 1,797 8 x 8 images of
// handwritten digits of the test set of "Optical Recognition of Handwritten
// Digits" (E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, 1998,
// licensed CC BY 4.0). A row has 64 pixels between 0 and 16, then the digit.
package digits

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"

	"l2mt/data"
	"l2mt/data/table"
)

// Name is what selects the dataset where a file's path is expected.
const Name = "digits"

//go:embed digits.csv.gz
var csvGz []byte

// Load returns the dataset: 1,797 rows, 64 dense features, the classes 0 to 9.
func Load() (*data.Dataset, error) {
	o := table.Options{Kind: data.Classification}
	o.Format.From = io.NopCloser(bytes.NewReader(csvGz))
	d, err := table.Dataset(Name, o)
	if err != nil {
		return nil, err
	}
	d.Notes = nil
	d.Features = make([]string, 64)
	for i := range d.Features {
		d.Features[i] = fmt.Sprintf("pixel %d,%d", i/8, i%8)
	}
	return d, nil
}

// Open reads a dataset by the path of its file, with options, or the embedded one by its
// name.
func Open(path string, o table.Options) (*data.Dataset, error) {
	if path == Name {
		return Load()
	}
	return table.Dataset(path, o)
}
