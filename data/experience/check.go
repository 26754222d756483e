package experience

import (
	"errors"
	"maps"
	"slices"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/files"
)

// SourceStats describes the tuples of one source.
type SourceStats struct {
	Source string `json:"source"`
	// Tuples is the number of tuples, Failed the number of failures among them.
	Tuples int `json:"tuples"`
	Failed int `json:"failed"`
	// Mean, Min and Max are of o over the tuples that are
	// ok, and NaN if there are none.
	Mean files.Float `json:"mean_o"`
	Min  files.Float `json:"min_o"`
	Max  files.Float `json:"max_o"`
	// Seconds is the time of the tuples together, as far as the store knows.
	Seconds float64 `json:"seconds"`

	o []float64
}

// Check reads the whole store and describes its records, source by source in alphabetical
// order. It looks for damaged and torn lines (ErrTorn: nothing was lost, their tuples are to
// be made again), records that are not valid (an Omega that is not a covariance of trace 1, a
// failure without a reason), tuples that occur twice, problems without a tuple of single-task
// learning. It holds the ids in memory, and one record a problem.
//
// The error is about reading; faults do not count.
func (s *Store) Check() (sources []SourceStats, faults []*Fault, err error) {
	first := map[string]Place{}    // a tuple's first place
	examples := map[string]entry{} // a tuple of each problem, of single-task learning if there is one
	stats := map[string]*SourceStats{}
	for e, err := range entries(s.dir) {
		fault, damaged := errors.AsType[*Fault](err)
		if damaged {
			faults = append(faults, fault)
			continue
		}
		if err != nil {
			return nil, faults, err
		}
		if stats[e.Source] == nil {
			stats[e.Source] = &SourceStats{Source: e.Source}
		}
		stats[e.Source].add(e.Record)
		if place, ok := first[e.ID]; ok {
			faults = append(faults,
				&Fault{e.Place,
					ErrDuplicate.Errorf("the tuple %s is also at %v", e.ID, place)})
		} else {
			first[e.ID] = e.Place
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
			faults = append(faults, &Fault{e.Place, err})
		}
	}
	for _, source := range slices.Sorted(maps.Keys(stats)) {
		s := stats[source]
		slices.Sort(s.o) // so that the sum does not depend on the order of the records
		s.Mean = files.Float(stat.Mean(s.o, nil))
		s.Min = s.Mean
		s.Max = s.Mean
		n := len(s.o)
		if n > 0 {
			s.Min = files.Float(s.o[0])
			s.Max = files.Float(s.o[n-1])
		}
		sources = append(sources, *s)
	}
	return sources, faults, nil
}

// add counts a tuple.
func (s *SourceStats) add(r *Record) {
	s.Tuples++
	s.Seconds += r.Seconds
	if r.Result == nil {
		s.Failed++
		return
	}
	s.o = append(s.o, r.Result.O)
}
