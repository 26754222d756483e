package fault_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"l2mt/data/datatest"
	"l2mt/data/fault"
)

func Example() {
	missing := fault.New("something is missing")
	err := fmt.Errorf("table.csv: %w", missing.Errorf("line %d has no target", 5))
	fmt.Println(err)
	fmt.Println(errors.Is(err, missing))
	// Output:
	// table.csv: line 5 has no target
	// true
}

func TestAnErrorHasItsKindAndWhatItWraps(t *testing.T) {
	kind := fault.New("text")
	other := fault.New("text")
	err := kind.Errorf("x: %w", fs.ErrNotExist)
	datatest.Holds(t, errors.Is(err, kind) && errors.Is(err, fs.ErrNotExist) && !errors.Is(err, other),
		"%v is of the wrong kinds", err)
	datatest.Holds(t, err.Error() == "x: file does not exist" && kind.Error() == "text",
		"the texts are %q and %q", err, kind)
}
