// Package digits embeds the default dataset: the 1,797 8 x 8 images of
// handwritten digits of the test set of "Optical Recognition of Handwritten
// Digits" (E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, 1998,
// licensed CC BY 4.0). A row has 64 pixels between 0 and 16, then the digit.
package digits

import (
	"bytes"
	_ "embed"
	"strconv"

	"l2mt/data"
	"l2mt/data/format"
)

// Name is what selects the dataset where a file's path is expected.
const Name = "digits"

//go:embed digits.csv.gz
var csvGz []byte

// Load returns the dataset: 1,797 rows, 64 dense features, the classes 0 to 9.
func Load() (*data.Dataset, error) {
	d, err := format.ReadCSV(bytes.NewReader(csvGz), Name, format.Options{})
	if err != nil {
		return nil, err
	}
	d.Features = make([]string, 64)
	for i := range d.Features {
		d.Features[i] = "pixel " + strconv.Itoa(i/8) + "," + strconv.Itoa(i%8)
	}
	return d, nil
}

// Open reads a dataset by the path of its file, or the embedded one by
// its name.
func Open(path string) (*data.Dataset, error) {
	if path == Name {
		return Load()
	}
	return format.Read(path, format.Options{})
}
