package format

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"l2mt/data"
	"math"
	"slices"
	"strconv"
)

// The svmlight format, which is libsvm's too, has a row a line,
//
//	label [qid:group] index:value index:value ... [# comment]
//
// with ascending indices. They count from 1, unless an index 0 occurs anywhere
// in the file; then they count from 0.

// parseSVMLight reads svmlight text in one pass.
func parseSVMLight(r io.Reader, o Options) (*table, error) {
	p := svmlightParser{begin: []int{0}}
	if err := wholeLines(r, p.block); err != nil {
		return nil, err
	}
	if !p.zeroBased {
		for i := range p.index {
			p.index[i]--
		}
		p.last--
	}
	if o.Columns > 0 && p.last >= o.Columns {
		return nil, fmt.Errorf("line %d: %w: it has more than the %d columns asked for", p.lastLine, data.ErrInvalid, o.Columns)
	}
	x, err := data.NewCSR(max(p.last+1, o.Columns), p.begin, p.index, p.value)
	if err != nil {
		return nil, err
	}
	return &table{x: x, wider: o.Columns == 0, label: p.label, group: p.group, lines: p.lines}, nil
}

// svmlightParser collects the rows of svmlight text.
type svmlightParser struct {
	line         int   // the line at hand, from 1
	lines        []int // those of the rows
	label, group Column
	begin        []int
	index        []int32
	value        []float32
	zeroBased    bool
	last         int // the largest index so far
	lastLine     int // where it stood first
}

// block reads whole lines.
func (p *svmlightParser) block(block []byte) error {
	// Make room for the whole block, doubling: append's smaller steps would copy
	// everything many times over.
	if pairs := len(block) / 4; cap(p.index)-len(p.index) < pairs {
		more := max(pairs, len(p.index))
		p.index, p.value = slices.Grow(p.index, more), slices.Grow(p.value, more)
	}
	for len(block) > 0 {
		var line []byte
		line, block, _ = bytes.Cut(block, []byte{'\n'})
		line, _, _ = bytes.Cut(line, []byte{'#'})
		p.line++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := p.row(line); err != nil {
			return fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	return nil
}

func (p *svmlightParser) row(line []byte) error {
	label := field(line)
	switch {
	case bytes.IndexByte(label, ':') >= 0:
		return fmt.Errorf("%w: it begins with %q; it must begin with the row's label", data.ErrFormat, label)
	case bytes.IndexByte(label, ',') >= 0:
		return fmt.Errorf("%w: the row has the labels %q; it must have one label", data.ErrFormat, label)
	}
	p.label.Add(string(label))
	p.lines = append(p.lines, p.line)
	rest, err := p.qid(bytes.TrimSpace(line[len(label):]))
	if err != nil {
		return err
	}
	if err := p.features(rest); err != nil {
		return err
	}
	p.begin = append(p.begin, len(p.index))
	return nil
}

// qid reads the row's group, if it has one, and returns what follows.
func (p *svmlightParser) qid(s []byte) ([]byte, error) {
	id, found := bytes.CutPrefix(field(s), []byte("qid:"))
	if len(p.lines) > 1 && found != (p.group.Len() > 0) {
		return nil, fmt.Errorf("%w: either every row has a qid or none", data.ErrFormat)
	}
	if !found {
		return s, nil
	}
	if _, err := strconv.ParseInt(string(id), 10, 64); err != nil {
		return nil, fmt.Errorf("%w: the qid %q is not a whole number", data.ErrFormat, id)
	}
	p.group.Add(string(id))
	return s[len("qid:")+len(id):], nil
}

// features reads the index:value pairs of a row.
func (p *svmlightParser) features(s []byte) error {
	previous := -1
	for i := 0; i < len(s); {
		if isSpace(s[i]) {
			i++
			continue
		}
		pair := s[i:]
		index := 0
		for i < len(s) && isDigit(s[i]) && index <= maxColumns {
			index = 10*index + int(s[i]-'0')
			i++
		}
		if index > maxColumns || index <= previous || i == len(s) || s[i] != ':' || !isDigit(pair[0]) {
			return badPair(field(pair), index, previous)
		}
		v, n, err := leadingFloat(s[i+1:])
		if err != nil {
			return fmt.Errorf("index %d: %w", index, err)
		}
		i += 1 + n
		previous = index
		p.zeroBased = p.zeroBased || index == 0
		if v != 0 {
			p.index = append(p.index, int32(index))
			p.value = append(p.value, v)
		}
	}
	if previous > p.last {
		p.last, p.lastLine = previous, p.line
	}
	return nil
}

// badPair says what is wrong with an index:value pair.
func badPair(pair []byte, index, previous int) error {
	switch {
	case index > maxColumns:
		return fmt.Errorf("%w: the index of %q is beyond %d", data.ErrInvalid, pair, maxColumns)
	case !isDigit(pair[0]) || bytes.IndexByte(pair, ':') != len(strconv.Itoa(index)):
		return fmt.Errorf("%w: %q is not index:value", data.ErrFormat, pair)
	case index == previous:
		return fmt.Errorf("%w: the index %d occurs twice", data.ErrInvalid, index)
	}
	return fmt.Errorf("%w: the index %d comes after %d; indices must ascend", data.ErrInvalid, index, previous)
}

// leadingFloat reads the number that s begins with, up to a space, and returns
// its length.
func leadingFloat(s []byte) (v float32, n int, err error) {
	// Counts, by far the most frequent values, are read on the way; 18 digits
	// fit an int, and one rounding is as strconv would do it.
	count := 0
	for n < len(s) && n < 18 && isDigit(s[n]) {
		count = 10*count + int(s[n]-'0')
		n++
	}
	if n > 0 && (n == len(s) || isSpace(s[n])) {
		return float32(count), n, nil
	}
	text := field(s)
	v, err = parseFeature(string(text))
	return v, len(text), err
}

// parseFeature reads a feature, which must be finite.
func parseFeature(text string) (float32, error) {
	f, err := ParseFloat(text)
	v := float32(f)
	switch {
	case math.IsNaN(f) || math.IsInf(float64(v), 0):
		return 0, fmt.Errorf("%w: the feature is %s; it must be finite and fit a float32", data.ErrInvalid, text)
	case err != nil:
		return 0, fmt.Errorf("%w: the feature %q is not a number", data.ErrFormat, text)
	}
	return v, nil
}

// field returns what s begins with, up to a space.
func field(s []byte) []byte {
	for i, c := range s {
		if isSpace(c) {
			return s[:i]
		}
	}
	return s
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// WriteSVMLight writes the dataset as svmlight text, with indices from 1 and
// groups as qid. Names of classes are the labels if all are whole numbers, else
// classes are numbered from 1; likewise groups. The format has no room for
// other names, for classes without rows, and for the steps: WriteNPZ has.
func WriteSVMLight(w io.Writer, d *data.Dataset) error {
	if err := d.Validate(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	labels, groups := numbers(d.Classes), numbers(d.Groups)
	tail := columnTail(d.X)
	var line []byte
	for i := range d.X.Rows() {
		line = line[:0]
		if d.Regression() {
			line = strconv.AppendFloat(line, d.Target[i], 'g', -1, 64)
		} else {
			line = append(line, labels[d.Label[i]]...)
		}
		if d.Group != nil {
			line = append(line, " qid:"...)
			line = append(line, groups[d.Group[i]]...)
		}
		line = appendPairs(line, d.X.Row(i))
		if i == 0 {
			line = append(line, tail...)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("format: writing svmlight: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("format: writing svmlight: %w", err)
	}
	return nil
}

// numbers returns the names if all are whole numbers, else numbers them.
func numbers(names []string) []string {
	numbered := make([]string, len(names))
	whole := true
	for i, name := range names {
		n, err := strconv.ParseInt(name, 10, 64)
		whole = whole && err == nil && strconv.FormatInt(n, 10) == name
		numbered[i] = strconv.Itoa(i + 1)
	}
	if whole {
		return names
	}
	return numbered
}

func appendPairs(line []byte, r data.Row) []byte {
	for p, v := range r.Value {
		if v == 0 {
			continue
		}
		j := p
		if r.Index != nil {
			j = int(r.Index[p])
		}
		line = append(line, ' ')
		line = strconv.AppendInt(line, int64(j)+1, 10)
		line = append(line, ':')
		line = strconv.AppendFloat(line, float64(v), 'g', -1, 32)
	}
	return line
}

// columnTail returns the pair "d:0" if the last column is zero in every row,
// so that the first row tells a reader how many columns there are.
func columnTail(x data.Matrix) string {
	last := x.Cols() - 1
	for i := range x.Rows() {
		r := x.Row(i)
		p := len(r.Value) - 1
		if p >= 0 && r.Value[p] != 0 && (r.Index == nil || int(r.Index[p]) == last) {
			return ""
		}
	}
	return " " + strconv.Itoa(last+1) + ":0"
}
