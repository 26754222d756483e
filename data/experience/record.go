package experience

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/files"
)

// STL is the source of the tuples of single-task learning. Every problem needs
// one: its test error is the denominator of all relative errors.
const STL = "stl"

// Status says whether a tuple could be made.
type Status string

// The values of Status.
const (
	OK     Status = "ok"
	Failed Status = "failed"
)

// Record is one tuple.
type Record struct {
	// ID is TupleID of the fields below it, up to Hyper.
	ID string `json:"id"`
	// Problem is the name of the problem, for people.
	Problem string `json:"problem"`
	// ProblemID identifies the problem by its content.
	ProblemID string `json:"problem_id"`
	// Source is the origin of Omega: the name of a model, "stl" or
	// "explore/<kind>".
	Source string `json:"source"`
	// Draw counts the tuples of one source on one problem, from 0.
	Draw int `json:"draw"`
	// Hyper holds the hyperparameters that Omega was made with.
	Hyper map[string]float64 `json:"hyper,omitempty"`
	// Seconds is the time that the tuple took.
	Seconds float64 `json:"seconds,omitempty"`

	Status Status `json:"status"`
	// Reason says why the tuple failed; empty if it didn't.
	Reason string `json:"reason,omitempty"`
	// Omega is the covariance (m x m), symmetric and positive semidefinite with
	// trace 1. A failed tuple may lack it.
	Omega [][]float64 `json:"omega,omitempty"`
	// Result has the errors with Omega; nil if the tuple failed.
	Result *Result `json:"result,omitempty"`
}

// Result has the errors of a covariance on a problem.
type Result struct {
	// Lambda1 is the strength that was chosen on validation data.
	Lambda1 float64 `json:"lambda1"`
	// Validation and Test hold one error a task, in the order of the problem's tasks.
	Validation []float64 `json:"validation,omitempty"`
	Test       []float64 `json:"test"`
	// O is the relative test error, MeanTest over single-task learning's.
	O float64 `json:"o"`
}

// MeanTest is the mean of Test.
func (r *Result) MeanTest() float64 {
	return stat.Mean(r.Test, nil)
}

// Perfect is the reason why a problem on which single-task learning makes no test
// error has no results.
const Perfect = "the test error of single-task learning is 0, by which no error can be divided"

// Relate fills in O, given the mean test error of single-task learning. It returns an
// error that wraps data.ErrInvalid if that is 0, because then no relative error exists.
func (r *Result) Relate(stl float64) error {
	if stl == 0 {
		return data.Invalid("%s", Perfect)
	}
	r.O = r.MeanTest() / stl
	return nil
}

// ProblemID identifies a problem by its content and the fingerprint of its data.
func ProblemID(p *data.Problem, fingerprint string) string {
	id, _ := contentID(fingerprint, p) // texts and whole numbers
	return id
}

// TupleID identifies a tuple by how it is made, so it is known before the
// tuple is. Floats must be finite.
func TupleID(problemID, source string, draw int, hyper map[string]float64) (string, error) {
	return contentID(problemID, source, draw, hyper)
}

// contentID is the SHA-256 of the parts as a JSON array, whose keys json sorts;
// the first 32 hex digits of it.
func contentID(parts ...any) (string, error) {
	raw, err := json.Marshal(parts)
	if err != nil {
		return "", fmt.Errorf("id: %w", err)
	}
	return files.Sum(raw)[:32], nil
}

// Compare orders records canonically: by problem, source and draw.
func Compare(a, b *Record) int {
	return cmp.Or(
		cmp.Compare(a.Problem, b.Problem),
		cmp.Compare(a.ProblemID, b.ProblemID),
		cmp.Compare(a.Source, b.Source),
		cmp.Compare(a.Draw, b.Draw),
		cmp.Compare(a.ID, b.ID),
	)
}

// Validate checks that the record is complete and consistent. The error wraps
// data.ErrInvalid and lists everything found.
func (r *Record) Validate() error {
	var faults []string
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	must(r.Problem != "" && r.ProblemID != "" && r.Source != "" && r.Draw >= 0,
		"problem is %q, problem_id %q, source %q and draw %d; they must be texts and a number from 0",
		r.Problem, r.ProblemID, r.Source, r.Draw)
	want, err := TupleID(r.ProblemID, r.Source, r.Draw, r.Hyper)
	must(err == nil && r.ID == want,
		"id is %q; its problem, source, draw and hyperparameters give %q", r.ID, want)
	ok := r.Status == OK
	failed := r.Status == Failed
	must(ok || failed, "status is %q; it must be %q or %q",
		r.Status, OK, Failed)
	must(failed == (r.Reason != ""),
		"status is %q, and the reason for failure %q; tuples that failed have one, others none", r.Status, r.Reason)
	must(ok == (r.Result != nil),
		"status is %q, but whether there is a result is %v; tuples that are ok have one, others none", r.Status, r.Result != nil)
	if ok || len(r.Omega) > 0 {
		omega, err := data.NewCovariance(r.Omega)
		must(err == nil, "omega: %v", err)
		if err == nil {
			trace := mat.Trace(omega)
			must(math.Abs(trace-1) <= 1e-9, "omega: its trace is %v; it must be 1", trace) // far above rounding
		}
	}
	e := r.Result
	if e != nil {
		m := len(r.Omega)
		must(e.Lambda1 > 0 && !math.IsInf(e.Lambda1, 0),
			"lambda1 is %v; it must be positive and finite", e.Lambda1)
		must(len(e.Test) == m && (e.Validation == nil || len(e.Validation) == m),
			"%d test and %d validation errors; Omega has %d tasks",
			len(e.Test), len(e.Validation), m)
		for _, v := range slices.Concat(e.Test, e.Validation, []float64{e.O}) {
			must(v >= 0 && !math.IsInf(v, 0),
				"an error is %v; it must be finite and not negative", v)
		}
		unit := e.MeanTest() / e.O // single-task learning's, NaN where both are 0
		must(math.IsNaN(unit) || unit > 0 && !math.IsInf(unit, 0),
			"o is %v, but the mean test error is %v", e.O, e.MeanTest())
		must(r.Source != STL || e.O == 1,
			"o of source %q is %v; it must be 1", STL, e.O)
	}
	if len(faults) == 0 {
		return nil
	}
	return data.Invalid("%s", strings.Join(faults, ", and "))
}

// MaxLine bounds the length of a line in bytes, enough for 800 tasks. A reader
// never holds more than one line.
const MaxLine = 16 << 20

// ErrTorn marks the last line of a shard that was cut off while it was
// written. Its tuple is to be made again.
var ErrTorn = errors.New("torn last line")

func encode(r *Record) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, data.Invalid("%w", err)
	}
	line := files.Seal(body)
	if len(line) > MaxLine {
		return nil, data.Invalid("the record takes %d bytes; the limit is %d",
			len(line), MaxLine)
	}
	return line, nil
}

// decode reads a record from its line without the newline, and checks all of it.
func decode(line []byte) (*Record, error) {
	body, err := files.Unseal(line)
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := files.DecodeJSON(body, r); err != nil {
		return nil, data.Malformed("%w", err)
	}
	return r, r.Validate()
}
