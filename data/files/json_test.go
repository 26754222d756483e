package files

import (
	"errors"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

type document struct {
	Schema int
	Name   string
	Parts  []struct{ Size int }
}

func TestDecodeJSONSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"name\": \"x\",\n \"nmae\": 1}":      `line 3, column 2: json: unknown field "nmae"`,
		`{"parts": [{"a": 1}, {"a": 1}]}`:          `json: unknown field "a"`, // either could be meant
		"{\n \"parts\": [{\"size\":\n  \"big\"}]}": "line 3, column 7: json: cannot unmarshal string",
		"{\"name\": \"x\"\n \"parts\": []}":        "line 2, column 2: invalid character '\"'",
		"{\"name\": \"x\",\n":                      "line 2, column 0: unexpected end of JSON input",
		"":                                         "line 1, column 0: unexpected end of JSON input",
		"{\"name\": \"x\"}\n{\"name\": \"y\"}":     "line 2, column 1: something follows",
		"{\"name\": \"x\"} rest":                   "line 1, column 14: something follows",
		"{\"a\\\"b\": 1}":                          `json: unknown field "a\"b"`,
	} {
		if err := DecodeJSON([]byte(text), new(document)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %s", text, err, want)
		}
	}
	var d document
	if err := DecodeJSON([]byte(" {\"name\": \"x\", \"parts\": [{\"size\": 2}]}\n "), &d); err != nil || d.Name != "x" || d.Parts[0].Size != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestDecodeSchemaLooksAtTheVersionFirst(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema": 3, "news": 1}`: "it has schema 3; this program reads schema 2",
		`{"name": "x"}`:            `the field "schema" is missing; this program reads schema 2`,
	} {
		datatest.Says(t, DecodeSchema([]byte(text), 2, new(document)), ErrSchema, want)
	}
	for text, want := range map[string]string{
		`{"schema": "2"}`:          "line 1, column 14: ",
		`{"schema": 2, "news": 1}`: `line 1, column 15: json: unknown field "news"`,
		`[]`:                       "line 1, column 1: ",
	} {
		if err := DecodeSchema([]byte(text), 2, new(document)); err == nil || errors.Is(err, ErrSchema) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", text, err, want)
		}
	}
	var d document
	if err := DecodeSchema([]byte(`{"schema": 2, "name": "x"}`), 2, &d); err != nil || d.Name != "x" {
		t.Errorf("%+v, %v", d, err)
	}
}
