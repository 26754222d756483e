package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"l2mt/data"
	"l2mt/data/format"
	"l2mt/model/saved"
)

// request is a request of JSON.
type request struct {
	frame
	Adapt  *frame `json:"adapt"`
	Params params `json:"params"`
}

// params say how rows are predicted, as flags of l2mt predict do.
type params struct {
	Interval       float64 `json:"interval"`
	Task           string  `json:"task"`
	MissingColumns string  `json:"missing_columns"`
}

// frame is a table in one of three forms.
type frame struct {
	Split     *split  `json:"dataframe_split"`
	Records   records `json:"dataframe_records"`
	Instances records `json:"instances"`
}

type split struct {
	Columns []json.RawMessage `json:"columns"`
	Index   json.RawMessage   `json:"index"` // which pandas writes
	Data    records           `json:"data"`
}

// records are rows as text of CSV. Objects name their columns, which lists do not.
type records struct {
	text    []byte
	rows    int
	columns []string
}

// UnmarshalJSON reads a list of lists or of objects. The decoder has seen that it is sound.
func (r *records) UnmarshalJSON(raw []byte) error {
	if raw[0] != '[' {
		return data.Malformed("rows must be a list of lists or of objects")
	}
	if bytes.HasPrefix(bytes.TrimLeft(raw[1:], " \t\r\n"), []byte("{")) {
		return r.objects(raw)
	}
	depth := 0
	begin := 0
	for len(raw) > 0 {
		size := 1
		switch c := raw[0]; {
		case c == ',' && depth == 1 || strings.IndexByte(" \t\r\n", c) >= 0:
		case c == ',':
			r.text = append(r.text, c)
		case c == '[' && depth < 2:
			depth++
			begin = len(r.text)
		case c == ']':
			if depth--; depth == 0 {
				break
			}
			if len(r.text) == begin {
				return data.Malformed("row %d is empty; a missing value is null", r.rows+1)
			}
			r.rows++
			r.text = append(r.text, '\n')
		case c == '[' || c == '{' || depth < 2:
			return data.Malformed("row %d: it must be a list of numbers, texts, true, false and null", r.rows+1)
		default:
			size = wordSize(raw)
			r.text = appendCell(r.text, raw[:size])
		}
		raw = raw[size:]
	}
	return nil
}

// wordSize is the length of a text, number, true, false or null that begins here.
func wordSize(raw []byte) int {
	if raw[0] != '"' {
		return bytes.IndexAny(raw, ",] \t\r\n")
	}
	i := 1
	for ; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// objects reads a list of objects. A row has no value in columns that others have.
func (r *records) objects(raw []byte) error {
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil {
		return err
	}
	names := map[string]json.RawMessage{}
	for _, row := range rows {
		maps.Copy(names, row)
	}
	r.columns = slices.Sorted(maps.Keys(names))
	lists := make([][]json.RawMessage, len(rows))
	for i, row := range rows {
		for _, name := range r.columns {
			lists[i] = append(lists[i], row[name])
		}
	}
	list, err := json.Marshal(lists)
	if err != nil {
		return err
	}
	return r.UnmarshalJSON(list)
}

// appendCell appends a value of JSON as a cell of CSV. Null is an empty one.
func appendCell(text []byte, value json.RawMessage) []byte {
	if value[0] != 'n' && value[0] != '"' {
		return append(text, value...)
	}
	word := ""
	_ = json.Unmarshal(value, &word) // is sound
	return appendText(text, word)
}

func appendText(text []byte, word string) []byte {
	text = append(text, '"')
	text = append(text, strings.ReplaceAll(word, `"`, `""`)...)
	return append(text, '"')
}

// table is the text of the frame, for a model that was fitted on such tables.
func (f *frame) table(fit *saved.Fit, limit int) (o saved.RowOptions, err error) {
	found := f.Instances
	switch {
	case f.Split != nil:
		found = f.Split.Data
		for _, name := range f.Split.Columns {
			word := ""
			if json.Unmarshal(name, &word) != nil { // a number
				word = string(name)
			}
			found.columns = append(found.columns, word)
		}
	case f.Records.rows > 0:
		found = f.Records
	}
	if found.rows == 0 {
		return o, data.Invalid("there are no rows; give some as dataframe_split, dataframe_records or instances")
	}
	if found.rows > limit {
		return o, errMany.Errorf("it has %d rows; a request may have %d (--max-rows)", found.rows, limit)
	}
	if found.columns == nil {
		found.columns = header(fit)
	}
	o.Format = format.Options{
		Separator: ",",
		Decimal:   ".",
		Header:    format.HeaderYes,
	}
	var names []byte
	if fit.Recipe.ByPosition &&
		slices.Equal(found.columns, format.Numbered(len(found.columns))) {
		o.Format.Header = format.HeaderNo
	} else {
		for _, name := range found.columns {
			names = append(appendText(names, name), ',')
		}
		names[len(names)-1] = '\n'
	}
	o.Format.From = io.NopCloser(bytes.NewReader(append(names, found.text...)))
	return o, nil
}

// readJSON reads the body of a request.
func (q *request) readJSON(body io.Reader) error {
	in := json.NewDecoder(body)
	in.DisallowUnknownFields()
	err := in.Decode(q)
	if err == nil && in.More() {
		return data.Malformed("there is more text after the object; a request must be one object")
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return data.Malformed("the body is empty; give an object with rows as dataframe_split, dataframe_records or instances")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return data.Malformed("the object is cut short")
	case errors.As(err, &syntax):
		return data.Malformed("byte %d: %w; numbers are finite, and a missing value is null", syntax.Offset, err)
	case errors.As(err, &kind):
		return data.Malformed("byte %d: field %q cannot be a %s", kind.Offset,
			strings.TrimPrefix(kind.Field, "frame."), kind.Value)
	}
	if err != nil && strings.HasPrefix(err.Error(), "json: ") {
		return data.Malformed("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return err
}

// set sets options of rows.
func (p *params) set(o *saved.RowOptions) {
	o.Task = p.Task
	o.MissingColumns = p.MissingColumns
}

// read reads the parameters of an address.
func (p *params) read(query url.Values) (err error) {
	p.Task = query.Get("task")
	p.MissingColumns = query.Get("missing_columns")
	text := query.Get("interval")
	if text != "" {
		p.Interval, err = strconv.ParseFloat(text, 64)
		if err != nil {
			return data.Malformed("interval=%s: it must be a number between 0 and 1", text)
		}
	}
	return nil
}
