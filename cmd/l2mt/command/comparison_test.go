package command

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/digits"
	"l2mt/data/files"
	"l2mt/infer/compare"
	"l2mt/model/evidence"
	"l2mt/train"
)

// tableOf makes a table of STL and L2MT from their test errors.
func tableOf(t *testing.T, stl, ours []float64) *compare.Table {
	t.Helper()
	var outcomes []compare.Outcome
	for i := range stl {
		for model, e := range map[string]float64{compare.STL: stl[i], compare.L2MT: ours[i]} {
			o := compare.Outcome{Problem: string(rune('p' + i)), Method: compare.Method{Model: model}, Test: evidence.Errors{Mean: e}}
			if model == compare.STL {
				o.Variant = compare.Labelled
			}
			outcomes = append(outcomes, o)
		}
	}
	return datatest.Must(compare.Summarise(outcomes))(t)
}

// Whatever is undefined is a dash in print, empty in CSV, null in JSON, and not
// drawn.
func TestTablesWithUndefinedNumbers(t *testing.T) {
	datatest.Long(t)
	for _, c := range []struct {
		name      string
		stl, ours []float64
		drawn     bool
	}{
		{"one problem", []float64{0.2}, []float64{0.1}, true},
		{"no errors of STL on one", []float64{0.2, 0}, []float64{0.1, 0.1}, true},
		{"no errors of STL", []float64{0, 0}, []float64{0.1, 0}, false},
		{"no errors", []float64{0}, []float64{0}, false},
	} {
		table, dir := tableOf(t, c.stl, c.ours), t.TempDir()
		var text strings.Builder
		datatest.Check(t, tell(&text, "eval", table))
		datatest.Holds(t, !strings.Contains(text.String(), "NaN") && strings.Contains(text.String(), " -"),
			"%s:\n%s", c.name, &text)
		err := saveTable(dir, table)
		datatest.Need(t, err == nil, "%s: %v", c.name, err)
		back := datatest.Must(loadTable(dir))(t)
		if got, want := float64(back.Rows[0].StandardError), float64(table.Rows[0].StandardError); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s: the standard error %v comes back as %v", c.name, want, got)
		}
		raw := datatest.Must(os.ReadFile(filepath.Join(dir, tableFile)))(t)
		datatest.Holds(t, !strings.Contains(string(raw), "NaN"), "%s:\n%s", c.name, raw)
		_, err = os.Stat(filepath.Join(dir, "table.png"))
		datatest.Holds(t, (err == nil) == c.drawn, "%s: the chart: %v", c.name, err)
	}
}

// Columns stand over each other: every row ends in as many fields as the head.
func TestTableHasItsColumns(t *testing.T) {
	var text strings.Builder
	datatest.Check(t, tell(&text, "eval", tableOf(t, []float64{0.2, 0.3, 0.1}, []float64{0.1, 0.3, 0.2})))
	_, rows, ok := strings.Cut(text.String(), "method\n")
	datatest.Need(t, ok, "no head:\n%s", &text)
	want := map[string]string{
		"STL": "1.0000 0.0000 0.2000 - - - - - - STL",
		// The errors less those of STL are -0.1, 0 and 0.1, over a mean of 0.2: 0.5/sqrt(3).
		"L2MT": "1.0000 0.2887 0.2000 +0.0000 1 1/1/1 +0.0000 1 1/1/1 L2MT",
	}
	for line := range strings.Lines(rows) {
		fields := strings.Fields(line)
		name := fields[len(fields)-1]
		got := strings.Join(fields, " ")
		datatest.Holds(t, got == want[name], "%q, want %q", got, want[name])
		delete(want, name)
	}
	datatest.Holds(t, len(want) <= 0, "missing rows: %v", want)
}

// Whatever stands in the files that pictures and the report are drawn from, they
// are refused or drawn.
func FuzzPictures(f *testing.F) {
	const metrics, table, sweep, kinds = 0, 1, 2, 3
	encoded := func(v any) []byte {
		raw := datatest.Must(json.Marshal(v))(f)
		return raw
	}
	scalars := map[string][]float64{"alpha": {1, 2}}
	f.Add(metrics, encoded([]train.Metrics{{Loss: 1, Residual: 0.5, Deviation: 1e-3, Scalars: scalars}, {Epoch: 1, Loss: 0.1, Scalars: scalars}}))
	f.Add(metrics, []byte(`[{"scalars":{"alpha":[1]}},{"epoch":1e15,"loss":1e308,"scalars":{"alpha":[1]}}]`))
	f.Add(metrics, []byte(`[{"scalars":{"alpha":[1,2]}},{"epoch":1,"scalars":{"alpha":[1]}}]`))
	f.Add(metrics, []byte(`[]`))
	f.Add(table, encoded(compare.Table{Problems: []string{"p"}, Best: "a", Rows: []compare.Row{{Title: "a", Method: compare.Method{Model: "l2mt"}, Relative: 0.9}, {Title: "b", Relative: 1, StandardError: compare.Float(math.NaN())}}}))
	f.Add(table, []byte(`{"rows":[{"relative":"+Inf"}]}`))
	f.Add(table, []byte(`{"rows":[{"relative":1e308},{"relative":-1e308,"standard_error":1e300}]}`))
	f.Add(sweep, encoded(swept{Title: "t", Axis: "x",
		Points:       []plot.Point{{Name: "1", Rows: []compare.Row{{Title: "a", Method: compare.Method{Model: compare.L2MT}, Relative: 0.9, StandardError: 0.1}}}, {Name: "2", Rows: []compare.Row{{Title: "a", Relative: 0.8}}}},
		Correlations: []plot.Correlation{{Title: "c", Tasks: []string{"a"}, Correlation: [][]float64{{1}}}}}))
	for _, text := range []string{
		`{"points":[{"name":"0","rows":[{"relative":0.9}]},{"name":"1","rows":[{"relative":0.8}]},{"name":"1e9","rows":[{"relative":0.7}]}]}`,
		`{"points":[{"name":"1","rows":[{"relative":9,"standard_error":"+Inf"}]},{"name":"20","rows":[{"relative":1,"standard_error":1e300}]},{"name":"1e300","rows":[{"relative":0.1}]}]}`,
		`{"points":[{"name":"a","rows":[{"title":"a","relative":1},{"title":"b"}]},{"name":"b"}]}`,
		`{"points":[{"name":"a","rows":[{"relative":1}]},{"name":"","rows":[{"relative":1e308}]}]}`,
		`{"correlations":[{"tasks":["a"],"correlation":[[1]]},{"tasks":["a","b"],"correlation":[[1,0],[0,1]]}]}`,
		`{}`,
	} {
		f.Add(sweep, []byte(text))
	}
	f.Fuzz(func(t *testing.T, kind int, raw []byte) {
		var drawn *plot.Picture
		switch uint(kind) % kinds {
		case metrics:
			var m []train.Metrics
			if json.Unmarshal(raw, &m) == nil {
				drawn = plot.Training(m)
			}
		case table:
			var table compare.Table
			if json.Unmarshal(raw, &table) == nil {
				drawn = plot.Table(&table)
			}
		case sweep:
			var r swept
			if json.Unmarshal(raw, &r) == nil {
				drawn = r.Picture()
				_, _ = plot.Correlations(r.Correlations).Inline()
			}
		}
		_, _ = drawn.Inline() // an error is as good as a picture
	})
}

func TestShippedExperimentsAreSoundAndSayWhatTheyAre(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	want := []string{"casestudy", "curve", "fig2", "fig3-hidden", "fig3-k", "fig3-lambda", "fig3-q", "fig3-s", "functions", "paper"}
	datatest.Equal(t, experimentNames(), want, "the shipped experiments")
	d := datatest.Must(digits.Load())(t)
	sampled := map[string]bool{}
	for _, name := range want {
		x, err := (&sweepCmd{Experiment: name}).read() // checks the flags of every point
		if err != nil {
			t.Error(err)
			continue
		}
		datatest.Holds(t, strings.HasPrefix(x.text, "# ") && x.Title != name && len(x.Title) <= plot.LongestTitle,
			"%s does not begin with what it is, or its title %q is none or too long", name, x.Title)
		datatest.Equal(t, x.Dataset, digits.Name, "%s: the dataset", name)
		for _, r := range x.runs {
			config := r.sample.SampleConfig
			if key := fmt.Sprintf("%+v", config); !sampled[key] {
				_, _, err = data.SampleProblems(d, config)
				datatest.Holds(t, err == nil, "%s: %v", name, err)
				sampled[key] = true
			}
			datatest.Holds(t, r.learn.First <= r.sample.Train,
				"%s: the first %d of %d problems", name, r.learn.First, r.sample.Train)
		}
	}
}

// pointRun is a run of a point that comes to test errors of STL and of L2MT on two problems.
func pointRun(name, from string, stl, ours []float64) *experimentRun {
	zero := []float64{0, 0}
	return &experimentRun{point: point{Name: name}, from: from, table: &compare.Table{Problems: []string{"a", "b"}, Rows: []compare.Row{
		{Method: compare.Method{Model: compare.STL, Variant: compare.Labelled}, Title: "STL", Validation: zero, Test: stl},
		{Method: compare.Method{Model: compare.L2MT}, Title: "L2MT", Validation: zero, Test: ours},
		{Method: compare.Method{Model: compare.Best}, Title: "best", Validation: zero, Test: zero},
	}}}
}

// The means over seeds and the comparison of two points by hand: the errors of two seeds on one
// problem count as their mean, and points that have other problems are not compared.
func TestErrorsOfSeedsAreMeans(t *testing.T) {
	at := func(name, from string, ours ...float64) *experimentRun {
		return pointRun(name, from, []float64{1, 3}, ours)
	}
	x := &experiment{Vary: variation{Cases: []point{{Name: "1"}, {Name: "2"}, {Name: "3"}}},
		runs: []*experimentRun{at("1", "p", 1, 2), at("1", "p", 3, 2), at("2", "p", 1, 3), at("3", "other", 0.5, 0)}}
	r, err := x.gather()
	datatest.Check(t, err)
	// At 1 L2MT has the errors 2 and 2, relative to 1 and 3.
	rows := r.Points[0].Rows
	ours := rows[slices.IndexFunc(rows, func(row compare.Row) bool { return row.Title == "L2MT" })]
	datatest.Holds(t, len(rows) == 2 && ours.Relative == 1 && ours.StandardError == 0.5,
		"%d methods, L2MT %+v", len(rows), ours)
	row := find(r.tables[0], compare.L2MT, compare.Plain)
	datatest.Holds(t, row.Error == 2, "%+v", row)
	// 1 has the errors 2, 2 and 2 has 1, 3, in units of 2, the mean error of STL.
	datatest.Holds(t, len(r.Pairs) == 1 && r.Pairs[0].A == "1" && r.Pairs[0].B == "2" && r.Pairs[0].Difference == 0 && r.Pairs[0].StandardError == 0.5 && r.Pairs[0].Losses == 1,
		"%+v", r.Pairs)
	// The quantile of Student's t for two degrees of freedom is 4.3027, so that the interval around 2
	// is 4.3027 / sqrt(3).
	datatest.Equal(t, spread([]files.Float{1, 2, 3}), "2.0000 +- 2.4841", "the interval over seeds")
}

// The table of a sweep and its pairs name one winner: 1 is better by the mean of the errors, 2
// by the mean of the ratios to STL, which is no relative error.
func TestSweepNamesOneWinner(t *testing.T) {
	stl := []float64{0.1, 0.5}
	x := &experiment{Title: "winner", Vary: variation{Label: "point", Cases: []point{{Name: "first"}, {Name: "second"}}},
		runs: []*experimentRun{pointRun("first", "p", stl, []float64{0.1, 0.2}), pointRun("second", "p", stl, []float64{0.05, 0.4})}}
	r, err := x.gather()
	datatest.Check(t, err)
	var text strings.Builder
	datatest.Check(t, tell(&text, "sweep", r))
	for _, line := range []string{"first 0.5000 .* L2MT", "second 0.7500 .* L2MT", "-0.2500 .* first less second"} {
		datatest.Holds(t, regexp.MustCompile(strings.ReplaceAll(line, " ", " +")).MatchString(text.String()),
			"no line %q in\n%s", line, &text)
	}
}

// Whatever the experiment, it is refused or all its runs can be set up.
func FuzzExperiment(f *testing.F) {
	datatest.Long(f)
	for _, name := range experimentNames() {
		x := datatest.Must((&sweepCmd{Experiment: name}).read())(f)
		f.Add(x.text)
	}
	for _, s := range []string{"", "seeds = [-1]", "flags = ['train --help']", "flags = ['train --model.hidden', '']", "flags = ['collect --draws x --draws 3']",
		"[vary]\nflag = 'problems --train='\nvalues = [1, 1]", "[vary]\nflag = 'train --train.rate='\nvalues = [nan, inf, 1979-05-27]",
		"[vary]\n[[vary.case]]\nname = 'a'\nflags = ['train --seed=2']", "flags = ['problems --min-tasks 9 --min-tasks=3']"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := new(sweepCmd).parse("fuzz", text)
		if err != nil {
			return
		}
		for _, r := range x.runs {
			_, err = x.stages(r, "run", map[string]string{})
			datatest.Holds(t, err == nil, "an experiment that was accepted cannot be run: %v", err)
		}
	})
}
