package data

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// ProblemSchema is the version of the problem files that this package writes.
const ProblemSchema = 1

// Kind says what a task predicts.
type Kind string

// The kinds of tasks.
const (
	Classification Kind = "classification" // labels -1 and +1
	Regression     Kind = "regression"     // real targets
)

// ProblemFile is one file of multitask problems on one dataset.
type ProblemFile struct {
	// Schema is ProblemSchema.
	Schema int `json:"schema"`
	// Dataset is what the row indices of the tasks refer to.
	Dataset *DatasetRef `json:"dataset,omitempty"`
	// Sampling records how the problems were drawn, for the reader; nothing
	// depends on it.
	Sampling json.RawMessage `json:"sampling,omitempty"`
	// Problems holds at least one problem.
	Problems []*Problem `json:"problems"`
}

// DatasetRef names a dataset and pins its content.
type DatasetRef struct {
	// Path is a file, relative to the problem file, or the name of an embedded
	// dataset ("digits").
	Path string `json:"path"`
	// SHA256 is the dataset's Fingerprint.
	SHA256 string `json:"sha256,omitempty"`
}

// Name is what people call the dataset: its file without directory and endings.
func (r DatasetRef) Name() string {
	name, _, _ := strings.Cut(path.Base(r.Path), ".")
	return name
}

// Problem is a multitask problem: several related tasks over the same features.
type Problem struct {
	// Name is unique within a file.
	Name string `json:"name"`
	// Prepare lists steps fitted on the training rows of all tasks and applied
	// to all rows: "standardise", "unit".
	Prepare []string `json:"prepare,omitempty"`
	// Classes lists the classes of all tasks together, where tasks have more than two:
	// tasks share the classes that have one name. A task need not have them all.
	Classes []string `json:"classes,omitempty"`
	Tasks   []*Task  `json:"tasks"`
}

// Task is one prediction task with its split.
type Task struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Positive and Negative name the classes labelled +1 and -1 of a classification,
	// unless the problem has Classes.
	Positive string `json:"positive,omitempty"`
	Negative string `json:"negative,omitempty"`
	// Train, Validation and Test are row indices of the dataset, from 0.
	Train      []int `json:"train,omitempty"`
	Validation []int `json:"validation,omitempty"`
	Test       []int `json:"test,omitempty"`
}

// Samples are the data points of one split of one task.
type Samples struct {
	// X is n x d.
	X Matrix
	// Y has one entry a row: -1 or +1 for classification, the number of the class
	// where the problem has Classes, else the target.
	Y []float64
	// Weight is how much each row counts; nil where all count the same.
	Weight []float64
}

// Weights are how much the rows count, ones where nothing says so.
func (s Samples) Weights() []float64 {
	if s.Weight == nil {
		return slices.Repeat([]float64{1}, len(s.Y))
	}
	return s.Weight
}

// Borrows says that the rows cannot tell the intercept of their task, which borrows it from the
// others: there is one, or none, or of classes all are of one.
func (s Samples) Borrows(classes bool) bool {
	return len(s.Y) < 2 || classes && slices.Min(s.Y) == slices.Max(s.Y)
}

// TaskData is a task with its data at hand.
type TaskData struct {
	*Task
	TrainSet, ValidationSet, TestSet Samples
}

// ProblemData is a problem with its data at hand. Models are fitted on it.
type ProblemData struct {
	*Problem
	Tasks []TaskData
	// Features names the columns of X, or is nil.
	Features []string
	// OwnUnits says that tasks are targets of different meaning, in units of their own.
	OwnUnits bool
}

// clone is the problem with tasks whose sets may be replaced.
func (p *ProblemData) clone() *ProblemData {
	q := *p
	q.Tasks = slices.Clone(p.Tasks)
	return &q
}

// Check says what a problem lacks that models are fitted on: each task takes a name and a kind,
// as many features as the first, and a label for every row.
func (p *ProblemData) Check() error {
	if p == nil || p.Problem == nil || len(p.Tasks) == 0 {
		return Invalid("there is no problem with tasks")
	}
	for i, t := range p.Tasks {
		var fault error
		switch {
		case t.Task == nil:
			fault = Invalid("task %d: it has no name and no kind", i+1)
		case t.TrainSet.X == nil:
			fault = Invalid("task %q, features: there are none", t.Name)
		case t.TrainSet.X.Rows() != len(t.TrainSet.Y):
			fault = Invalid("task %q, y: it has %d entries for %d rows",
				t.Name, len(t.TrainSet.Y), t.TrainSet.X.Rows())
		case t.TrainSet.X.Cols() != p.Cols():
			fault = Invalid("task %q: it has %d features, but the first task has %d",
				t.Name, t.TrainSet.X.Cols(), p.Cols())
		}
		if fault != nil {
			return fmt.Errorf("problem %q: %w", p.Name, fault)
		}
	}
	return nil
}

// Foreign says of every task whether a class of several is foreign to it, as the classes of another
// target of a table are: tasks with the class tell it from others, but from none of this task.
func (p *ProblemData) Foreign(class int) []bool {
	foreign := make([]bool, len(p.Tasks))
	if p.Several() == 0 {
		return foreign
	}
	related := map[float64]bool{}
	for _, t := range p.Tasks {
		if slices.Contains(t.TrainSet.Y, float64(class)) {
			for _, y := range t.TrainSet.Y {
				related[y] = true
			}
		}
	}
	known := func(y float64) bool {
		return related[y]
	}
	for i, t := range p.Tasks {
		y := t.TrainSet.Y
		foreign[i] = len(related) > 1 && len(y) > 0 &&
			!slices.ContainsFunc(y, known)
	}
	return foreign
}

// Cols is the number of features d, the same in every task.
func (p *ProblemData) Cols() int {
	return p.Tasks[0].TrainSet.X.Cols()
}

// TrainingOnly is the problem without its validation and test rows.
func (p *ProblemData) TrainingOnly() *ProblemData {
	q := p.clone()
	for i := range q.Tasks {
		q.Tasks[i].ValidationSet = Samples{}
		q.Tasks[i].TestSet = Samples{}
	}
	return q
}

// Tested is the problem with its test rows as its validation rows,
// for what asks held-out rows.
func (p *ProblemData) Tested() *ProblemData {
	q := p.clone()
	for i := range q.Tasks {
		q.Tasks[i].ValidationSet = q.Tasks[i].TestSet
	}
	return q
}

// Kind is the kind of the problem's tasks, the same in every task.
func (p *ProblemData) Kind() Kind {
	return p.Tasks[0].Kind
}

// Several is the number of classes where tasks have more than two, else 0.
func (p *ProblemData) Several() int {
	if p.Problem == nil {
		return 0
	}
	return len(p.Classes)
}

// ClassesOf are the classes of a task, in the order of their labels; a regression has none.
func (p *ProblemData) ClassesOf(t TaskData) []string {
	if t.Kind == Regression || p.Several() > 0 {
		return p.Classes
	}
	return []string{t.Negative, t.Positive}
}
