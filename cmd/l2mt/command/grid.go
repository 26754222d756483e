package command

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"l2mt/data/files"
)

// grid is a table for print and for pages. The last cell of a row names the row.
type grid struct {
	Heads []string
	Rows  [][]string
}

func newGrid(heads ...string) *grid { return &grid{Heads: heads} }

// row adds a row of texts and numbers. Fractions have four decimals.
func (g *grid) row(cells ...any) {
	var row []string
	for _, c := range cells {
		switch v := c.(type) {
		case float64:
			c = decimals(files.Float(v))
		case files.Float:
			c = decimals(v)
		}
		row = append(row, fmt.Sprint(c))
	}
	g.Rows = append(g.Rows, row)
}

// write prints the table, with all columns but the last set to the right.
func (g *grid) write(w io.Writer) {
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{g.Heads}, g.Rows...) {
		last := len(row) - 1
		fmt.Fprintf(lines, "%s\t  %s\n", strings.Join(row[:last], "\t"), row[last])
	}
	lines.Flush()
}

// named prints the table with its last cells first, shortened in their middle where a line would
// not fit a terminal.
func (g *grid) named(w io.Writer) {
	rows := append([][]string{g.Heads}, g.Rows...)
	last := len(g.Heads) - 1
	widths := make([]int, len(g.Heads))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	room := lineWidth - 2
	for _, width := range widths[:last] {
		room -= width + 2
	}
	room = min(max(room, 10), widths[last])
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		name := []rune(row[last])
		if n := len(name); n > room {
			half := room / 2
			name = slices.Concat(name[:half], []rune("..."), name[n-half+3:])
		}
		numbers := strings.Join(row[:last], "\t")
		fmt.Fprintf(lines, "%-*s\t%s\t\n", room, string(name), numbers)
	}
	lines.Flush()
}

// wrap prints a text in lines that fit a terminal.
func wrap(w io.Writer, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(w, fill(line, ""))
	}
}

// tied keeps units of numbers in their lines.
func tied(text string) string { return strings.ReplaceAll(text, " %", "\u00a0%") }

// fill breaks a line that does not fit a terminal, and goes on behind a gap.
func fill(line, gap string) string {
	var b strings.Builder
	width := 0
	for word := range strings.SplitSeq(tied(line), " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case width > 0 && width+n >= lineWidth:
			b.WriteString("\n" + gap)
			width = len(gap)
		case width > 0:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += n
	}
	return strings.ReplaceAll(b.String(), "\u00a0", " ")
}

// number is a number of four digits, and at most four decimals.
func number[F ~float64](v F) string {
	size := math.Abs(float64(v))
	switch {
	case math.IsNaN(size) || v == 0 || size >= 5e-4 && size < 10:
		return decimals(files.Float(v))
	case size >= 10 && size < 1e7:
		digits := max(0, 3-int(math.Log10(size)))
		return strconv.FormatFloat(float64(v), 'f', digits, 64)
	}
	return strconv.FormatFloat(float64(v), 'g', 4, 64)
}

// decimals is four of them, or a dash where the number is undefined.
func decimals(f files.Float) string {
	if math.IsNaN(float64(f)) {
		return "-"
	}
	return strings.Replace(strconv.FormatFloat(float64(f), 'f', 4, 64), "-0.0000", "0.0000", 1)
}
