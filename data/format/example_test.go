package format_test

import (
	"fmt"
	"log"
	"strings"

	"l2mt/data/format"
)

// A table in memory: the columns that are neither label nor group are features.
func ExampleReadCSV() {
	text := "length,width,kind\n1.5,0.5,long\n1.0,1.0,square\n"
	d, err := format.ReadCSV(strings.NewReader(text), "shapes", format.Options{Label: "kind"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Features, d.Classes, d.Label)
	// Output: [length width] [long square] [0 1]
}
