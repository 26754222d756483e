package experience

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

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
// problems whose tuples disagree about the error of single-task learning or have
// none of it. It holds the ids in memory, and one record a problem.
//
// The error is about reading, not about what was found.
func (s *Store) Check(ctx context.Context) (*Report, error) {
	report := new(Report)
	first := map[string]place{} // where a tuple occurred first
	problems := map[string]*denominator{}
	for e, err := range entries(s.dir, &report.Warnings) {
		if fault, damaged := errors.AsType[*Fault](err); damaged {
			report.Faults = append(report.Faults, fault)
			continue
		}
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return report, err
		}
		report.Records++
		if at, ok := first[e.ID]; ok {
			report.Faults = append(report.Faults, e.fault(fmt.Errorf("%w: %s is also at %v", ErrDuplicate, e.ID, at)))
		} else {
			first[e.ID] = e.place
		}
		if e.Result == nil {
			continue
		}
		unit := e.Result.MeanTest() / e.Result.O // NaN where both are 0
		d := problems[e.ProblemID]
		if d == nil {
			d = &denominator{first: e, unit: unit}
			problems[e.ProblemID] = d
		}
		d.tuples++
		d.found = d.found || e.Source == STL
		if math.IsNaN(d.unit) {
			d.first, d.unit = e, unit
		}
		if math.Abs(unit-d.unit) > 1e-12*unit { // far above rounding
			report.Faults = append(report.Faults, e.fault(fmt.Errorf("%w: o has the denominator %v, that at %v has %v, on the same problem", ErrConflict, unit, d.first.place, d.unit)))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(problems)) {
		if d := problems[id]; !d.found {
			err := fmt.Errorf("%w: problem %q has %d tuples that are ok, but none of source %q, their denominator", data.ErrInvalid, d.first.Problem, d.tuples, STL)
			report.Faults = append(report.Faults, d.first.fault(err))
		}
	}
	return report, nil
}

// denominator is what Check knows of one problem.
type denominator struct {
	first  entry
	unit   float64 // the mean test error of single-task learning, by the first
	tuples int
	found  bool // whether a tuple of source STL is there
}
