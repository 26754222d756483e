package settings

import (
	"math"
	"slices"
	"strings"
	"testing"
)

type colour string

// sample has a field of every kind.
type sample struct {
	Rows   int     `json:"rows"`
	Width  int     `json:"width" min:"1" max:"9" help:"How wide."`
	Deep   int     `json:"deep,omitempty" min:"0" help:"How deep."`
	Rate   float64 `json:"rate" above:"0" help:"How fast."`
	Colour colour  `json:"colour" help:"Which colour."`
	On     bool    `json:"on" help:"Whether."`
	Seed   uint64  `json:"seed" help:"Where it begins."`
	Inner  struct{ X int }
}

func table(s *sample) Table {
	return New("box", s, map[string][]string{"colour": {"red", "blue"}})
}

func valid() sample { return sample{Width: 3, Rate: 0.5, Colour: "red"} }

func TestATableSaysAllOfItsSettings(t *testing.T) {
	s := valid()
	var lines []string
	for _, x := range table(&s).Open() {
		lines = append(lines, strings.Join([]string{x.Name, x.Value(), x.Meaning, x.Valid()}, "|"))
	}
	want := []string{
		"box.width|3|How wide.|a whole number from 1 to 9",
		"box.deep|0|How deep.|a whole number of at least 0",
		"box.rate|0.5|How fast.|a number above 0",
		"box.colour|red|Which colour.|one of red, blue",
		"box.on|false|Whether.|true or false",
		"box.seed|0|Where it begins.|a whole number",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("it says\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestSettingsAreSetFromTexts(t *testing.T) {
	var got sample
	for name, text := range map[string]string{"box.width": "9", "box.rate": "1e-3", "box.colour": "blue", "box.on": "true", "box.seed": "18446744073709551615"} {
		if err := table(&got).Set(name, text); err != nil {
			t.Error(err)
		}
	}
	if want := (sample{Width: 9, Rate: 1e-3, Colour: "blue", On: true, Seed: math.MaxUint64}); got != want {
		t.Errorf("it is %+v, want %+v", got, want)
	}
}

// What is refused changes nothing.
func TestWhatASettingCannotBeIsRefused(t *testing.T) {
	for _, c := range [][3]string{
		{"box.width", "0", `box.width is 0; it must be a whole number from 1 to 9`},
		{"box.width", "10", "box.width is 10"},
		{"box.width", "3.5", `box.width is "3.5"; it must be a whole number from 1 to 9`},
		{"box.deep", "-1", "box.deep is -1; it must be a whole number of at least 0"},
		{"box.rate", "0", "box.rate is 0; it must be a number above 0"},
		{"box.rate", "NaN", "box.rate is NaN"},
		{"box.rate", "Inf", "box.rate is +Inf"},
		{"box.rate", "fast", `box.rate is "fast"; it must be a number above 0`},
		{"box.colour", "green", `box.colour is "green"; it must be one of red, blue`},
		{"box.on", "1", `box.on is "1"; it must be true or false`},
		{"box.seed", "-1", `box.seed is "-1"; it must be a whole number`},
		{"box.widht", "1", `there is no setting "box.widht"; near it: box.width`},
		{"width", "1", `there is no setting "width"; near it: box.width`},
		{"box.see", "1", "near it: box.seed, box.deep"},
		{"cat.eed", "1", "near it: box.seed, box.deep"},
		{"box.rows", "1", `there is no setting "box.rows"; there are box.width, box.deep`},
		{"box.unheard-of", "1", "there are box.width, box.deep, box.rate, box.colour, box.on, box.seed"},
	} {
		got := valid()
		if err := table(&got).Set(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s=%s: the error is %v, want %q", c[0], c[1], err, c[2])
		}
		if got != valid() {
			t.Errorf("%s=%s: it has become %+v", c[0], c[1], got)
		}
	}
}

func TestEveryFaultAndEveryDifferenceIsNamed(t *testing.T) {
	bad, good := sample{Rows: 1, Colour: "green"}, valid()
	var faults []string
	for _, err := range table(&bad).Faults() {
		faults = append(faults, err.Error()[:strings.Index(err.Error(), ";")])
	}
	if want := []string{"box.width is 0", "box.rate is 0", `box.colour is "green"`}; !slices.Equal(faults, want) {
		t.Errorf("the faults are %q, want %q", faults, want)
	}
	if faults := table(&good).Faults(); faults != nil {
		t.Errorf("a valid one has the faults %v", faults)
	}
	other := good
	other.Rows, other.On = 7, true
	if d := table(&good).Differences(table(&other)); !slices.Equal(d, []Difference{{"box.rows", "0", "7"}, {"box.on", "false", "true"}}) {
		t.Errorf("the differences are %v", d)
	}
}

// By hand: kitten -> sitten -> sittin -> sitting.
func TestTheDistanceOfNames(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"kitten", "sitting", 3}, {"", "abc", 3}, {"abc", "", 3}, {"hidden", "hidden", 0}, {"ab", "ba", 2}, {"rate", "rat", 1}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q it is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
