package experience

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"l2mt/data"
)

// Check reads the whole store and counts its records, and looks for damaged and torn
// lines (ErrTorn: nothing was lost, their tuples are to be made again), records that are
// not valid (an Omega that is not a covariance of trace 1, a failure without a
// reason, numbers that don't follow from each other), tuples that occur twice,
// problems whose tuples disagree about the error of single-task learning or have
// none of it. It holds the ids in memory, and one record a problem.
//
// The error is about reading, not about what was found.
func (s *Store) Check() (records int, faults []*Fault, err error) {
	first := map[string]place{} // where a tuple occurred first
	problems := map[string]*denominator{}
	for e, err := range entries(s.dir) {
		if fault, damaged := errors.AsType[*Fault](err); damaged {
			faults = append(faults, fault)
			continue
		}
		if err != nil {
			return records, faults, err
		}
		records++
		if at, ok := first[e.ID]; ok {
			faults = append(faults, e.fault(fmt.Errorf("%w: %s is also at %v", ErrDuplicate, e.ID, at)))
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
			faults = append(faults, e.fault(fmt.Errorf("%w: o has the denominator %v, that at %v has %v, on the same problem", ErrConflict, unit, d.first.place, d.unit)))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(problems)) {
		if d := problems[id]; !d.found {
			err := fmt.Errorf("%w: problem %q has %d tuples that are ok, but none of source %q, their denominator", data.ErrInvalid, d.first.Problem, d.tuples, STL)
			faults = append(faults, d.first.fault(err))
		}
	}
	return records, faults, nil
}

// denominator is what Check knows of one problem.
type denominator struct {
	first  entry
	unit   float64 // the mean test error of single-task learning, by the first
	tuples int
	found  bool // whether a tuple of source STL is there
}
