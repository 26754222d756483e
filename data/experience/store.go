package experience

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
)

const (
	shardSuffix   = ".jsonl"
	secondsSuffix = ".seconds.tsv"
)

// Store is an experience store that is only read. It may be read while writers
// append to it.
type Store struct {
	dir      string
	manifest Manifest
}

// Open opens the store in dir for reading.
func Open(dir string) (*Store, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	return &Store{dir: dir, manifest: m}, nil
}

// Manifest returns what the numbers of the store depend on.
func (s *Store) Manifest() Manifest { return s.manifest }

// Fault is something wrong with one line of a shard.
type Fault struct {
	File string
	Line int // from 1
	Err  error
}

// Error says where the fault is and what it is.
func (f *Fault) Error() string { return fmt.Sprintf("experience: %s:%d: %v", f.File, f.Line, f.Err) }

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

// Records reads the store one record at a time, shard by shard in the order of
// their names. An error concerns one line; if the loop goes on, so does the
// reading, after it. A line that wraps ErrTorn is one that a writer was stopped
// in, or is just writing.
//
// The order within a shard is the order of writing, which may differ from run
// to run. Load and Merge put records into canonical order.
func (s *Store) Records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for e, err := range s.entries() {
			if !yield(e.record, err) {
				return
			}
		}
	}
}

// Load reads the whole store in canonical order. Torn last lines are left out
// and returned as warnings; anything else that is wrong is an error.
func (s *Store) Load() (records []*Record, warnings []*Fault, err error) {
	for r, err := range s.Records() {
		if warnings, err = divert(warnings, err); err != nil {
			return nil, warnings, err
		}
		if r != nil {
			records = append(records, r)
		}
	}
	slices.SortFunc(records, Compare)
	return records, warnings, nil
}

// divert moves a torn line from the errors to the warnings.
func divert(warnings []*Fault, err error) ([]*Fault, error) {
	var f *Fault
	if errors.Is(err, ErrTorn) && errors.As(err, &f) {
		return append(warnings, f), nil
	}
	return warnings, err
}

// entry is a record and where it is.
type entry struct {
	record *Record // nil beside an error
	path   string
	line   line
}

// at makes a fault of the entry's line.
func (e entry) at(err error) *Fault { return &Fault{File: e.path, Line: e.line.number, Err: err} }

func (s *Store) entries() iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		paths, err := shardPaths(s.dir)
		if err != nil {
			yield(entry{}, err)
			return
		}
		for _, path := range paths {
			for e, err := range shardEntries(path) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// shardEntries reads one shard.
func shardEntries(path string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(entry{path: path}, fmt.Errorf("experience: %w", err))
			return
		}
		defer f.Close()
		for l, err := range lines(f) {
			e := entry{path: path, line: l}
			if err == nil {
				e.record, err = decode(l.text)
			}
			if err != nil {
				err = e.at(err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// shardPaths lists the shards of a store.
func shardPaths(dir string) ([]string, error) { return list(dir, "*"+shardSuffix) }

// list lists the files of a directory with such names, in their order.
func list(dir, pattern string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("experience: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if match, _ := filepath.Match(pattern, e.Name()); match && !e.IsDir() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}
