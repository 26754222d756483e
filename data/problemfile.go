package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"l2mt/data/files"
)

// LoadProblems reads a problem file and checks everything in it that needs no
// dataset.
func LoadProblems(path string) (*ProblemFile, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("data: problems: %w", err)
	}
	f, err := parseProblems(raw)
	if err != nil {
		return nil, fmt.Errorf("data: problems: %s: %w", path, err)
	}
	return f, nil
}

// parseProblems is LoadProblems of a file's content.
func parseProblems(raw []byte) (*ProblemFile, error) {
	if first := bytes.TrimSpace(raw); len(first) > 0 && first[0] != '{' {
		return nil, fmt.Errorf("%w: it is no problem file, which is JSON and begins with {; labelled tables can be fitted as they are", ErrFormat)
	}
	f := new(ProblemFile)
	if err := files.DecodeSchema(raw, ProblemSchema, f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if faults := f.faults(); len(faults) > maxFaults {
		return nil, fmt.Errorf("%w\nthere are more faults than these %d", errors.Join(faults[:maxFaults]...), maxFaults)
	} else if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return f, nil
}

// Save writes the file whole or not at all. The same problems give the same
// bytes.
func (f *ProblemFile) Save(path string) error {
	raw, err := f.Encode()
	if err != nil {
		return fmt.Errorf("data: problems: %s: %w", path, err)
	}
	if err := files.WriteFile(path, raw); err != nil {
		return fmt.Errorf("data: problems: %w", err)
	}
	return nil
}

// Encode is the content of the file that Save writes. What has a name, a problem or a
// task, has a line.
func (f *ProblemFile) Encode() ([]byte, error) {
	raw, err := json.Marshal(f)
	named := []byte(`{"name":`) // which no text has in JSON
	return append(bytes.ReplaceAll(raw, named, append([]byte("\n"), named...)), '\n'), err
}

// maxFaults is how many faults of a file are named. A file of a few megabytes
// can have millions.
const maxFaults = 100

// faults returns what is wrong with the file whatever its data is, or somewhat
// more than maxFaults of it.
func (f *ProblemFile) faults() (faults []error) {
	if f.Dataset == nil {
		faults = append(faults, fmt.Errorf("%w: it names no dataset; the row indices of tasks need a \"dataset\"", ErrInvalid))
	}
	if len(f.Problems) == 0 {
		faults = append(faults, fmt.Errorf("%w: the list \"problems\" is empty", ErrInvalid))
	}
	return append(faults, listed("problem", ": ", f.Problems, func(p *Problem) (string, []error) {
		return p.Name, p.faults()
	})...)
}

// listed checks that the items of a list are there, with names of their own, and each
// for more faults, as far as maxFaults.
func listed[T any](what, separator string, list []*T, of func(*T) (name string, more []error)) (faults []error) {
	seen := map[string]bool{}
	for i, item := range list {
		if len(faults) > maxFaults {
			break
		}
		if item == nil {
			faults = append(faults, fmt.Errorf("%s %d of the list: %w: it is null", what, i+1, ErrInvalid))
			continue
		}
		name, more := of(item)
		if name == "" || seen[name] {
			faults = append(faults, fmt.Errorf("%s %d of the list: %w: the name %q is empty or taken; names are unique", what, i+1, ErrInvalid, name))
		}
		seen[name] = true
		for _, err := range more {
			faults = append(faults, fmt.Errorf("%s %q%s%w", what, name, separator, err))
		}
	}
	return faults
}

func (p *Problem) faults() (faults []error) {
	if len(p.Tasks) == 0 {
		return []error{fmt.Errorf("%w: it has no tasks", ErrInvalid)}
	}
	for _, kind := range p.Prepare {
		if kind != StepStandardise && kind != StepUnit {
			faults = append(faults, fmt.Errorf("%w: prepare %q; it can be %s or %s", ErrInvalid, kind, StepStandardise, StepUnit))
		}
	}
	if k := len(p.Classes); k > 0 && (k < 3 || distinct(p.Classes) < k) {
		faults = append(faults, fmt.Errorf("field \"classes\": %w: %d names, %d of them different; it lists all classes, each once, where tasks have more than two", ErrInvalid, k, distinct(p.Classes)))
	}
	return append(faults, listed("task", ", ", p.Tasks, func(t *Task) (string, []error) {
		return t.Name, t.faults(p)
	})...)
}

func distinct(names []string) int {
	return len(slices.Compact(slices.Sorted(slices.Values(names))))
}

func (t *Task) faults(p *Problem) (faults []error) {
	fault := func(field, format string, args ...any) {
		faults = append(faults, fmt.Errorf("field %q: %w: %s", field, ErrInvalid, fmt.Sprintf(format, args...)))
	}
	if first := p.Tasks[0]; first != nil && t.Kind != first.Kind {
		fault("kind", "%q, but the first task is %q; one problem has one loss", t.Kind, first.Kind)
	}
	several, named := len(p.Classes) > 0, t.Positive != "" || t.Negative != ""
	switch t.Kind {
	case Classification:
		if several && named {
			fault("positive", "the problem lists its classes, so that a task has no positive one (%q) and no negative one (%q)", t.Positive, t.Negative)
		} else if !several && (t.Positive == "" || t.Negative == "" || t.Positive == t.Negative) {
			fault("positive", "classification needs two different classes, not %q and %q", t.Positive, t.Negative)
		}
	case Regression:
		if named || several {
			fault("positive", "regression has no classes, not %q and %q", t.Positive, t.Negative)
		}
	default:
		fault("kind", "%q; it can be %q or %q", t.Kind, Classification, Regression)
	}
	if len(t.Train) == 0 {
		fault("train", "there are no training rows")
	}
	where := map[int]string{}
	for _, split := range t.splits() {
		for i, r := range split.rows {
			if len(faults) > maxFaults {
				return faults
			}
			if other, twice := where[r]; twice {
				fault(split.field, "row %d (entry %d of the list) is in %q too; a row serves once", r, i, other)
			}
			where[r] = split.field
		}
	}
	return faults
}

type split struct {
	field string
	rows  []int
}

func (t *Task) splits() []split {
	return []split{{"train", t.Train}, {"validation", t.Validation}, {"test", t.Test}}
}
