package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"l2mt/data"
	"l2mt/data/fault"
	"l2mt/data/format"
	"l2mt/model/saved"
)

// Kinds of errors that are no mistake in the rows.
var (
	errMany  = fault.New("too many rows")
	errMedia = fault.New("another kind of content")
	errBusy  = fault.New("too many requests")
)

// Handler answers all requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, text)
		}
	}
	mux.HandleFunc("GET /ping", says("\n"))
	mux.HandleFunc("GET /health", says("\n"))
	mux.HandleFunc("GET /version", says(s.Version))
	mux.HandleFunc("GET /models",
		func(w http.ResponseWriter, r *http.Request) {
			write(w, http.StatusOK, map[string]any{"models": s.names()})
		})
	mux.HandleFunc("GET /models/{name}",
		s.named(func(w http.ResponseWriter, r *http.Request, m *model) {
			write(w, http.StatusOK, m.describe())
		}))
	mux.HandleFunc("POST /invocations", s.named(s.invocations))
	mux.HandleFunc("POST /models/{name}/invocations", s.named(s.invocations))
	mux.HandleFunc("GET /metrics", s.counts.serve)
	mux.HandleFunc("GET /{$}", s.named(s.page))
	mux.HandleFunc("GET /form.js", script)
	return mux
}

// named finds the model that a request names in its path or in its query.
func (s *Server) named(do func(http.ResponseWriter, *http.Request, *model)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name") + r.URL.Query().Get("model")
		m := s.find(name)
		if name == "" {
			m = s.models[0]
		}
		if m == nil {
			refuse(w, http.StatusNotFound,
				data.Invalid("there is no model %q; GET /models lists all", name))
			return
		}
		do(w, r, m)
	}
}

// invocations predicts rows.
func (s *Server) invocations(w http.ResponseWriter, r *http.Request, m *model) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	code := http.StatusOK
	rows := 0
	leave, err := s.enter(ctx, r.ContentLength)
	if err == nil {
		defer leave()
		r.Body = http.MaxBytesReader(w, r.Body, s.largest)
		rows, err = s.answer(w, r.WithContext(ctx), m.fit.Load())
	}
	if err != nil {
		code, err = s.status(err)
		refuse(w, code, err)
	}
	s.counts.add(m.name, code, rows, time.Since(begin))
}

// enter waits for the memory of a request of so many bytes, or -1 for an unknown number.
func (s *Server) enter(ctx context.Context, size int64) (leave func(), err error) {
	if size < 0 || size > s.largest { // the second is refused as it is read
		size = s.largest
	}
	if size < small {
		size = 0
	}
	if s.memory.Acquire(ctx, size) != nil {
		return nil, errBusy.Errorf("other requests take all the memory for large ones; ask again later")
	}
	return func() {
		s.memory.Release(size)
	}, nil
}

// answer answers a request, which has so many rows.
func (s *Server) answer(
	w http.ResponseWriter, r *http.Request, fit *saved.Fit,
) (rows int, err error) {
	var q request
	if err := q.Params.read(r.URL.Query()); err != nil {
		return 0, err
	}
	o := saved.RowOptions{Format: format.Options{From: r.Body}}
	switch media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media {
	case "text/csv":
	case "application/json":
		if err := q.readJSON(r.Body); err != nil {
			return 0, err
		}
		if q.Adapt != nil {
			o, err = q.Adapt.table(fit, s.MaxRows)
			q.Params.set(&o)
			if err == nil {
				fit, err = fit.Adapt(r.Context(), "adapt", o)
			}
		}
		if err == nil {
			o, err = q.table(fit, s.MaxRows)
		}
	default:
		err = errMedia.Errorf("the content type is %q; it must be application/json or text/csv", media)
	}
	if err != nil {
		return 0, err
	}
	q.Params.set(&o)
	text := &objects{limit: s.MaxRows}
	if err := text.predict(r.Context(),
		fit, o, q.Params.Interval); err != nil {
		return 0, err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text.text) // who asked may have gone
	return text.rows, nil
}

// objects are predictions as text of JSON.
type objects struct {
	text  []byte
	rows  int
	limit int // rows
	lines *saved.Lines
	heads []string // with their colons
}

// predict predicts rows and writes them, with notes behind them.
func (t *objects) predict(ctx context.Context, fit *saved.Fit, o saved.RowOptions, level float64) error {
	rows, err := fit.OpenRows("request", o)
	if err != nil {
		return err
	}
	defer rows.Close()
	t.lines, err = rows.Lines(level)
	if err != nil {
		return err
	}
	for _, head := range t.lines.Heads {
		t.heads = append(t.heads, quoted(head)+":")
	}
	t.text = []byte(`{"predictions":[`)
	if err := rows.Each(ctx, t.write, t.add); err != nil {
		return err
	}
	notes, _ := rows.Notes()
	said, err := json.Marshal(append([]string{}, notes...))
	t.text = append(bytes.TrimSuffix(t.text, []byte(",")), `],"notes":`...)
	t.text = append(t.text, said...)
	t.text = append(t.text, "}\n"...)
	return err
}

// add adds a block.
func (t *objects) add(b *saved.Block) error {
	t.rows += b.Rows
	if t.rows > t.limit {
		return errMany.Errorf("it has more rows than a request may have, %d (--max-rows)", t.limit)
	}
	t.text = append(t.text, b.Text...)
	return nil
}

// write writes the rows of a block, with a comma behind each.
func (t *objects) write(b *saved.Block) {
	var text []byte
	for i := range b.Rows {
		mark := byte('{')
		for j, cell := range t.lines.Row(b, i) {
			text = append(text, mark)
			text = append(text, t.heads[j]...)
			mark = ','
			switch {
			case t.lines.Words[j]:
				cell = quoted(cell)
			case cell == "":
				cell = "null"
			}
			text = append(text, cell...)
		}
		text = append(text, "},"...)
	}
	b.Text = text
}

func quoted(text string) string {
	raw, _ := json.Marshal(text) // texts have no errors
	return string(raw)
}

// status is the code of an answer to a faulty request, with the sentence about the fault.
func (s *Server) status(err error) (code int, says error) {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, errMany.Errorf("the body is larger than a request may be, %d MiB (--max-body)", s.MaxBody)
	case errors.Is(err, errMany):
		return http.StatusRequestEntityTooLarge, err
	case errors.Is(err, errMedia):
		return http.StatusUnsupportedMediaType, err
	case errors.Is(err, errBusy):
		return http.StatusTooManyRequests, err
	case errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, errBusy.Errorf("the request took longer than %v (--timeout); ask for fewer rows", s.Timeout)
	}
	return http.StatusBadRequest, err
}

// refuse answers with an error in the form of MLflow.
func refuse(w http.ResponseWriter, code int, err error) {
	kind := strings.ToUpper(
		strings.ReplaceAll(http.StatusText(code), " ", "_"))
	write(w, code, map[string]string{
		"error_code": kind,
		"message":    err.Error(),
	})
}

func write(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // who asked may have gone
}
