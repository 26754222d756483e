package run

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/mat"

	"l2mt/infer/compare"
)

// Table is a table for print and for pages. The last cell of a row says what it is of.
type Table struct {
	Heads []string
	Rows  [][]string
}

// Row adds a row of texts and numbers, of which those that are not whole have four decimals.
func (t *Table) Row(cells ...any) {
	var row []string
	for _, c := range cells {
		switch v := c.(type) {
		case float64:
			c = Decimals(compare.Float(v))
		case compare.Float:
			c = Decimals(v)
		}
		row = append(row, fmt.Sprint(c))
	}
	t.Rows = append(t.Rows, row)
}

// Write prints the table, with all columns but the last set to the right.
func (t *Table) Write(w io.Writer) {
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{t.Heads}, t.Rows...) {
		last := len(row) - 1
		fmt.Fprintf(lines, "%s\t  %s\n", strings.Join(row[:last], "\t"), row[last])
	}
	lines.Flush()
}

// Fields is a table for print, with columns set to the left.
func Fields(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// Number is a number of four digits.
func Number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// Decimals is four of them, or a dash where the number is undefined.
func Decimals(f compare.Float) string {
	if math.IsNaN(float64(f)) {
		return "-"
	}
	return strings.Replace(strconv.FormatFloat(float64(f), 'f', 4, 64), "-0.0000", "0.0000", 1)
}

// Correlation is a covariance scaled to a diagonal of ones; tasks without
// variance correlate with nothing.
func Correlation(omega *mat.SymDense) [][]float64 {
	c := compare.Entries(omega)
	for i := range c {
		for j := range c {
			if scale := math.Sqrt(omega.At(i, i) * omega.At(j, j)); i == j {
				c[i][j] = 1
			} else if scale > 0 {
				c[i][j] /= scale
			}
		}
	}
	return c
}
