package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// ErrSchema marks a file of another version.
var ErrSchema = errors.New("unknown schema")

// DecodeJSON reads one JSON value, and refuses fields that are not known and
// anything behind it. The error has the line and column, or names the field that is not known.
func DecodeJSON(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err != nil {
		return located(raw, err)
	}
	_, err = d.Token()
	if err != io.EOF {
		return placed(raw, d.InputOffset(),
			errors.New("there is more text after the JSON value"))
	}
	return nil
}

// DecodeSchema is DecodeJSON of an object whose field "schema" says its version.
// It looks at that first, because another version may have other fields
// (ErrSchema).
func DecodeSchema(raw []byte, schema int, into any) error {
	var version struct{ Schema *int }
	err := json.Unmarshal(raw, &version)
	if err != nil {
		return located(raw, err)
	}
	switch {
	case version.Schema == nil:
		return fmt.Errorf("%w: the field \"schema\" is missing; this program reads schema %d", ErrSchema, schema)
	case *version.Schema != schema:
		return fmt.Errorf("%w: it has schema %d; this program reads schema %d",
			ErrSchema, *version.Schema, schema)
	}
	return DecodeJSON(raw, into)
}

// located adds the line and column to an error of package json.
func located(raw []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return placed(raw, syntax.Offset, err)
	case errors.As(err, &kind):
		return placed(raw, kind.Offset, err)
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return placed(raw, int64(len(raw)),
			errors.New("unexpected end of JSON input"))
	}
	return err
}

// placed says where in a text an error is, given the number of bytes up to there.
func placed(raw []byte, offset int64, err error) error {
	prefix := raw[:min(max(0, offset), int64(len(raw)))]
	line := 1 + bytes.Count(prefix, []byte("\n"))
	column := len(prefix) - (bytes.LastIndexByte(prefix, '\n') + 1)
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// Float is a number that may be undefined. JSON has no such numbers: it is
// null there if it is NaN, and the text "+Inf" or "-Inf" if it is infinite.
type Float float64

// MarshalJSON writes the number.
func (f Float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsNaN(v):
		return []byte("null"), nil
	case math.IsInf(v, 0):
		return json.Marshal(fmt.Sprint(v))
	default:
		return json.Marshal(v)
	}
}

// UnmarshalJSON reads the number.
func (f *Float) UnmarshalJSON(raw []byte) error {
	switch text := string(raw); text {
	case "null":
		*f = Float(math.NaN())
	case `"+Inf"`, `"-Inf"`:
		v, _ := strconv.ParseFloat(text[1:5], 64)
		*f = Float(v)
	default:
		return json.Unmarshal(raw, (*float64)(f))
	}
	return nil
}
