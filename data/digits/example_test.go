package digits_test

import (
	"fmt"

	"l2mt/data/digits"
)

func Example() {
	d, err := digits.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.X.Rows(), d.X.Cols(), d.Classes, d.Features[9])
	// Output:
	// 1797 64 [0 1 2 3 4 5 6 7 8 9] pixel 1,1
}
