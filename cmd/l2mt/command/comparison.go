package command

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/infer/compare"
)

// tableFile has the table of an evaluation.
const tableFile = "table.json"

// comparison is a table of methods. Below them stand L2MT without one of its parts or with one
// alone, and below these the methods that learn from fewer rows.
func comparison(table *compare.Table) *grid {
	t := newGrid("relative", "s.e.", "test error", "to STL", "p", "w/t/l", "to best", "p", "w/t/l", "method")
	group := ""
	for _, r := range table.Rows {
		if r.Heading() != group {
			group = r.Heading()
			t.row(append(slices.Repeat([]any{""}, 9), group)...)
		}
		cells := append([]any{r.Relative, r.StandardError, r.Error},
			against(r.AgainstSTL, r.Model == compare.STL && !r.Published)...)
		cells = append(cells, against(r.AgainstBest, r.Title == table.Best)...)
		t.row(append(cells, r.Title)...)
	}
	return t
}

// writeTable prints a comparison of methods.
func writeTable(w io.Writer, table *compare.Table) {
	fmt.Fprintf(w, "relative error: mean test error divided by the error of STL on the same labelled rows, problems: %d; differences are paired, with p of Wilcoxon's signed-rank test\n", len(table.Problems))
	fmt.Fprintf(w, "best single model: %s\n\n", table.Best)
	comparison(table).write(w)
	writePairs(w, table.Pairs)
}

// pairsOf is a table of networks against each other.
func pairsOf(pairs []compare.Pair) *grid {
	t := newGrid("difference", "s.e.", "p", "w/t/l", "of")
	for _, p := range pairs {
		cells := against(p.Paired, false)
		t.row(cells[0], p.StandardError, cells[1],
			cells[2], p.A+" less "+p.B)
	}
	return t
}

// writePairs prints comparisons of networks, if there are any.
func writePairs(w io.Writer, pairs []compare.Pair) {
	if len(pairs) > 0 {
		fmt.Fprintln(w, "\ndifferences of test errors on the same problems, divided by the mean error of STL")
		pairsOf(pairs).write(w)
	}
}

// against is three cells: the difference, p, and wins, ties and losses. A
// method is not compared with itself.
func against(p compare.Paired, self bool) []any {
	if self {
		return []any{"-", "-", "-"}
	}
	difference := decimals(p.Difference)
	if !strings.HasPrefix(difference, "-") {
		difference = "+" + difference
	}
	return []any{difference, fmt.Sprintf("%.2g", p.P),
		fmt.Sprintf("%d/%d/%d", p.Wins, p.Ties, p.Losses)}
}

// saveTable writes a table as JSON, with the errors problem by problem, and its picture. Seconds
// are in the outcomes alone, so that equal runs give equal tables.
func saveTable(dir string, table *compare.Table) error {
	timeless := *table
	timeless.Rows = slices.Clone(table.Rows)
	for i := range timeless.Rows {
		timeless.Rows[i].Seconds = 0
	}
	if err := saveJSON(filepath.Join(dir, tableFile), timeless); err != nil {
		return err
	}
	return plot.Table(table).Save(filepath.Join(dir, "table.png"))
}

// loadTable reads the files of saveTable.
func loadTable(dir string) (*compare.Table, error) {
	table := new(compare.Table)
	return table, loadJSON(filepath.Join(dir, tableFile), table)
}

// swept is the result of a sweep.
type swept struct {
	Title string `json:"title"`
	// Axis names the varied setting, and Points are its values with the methods to show.
	Axis   string       `json:"axis"`
	Points []plot.Point `json:"points"`
	// Pairs compare L2MT at every point with L2MT at the others, on the same problems.
	Pairs []compare.Pair `json:"pairs,omitempty"`
	// Correlations of the tasks are there for a single problem.
	Correlations []plot.Correlation `json:"correlations,omitempty"`
}

func (s *swept) picture() *plot.Picture {
	return plot.Errors(s.Title, s.Axis, s.Points)
}
