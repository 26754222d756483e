package data

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"sync"

	"l2mt/data/fault"
)

// Errors that callers distinguish; they come wrapped with file, row and field.
var (
	// ErrFormat marks a file that is not what its name or magic promises.
	ErrFormat = fault.New("malformed file")
	// ErrInvalid marks content that no learner can use: NaN, one class only, no rows.
	ErrInvalid = fault.New("invalid data")
	// ErrMismatch marks data that is not the data a problem or network was made from.
	ErrMismatch = fault.New("data does not match")
)

// Malformed makes an error of the kind ErrFormat as fmt.Errorf does.
func Malformed(format string, args ...any) error {
	return ErrFormat.Errorf(format, args...)
}

// Invalid makes an error of the kind ErrInvalid.
func Invalid(format string, args ...any) error {
	return ErrInvalid.Errorf(format, args...)
}

// Mismatch makes an error of the kind ErrMismatch.
func Mismatch(format string, args ...any) error {
	return ErrMismatch.Errorf(format, args...)
}

// Dataset is a feature matrix with class labels or real targets, and
// optionally a group (a task) for every row.
type Dataset struct {
	// Name is where the dataset came from: a file's path, or "digits".
	Name string
	// X is n x d.
	X Matrix
	// Label holds the class of every row as an index into Classes. It is nil
	// for regression.
	Label []int32
	// Classes names the classes, in the order of the reader: numbers by value,
	// words alphabetically.
	Classes []string
	// Target holds the real target of every row. It is nil for classification.
	Target []float64
	// LabelOf is the column that the labels or targets are from, if the file has
	// columns: "column 3 (score)".
	LabelOf string
	// Group holds the group of every row as an index into Groups, or is nil.
	Group []int32
	// Groups names the groups.
	Groups []string
	// Features names the columns of X, or is nil.
	Features []string
	// Steps are the kinds of steps that made the features from the columns of the
	// source file, in order.
	Steps []string
	// Notes say what a reader left out or passed over.
	Notes []string

	once        sync.Once
	fingerprint string
}

func finite(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Regression reports whether the rows carry real targets instead of classes.
func (d *Dataset) Regression() bool {
	return d.Target != nil
}

// Validate checks that the parts fit together and that every number is finite.
func (d *Dataset) Validate() error {
	err := d.check()
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	return nil
}

func (d *Dataset) check() error {
	if d.X == nil || d.X.Rows() == 0 {
		return Invalid("it has no rows")
	}
	n := d.X.Rows()
	switch {
	case d.X.Cols() == 0:
		return Invalid("it has no features")
	case (d.Label == nil) == (d.Target == nil):
		return Invalid("it needs either class labels or real targets")
	case d.Target != nil && len(d.Target) != n:
		return Invalid("%d rows but %d targets", n, len(d.Target))
	case d.Features != nil && len(d.Features) != d.X.Cols():
		return Invalid("%d columns but %d feature names", d.X.Cols(),
			len(d.Features))
	}
	for _, part := range []struct {
		what  string
		index []int32
		names []string
	}{{"label", d.Label, d.Classes}, {"group", d.Group, d.Groups}} {
		if part.index != nil && len(part.index) != n {
			return Invalid("%d rows but %d %ss", n, len(part.index), part.what)
		}
		for i, c := range part.index {
			if c < 0 || int(c) >= len(part.names) {
				return Invalid("row %d: %s %d is not one of the %d known", i, part.what,
					c, len(part.names))
			}
		}
	}
	for i, t := range d.Target {
		if !finite(t) {
			return Invalid("row %d: the target is %v; it must be finite", i, t)
		}
	}
	for i := range n {
		r := d.X.Row(i)
		for p, v := range r.Value {
			if !finite(float64(v)) {
				return Invalid("row %d, column %d: the feature is %v; it must be finite",
					i, r.Column(p), v)
			}
		}
	}
	return nil
}

// Fingerprint is the SHA-256 of the content: dimensions, entries, labels or
// targets, groups, and the names of classes and groups. It depends neither on
// the file format nor on whether X is stored dense or sparse. It is computed
// once; the dataset must not change afterwards.
func (d *Dataset) Fingerprint() string {
	d.once.Do(func() {
		sum := sha256.New()
		w := digest{bufio.NewWriterSize(sum, 32<<10)}
		w.text("l2mt dataset 1")
		w.number(uint64(d.X.Rows()))
		w.number(uint64(d.X.Cols()))
		for i := range d.X.Rows() {
			w.row(d.X.Row(i))
		}
		w.indices(d.Label)
		w.texts(d.Classes)
		w.number(uint64(len(d.Target)))
		_ = binary.Write(w, binary.LittleEndian, d.Target)
		w.indices(d.Group)
		w.texts(d.Groups)
		w.Flush() // a hash takes everything
		d.fingerprint = hex.EncodeToString(sum.Sum(nil))
	})
	return d.fingerprint
}

// digest hashes numbers and texts unambiguously.
type digest struct{ *bufio.Writer }

func (w digest) number(v uint64) {
	w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), v))
}

func (w digest) text(s string) {
	w.number(uint64(len(s)))
	w.WriteString(s)
}

func (w digest) texts(s []string) {
	w.number(uint64(len(s)))
	for _, t := range s {
		w.text(t)
	}
}

func (w digest) indices(v []int32) {
	w.number(uint64(len(v)))
	for _, i := range v {
		w.number(uint64(i))
	}
}

// row hashes the nonzero entries, so that dense and sparse rows agree.
func (w digest) row(r Row) {
	nonzero := uint64(0)
	for p, v := range r.Value {
		if v != 0 {
			nonzero++
			w.number(uint64(r.Column(p))<<32 | uint64(math.Float32bits(v)))
		}
	}
	w.number(nonzero)
}
