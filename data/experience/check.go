package experience

import (
	"errors"
	"maps"
	"slices"

	"l2mt/data"
)

// Check reads the whole store and counts its records. It looks for damaged and torn lines
// (ErrTorn: nothing was lost, their tuples are to
// be made again), records that are not valid (an Omega that is not a covariance of trace 1, a
// failure without a reason), tuples that occur twice, problems without a tuple of single-task
// learning. It holds the ids in memory, and one record a problem.
//
// The error is about reading; faults do not count.
func (s *Store) Check() (records int, faults []*Fault, err error) {
	first := map[string]string{}   // a tuple's first place
	examples := map[string]entry{} // a tuple of each problem, of single-task learning if there is one
	for e, err := range entries(s.dir) {
		fault, damaged := errors.AsType[*Fault](err)
		if damaged {
			faults = append(faults, fault)
			continue
		}
		if err != nil {
			return records, faults, err
		}
		records++
		if place, ok := first[e.ID]; ok {
			faults = append(faults,
				&Fault{e.place,
					ErrDuplicate.Errorf("the tuple %s is also at %s", e.ID, place)})
		} else {
			first[e.ID] = e.place
		}
		_, ok := examples[e.ProblemID]
		if e.Result != nil && (!ok || e.Source == STL) {
			examples[e.ProblemID] = e
		}
	}
	for _, id := range slices.Sorted(maps.Keys(examples)) {
		e := examples[id]
		if e.Source != STL {
			err := data.Invalid("problem %q has tuples that are ok, but none of source %q, by whose error o divides", e.Problem, STL)
			faults = append(faults, &Fault{e.place, err})
		}
	}
	return records, faults, nil
}
