package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"l2mt/data/files"
)

// LoadProblems reads a problem file and checks everything in it that needs no
// dataset.
func LoadProblems(path string) (*ProblemFile, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("problems: %w", err)
	}
	f, err := parseProblems(raw)
	if err != nil {
		return nil, fmt.Errorf("problems: %s: %w", path, err)
	}
	return f, nil
}

// parseProblems is LoadProblems of a file's content.
func parseProblems(raw []byte) (*ProblemFile, error) {
	first := bytes.TrimSpace(raw)
	if len(first) > 0 && first[0] != '{' {
		return nil, Malformed("it is no problem file, which is JSON and begins with {; labelled tables can be fitted as they are")
	}
	f := new(ProblemFile)
	err := files.DecodeSchema(raw, ProblemSchema, f)
	if err != nil {
		return nil, Malformed("%w", err)
	}
	err = f.check()
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Save writes the file whole or not at all. The same problems give the same
// bytes.
func (f *ProblemFile) Save(path string) error {
	raw, err := f.Encode()
	if err == nil {
		err = files.WriteFile(path, raw)
	}
	if err != nil {
		return fmt.Errorf("problems: %w", err)
	}
	return nil
}

// Encode is the content of the file that Save writes. Each problem and each task has a line.
func (f *ProblemFile) Encode() ([]byte, error) {
	raw, err := json.Marshal(f)
	name := []byte(`{"name":`) // which no text has in JSON
	return append(
		bytes.ReplaceAll(raw, name, append([]byte("\n"), name...)), '\n'), err
}

// check returns the first fault that the file has whatever its data is.
func (f *ProblemFile) check() error {
	if f.Dataset == nil {
		return Invalid("it names no \"dataset\", whose rows the tasks list")
	}
	if len(f.Problems) == 0 {
		return Invalid("the list \"problems\" is empty")
	}
	names := map[string]bool{}
	for i, p := range f.Problems {
		if p == nil || p.Name == "" || names[p.Name] {
			return Invalid("problem %d of the list: it is null, or its name is empty or taken; every problem needs a name of its own", i+1)
		}
		names[p.Name] = true
		err := p.check()
		if err != nil {
			return fmt.Errorf("problem %q: %w", p.Name, err)
		}
	}
	return nil
}

func (p *Problem) check() error {
	if len(p.Tasks) == 0 {
		return Invalid("it has no tasks")
	}
	distinct := len(Distinct(p.Classes))
	k := len(p.Classes)
	if k > 0 && (k < 3 || distinct < k) {
		return Invalid("field \"classes\": %d names, %d of them different; it must list each class once, of tasks with more than two", k, distinct)
	}
	names := map[string]bool{}
	for i, t := range p.Tasks {
		if t == nil || t.Name == "" || names[t.Name] {
			return Invalid("task %d of the list: it is null, or its name is empty or taken; every task needs a name of its own", i+1)
		}
		names[t.Name] = true
		field, err := t.check(p)
		if err != nil {
			return Invalid("task %q, field %q: %w", t.Name, field, err)
		}
	}
	return nil
}

// check returns the first field that has a fault, and the fault.
func (t *Task) check(p *Problem) (field string, fault error) {
	first := p.Tasks[0]
	if t.Kind != first.Kind {
		return "kind", fmt.Errorf("%q, but the first task is %q; all tasks of a problem must be of one kind",
			t.Kind, first.Kind)
	}
	pair := t.Kind == Classification && len(p.Classes) == 0
	blank := t.Positive == "" && t.Negative == ""
	two := t.Positive != "" && t.Negative != "" && t.Positive != t.Negative
	switch {
	case t.Kind != Classification && t.Kind != Regression:
		return "kind", fmt.Errorf("%q; it must be %q or %q",
			t.Kind, Classification, Regression)
	case t.Kind == Regression && len(p.Classes) > 0:
		return "kind", errors.New("the problem lists classes, but regression has no classes")
	case pair && !two || !pair && !blank:
		return "positive", fmt.Errorf("%q, and field \"negative\" %q; classification needs two different classes; regression has none, nor has a task of a problem that lists its classes",
			t.Positive, t.Negative)
	case len(t.Train) == 0:
		return "train", errors.New("there are no training rows")
	}
	where := map[int]string{}
	for _, split := range t.splits() {
		for i, r := range split.rows {
			place, twice := where[r]
			if twice {
				return split.field, fmt.Errorf("row %d (entry %d of the list) is in %q too; a row must be in one list",
					r, i, place)
			}
			where[r] = split.field
		}
	}
	return "", nil
}

type split struct {
	field string
	rows  []int
}

func (t *Task) splits() []split {
	return []split{{"train", t.Train},
		{"validation", t.Validation}, {"test", t.Test}}
}
