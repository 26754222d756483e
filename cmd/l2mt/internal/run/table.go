package run

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

// WriteTable prints a table of methods, below them what L2MT is without one of its
// parts, or with one alone, and below these what learns from fewer rows.
func WriteTable(w io.Writer, table *compare.Table) {
	fmt.Fprintf(w, "relative error: mean test error over that of STL on the same labelled rows, problems: %d; differences are paired, with p of Wilcoxon's signed-rank test\n", len(table.Problems))
	fmt.Fprintf(w, "best single model: %s\n\n", table.Best)
	t := Columns(w)
	fmt.Fprintln(t, "relative\tper problem\ts.e.\ttest error\tto STL\tp\tw/t/l\tto best\tp\tw/t/l\tseconds\t  method")
	group := ""
	for _, r := range table.Rows {
		if r.Heading() != group {
			group = r.Heading()
			fmt.Fprintln(t, strings.Repeat("\t", 11)+"  "+group)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.4f\t%s\t%s\t%.2f\t  %s\n", Decimals(r.Relative), Decimals(r.PerProblem), Decimals(r.StandardError), r.Error,
			against(r.AgainstSTL, r.Model == compare.STL && !r.Published), against(r.AgainstBest, r.Title == table.Best), r.Seconds, r.Title)
	}
	t.Flush()
	WritePairs(w, table.Pairs)
	if n := perfect(table); n > 0 {
		fmt.Fprintf(w, "\nper problem leaves out %d problems on which STL makes no error: nothing is relative to it there.\n", n)
	}
}

// WritePairs prints how networks compare with each other.
func WritePairs(w io.Writer, pairs []compare.Pair) {
	if len(pairs) == 0 {
		return
	}
	fmt.Fprintln(w, "\ntest errors of one less those of another on the same problems, over the mean of STL")
	t := Columns(w)
	fmt.Fprintln(t, "difference\ts.e.\tp\tw/t/l\t  of")
	for _, p := range pairs {
		fmt.Fprintf(t, "%s\t%s\t%.2g\t%d/%d/%d\t  %s less %s\n", Decimals(p.Difference), Decimals(p.StandardError), p.P, p.Wins, p.Ties, p.Losses, p.A, p.B)
	}
	t.Flush()
}

// perfect counts the problems on which single-task learning makes no error.
func perfect(table *compare.Table) (n int) {
	for _, r := range table.Rows {
		for _, e := range r.Test {
			if r.Model == compare.STL && !r.Published && e == 0 {
				n++
			}
		}
	}
	return n
}

// against is three columns: the difference, p, and wins, ties and losses. A
// method is not compared with itself.
func against(p compare.Paired, self bool) string {
	if self {
		return "-\t-\t-"
	}
	difference := Decimals(p.Difference)
	if !strings.HasPrefix(difference, "-") {
		difference = "+" + difference
	}
	return fmt.Sprintf("%s\t%.2g\t%d/%d/%d", difference, p.P, p.Wins, p.Ties, p.Losses)
}

// SaveTable writes a table as JSON, with the errors problem by problem, and its picture.
func SaveTable(dir string, table *compare.Table) error {
	timeless, seconds := *table, map[string]float64{}
	timeless.Rows = slices.Clone(table.Rows)
	for i, row := range table.Rows {
		timeless.Rows[i].Seconds, seconds[row.Title] = 0, row.Seconds
	}
	if err := SaveJSON(filepath.Join(dir, SecondsFile), seconds); err != nil {
		return err
	}
	if err := SaveJSON(filepath.Join(dir, tableFile), timeless); err != nil {
		return err
	}
	picture, err := plot.Table(table)
	return plot.Save(filepath.Join(dir, "table.png"), picture, err)
}

// LoadTable reads what SaveTable wrote.
func LoadTable(dir string) (*compare.Table, error) {
	table := new(compare.Table)
	if err := LoadJSON(filepath.Join(dir, tableFile), table); err != nil {
		return nil, err
	}
	var seconds map[string]float64
	if err := Optional(LoadJSON(filepath.Join(dir, SecondsFile), &seconds)); err != nil {
		return nil, err
	}
	for i, row := range table.Rows {
		table.Rows[i].Seconds = seconds[row.Title]
	}
	return table, nil
}
