package experience

import (
	"maps"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// SourceStats describes the tuples of one source.
type SourceStats struct {
	Source string
	// Count is the number of tuples, Failures how many of them failed.
	Count, Failures int
	// Mean, Min and Max are of the relative error o over the tuples that are
	// ok, and zero if there are none.
	Mean, Min, Max float64
	// Seconds is what the tuples took together, as far as the store knows.
	Seconds float64
}

// Stats describes the store, source by source in alphabetical order. Torn last
// lines are passed over; anything else that is wrong is an error.
func (s *Store) Stats() ([]SourceStats, error) {
	sources, errs := map[string]SourceStats{}, map[string][]float64{}
	for e, err := range whole(s.dir) {
		if err != nil {
			return nil, err
		}
		of := sources[e.Source]
		of.Source = e.Source
		of.Count++
		of.Seconds += e.Seconds
		if e.Result == nil {
			of.Failures++
		} else {
			errs[e.Source] = append(errs[e.Source], e.Result.O)
		}
		sources[e.Source] = of
	}
	var stats []SourceStats
	for _, source := range slices.Sorted(maps.Keys(sources)) {
		of, o := sources[source], errs[source]
		if slices.Sort(o); len(o) > 0 { // so that the sum does not depend on the order of the records
			of.Mean, of.Min, of.Max = stat.Mean(o, nil), o[0], o[len(o)-1]
		}
		stats = append(stats, of)
	}
	return stats, nil
}
