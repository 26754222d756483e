package table

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

// Times, dates and identifiers far from zero are centred before they are narrowed: rows differ by
// as much as their values do, in units of the deviation that a textbook has (of n rows).
func TestColumnsAreCentredInDoublePrecision(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var rows strings.Builder
	var times, ids, days []float64
	rows.WriteString("time,id,when,y\n")
	for i := range 200 {
		times = append(times, 1_764_100_000+float64(random.IntN(100_000))/100)
		ids = append(ids, 2_000_000_000+float64(i%20))
		second := random.IntN(86_400)
		days = append(days, float64(second)/86_400)
		fmt.Fprintf(&rows, "%.2f,%.0f,2025-11-25T%02d:%02d:%02d,%.3f\n", times[i], ids[i], second/3600, second/60%60, second%60, random.NormFloat64())
	}
	tab := datatest.Must(Read(inFiles(t, "a.csv", rows.String()), Options{}))(t)
	x := tab.Problem.Tasks[0].TrainSet.X
	names := tab.Recipe.Made()
	for name, values := range map[string][]float64{"time": times, "id": ids, "when=day": days} {
		j := slices.Index(names, name)
		if j < 0 {
			t.Fatalf("no feature %q among %q", name, names)
		}
		mean, square := 0.0, 0.0
		for _, v := range values {
			mean += (v - values[0]) / 200
		}
		for _, v := range values {
			square += (v - values[0] - mean) * (v - values[0] - mean) / 200
		}
		for i, v := range values {
			want := (v - values[0] - mean) / math.Sqrt(square)
			datatest.Near(t, float64(x.Row(i).Value[j]), want, 1e-6*max(1, math.Abs(want)), "%s, row %d", name, i)
		}
	}
	for _, note := range tab.Notes {
		if strings.Contains(note, "single precision") {
			t.Errorf("nothing is lost, and it is said %q", note)
		}
	}
}

// What a fit does to a column, a prediction does to it too, and to a blank.
func TestOffsetsOfNewRows(t *testing.T) {
	tab := datatest.Must(Read(inFiles(t, "a.csv", "time,y\n1764100001,1.5\n,2\n1764100003,4\n1764100005,1\n"), Options{}))(t)
	columns := tab.Recipe.ColumnsAt(datatest.Must(tab.Recipe.Bind([]string{"time"}, 1, false))(t))
	for _, cell := range []string{"1764100001", "", "1764100004.5"} {
		columns[0].Add(cell)
	}
	// The mean is ...003; a blank has it, and says so.
	want := []float32{-2, 0, 0, 1, 1.5, 0}
	if value, _, err := tab.Recipe.Make(columns, 3, Unseen{}); err != nil || !slices.Equal(value, want) {
		t.Errorf("features %v, want %v, %v", value, want, err)
	}
	datatest.Equal(t, tab.Recipe.Offsets(), []float64{1764100003, 0}, "offsets")
}

// Where a column is not centred, what single precision loses is said.
func TestWhatSinglePrecisionLosesIsNamed(t *testing.T) {
	const said = "single precision, in which features are kept, cannot tell values of "
	for _, c := range []struct {
		name, cells, steps, named string
	}{
		{"identifiers as they are", "2000000001 2000000002 2000000003 2000000019", None, "x"},
		{"identifiers", "2000000001 2000000002 2000000003 2000000019", "", ""},
		{"years as they are", "2001 2002 2003 2019", None, ""},
		{"next to nothing", "1e-200 2e-200 3e-200 4e-200", "", "x"},
		{"one value", "2000000001 2000000001 2000000001 2000000001", None, ""},
	} {
		var rows strings.Builder
		rows.WriteString("x,z,y\n")
		for i, cell := range strings.Fields(c.cells) {
			fmt.Fprintf(&rows, "%s,%d,%d.5\n", cell, i%3, i)
		}
		o := Options{}
		if c.steps != "" {
			o.Steps = []string{c.steps}
		}
		tab := datatest.Must(Read(inFiles(t, "a.csv", rows.String()), o))(t)
		i := slices.IndexFunc(tab.Notes, func(note string) bool { return strings.HasPrefix(note, said) })
		switch {
		case (i >= 0) != (c.named != ""):
			t.Errorf("%s: notes %q", c.name, tab.Notes)
		case i >= 0 && !strings.HasPrefix(tab.Notes[i], said+c.named+" apart"):
			t.Errorf("%s: note %q", c.name, tab.Notes[i])
		}
	}
}
