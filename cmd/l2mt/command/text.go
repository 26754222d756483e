package command

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"text/template"
	"unicode/utf8"

	"l2mt/data/format"
	"l2mt/infer/report"
)

//go:embed text.tmpl
var source string

// words are the functions of the texts and of the page.
func words() template.FuncMap {
	return template.FuncMap{
		"abridge":  format.Abridge,
		"count":    count,
		"decimals": decimals,
		"find":     find,
		"good":     report.Good,
		"interval": interval,
		"line":     strings.NewReplacer("\n", "; ", "\t", " ").Replace,
		"number":   number,
		"over": func(a, b any) float64 {
			return float(a) / float(b)
		},
		"percent":  percent,
		"percents": percents,
		"related":  relate,
		"spread":   spread,
		"wrap":     wrap,
	}
}

// said is the text of a value by one of the templates, which may say others.
func said(name string, v any) (string, error) {
	texts := template.New("").Funcs(words())
	say := func(name string, v any) (string, error) {
		var text strings.Builder
		err := texts.ExecuteTemplate(&text, name, v)
		return text.String(), err
	}
	_, err := texts.Funcs(template.FuncMap{"said": say}).Parse(source)
	if err != nil {
		return "", err
	}
	return say(name, v)
}

// rows are the cells of a text that is a table. The first cell of a row names it.
func rows(name string, v any) (table [][]string, err error) {
	text, err := said(name, v)
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "\t")
		last := len(cells) - 1
		row := slices.Insert(cells[:last], 0, strings.TrimSpace(cells[last]))
		if row[0] == "" { // the name came first
			row = row[1:]
		}
		table = append(table, row)
	}
	return table, err
}

// tables are the rows of tables whose first cells name the rows.
var tables = regexp.MustCompile(`(.*\t\n)+`)

// tell writes the text of a value, with the cells of tables below each other.
func tell(w io.Writer, name string, v any) error {
	text, err := said(name, v)
	if err != nil {
		return err
	}
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(columns, tables.ReplaceAllStringFunc(text, shorten))
	return columns.Flush()
}

// shorten makes the first cells of a table as wide as each other, and so narrow that its lines fit
// a terminal if that leaves something of them.
func shorten(table string) string {
	rows := strings.Split(table, "\n")
	widths := make([]int, strings.Count(rows[0], "\t")+1)
	for _, row := range rows {
		for i, cell := range strings.Split(row, "\t") {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	room := lineWidth
	for _, width := range widths[1:] {
		room -= width + 2
	}
	room = min(max(room, 10), widths[0])
	for i, row := range rows[:len(rows)-1] {
		name, cells, _ := strings.Cut(row, "\t")
		letters := []rune(name)
		n := len(letters)
		if n > room {
			half := room / 2
			letters = slices.Concat(letters[:half],
				[]rune("..."), letters[n-half+3:])
		}
		rows[i] = fmt.Sprintf("%-*s\t%s", room, string(letters), cells)
	}
	return strings.Join(rows, "\n")
}

// lineWidth is how wide a terminal is at least.
const lineWidth = 80

// lines are the lines of a text without their ends.
var lines = regexp.MustCompile(`.+`)

// wrap breaks lines that do not fit a terminal.
func wrap(text string) string {
	return lines.ReplaceAllStringFunc(text, func(line string) string {
		return fill(line, "")
	})
}

// tied keeps units of numbers in their lines.
func tied(text string) string {
	return strings.ReplaceAll(text, " %", "\u00a0%")
}

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

// count counts things: "1 task", "2 tasks".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// float is a number of any type.
func float(v any) float64 {
	return reflect.ValueOf(v).Convert(reflect.TypeFor[float64]()).Float()
}

// number is a number of four digits, and at most four decimals.
func number(v any) string {
	f := float(v)
	size := math.Abs(f)
	switch {
	case math.IsNaN(size) || f == 0 || size >= 5e-4 && size < 10:
		return decimals(f)
	case size >= 10 && size < 1e7:
		digits := max(0, 3-int(math.Log10(size)))
		return strconv.FormatFloat(f, 'f', digits, 64)
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}

// decimals is four of them, or a dash where the number is undefined.
func decimals(v any) string {
	f := float(v)
	if !(math.Abs(f) <= math.MaxFloat64) { // or NaN
		return "-"
	}
	return strings.Replace(strconv.FormatFloat(f, 'f', 4, 64),
		"-0.0000", "0.0000", 1)
}

// percents has a decimal, or is a dash where the number is undefined.
func percents(v float64) string {
	text := decimals(v)
	if text == "-" {
		return text
	}
	return fmt.Sprintf("%.1f %%", v)
}

// percent is a share in whole percents.
func percent(share any) string {
	return fmt.Sprintf("%.0f %%", 100*max(0, min(float(share), 1)))
}
