package experience

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
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
	seconds, err := s.Seconds()
	if err != nil {
		return nil, err
	}
	index := map[string]int{}
	var stats []SourceStats
	var errs [][]float64 // o of every tuple, by source
	for r, err := range s.Records() {
		if errors.Is(err, ErrTorn) {
			continue
		}
		if err != nil {
			return nil, err
		}
		i, ok := index[r.Source]
		if !ok {
			i = len(stats)
			index[r.Source] = i
			stats, errs = append(stats, SourceStats{Source: r.Source}), append(errs, nil)
		}
		stats[i].Count++
		stats[i].Seconds += seconds[r.ID]
		if r.Result == nil {
			stats[i].Failures++
		} else {
			errs[i] = append(errs[i], r.Result.O)
		}
	}
	for i, o := range errs {
		if len(o) == 0 {
			continue
		}
		slices.Sort(o) // so that the sum does not depend on the order of the records
		stats[i].Mean, stats[i].Min, stats[i].Max = mean(o), o[0], o[len(o)-1]
	}
	slices.SortFunc(stats, func(a, b SourceStats) int { return strings.Compare(a.Source, b.Source) })
	return stats, nil
}

// Seconds returns how long tuples took, by id. Seconds are advisory: shards may
// lack them, and lines that cannot be read are passed over.
func (s *Store) Seconds() (map[string]float64, error) {
	shards, err := shardPaths(s.dir)
	if err != nil {
		return nil, err
	}
	seconds := map[string]float64{}
	for _, shard := range shards {
		f, err := os.Open(strings.TrimSuffix(shard, shardSuffix) + secondsSuffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("experience: %w", err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			id, text, _ := strings.Cut(lines.Text(), "\t")
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				seconds[id] = v
			}
		}
		f.Close()
	}
	return seconds, nil
}
