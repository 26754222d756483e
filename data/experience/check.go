package experience

import (
	"context"
	"errors"
	"fmt"

	"l2mt/data"
)

// Report is what Check found.
type Report struct {
	// Records counts the records that could be read.
	Records int
	// Faults lists everything wrong, in the order of the shards and lines.
	Faults []*Fault
	// Warnings lists torn last lines: nothing was lost, their tuples are to be
	// made again.
	Warnings []*Fault
}

// Err returns an error that counts the faults, or nil if there are none.
func (r *Report) Err() error {
	if len(r.Faults) == 0 {
		return nil
	}
	return fmt.Errorf("experience: %w: %d faults in %d records; the first: %w", data.ErrInvalid, len(r.Faults), r.Records, r.Faults[0])
}

// Check reads the whole store and looks for damaged lines, records that are not
// valid (an Omega that is not a covariance of trace 1, a failure without a
// reason, numbers that don't follow from each other), tuples that occur twice,
// problems whose tuples disagree about the errors of single-task learning, and
// problems without a tuple of single-task learning. It holds an id for every
// record and the errors of one record for every problem, not the records.
//
// The error is about reading, not about what was found.
func (s *Store) Check(ctx context.Context) (*Report, error) {
	report := new(Report)
	first := map[string]*Fault{} // where a tuple occurred first
	problems := map[string]*denominator{}
	var order []*denominator
	for e, err := range s.entries() {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		var fault *Fault
		switch {
		case errors.Is(err, ErrTorn) && errors.As(err, &fault):
			report.Warnings = append(report.Warnings, fault)
			continue
		case errors.As(err, &fault):
			report.Faults = append(report.Faults, fault)
			continue
		case err != nil:
			return report, err
		}
		report.Records++
		found := e.record.faults()
		if f, ok := first[e.record.ID]; ok {
			found = append(found, fmt.Errorf("%w: %s is also at %s:%d", ErrDuplicate, e.record.ID, f.File, f.Line))
		} else {
			first[e.record.ID] = e.at(nil)
		}
		if e.record.Result != nil {
			d, ok := problems[e.record.ProblemID]
			if !ok {
				d = &denominator{first: e, stl: e.record.Result.STL}
				problems[e.record.ProblemID] = d
				order = append(order, d)
			}
			d.tuples++
			d.found = d.found || e.record.Source == STL
			if !d.stl.equal(e.record.Result.STL) {
				found = append(found, fmt.Errorf("%w: the errors of single-task learning differ from those at %s:%d, on the same problem", ErrConflict, d.first.path, d.first.line.number))
			}
		}
		for _, err := range found {
			report.Faults = append(report.Faults, e.at(err))
		}
	}
	for _, d := range order {
		if !d.found {
			err := fmt.Errorf("%w: problem %q has %d tuples that are ok, but none of source %q, their denominator", data.ErrInvalid, d.first.record.Problem, d.tuples, STL)
			report.Faults = append(report.Faults, d.first.at(err))
		}
	}
	return report, nil
}

// denominator is what Check knows of one problem.
type denominator struct {
	first  entry
	stl    Errors // as the first tuple of the problem has them
	tuples int
	found  bool // whether a tuple of source STL is there
}
