package experience

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"l2mt/data"
)

const shardSuffix = ".jsonl"

// Store is an experience store that is only read. It may be read while writers
// append to it.
type Store struct {
	// Manifest is what the numbers of the store depend on.
	Manifest Manifest

	dir string
}

// Open opens the store in dir for reading.
func Open(dir string) (*Store, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	return &Store{Manifest: m, dir: dir}, nil
}

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

// Load reads the whole store in canonical order. Torn last lines are left out;
// anything else that is wrong is an error.
func (s *Store) Load() (records []*Record, err error) {
	for e, err := range whole(s.dir) {
		if err != nil {
			return nil, err
		}
		records = append(records, e.Record)
	}
	slices.SortFunc(records, Compare)
	return records, nil
}

// place is where a line is.
type place struct {
	path   string
	number int // from 1
	offset int64
	length int // without the newline
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.path, p.number) }

// fault makes an error one of the line.
func (p place) fault(err error) *Fault { return &Fault{File: p.path, Line: p.number, Err: err} }

// read fetches the record. It opens the shard every time: canonical order jumps between
// shards, and there may be more of them than a process may have open.
func (p place) read() (r *Record, err error) {
	f, err := os.Open(p.path)
	if err != nil {
		return nil, fmt.Errorf("experience: %w", err)
	}
	defer f.Close()
	line := make([]byte, p.length)
	if _, err = f.ReadAt(line, p.offset); err == nil {
		r, err = decode(line)
	}
	if err != nil {
		return nil, p.fault(err)
	}
	return r, nil
}

// entry is a record and where it is. Beside an error it may be either.
type entry struct {
	*Record
	place
}

// whole is entries without torn last lines, which somebody may just be writing.
func whole(dir string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for e, err := range entries(dir) {
			if !errors.Is(err, ErrTorn) && !yield(e, err) {
				return
			}
		}
	}
}

// entries reads the shards in a directory one record at a time, in the order of their
// names. An error that is a Fault concerns one line, which is damaged or torn or whose
// record is not valid; if the loop goes on, so does the reading, after it.
func entries(dir string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		paths, err := list(dir, "*"+shardSuffix)
		if err != nil {
			yield(entry{}, err)
			return
		}
		lines := bufio.NewReaderSize(nil, MaxLine)
		for _, path := range paths {
			if !readShard(path, lines, yield) {
				return
			}
		}
	}
}

// readShard reads one shard, and tells whether the loop goes on.
func readShard(path string, lines *bufio.Reader, yield func(entry, error) bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return yield(entry{}, fmt.Errorf("experience: %w", err))
	}
	defer f.Close()
	lines.Reset(f)
	for at := (place{path: path, number: 1}); ; at.number++ {
		text, err := lines.ReadSlice('\n')
		switch {
		case err == io.EOF && len(text) == 0:
			return true
		case err == io.EOF:
			err = ErrTorn
		case err == bufio.ErrBufferFull:
			err = fmt.Errorf("%w: the line is longer than %d bytes", data.ErrFormat, MaxLine)
		}
		if err != nil {
			return yield(entry{}, at.fault(err))
		}
		at.length = len(text) - 1
		r, err := decode(text[:at.length])
		if err != nil {
			err = at.fault(err)
		}
		if !yield(entry{r, at}, err) {
			return false
		}
		at.offset += int64(len(text))
	}
}

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

// Lines are where the records of a problem are in a store, 40 bytes each.
type Lines []place

// Index finds the records of every problem by its identity, so that they can be read
// a problem at a time. It reads the whole store once. Torn last lines are left out, for
// somebody is writing them; anything else that is wrong is an error.
func (s *Store) Index() (map[string]Lines, error) {
	x := map[string]Lines{}
	for e, err := range whole(s.dir) {
		if err != nil {
			return nil, err
		}
		x[e.ProblemID] = append(x[e.ProblemID], e.place)
	}
	return x, nil
}

// Records reads the records, in canonical order.
func (l Lines) Records() (records []*Record, err error) {
	for _, p := range l {
		r, err := p.read()
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	slices.SortFunc(records, Compare)
	return records, nil
}
