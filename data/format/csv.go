package format

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"l2mt/data"
	"slices"
	"strconv"
	"strings"
)

// Tables of comma- or tab-separated values have a row a line. Every column is a
// feature except the label's, the group's, and those to be ignored.

func parseCSV(r io.Reader, o Options) (*table, error) { return parseSeparated(r, ',', o) }

func parseTSV(r io.Reader, o Options) (*table, error) { return parseSeparated(r, '\t', o) }

func parseSeparated(r io.Reader, separator rune, o Options) (*table, error) {
	lines := csv.NewReader(skipByteOrderMark(r))
	lines.Comma = separator
	lines.FieldsPerRecord = -1 // csvParser says better what is wrong with a ragged row
	lines.ReuseRecord = true
	p := csvParser{options: o}
	for {
		record, err := lines.Read()
		if err == io.EOF {
			return p.table()
		}
		if syntax := (*csv.ParseError)(nil); errors.As(err, &syntax) {
			return nil, fmt.Errorf("line %d, byte %d: %w: %w", syntax.Line, syntax.Column, data.ErrFormat, syntax.Err)
		}
		if err != nil {
			return nil, err
		}
		if err := p.record(record); err != nil {
			line, _ := lines.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// skipByteOrderMark drops the mark that spreadsheets put before UTF-8 text.
func skipByteOrderMark(r io.Reader) io.Reader {
	in := bufio.NewReaderSize(r, 64<<10)
	mark := []byte("\ufeff")
	if start, _ := in.Peek(len(mark)); bytes.Equal(start, mark) {
		in.Discard(len(mark))
	}
	return in
}

// csvParser collects the rows of a table.
type csvParser struct {
	options      Options
	columns      *columns // nil before the first line
	value        []float32
	label, group values
}

func (p *csvParser) record(record []string) error {
	for i, text := range record {
		record[i] = strings.TrimSpace(text)
	}
	if p.columns != nil {
		return p.row(record)
	}
	isHeader := p.options.Header == HeaderYes ||
		p.options.Header == HeaderAuto && !slices.ContainsFunc(record, isNumber)
	var names []string
	if isHeader {
		names = slices.Clone(record)
	}
	var err error
	p.columns, err = findColumns(len(record), names, p.options)
	if err != nil || isHeader {
		return err
	}
	return p.row(record)
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

func (p *csvParser) row(record []string) error {
	c := p.columns
	if len(record) != c.width {
		return fmt.Errorf("%w: it has %d columns but the first line has %d", data.ErrFormat, len(record), c.width)
	}
	if err := p.label.add(record[c.label], p.options.Kind); err != nil {
		return fmt.Errorf("%s, the label: %w", c.name(c.label), err)
	}
	if c.group >= 0 {
		if err := p.group.add(record[c.group], data.Classification); err != nil {
			return fmt.Errorf("%s, the group: %w", c.name(c.group), err)
		}
	}
	for _, j := range c.features {
		v, err := parseFeature(record[j])
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(j), err)
		}
		p.value = append(p.value, v)
	}
	return nil
}

func (p *csvParser) table() (*table, error) {
	if p.label.len() == 0 {
		return nil, fmt.Errorf("%w: it has no rows", data.ErrInvalid)
	}
	x, err := data.NewDense(p.label.len(), len(p.columns.features), p.value)
	if err != nil {
		return nil, err
	}
	return &table{x: x, label: p.label, group: p.group, features: p.columns.featureNames()}, nil
}

// columns says what the columns of a table hold.
type columns struct {
	width    int
	names    []string // nil without a header
	label    int
	group    int // -1 if there is none
	features []int
}

// findColumns applies the options to a table of so many columns.
func findColumns(width int, names []string, o Options) (*columns, error) {
	if width < 2 {
		return nil, fmt.Errorf("%w: it has %d column; it needs features and a label", data.ErrInvalid, width)
	}
	c := &columns{width: width, names: names}
	var err error
	if c.label, err = c.find(o.Label, labelNames, width-1); err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	if c.group, err = c.find(o.Group, groupNames, -1); err != nil {
		return nil, fmt.Errorf("group: %w", err)
	}
	other := []int{c.label, c.group}
	for _, column := range o.Ignore {
		j, err := c.find(column, nil, -1)
		if err != nil {
			return nil, fmt.Errorf("ignore: %w", err)
		}
		other = append(other, j)
	}
	for j := range width {
		if !slices.Contains(other, j) {
			c.features = append(c.features, j)
		}
	}
	return c, nil
}

// find returns the column asked for by name or number; if none is asked for,
// the first with one of the usual names, else otherwise.
func (c *columns) find(asked string, usual []string, otherwise int) (int, error) {
	if asked == "" {
		return c.findUsual(usual, otherwise), nil
	}
	if j := slices.Index(c.names, asked); j >= 0 {
		return j, nil
	}
	if j, err := strconv.Atoi(asked); err == nil && j >= 0 && j < c.width {
		return j, nil
	}
	if c.names == nil {
		return 0, fmt.Errorf("%w: there is no column %q; without a header columns are 0..%d", data.ErrInvalid, asked, c.width-1)
	}
	return 0, fmt.Errorf("%w: there is no column %q; there are %s, or 0..%d", data.ErrInvalid, asked, abridge(c.names), c.width-1)
}

func (c *columns) findUsual(usual []string, otherwise int) int {
	for _, name := range usual {
		for j, column := range c.names {
			if strings.EqualFold(column, name) {
				return j
			}
		}
	}
	return otherwise
}

// name says which column j is.
func (c *columns) name(j int) string {
	if c.names == nil {
		return fmt.Sprintf("column %d", j)
	}
	return fmt.Sprintf("column %d (%s)", j, c.names[j])
}

func (c *columns) featureNames() []string {
	if c.names == nil {
		return nil
	}
	names := make([]string, len(c.features))
	for i, j := range c.features {
		names[i] = c.names[j]
	}
	return names
}

// abridge lists a few names.
func abridge(names []string) string {
	const few = 10
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, ... (%d in all)", strings.Join(names[:few], ", "), len(names))
}
