package table

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

// Six visits of a patient are noticed by its number, its name, or three measures of it, unless the
// patient is the task, the target does not know it, or its number counts, as an age does.
func TestRepeatedThings(t *testing.T) {
	const seed = 7
	for _, c := range []struct {
		name     string
		row      func(patient int, level, noise float64) (first string, y float64)
		task     string
		suspects []string
	}{
		{"numbers", func(p int, level, noise float64) (string, float64) { return fmt.Sprint(p), level + noise }, "clinic", []string{"first"}},
		{"names", func(p int, level, noise float64) (string, float64) { return fmt.Sprintf("p%d", p), level + noise }, "clinic", []string{"first"}},
		{"measures", func(p int, level, noise float64) (string, float64) { return fmt.Sprint(noise), level + noise }, "clinic", []string{"a", "b", "c"}},
		{"a target of its own", func(p int, level, noise float64) (string, float64) { return fmt.Sprint(p), noise }, "clinic", nil},
		{"a number that counts", func(p int, level, noise float64) (string, float64) { return fmt.Sprint(p), float64(p)/50 + noise }, "clinic", nil},
		{"the task", func(p int, level, noise float64) (string, float64) { return fmt.Sprint(p), level + noise }, "patient", nil},
	} {
		random := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		text.WriteString("clinic,patient,first,a,b,c,y\n")
		for p := range 50 {
			a, b, level := random.NormFloat64(), random.NormFloat64(), 3*random.NormFloat64()
			for range 6 {
				first, y := c.row(p, level, random.NormFloat64())
				fmt.Fprintf(&text, "%c,q%d,%s,%.2f,%.2f,%.2f,%.4f\n", 'a'+p%3, p, first, a, b, a-2*b, y)
			}
		}
		o := Options{Task: c.task, Ignore: []string{"patient"}}
		if c.task == "patient" {
			o.Ignore = []string{"clinic"}
		}
		tab := datatest.Must(Read(inFiles(t, "v.csv", text.String()), o))(t)
		slices.Sort(tab.Suspects)
		datatest.Equal(t, tab.Suspects, c.suspects, "seed %d, %s: noticed", seed, c.name)
		if c.suspects != nil && len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(tab.Suspected...))))) != 50 {
			t.Errorf("seed %d, %s: other than 50 groups", seed, c.name)
		}
		o.Group = []string{"first"}
		if tab = datatest.Must(Read(inFiles(t, "v.csv", text.String()), o))(t); tab.Suspects != nil {
			t.Errorf("seed %d, %s: %q is noticed beside a group", seed, c.name, tab.Suspects)
		}
	}
}
