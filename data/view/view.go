// Package view has the transformations of rows: each is fitted on some rows and applied to any,
// names the columns that it makes, and pulls weights of these back to the columns before.
//
//	Step     standardise, unit rows, tf-idf, selected columns, curves, a kernel, or several side by side
//	Metric   how rows scatter about the mean of their class, in the tasks or in the experience
//
// The recipe of a table, the views of a fit and the preparation of a problem are Steps.
package view

import (
	"fmt"

	"l2mt/data"
)

// Steps are applied one after the other.
type Steps []Step

// Apply returns the rows after all steps.
func (l Steps) Apply(x data.Matrix) (data.Matrix, error) {
	for _, s := range l {
		var err error
		x, err = s.Apply(x)
		if err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Names are the names of the columns after all steps.
func (l Steps) Names(names []string) []string {
	for _, s := range l {
		names = s.Names(names)
	}
	return names
}

// Problem returns a problem whose rows the steps have made.
func (l Steps) Problem(p *data.ProblemData) (*data.ProblemData, error) {
	q, err := p.Mapped(l.Apply)
	if err == nil && p.Features != nil {
		q.Features = l.Names(p.Features)
	}
	return q, err
}

// Landmarks is the number of rows that the steps compare with. Their values are the last of a row.
func (l Steps) Landmarks() (n int) {
	for _, s := range l {
		n += len(s.Landmarks) + s.Parts.Landmarks()
	}
	return n
}

// Prepared returns a problem after the steps of its Prepare, fitted on the training rows of all
// tasks.
func Prepared(p *data.ProblemData) (*data.ProblemData, error) {
	for _, kind := range p.Prepare {
		step, err := Fit(kind, p.TrainingRows())
		if err == nil {
			p, err = Steps{step}.Problem(p)
		}
		if err != nil {
			return nil, fmt.Errorf("problem %q: field \"prepare\": %w", p.Name, err)
		}
	}
	return p, nil
}
