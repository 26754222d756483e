package settings

import (
	"math"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

type colour string

// sample has a field of every kind.
type sample struct {
	Rows   int     `json:"rows"`
	Width  int     `json:"width" min:"1" max:"9"`
	Deep   int     `json:"deep,omitempty" min:"0"`
	Rate   float64 `json:"rate" above:"0"`
	Colour colour  `json:"colour"`
	On     bool    `json:"on"`
	Seed   uint64  `json:"seed"`
	Inner  struct{ X int }
}

func table(s *sample) Table {
	return New("box", s, map[string][]string{"colour": {"red", "blue"}})
}

func valid() sample { return sample{Width: 3, Rate: 0.5, Colour: "red"} }

func TestATableHasAllSettings(t *testing.T) {
	s := valid()
	var lines []string
	for _, x := range table(&s) {
		lines = append(lines, x.Name+"="+x.Value())
	}
	want := "box.rows=0 box.width=3 box.deep=0 box.rate=0.5 box.colour=red box.on=false box.seed=0"
	datatest.Equal(t, strings.Join(lines, " "), want, "the lines")
}

func TestWhatASettingCannotBeIsRefused(t *testing.T) {
	for want, change := range map[string]func(s *sample){
		"box.width is 0; it must be a whole number from 1 to 9":   func(s *sample) { s.Width = 0 },
		"box.width is 10; it must be a whole number from 1 to 9":  func(s *sample) { s.Width = 10 },
		"box.deep is -1; it must be a whole number of at least 0": func(s *sample) { s.Deep = -1 },
		"box.rate is 0; it must be a number above 0":              func(s *sample) { s.Rate = 0 },
		"box.rate is NaN; it must be a number above 0":            func(s *sample) { s.Rate = math.NaN() },
		"box.rate is +Inf; it must be a number above 0":           func(s *sample) { s.Rate = math.Inf(1) },
		`box.colour is "green"; it must be one of red, blue`:      func(s *sample) { s.Colour = "green" },
	} {
		bad := valid()
		change(&bad)
		faults := table(&bad).Faults()
		datatest.Holds(t, len(faults) == 1 && faults[0].Error() == want, "the faults are %v, want %q", faults, want)
	}
}
