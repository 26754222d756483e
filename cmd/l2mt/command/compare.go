package command

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"image/color"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"l2mt/data/files"
	"l2mt/infer/compare"
)

// writeTable prints a table of methods.
func writeTable(w io.Writer, table *compare.Table) {
	fmt.Fprintf(w, "relative error: mean test error over that of STL, problems: %d; differences are paired, with p of Wilcoxon's signed-rank test\n", len(table.Problems))
	fmt.Fprintf(w, "best single model: %s\n\n", table.Best)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "relative\tper problem\ts.e.\ttest error\tto STL\tp\tw/t/l\tto best\tp\tw/t/l\tseconds\t  method")
	pooled := 0
	for _, r := range table.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.4f\t%s\t%s\t%.2f\t  %s\n", decimals(r.Relative), decimals(r.PerProblem), decimals(r.StandardError), r.Error,
			against(r.AgainstSTL, r.Model == compare.STL), against(r.AgainstBest, r.Title == table.Best), r.Seconds, r.Title)
		pooled += r.Pooled
	}
	t.Flush()
	if pooled > 0 {
		fmt.Fprintf(w, "\nThe fit pooled with the training problems had the lower validation error, and was taken, %d times.\n", pooled)
	}
}

// against is three columns: the difference, p, and wins, ties and losses. A
// method is not compared with itself.
func against(p compare.Paired, self bool) string {
	if self {
		return "-\t-\t-"
	}
	difference := decimals(p.Difference)
	if !strings.HasPrefix(difference, "-") {
		difference = "+" + difference
	}
	return fmt.Sprintf("%s\t%.2g\t%d/%d/%d", difference, p.P, p.Wins, p.Ties, p.Losses)
}

// decimals is four of them, or a dash where the number is undefined.
func decimals(f compare.Float) string {
	if math.IsNaN(float64(f)) {
		return "-"
	}
	return strings.Replace(strconv.FormatFloat(float64(f), 'f', 4, 64), "-0.0000", "0.0000", 1)
}

// secondsFile has the times of an evaluation, by method, or of an inference. They
// are kept apart from the results, so that equal runs give equal files.
const secondsFile = "seconds.json"

// saveTable writes a table as JSON, CSV and a bar chart, and the errors problem
// by problem as CSV.
func saveTable(dir string, table *compare.Table) error {
	timeless, seconds := *table, map[string]float64{}
	timeless.Rows = slices.Clone(table.Rows)
	for i, row := range table.Rows {
		timeless.Rows[i].Seconds, seconds[row.Title] = 0, row.Seconds
	}
	if err := saveJSON(filepath.Join(dir, secondsFile), seconds); err != nil {
		return err
	}
	if err := saveJSON(filepath.Join(dir, "table.json"), timeless); err != nil {
		return err
	}
	if err := saveCSV(filepath.Join(dir, "table.csv"), tableRows(table)); err != nil {
		return err
	}
	if err := saveCSV(filepath.Join(dir, "problems.csv"), problemRows(table)); err != nil {
		return err
	}
	picture, err := plotTable(table)
	return savePicture(filepath.Join(dir, "table.png"), picture, err)
}

func tableRows(table *compare.Table) [][]string {
	rows := [][]string{{"title", "model", "variant", "relative", "per_problem", "standard_error", "test_error",
		"difference_to_stl", "p_to_stl", "wins_to_stl", "ties_to_stl", "losses_to_stl",
		"difference_to_best", "p_to_best", "wins_to_best", "ties_to_best", "losses_to_best", "pooled"}}
	paired := func(p compare.Paired) []string {
		return []string{full(float64(p.Difference)), full(p.P), strconv.Itoa(p.Wins), strconv.Itoa(p.Ties), strconv.Itoa(p.Losses)}
	}
	for _, r := range table.Rows {
		rows = append(rows, slices.Concat(
			[]string{r.Title, r.Model, string(r.Variant), full(float64(r.Relative)), full(float64(r.PerProblem)), full(float64(r.StandardError)), full(r.Error)},
			paired(r.AgainstSTL), paired(r.AgainstBest), []string{strconv.Itoa(r.Pooled)}))
	}
	return rows
}

func problemRows(table *compare.Table) [][]string {
	rows := [][]string{{"problem", "title", "model", "variant", "validation_error", "test_error"}}
	for i, problem := range table.Problems {
		for _, r := range table.Rows {
			rows = append(rows, []string{problem, r.Title, r.Model, string(r.Variant), full(r.Validation[i]), full(r.Test[i])})
		}
	}
	return rows
}

// full is a number with all its digits, or empty where it is undefined.
func full(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func saveCSV(path string, rows [][]string) error {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return err
	}
	return files.WriteFile(path, b.Bytes())
}

func saveJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return files.WriteFile(path, append(raw, '\n'))
}

// plotTable draws the relative errors as bars from 1, which is single-task
// learning, with their standard errors.
func plotTable(table *compare.Table) (*picture, error) {
	p := newPlot(fmt.Sprintf("Test error relative to single-task learning, problems: %d", len(table.Problems)),
		"mean over problems of the relative error, with standard error (left of 1 is better)", "")
	p.X.Tick.Marker = shiftedTicks{by: 1}
	p.Add(plotter.NewGrid())
	var models, network plotter.Values
	var whiskers struct {
		plotter.XYs
		plotter.XErrors
	}
	var names []string
	for _, r := range slices.Backward(table.Rows) { // the best on top
		excess, deviation := float64(r.PerProblem)-1, float64(r.StandardError)
		if math.IsNaN(excess) {
			continue
		}
		if math.IsNaN(deviation) {
			deviation = 0
		}
		whiskers.XYs = append(whiskers.XYs, plotter.XY{X: excess, Y: float64(len(names))})
		whiskers.XErrors = append(whiskers.XErrors, struct{ Low, High float64 }{deviation, deviation})
		models, network = append(models, excess), append(network, 0)
		if r.Model == compare.L2MT {
			models[len(names)], network[len(names)] = 0, excess
		}
		names = append(names, r.Title)
	}
	if len(names) == 0 {
		return nil, nil // no error of single-task learning to refer to
	}
	for i, values := range []plotter.Values{models, network} {
		bars, err := plotter.NewBarChart(values, vg.Points(12))
		if err != nil {
			return nil, err
		}
		bars.Horizontal, bars.LineStyle.Width = true, 0
		bars.Color = []color.Color{color.Gray{Y: 170}, palette[0]}[i]
		p.Add(bars)
	}
	bars, err := plotter.NewXErrorBars(whiskers)
	if err != nil {
		return nil, err
	}
	p.Add(bars)
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.7, float64(len(names))-0.3
	p.X.Padding = vg.Points(8)
	return &picture{9 * vg.Inch, vg.Length(1.2+0.28*float64(len(names))) * vg.Inch, []*plot.Plot{p}}, nil
}

// shiftedTicks labels an axis with its values plus a constant.
type shiftedTicks struct{ by float64 }

func (s shiftedTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plainTicks{}.Ticks(low+s.by, high+s.by)
	for i := range ticks {
		ticks[i].Value -= s.by
	}
	return ticks
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
