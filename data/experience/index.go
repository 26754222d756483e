package experience

import (
	"fmt"
	"iter"
	"os"
	"slices"
)

// Index knows where the records of each problem are in a store, so that they can
// be read a problem at a time. It takes 16 bytes a record.
type Index struct {
	shards []string
	at     map[string]*located
}

// located is where the records of a problem are.
type located struct {
	problem string // its name
	lines   []position
}

type position struct {
	offset        int64
	shard, length int32
}

// Index reads the whole store once. Torn last lines are left out, for somebody
// is writing them; anything else that is wrong is an error.
func (s *Store) Index() (*Index, error) {
	x := &Index{at: map[string]*located{}}
	for e, err := range s.entries() {
		if _, err = divert(nil, err); err != nil {
			return nil, err
		}
		if e.record == nil {
			continue
		}
		if n := len(x.shards); n == 0 || x.shards[n-1] != e.path {
			x.shards = append(x.shards, e.path)
		}
		of, ok := x.at[e.record.ProblemID]
		if !ok {
			of = &located{problem: e.record.Problem}
			x.at[e.record.ProblemID] = of
		}
		of.lines = append(of.lines, position{e.line.offset, int32(len(x.shards) - 1), int32(len(e.line.text))})
	}
	return x, nil
}

// Problems lists the problems by their identity and name, in no order.
func (x *Index) Problems() iter.Seq2[string, string] {
	return func(yield func(id, name string) bool) {
		for id, of := range x.at {
			if !yield(id, of.problem) {
				return
			}
		}
	}
}

// Records reads the records of a problem, in canonical order.
func (x *Index) Records(problemID string) (records []*Record, err error) {
	of, ok := x.at[problemID]
	if !ok {
		return nil, nil
	}
	var f *os.File
	for i, at := range of.lines { // shard by shard
		if i == 0 || at.shard != of.lines[i-1].shard {
			if f, err = os.Open(x.shards[at.shard]); err != nil {
				return nil, fmt.Errorf("experience: %w", err)
			}
			defer f.Close()
		}
		line := make([]byte, at.length)
		if _, err := f.ReadAt(line, at.offset); err != nil {
			return nil, fmt.Errorf("experience: %s: offset %d: %w", x.shards[at.shard], at.offset, err)
		}
		r, err := decode(line)
		if err != nil {
			return nil, fmt.Errorf("experience: %s: offset %d: %w", x.shards[at.shard], at.offset, err)
		}
		records = append(records, r)
	}
	slices.SortFunc(records, Compare)
	return records, nil
}
