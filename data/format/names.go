package format

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"l2mt/data"
)

// Numbered are the names of columns without a header.
func Numbered(width int) []string {
	names := make([]string, width)
	for j := range names {
		names[j] = strconv.Itoa(j)
	}
	return names
}

// FindUsual returns the first name, in any case, that is a usual one, or -1.
func FindUsual(names, usual []string) int {
	for _, name := range usual {
		j := FindName(names, name)
		if j >= 0 {
			return j
		}
	}
	return -1
}

// FindColumn returns the column of a name, or else of a number.
func FindColumn(names []string, asked string) (int, error) {
	j := slices.Index(names, asked)
	if j >= 0 {
		if slices.Contains(names[j+1:], asked) {
			return 0, data.Invalid("two columns are called %q", asked)
		}
		return j, nil
	}
	if j, err := strconv.Atoi(asked); err == nil && j >= 0 && j < len(names) {
		return j, nil
	}
	if j := FindName(names, strings.TrimSpace(asked)); j >= 0 {
		return 0, data.Invalid("there is no column %q; it is called %q",
			asked, names[j])
	}
	return 0, data.Invalid("there is no column %q; there are %s",
		asked, Abridge(names))
}

// Abridge lists a few names.
func Abridge(names []string) string {
	const listed = 5
	if len(names) <= listed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, ... (%d in all)",
		strings.Join(names[:listed], ", "), len(names))
}
