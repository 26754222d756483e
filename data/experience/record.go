package experience

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
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
	// Source is where Omega came from: the name of a model, "stl" or
	// "explore/<kind>".
	Source string `json:"source"`
	// Draw counts the tuples of one source on one problem, from 0.
	Draw int `json:"draw"`
	// Hyper holds the hyperparameters that Omega was made with.
	Hyper map[string]float64 `json:"hyper,omitempty"`

	Status Status `json:"status"`
	// Reason says why the tuple failed; empty if it didn't.
	Reason string `json:"reason,omitempty"`
	// Omega is the covariance (m x m), symmetric and positive semidefinite with
	// trace 1. A failed tuple may lack it.
	Omega [][]float64 `json:"omega,omitempty"`
	// Result is what Omega brought; nil if the tuple failed.
	Result *Result `json:"result,omitempty"`
}

// Result is what a covariance came to on a problem.
type Result struct {
	// Lambda1 is the strength that was chosen on validation data.
	Lambda1 float64 `json:"lambda1"`
	// Model holds the errors with Omega, STL those of single-task learning.
	Model Errors `json:"model"`
	STL   Errors `json:"stl"`
	// O is the relative test error, Model.MeanTest over STL.MeanTest.
	O float64 `json:"o"`
	// Slope (m x m, symmetric) is the gradient of the test error over
	// STL.MeanTest with respect to Omega, at Lambda1 and with logistic curves for
	// the steps of misclassified rows. It may be missing.
	Slope [][]float64 `json:"slope,omitempty"`
}

// Errors holds one error a task, in the order of the problem's tasks.
type Errors struct {
	Validation []float64 `json:"validation,omitempty"`
	Test       []float64 `json:"test"`
	// MeanTest is the mean of Test.
	MeanTest float64 `json:"mean_test"`
}

// NewErrors returns the errors with their mean.
func NewErrors(validation, test []float64) Errors {
	return Errors{Validation: validation, Test: test, MeanTest: mean(test)}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// Perfect is the reason why a problem on which single-task learning makes no test
// error has no results.
const Perfect = "the test error of single-task learning is 0, so no error is relative to it"

// NewResult returns the result with its relative error. It returns an error
// that wraps data.ErrInvalid if STL makes no test error at all, because then no
// relative error exists.
func NewResult(lambda1 float64, model, stl Errors) (*Result, error) {
	if stl.MeanTest == 0 {
		return nil, fmt.Errorf("experience: %w: %s", data.ErrInvalid, Perfect)
	}
	return &Result{Lambda1: lambda1, Model: model, STL: stl, O: model.MeanTest / stl.MeanTest}, nil
}

// ProblemID identifies a problem by its content and the fingerprint of its data.
// Where the tasks' own files lie does not matter: the fingerprint has to cover
// what is in them.
func ProblemID(p *data.Problem, fingerprint string) (string, error) {
	content := *p
	content.Tasks = slices.Clone(p.Tasks)
	for i, t := range p.Tasks {
		if t.Files != nil {
			task := *t
			task.Files = new(data.TaskFiles)
			content.Tasks[i] = &task
		}
	}
	return contentID(fingerprint, content)
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
		return "", fmt.Errorf("experience: id: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16]), nil
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
func (r *Record) Validate() error { return errors.Join(r.faults()...) }

// Slack allowed to numbers that follow from others: far above the rounding of any
// way to compute them, far below anything that matters.
const (
	traceTolerance = 1e-9
	ratioTolerance = 1e-12
)

func (r *Record) faults() (faults []error) {
	add := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: "+format, append([]any{data.ErrInvalid}, args...)...))
	}
	for _, f := range []struct{ name, value string }{{"problem", r.Problem}, {"problem_id", r.ProblemID}, {"source", r.Source}} {
		if f.value == "" || !utf8.ValidString(f.value) {
			add("%s is %q; it must be a text", f.name, f.value)
		}
	}
	if r.Draw < 0 {
		add("draw is %d; it counts from 0", r.Draw)
	}
	if want, err := TupleID(r.ProblemID, r.Source, r.Draw, r.Hyper); err != nil {
		add("hyper: %v", err)
	} else if r.ID != want {
		add("id is %q; that of its problem, source, draw and hyperparameters is %q", r.ID, want)
	}
	switch r.Status {
	case OK:
		if r.Reason != "" {
			add("status is ok, yet there is a reason for failure: %q", r.Reason)
		}
		if len(r.Omega) == 0 {
			add("omega is missing; a tuple that is ok has one")
		}
		if r.Result == nil {
			add("result is missing; a tuple that is ok has one")
		}
	case Failed:
		if r.Reason == "" || !utf8.ValidString(r.Reason) {
			add("status is failed, but the reason is %q; it must be a text", r.Reason)
		}
		if r.Result != nil {
			add("status is failed, yet there is a result")
		}
	default:
		add("status is %q; it must be %q or %q", r.Status, OK, Failed)
	}
	if len(r.Omega) > 0 {
		if omega, err := data.NewCovariance(r.Omega); err != nil {
			faults = append(faults, fmt.Errorf("omega: %w", err))
		} else if trace := mat.Trace(omega); math.Abs(trace-1) > traceTolerance {
			add("omega: its trace is %v; it must be 1", trace)
		}
	}
	if r.Result != nil {
		r.Result.check(len(r.Omega), r.Source, add)
	}
	return faults
}

// checkSymmetric tells why a is not a symmetric m x m matrix of finite numbers.
func checkSymmetric(a [][]float64, m int) error {
	if len(a) != m {
		return fmt.Errorf("it has %d rows; a problem of %d tasks needs %d", len(a), m, m)
	}
	for i, row := range a {
		if len(row) != m {
			return fmt.Errorf("row %d has %d entries; a matrix of %d rows needs %d", i, len(row), m, m)
		}
	}
	for i, row := range a {
		for j, v := range row {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("entry (%d, %d) is %v; it must be finite", i, j, v)
			}
			if j < i && v != a[j][i] {
				return fmt.Errorf("it is not symmetric: entry (%d, %d) is %v, entry (%d, %d) is %v", i, j, v, j, i, a[j][i])
			}
		}
	}
	return nil
}

func (r *Result) check(m int, source string, add func(format string, args ...any)) {
	if !(r.Lambda1 > 0) || math.IsInf(r.Lambda1, 0) {
		add("lambda1 is %v; it must be positive and finite", r.Lambda1)
	}
	for _, part := range []struct {
		name   string
		errors Errors
	}{{"model", r.Model}, {"stl", r.STL}} {
		if err := part.errors.check(m); err != nil {
			add("%s: %v", part.name, err)
		}
	}
	if o := r.Model.MeanTest / r.STL.MeanTest; !near(r.O, o) {
		add("o is %v, but the mean test errors %v and %v have ratio %v", r.O, r.Model.MeanTest, r.STL.MeanTest, o)
	}
	if r.Slope != nil {
		if err := checkSymmetric(r.Slope, m); err != nil {
			add("slope: %v", err)
		}
	}
	if source == STL && !r.Model.equal(r.STL) {
		add("the source is %q, yet the errors of model and stl differ", STL)
	}
}

func (e Errors) check(m int) error {
	if len(e.Test) != m || (e.Validation != nil && len(e.Validation) != m) {
		return fmt.Errorf("%d test and %d validation errors; Omega has %d tasks", len(e.Test), len(e.Validation), m)
	}
	for i, v := range slices.Concat(e.Test, e.Validation) {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("task %d has error %v; it must be finite and not negative", i%m, v)
		}
	}
	if want := mean(e.Test); !near(e.MeanTest, want) {
		return fmt.Errorf("mean_test is %v, but the test errors have mean %v", e.MeanTest, want)
	}
	return nil
}

func (e Errors) equal(other Errors) bool {
	return slices.Equal(e.Test, other.Test) && slices.Equal(e.Validation, other.Validation)
}

// near reports whether a stored number is the one that follows from others.
func near(got, want float64) bool {
	return math.Abs(got-want) <= ratioTolerance*math.Abs(want)
}
