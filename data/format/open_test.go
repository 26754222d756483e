package format

import (
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

// Whatever a file of names holds, packed or not, it is refused or gives one name
// a line.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "a\nb\n", "a\n\nb", " a \r\nb", "a\na\n", strings.Repeat("x", 70_000), "\x1f\x8b", "\xff\x00\n"} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, pack bool) {
		content := string(text)
		if pack {
			content = packed(t, content)
		}
		path := inFile(t, "names", content)
		names, err := readNames(path)
		if err != nil {
			datatest.Says(t, err, data.ErrFormat)
			return
		}
		if n := strings.Count(strings.TrimSuffix(string(text), "\n"), "\n") + 1; pack && len(names) != n {
			t.Errorf("%d names in %d lines", len(names), n)
		}
		if slices.Contains(names, "") {
			t.Errorf("an empty name among %q", names)
		}
	})
}
