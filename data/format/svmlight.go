package format

import (
	"bufio"
	"bytes"
	"errors"
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

func readSVMLight(path string, o Options) (*table, error) {
	f, err := openText(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseSVMLight(f, o)
}

// parseSVMLight reads svmlight text in one pass.
func parseSVMLight(r io.Reader, o Options) (*table, error) {
	p := svmlightParser{begin: []int{0}}
	text := bufio.NewScanner(r)
	text.Buffer(make([]byte, 0, 64<<10), maxRow)
	line := 0
	for text.Scan() {
		line++
		content, _, _ := bytes.Cut(text.Bytes(), []byte{'#'})
		if content = bytes.TrimSpace(content); len(content) == 0 {
			continue
		}
		p.lines = append(p.lines, line)
		if err := p.row(content); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := text.Err(); err != nil {
		return nil, fmt.Errorf("after line %d: %w", line, err)
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
	lines        []int // those of the rows, from 1
	label, group Column
	begin        []int
	index        []int32
	value        []float32
	zeroBased    bool
	last         int      // the largest index so far
	lastLine     int      // where it stood first
	fields       [][]byte // of a row, used again
}

func (p *svmlightParser) row(line []byte) error {
	p.fields = slices.AppendSeq(p.fields[:0], bytes.FieldsSeq(line))
	label, pairs := p.fields[0], p.fields[1:]
	switch {
	case bytes.IndexByte(label, ':') >= 0:
		return fmt.Errorf("%w: it begins with %q; it must begin with the row's label", data.ErrFormat, label)
	case bytes.IndexByte(label, ',') >= 0:
		return fmt.Errorf("%w: the row has the labels %q; it must have one label", data.ErrFormat, label)
	}
	p.label.Add(string(label))
	var qid []byte
	found := false
	if len(pairs) > 0 {
		qid, found = bytes.CutPrefix(pairs[0], []byte("qid:"))
	}
	if len(p.lines) > 1 && found != (p.group.Len() > 0) {
		return fmt.Errorf("%w: either every row has a qid or none", data.ErrFormat)
	}
	if found {
		if _, err := strconv.ParseInt(string(qid), 10, 64); err != nil {
			return fmt.Errorf("%w: the qid %q is not a whole number", data.ErrFormat, qid)
		}
		p.group.Add(string(qid))
		pairs = pairs[1:]
	}
	previous := -1
	for _, pair := range pairs {
		index, v, err := parsePair(pair, previous)
		if err != nil {
			return err
		}
		previous = index
		p.zeroBased = p.zeroBased || index == 0
		if v != 0 {
			p.index, p.value = append(p.index, int32(index)), append(p.value, v)
		}
	}
	if previous > p.last {
		p.last, p.lastLine = previous, p.lines[len(p.lines)-1]
	}
	p.begin = append(p.begin, len(p.index))
	return nil
}

// parsePair reads index:value behind another index.
func parsePair(pair []byte, previous int) (index int, v float32, err error) {
	before, after, found := bytes.Cut(pair, []byte{':'})
	i, err := strconv.ParseUint(string(before), 10, 64)
	switch index = int(i); {
	case !found || errors.Is(err, strconv.ErrSyntax):
		return 0, 0, fmt.Errorf("%w: %q is not index:value", data.ErrFormat, pair)
	case i > maxColumns:
		return 0, 0, fmt.Errorf("%w: the index of %q is beyond %d", data.ErrInvalid, pair, maxColumns)
	case index == previous:
		return 0, 0, fmt.Errorf("%w: the index %d occurs twice", data.ErrInvalid, index)
	case index < previous:
		return 0, 0, fmt.Errorf("%w: the index %d comes after %d; indices must ascend", data.ErrInvalid, index, previous)
	}
	if v, err = parseFeature(string(after)); err != nil {
		err = fmt.Errorf("index %d: %w", index, err)
	}
	return index, v, err
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
