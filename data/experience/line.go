package experience

// One line of a shard: a record as JSON, closed by its checksum.

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"l2mt/data"
	"l2mt/data/files"
)

// MaxLine bounds the length of a line in bytes, enough for 800 tasks. A reader
// never holds more than one line.
const MaxLine = 16 << 20

var (
	// ErrTorn marks the last line of a shard that was cut off while it was
	// written. Its tuple is to be made again.
	ErrTorn = errors.New("torn last line")
	// ErrChecksum marks a line that is not as it was written.
	ErrChecksum = errors.New("checksum mismatch")
)

// The checksum replaces the closing brace of the record: sumOpen, sumDigits hex
// digits, sumClose.
const (
	sumOpen   = `,"sum":"`
	sumDigits = 16
	sumClose  = `"}`
	sumLength = len(sumOpen) + sumDigits + len(sumClose)
)

func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:sumDigits/2])
}

// seal closes a JSON object with its checksum and a newline.
func seal(body []byte) []byte {
	line := append(bytes.Clone(body[:len(body)-1]), sumOpen...)
	line = append(line, checksum(body)...)
	return append(line, sumClose+"\n"...)
}

// unseal checks a line without its newline and returns the JSON object in it.
func unseal(line []byte) ([]byte, error) {
	cut := len(line) - sumLength
	if cut < 1 || !bytes.HasPrefix(line[cut:], []byte(sumOpen)) || !bytes.HasSuffix(line, []byte(sumClose)) {
		return nil, fmt.Errorf(`%w: the line does not end in a checksum, %s...%s`, data.ErrFormat, sumOpen, sumClose)
	}
	body := append(bytes.Clone(line[:cut]), '}')
	if want, got := checksum(body), sumOf(line); got != want {
		return nil, fmt.Errorf("%w: it says %s, its content has %s", ErrChecksum, got, want)
	}
	return body, nil
}

// sumOf returns the checksum that a sealed line carries.
func sumOf(line []byte) string {
	return string(line[len(line)-len(sumClose)-sumDigits : len(line)-len(sumClose)])
}

func encode(r *Record) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", data.ErrInvalid, err)
	}
	line := seal(body)
	if len(line) > MaxLine {
		return nil, fmt.Errorf("%w: the record takes %d bytes; the limit is %d", data.ErrInvalid, len(line), MaxLine)
	}
	return line, nil
}

// decode reads a record from its line without the newline. It checks the
// checksum, the form, and that what is ok has an outcome; Validate checks the rest.
func decode(line []byte) (*Record, error) {
	body, err := unseal(line)
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := files.DecodeJSON(body, r); err != nil {
		return nil, fmt.Errorf("%w: %w", data.ErrFormat, err)
	}
	switch { // readers rely on these
	case r.Status == OK && len(r.Omega) == 0:
		return nil, fmt.Errorf("%w: omega is missing; a tuple that is ok has one", data.ErrInvalid)
	case r.Status == OK && r.Result == nil:
		return nil, fmt.Errorf("%w: result is missing; a tuple that is ok has one", data.ErrInvalid)
	}
	return r, nil
}

// line is one line of a shard, without its newline. The text is only valid
// until the next one is read.
type line struct {
	number int   // from 1
	offset int64 // of its first byte
	text   []byte
}

// lines reads a shard line by line. If it yields an error, that is the last it
// yields: ErrTorn for a last line without newline.
func lines(r io.Reader) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(nil, MaxLine)
		s.Split(wholeLines)
		l := line{number: 1}
		for s.Scan() {
			l.text = s.Bytes()
			if !yield(l, nil) {
				return
			}
			l.number++
			l.offset += int64(len(l.text)) + 1
		}
		err := s.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("%w: the line is longer than %d bytes", data.ErrFormat, MaxLine)
		}
		if err != nil {
			l.text = nil
			yield(l, err)
		}
	}
}

// wholeLines is a bufio.SplitFunc for lines that end in a newline.
func wholeLines(b []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1, b[:i], nil
	}
	if atEOF && len(b) > 0 {
		return 0, nil, ErrTorn
	}
	return 0, nil, nil
}
