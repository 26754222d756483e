package plot

import (
	"bytes"
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/files"
	"l2mt/infer/compare"
	"l2mt/train"
)

// png is a picture as a file has it.
func png(t *testing.T, drawn *Picture) image.Image {
	t.Helper()
	picture, _, err := image.Decode(bytes.NewReader(datatest.Must(drawn.encode("png"))(t)))
	datatest.Check(t, err)
	return picture
}

// colours counts the colours of a picture in one of so many parts beside each other.
func colours(picture image.Image, part, parts int) map[color.Color]int {
	seen, size := map[color.Color]int{}, picture.Bounds().Size()
	for x := size.X * part / parts; x < size.X*(part+1)/parts; x++ {
		for y := range size.Y {
			seen[picture.At(x, y)]++
		}
	}
	return seen
}

// Every panel of the picture has its lines, whatever the numbers are.
func TestTheCourseOfTrainingIsDrawn(t *testing.T) {
	var metrics, lossless []train.Metrics
	for i, found := range []files.Float{0.9, 0.8, 0.7, 0.8, 0.9, 0.8, 0.7} {
		x := float64(i)
		m := train.Metrics{Epoch: i, Found: found, Tuple: 0.9, Scalars: map[string][]float64{"alpha": {x, -x}, "gamma": {1, 0}}}
		lossless = append(lossless, m)
		m.Loss, m.Residual, m.Deviation = 100*math.Exp(-x), math.Exp(-x), 1e-9
		metrics = append(metrics, m)
	}
	for name, course := range map[string][]train.Metrics{"seven epochs": metrics, "one epoch": metrics[:2], "no loss": lossless[:2]} {
		picture := png(t, Training(course))
		for panel := range 3 {
			seen := colours(picture, panel, 3)
			for i := range 3 {
				datatest.Holds(t, seen[palette[i]] != 0, "%s: panel %d has no line of colour %d", name, panel, i)
			}
		}
	}
}

// Heat maps are drawn whatever the number and the names of the tasks, with -1
// blue and 1 red.
func TestHeatMaps(t *testing.T) {
	for _, m := range []int{1, 2, 13, 70} {
		r := data.Stream(1, "heat map", uint64(m))
		c := Correlation{Title: "Task correlations\nof a test"}
		for i := range m {
			c.Tasks = append(c.Tasks, strings.Repeat("long name ", i%4))
			row := make([]float64, m)
			for j := range row {
				row[j] = 2*r.Float64() - 1
			}
			c.Correlation = append(c.Correlation, row)
		}
		c.Correlation[0][0], c.Correlation[m-1][m-1] = 1, -1
		picture := png(t, Correlations([]Correlation{c, c}))
		red, blue := false, false
		for c := range colours(picture, 0, 1) {
			r, g, b, _ := c.RGBA()
			red = red || r > 0xa000 && g < 0x3000 && b < 0x4000
			blue = blue || r < 0x5000 && g < 0x6000 && b > 0xa000
		}
		datatest.Holds(t, (red || m == 1) && blue, "%d tasks: red is drawn %v, blue %v", m, red, blue)
		for _, none := range []float64{-1.02, 2, math.NaN()} {
			if c.Correlation[m-1][0] = none; Correlations([]Correlation{c}).err == nil {
				t.Errorf("%d tasks: %v is drawn as a correlation", m, none)
			}
		}
	}
}

// Tasks of a group stand together, in whatever order they come.
func TestGroupsStandTogether(t *testing.T) {
	const n = 12
	group := func(i int) int { return i * 5 % n / 4 }
	correlation := make([][]float64, n)
	for i := range n {
		for j := range n {
			alike := map[bool]float64{true: 0.9, false: -0.2}[group(i) == group(j)]
			correlation[i] = append(correlation[i], alike)
		}
		correlation[i][i] = 1
	}
	groups := grouped(correlation)
	for k, i := range groups {
		groups[k] = group(i)
	}
	datatest.Holds(t, len(groups) == n && len(slices.Compact(slices.Clone(groups))) == 3,
		"the groups stand as %v", groups)
}

func TestTicksAreEnoughAndDistinct(t *testing.T) {
	const seed = 3
	r := data.Stream(seed, "ticks")
	for range 200 {
		lo := 10 * r.NormFloat64()
		hi := lo + math.Pow(10, 6*r.Float64()-4)
		seen := map[string]bool{}
		for _, tick := range (plainTicks{}).Ticks(lo, hi) {
			if tick.Label == "" {
				continue
			}
			v, err := strconv.ParseFloat(tick.Label, 64)
			if err != nil || math.Abs(v-tick.Value) > 1e-9*math.Abs(v) || v < lo || v > hi || math.Signbit(v) && v == 0 || len(tick.Label) > 10 || seen[tick.Label] {
				t.Errorf("seed %d: between %v and %v there is a tick %q at %v", seed, lo, hi, tick.Label, tick.Value)
			}
			seen[tick.Label] = true
		}
		datatest.Holds(t, len(seen) >= 2 && len(seen) <= 10,
			"seed %d: between %v and %v there are %d ticks", seed, lo, hi, len(seen))
	}
}

// The methods come in the order of what they show, the best on top, whatever the
// order of the table is. In a picture the lowest name is written first.
func TestMethodsOfATableAreInOrder(t *testing.T) {
	svg := datatest.Must(Table(&compare.Table{Problems: []string{"p"}, Rows: []compare.Row{
		{Title: "first", Relative: 0.7}, {Title: "second", Relative: 0.8}, {Title: "third", Relative: 0.9},
	}}).Inline())(t)
	at := func(name string) int { return strings.Index(string(svg), ">"+name+"<") }
	if third, second, first := at("third"), at("second"), at("first"); third < 0 || second < third || first < second {
		t.Errorf("from below third, second and first are at %d, %d and %d", third, second, first)
	}
}

// Titles of pictures have room: those of this program as they are, and names that
// users give are cut.
func TestTitlesAreShort(t *testing.T) {
	tasks, correlation := make([]string, 70), slices.Repeat([][]float64{make([]float64, 70)}, 70)
	long := strings.Repeat("long ", 20)
	rows := []compare.Row{{Relative: 1}}
	for name, p := range map[string]*Picture{
		"training":   Training([]train.Metrics{{Loss: 1}, {Loss: 1, Epoch: 1}}),
		"table":      Table(&compare.Table{Problems: tasks, Rows: rows}),
		"many tasks": Correlations([]Correlation{{"t", tasks, correlation}}),
		long:         Errors(long, "x", []Point{{"1", rows}}),
	} {
		datatest.Need(t, p.err == nil, "%s: %v", name, p.err)
		for _, of := range p.plots {
			for line := range strings.Lines(of.Title.Text) {
				if n := len(strings.TrimSpace(line)); n > LongestTitle || strings.HasSuffix(line, "...") != (name == long) {
					t.Errorf("%s: a title of %d characters: %s", name, n, line)
				}
			}
		}
	}
}
