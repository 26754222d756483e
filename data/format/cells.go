package format

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// separatorOf finds the separator of cells in the first line: a tab, a semicolon or a bar,
// if there is one and commas are part of numbers at most.
func separatorOf(text []byte, format Format) rune {
	text = text[:min(len(text), blockSize)]
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	if format == TSV && bytes.IndexByte(line, '\t') >= 0 {
		return '\t'
	}
	line = noSeparator.ReplaceAll(line, nil)
	i := bytes.IndexAny(line, "\t;|")
	if i >= 0 && bytes.IndexByte(line, ',') < 0 {
		return rune(line[i])
	}
	return ','
}

var (
	// indexName is the name that pandas gives to an index without a name.
	indexName   = regexp.MustCompile(`^__index_level_[0-9]+__$`)
	noSeparator = regexp.MustCompile(`"[^"]*"|[0-9],[0-9]`)
	// written are numbers as people write them, with thousands and signs of percents and
	// currencies, by their decimal mark.
	written = map[string]*regexp.Regexp{
		".": regexp.MustCompile(`^[-+]?[$€£¥]? ?[-+]?([1-9][0-9]{0,2}([, '\x{a0}][0-9]{3})+|[0-9]+)?(\.[0-9]+)?([eE][-+]?[0-9]+)? ?[%$€£¥]?$`),
		",": regexp.MustCompile(`^[-+]?[$€£¥]? ?[-+]?([1-9][0-9]{0,2}([. '\x{a0}][0-9]{3})+|[0-9]+)?(,[0-9]+)?([eE][-+]?[0-9]+)? ?[%$€£¥]?$`),
	}
)

// decimalOf finds the decimal mark of numbers: a comma, if some numbers can be read in no
// other way, or can be read so where cells are separated otherwise, and none has a point.
func (b *Block) decimalOf() string {
	var commas, points bool
	if b.rows.comma == ',' && bytes.IndexByte(b.text, '"') < 0 {
		return "."
	}
	_ = b.each(func(_ int, cells []string) error { // errors come again when it is read
		for _, cell := range cells {
			cell = strings.TrimSpace(cell)
			if !strings.ContainsAny(cell, ".,") {
				continue
			}
			comma := written[","].MatchString(cell)
			point := written["."].MatchString(cell)
			commas = commas || comma && strings.Contains(cell, ",") &&
				(b.rows.comma != ',' || !point)
			points = points || point && !comma
		}
		return nil
	})
	if commas && !points {
		return ","
	}
	return "."
}

// IsNumber reports whether a text is a number.
func IsNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// clean is a cell as others write it: a number with a decimal point alone.
func (r *Rows) clean(cell string, text bool) string {
	cell = strings.TrimSpace(cell)
	if text || r.Decimal == "." &&
		!strings.ContainsAny(cell, ", '%$€£¥\u00a0") ||
		!written[r.Decimal].MatchString(cell) {
		return cell
	}
	return strings.Map(func(c rune) rune {
		switch {
		case c == rune(r.Decimal[0]):
			return '.'
		case strings.ContainsRune("., '\u00a0%$€£¥", c):
			return -1
		}
		return c
	}, cell)
}

// Written says how cells and numbers are written, if not with commas and points.
func (r *Rows) Written() string {
	if (r.comma == ',' || r.comma == '\t') && r.Decimal == "." {
		return ""
	}
	return fmt.Sprintf("cells are separated by %q, and the decimals of numbers follow %q",
		string(r.comma), r.Decimal)
}
