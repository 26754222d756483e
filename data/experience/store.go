package experience

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"l2mt/data"
	"l2mt/data/fault"
	"l2mt/data/files"
)

// Schema is the version of the stores that this package writes.
const Schema = 2

// ErrConflict marks stores, runs or records that contradict each other.
var ErrConflict = fault.New("conflict")

const manifestName = "manifest.json"

// Manifest names everything that the numbers of a store depend on. All writers of a store must
// agree in Dataset.SHA256, Seed and Config.
type Manifest struct {
	// Schema is the version of the store, filled in when it is made.
	Schema int `json:"schema"`
	// Dataset is the dataset of the problems. Its path is a hint for people;
	// its fingerprint counts.
	Dataset data.DatasetRef `json:"dataset"`
	// Seed is the seed of everything drawn.
	Seed uint64 `json:"seed"`
	// Config is the configuration, of values that JSON can hold, that the numbers
	// of a tuple depend on beyond its own fields, such as the kind of relative
	// error and the accuracy of fits. Settings that only decide which tuples are
	// made (models, draws, shards) do not belong here, or a store could not grow.
	Config map[string]any `json:"config,omitempty"`
	// CreatedBy names the program and version that created the store.
	CreatedBy []string `json:"created_by,omitempty"`
}

// Validate checks that a store can be made with m.
func (m Manifest) Validate() error {
	if m.Dataset.SHA256 == "" {
		return data.Invalid("manifest: dataset.sha256: it is missing; it must be the SHA-256 of the dataset")
	}
	return nil
}

// agree checks that a run may write into a store. The error shows both values of each
// difference.
func (m Manifest) agree(path string, run Manifest) error {
	var differ []error
	stored := m.facts()
	wanted := run.facts()
	union := maps.Clone(stored)
	maps.Copy(union, wanted)
	for _, key := range slices.Sorted(maps.Keys(union)) {
		a := cmp.Or(stored[key], "absent")
		b := cmp.Or(wanted[key], "absent")
		if a != b {
			differ = append(differ,
				ErrConflict.Errorf("%s is %s in %s but %s in this run", key, a, path, b))
		}
	}
	return errors.Join(differ...)
}

// facts are the values that must be the same, by their names.
func (m Manifest) facts() map[string]string {
	facts := map[string]string{
		"the dataset's fingerprint": m.Dataset.SHA256,
		"the seed":                  fmt.Sprint(m.Seed),
	}
	for key, v := range m.Config {
		raw, _ := json.Marshal(v) // no store has values beyond JSON
		facts["config."+key] = string(raw)
	}
	return facts
}

// readManifest reads the manifest of the store in dir.
func readManifest(dir string) (m Manifest, err error) {
	path := filepath.Join(dir, manifestName)
	raw, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	err = files.DecodeSchema(raw, Schema, &m)
	err = cmp.Or(err, m.Validate())
	if err != nil {
		return m, data.Malformed("%s: %w", path, err)
	}
	return m, nil
}

// establish makes sure that dir is a store with the manifest m, creating it if
// needed. Among processes that create a store at the same time one succeeds, and
// the others find its manifest. Shards are made after the manifest: a reader that
// sees a shard must see the manifest.
func establish(dir string, m Manifest) error {
	path := filepath.Join(dir, manifestName)
	shards, err := list(dir, shardsPattern)
	if err == nil && len(shards) == 0 {
		m.Schema = Schema
		raw, _ := json.MarshalIndent(m, "", "  ")   // no store has values beyond JSON
		err = files.Create(path, append(raw, '\n')) // complete, or fs.ErrExist
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	have, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; without this file the shards beside it cannot be used", err)
	}
	if err != nil {
		return err
	}
	return have.agree(path, m)
}

// Labelled is the value of "o" in the configuration where fits train on all labelled rows,
// validation rows among them.
const Labelled = "labelled"

const shardSuffix = ".jsonl"

// shardsPattern are the names of shards, which never begin with a dot.
const shardsPattern = "[^.]*" + shardSuffix

// Store is an experience store that is only read. It may be read while writers
// append to it.
type Store struct {
	// Manifest names everything that the numbers of the store depend on.
	Manifest Manifest

	dir string
}

// Open opens the store in dir for reading.
func Open(dir string) (*Store, error) {
	m, err := readManifest(dir)
	return &Store{
		Manifest: m,
		dir:      dir,
	}, err
}

// Fault is a damaged or invalid line of a shard.
type Fault struct {
	Place string // shard.jsonl:7, with the directory, lines from 1
	Err   error
}

// Error is the place and the error.
func (f *Fault) Error() string {
	return fmt.Sprintf("%s: %v", f.Place, f.Err)
}

// Unwrap returns Err.
func (f *Fault) Unwrap() error {
	return f.Err
}

// Load reads the whole store in canonical order. Torn last lines are left out, for a writer may
// be at them; any other fault is an error.
func (s *Store) Load() (records []*Record, err error) {
	for e, err := range entries(s.dir) {
		switch {
		case err == nil:
			records = append(records, e.Record)
		case !errors.Is(err, ErrTorn):
			return nil, err
		}
	}
	slices.SortFunc(records, Compare)
	return records, nil
}

// entry is a record and its place. Beside an error it may lack either.
type entry struct {
	*Record
	place string
}

// entries reads the shards in a directory one record at a time, in the order of their
// names. An error that is a Fault concerns one line, which is damaged or torn or whose
// record is not valid; if the loop goes on, so does the reading, after it.
func entries(dir string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		paths, err := list(dir, shardsPattern)
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
		return yield(entry{}, err)
	}
	defer f.Close()
	lines.Reset(f)
	for line := 1; ; line++ {
		place := fmt.Sprintf("%s:%d", path, line)
		text, err := lines.ReadSlice('\n')
		switch {
		case err == io.EOF && len(text) == 0:
			return true
		case err == io.EOF:
			err = ErrTorn
		case err == bufio.ErrBufferFull:
			err = data.Malformed("the line is longer than %d bytes", MaxLine)
		}
		if err != nil {
			return yield(entry{}, &Fault{place, err})
		}
		r, err := decode(text[:len(text)-1])
		if err != nil {
			err = &Fault{place, err}
		}
		if !yield(entry{r, place}, err) {
			return false
		}
	}
}

// list lists the files of a directory with such names, in their order.
func list(dir, pattern string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		match, _ := filepath.Match(pattern, e.Name())
		if match && !e.IsDir() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}
