package format_test

import (
	"fmt"
	"io"
	"strings"

	"l2mt/data/format"
)

// Separators and decimal marks are found in the first rows.
func ExampleOpenRows() {
	in := io.NopCloser(strings.NewReader("school;score\nnorth;3,5\nsouth;4,25\n"))
	rows, err := format.OpenRows("scores.csv", format.Options{From: in})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rows.Close()
	fmt.Printf("%q, numbers with a %s\n", rows.Names, rows.Decimal)
	// Output: ["school" "score"], numbers with a ,
}
