package experience

import (
	"errors"
	"maps"
	"math"
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
// failure without a reason, numbers that don't follow from each other), tuples that occur
// twice, problems whose tuples disagree about the error of single-task learning or have
// none of it. It holds the ids in memory, and one record a problem.
//
// The error is about reading; faults do not count.
func (s *Store) Check() (sources []SourceStats, faults []*Fault, err error) {
	first := map[string]Place{} // a tuple's first place
	problems := map[string]denominator{}
	stats := map[string]*SourceStats{}
	for e, err := range entries(s.dir) {
		if fault, damaged := errors.AsType[*Fault](err); damaged {
			faults = append(faults, fault)
			continue
		}
		if err != nil {
			return nil, faults, err
		}
		if stats[e.Source] == nil {
			stats[e.Source] = &SourceStats{Source: e.Source}
		}
		s := stats[e.Source]
		s.Tuples++
		s.Seconds += e.Seconds
		if place, ok := first[e.ID]; ok {
			faults = append(faults, &Fault{e.Place, ErrDuplicate.Errorf("the tuple %s is also at %v", e.ID, place)})
		} else {
			first[e.ID] = e.Place
		}
		if e.Result == nil {
			s.Failed++
			continue
		}
		s.o = append(s.o, e.Result.O)
		unit := e.Result.MeanTest() / e.Result.O // NaN where both are 0
		d := problems[e.ProblemID]
		d.tuples++
		d.found = d.found || e.Source == STL
		if !(d.unit > 0) {
			d.first = e
			d.unit = unit
		}
		problems[e.ProblemID] = d
		if math.Abs(unit-d.unit) > 1e-12*unit { // far above rounding
			err := ErrConflict.Errorf("the test error divided by o is %v, but %v at %v; on one problem it must be the same, single-task learning's", unit, d.unit, d.first.Place)
			faults = append(faults, &Fault{e.Place, err})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(problems)) {
		if d := problems[id]; !d.found {
			err := data.Invalid("problem %q has %d tuples that are ok, but none of source %q, by whose error o divides", d.first.Problem, d.tuples, STL)
			faults = append(faults, &Fault{d.first.Place, err})
		}
	}
	for _, source := range slices.Sorted(maps.Keys(stats)) {
		s := stats[source]
		slices.Sort(s.o) // so that the sum does not depend on the order of the records
		s.Mean = files.Float(stat.Mean(s.o, nil))
		s.Min = s.Mean
		s.Max = s.Mean
		if n := len(s.o); n > 0 {
			s.Min = files.Float(s.o[0])
			s.Max = files.Float(s.o[n-1])
		}
		sources = append(sources, *s)
	}
	return sources, faults, nil
}

// denominator has the tuples of one problem.
type denominator struct {
	first  entry
	unit   float64 // the mean test error of single-task learning, by the first that tells it
	tuples int
	found  bool // whether a tuple of source STL is there
}
