package experience

// One line of a shard: a record as JSON, led by its checksum.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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

// A line begins with the checksum of what follows it, 16 hex digits between these.
const (
	sumOpen  = `{"sum":"`
	sumClose = `",`
)

func checksum(rest []byte) string {
	sum := sha256.Sum256(rest)
	return hex.EncodeToString(sum[:8])
}

// seal turns a JSON object, which must have fields, into a line.
func seal(body []byte) []byte {
	rest := body[1:]
	return slices.Concat([]byte(sumOpen+checksum(rest)+sumClose), rest, []byte("\n"))
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

// decode reads a record from its line without the newline, and checks all of it.
func decode(line []byte) (*Record, error) {
	begin, rest, closed := bytes.Cut(line, []byte(sumClose))
	sum, opened := bytes.CutPrefix(begin, []byte(sumOpen))
	if !opened || !closed {
		return nil, fmt.Errorf(`%w: the line does not begin with a checksum, %s...%s`, data.ErrFormat, sumOpen, sumClose)
	}
	if got := checksum(rest); got != string(sum) {
		return nil, fmt.Errorf("%w: it says %s, its content has %s", ErrChecksum, sum, got)
	}
	r := new(Record)
	if err := files.DecodeJSON(append([]byte("{"), rest...), r); err != nil {
		return nil, fmt.Errorf("%w: %w", data.ErrFormat, err)
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}
