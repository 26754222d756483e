package format

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"strconv"

	"l2mt/data"
)

// The svmlight format, which is libsvm's too, has a row a line,
//
//	label [qid:group] index:value index:value ... [# comment]
//
// with ascending indices. They count from 1, unless an index 0 occurs anywhere
// in the file; then they count from 0.

// parseSVMLight reads svmlight text in one pass.
func parseSVMLight(r *text) (*Frame, error) {
	p := svmlightParser{
		Frame: &Frame{
			Group: &Column{},
		},
		begin: []int{0},
	}
	p.Labels = []*Column{{}}
	rows := bufio.NewScanner(r)
	rows.Buffer(nil, maxRow)
	line := 0
	for rows.Scan() {
		line++
		content, _, _ := bytes.Cut(rows.Bytes(), []byte{'#'})
		content = bytes.TrimSpace(content)
		if len(content) == 0 {
			continue
		}
		err := p.row(content)
		if err == nil {
			err = bounded(len(p.begin), 0, len(p.index), r.packed.n)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		p.Lines = append(p.Lines, line)
	}
	if err := rows.Err(); err == bufio.ErrTooLong {
		return nil, data.Malformed("line %d: the row is longer than %d bytes", line+1, maxRow)
	} else if err != nil {
		return nil, fmt.Errorf("after line %d: %w", line, err)
	}
	if p.Group.Len() == 0 {
		p.Group = nil
	}
	if !p.zeroBased {
		for i := range p.index {
			p.index[i]--
		}
		p.last--
	}
	var err error
	p.X, err = data.NewCSR(p.last+1, p.begin, p.index, p.value)
	return p.Frame, err
}

// svmlightParser collects the rows of svmlight text.
type svmlightParser struct {
	*Frame
	begin     []int
	index     []int32
	value     []float32
	zeroBased bool
	last      int // the largest index so far
}

func (p *svmlightParser) row(line []byte) error {
	fields := bytes.Fields(line)
	label := fields[0]
	if bytes.ContainsAny(label, ":,") {
		return data.Malformed("it begins with %q; it must begin with the row's label", label)
	}
	p.Labels[0].Add(string(label))
	previous := -1
	for i, pair := range fields[1:] {
		key, value, found := bytes.Cut(pair, []byte{':'})
		if i == 0 && string(key) == "qid" {
			_, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil {
				return data.Malformed("the qid %q is not a whole number", value)
			}
			p.Group.Add(string(value))
			continue
		}
		index, err := strconv.Atoi(string(key))
		switch {
		case !found || err != nil || index < 0 || index > maxColumns:
			return data.Malformed("%q is not index:value, with an index up to %d", pair, maxColumns)
		case index <= previous:
			return data.Malformed("the index %d comes after %d; indices must ascend", index, previous)
		}
		f, err := strconv.ParseFloat(string(value), 64)
		v := float32(f)
		switch {
		case math.IsNaN(f) || math.IsInf(float64(v), 0):
			return data.Invalid("index %d: the feature is %s; it must be finite and fit a float32", index, value)
		case err != nil:
			return data.Malformed("index %d: the feature %q is not a number", index, value)
		}
		previous = index
		p.zeroBased = p.zeroBased || index == 0
		if v != 0 {
			p.index = append(p.index, int32(index))
			p.value = append(p.value, v)
		}
	}
	n := p.Group.Len()
	if n > 0 && n <= len(p.Lines) {
		return data.Malformed("the row has a qid and rows before have none, or the other way round; give all rows one, or none")
	}
	p.last = max(p.last, previous)
	p.begin = append(p.begin, len(p.index))
	return nil
}

// maxColumns bounds the number of features: sparse rows index them by int32.
const maxColumns = math.MaxInt32
