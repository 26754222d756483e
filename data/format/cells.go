package format

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// separatorOf finds what stands between the cells of the first line: a tab, a semicolon or
// a bar, if there is one and commas are part of numbers at most.
func separatorOf(text []byte, format Format) rune {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	if format == TSV && bytes.IndexByte(line, '\t') >= 0 {
		return '\t'
	}
	line = noSeparator.ReplaceAll(line, nil)
	if i := bytes.IndexAny(line, "\t;|"); i >= 0 && bytes.IndexByte(line, ',') < 0 {
		return rune(line[i])
	}
	return ','
}

var (
	noSeparator = regexp.MustCompile(`"[^"]*"|[0-9],[0-9]`)
	// withComma are numbers with a decimal comma, or a comma that may be one; withCommas
	// has it before three digits, as thousands have.
	withComma  = regexp.MustCompile(`^[-+]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+ ?%?$`)
	withCommas = regexp.MustCompile(`^[-+]?[0-9]{1,3}(,[0-9]{3})+ ?%?$`)
	withPoint  = regexp.MustCompile(`^[-+]?[0-9]*\.[0-9]+ ?%?$`)
	// written are numbers with thousands or a percent sign, by what their decimals follow.
	written = map[string]*regexp.Regexp{
		".": regexp.MustCompile(`^[-+]?([0-9]{1,3}([, '\x{a0}][0-9]{3})+|[0-9]+)?(\.[0-9]+)?([eE][-+]?[0-9]+)? ?%?$`),
		",": regexp.MustCompile(`^[-+]?([0-9]{1,3}([. '\x{a0}][0-9]{3})+|[0-9]+)?(,[0-9]+)?([eE][-+]?[0-9]+)? ?%?$`),
	}
)

// decimalOf finds what the decimals of numbers follow: a comma, if some number has one that
// is not for thousands, or all have where cells are separated otherwise, and none a point.
func (b *Block) decimalOf() string {
	if b.rows.comma == ',' && bytes.IndexByte(b.text, '"') < 0 {
		return "."
	}
	commas, thousands, points := 0, 0, 0
	_ = b.each(func(_ int, cells []string) error { // errors come again when it is read
		for _, cell := range cells {
			switch cell = strings.TrimSpace(cell); {
			case !strings.Contains(cell, ",") && (points > 0 || !strings.Contains(cell, ".")):
			case withCommas.MatchString(cell):
				thousands++
			case withComma.MatchString(cell):
				commas++
			case withPoint.MatchString(cell):
				points++
			}
		}
		return nil
	})
	if points == 0 && (commas > 0 || thousands > 0 && b.rows.comma != ',') {
		return ","
	}
	return "."
}

// clean is a cell as others write it: a number with a decimal point alone, a text in lower
// case if that is asked for.
func (r *Rows) clean(cell string, text bool) string {
	cell = strings.TrimSpace(cell)
	if r.ignoreCase {
		cell = strings.ToLower(cell)
	}
	if text || r.Decimal == "." && !strings.ContainsAny(cell, ", '%\u00a0") || !written[r.Decimal].MatchString(cell) {
		return cell
	}
	return strings.Map(func(c rune) rune {
		switch {
		case c == rune(r.Decimal[0]):
			return '.'
		case strings.ContainsRune("., '\u00a0%", c):
			return -1
		}
		return c
	}, cell)
}

// Written says how cells and numbers are written, where that is not with commas and points.
func (r *Rows) Written() string {
	if (r.comma == ',' || r.comma == '\t') && r.Decimal == "." {
		return ""
	}
	return fmt.Sprintf("cells are separated by %q, and the decimals of numbers follow %q", string(r.comma), r.Decimal)
}
