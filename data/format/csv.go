package format

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"l2mt/data"
	"slices"
	"strconv"
	"strings"
)

// Tables of comma- or tab-separated values have a row a line. Every column is a
// feature except the label's, the group's, and those to be ignored.

func parseCSV(r io.Reader, o Options) (*table, error) { return parseSeparated(r, CSV, o) }

func parseTSV(r io.Reader, o Options) (*table, error) { return parseSeparated(r, TSV, o) }

func parseSeparated(in io.Reader, separator Format, o Options) (*table, error) {
	o.Format = separator
	rows, err := newRows(in, o)
	if err != nil {
		return nil, err
	}
	p := csvParser{options: o}
	if rows.Width > 0 {
		if p.columns, err = findColumns(rows.Width, rows.Names, o); err != nil {
			return nil, fmt.Errorf("line 1: %w", err)
		}
	}
	for {
		block, err := rows.next()
		if err == io.EOF {
			return p.table()
		}
		if err == nil {
			err = block.each(p.row)
		}
		if err != nil {
			return nil, err
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
	columns      *columns // nil if there are none
	value        []float32
	label, group values
}

func (p *csvParser) row(_ int, record []string) error {
	c := p.columns
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
	return &table{x: x, label: p.label, labelOf: p.columns.name(p.columns.label), group: p.group, features: p.columns.featureNames()}, nil
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
