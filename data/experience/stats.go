package experience

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"l2mt/data/files"
)

// SourceStats describes the tuples of one source.
type SourceStats struct {
	Source string `json:"source"`
	// Tuples is the number of tuples, Failed how many of them failed.
	Tuples int `json:"tuples"`
	Failed int `json:"failed"`
	// Mean, Min and Max are of the relative error o over the tuples that are
	// ok, and NaN if there are none.
	Mean files.Float `json:"mean_o"`
	Min  files.Float `json:"min_o"`
	Max  files.Float `json:"max_o"`
	// Seconds is what the tuples took together, as far as the store knows.
	Seconds float64 `json:"seconds"`
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
		of.Tuples++
		of.Seconds += e.Seconds
		if e.Result == nil {
			of.Failed++
		} else {
			errs[e.Source] = append(errs[e.Source], e.Result.O)
		}
		sources[e.Source] = of
	}
	stats := []SourceStats{}
	for _, source := range slices.Sorted(maps.Keys(sources)) {
		of, o := sources[source], errs[source]
		of.Mean, of.Min, of.Max = files.Float(math.NaN()), files.Float(math.NaN()), files.Float(math.NaN())
		if slices.Sort(o); len(o) > 0 { // so that the sum does not depend on the order of the records
			of.Mean, of.Min, of.Max = files.Float(stat.Mean(o, nil)), files.Float(o[0]), files.Float(o[len(o)-1])
		}
		stats = append(stats, of)
	}
	return stats, nil
}
