package experience

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"l2mt/data"
	"l2mt/data/files"
)

// Schema is the version of the stores that this package writes.
const Schema = 2

// ErrConflict marks stores, runs or records that contradict each other.
var ErrConflict = errors.New("conflict")

const manifestName = "manifest.json"

// Manifest says what the numbers of a store depend on. All writers of a store must
// agree in Dataset.SHA256, Seed and Config.
type Manifest struct {
	// Schema is the version of the store, filled in when it is made.
	Schema int `json:"schema"`
	// Dataset is the dataset of the problems. Its path is a hint for people;
	// its fingerprint counts.
	Dataset data.DatasetRef `json:"dataset"`
	// Seed is the seed of everything drawn.
	Seed uint64 `json:"seed"`
	// Config is the configuration, of values that JSON can hold: what the numbers
	// of a tuple depend on beyond its own fields, such as the kind of relative
	// error and the accuracy of fits. What only decides which tuples are made
	// (models, draws, shards) does not belong here, or a store could not grow.
	Config map[string]any `json:"config,omitempty"`
	// CreatedBy names the program and version that created the store.
	CreatedBy []string `json:"created_by,omitempty"`
}

// Validate checks that a store can be made with m.
func (m Manifest) Validate() error {
	if m.Dataset.SHA256 == "" {
		return fmt.Errorf("experience: manifest: dataset.sha256: %w: it is missing; it must be the fingerprint of the dataset", data.ErrInvalid)
	}
	return nil
}

// agree checks that a run may write into a store. The error shows both values of all
// that differs.
func (m Manifest) agree(path string, run Manifest) error {
	var differ []error
	here, there := m.facts(), run.facts()
	both := maps.Clone(here)
	maps.Copy(both, there)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		if a, b := cmp.Or(here[key], "absent"), cmp.Or(there[key], "absent"); a != b {
			differ = append(differ, fmt.Errorf("experience: %w: %s is %s in %s but %s in this run", ErrConflict, key, a, path, b))
		}
	}
	return errors.Join(differ...)
}

// facts are what must be the same, by what it is called.
func (m Manifest) facts() map[string]string {
	facts := map[string]string{"the dataset's fingerprint": m.Dataset.SHA256, "the seed": fmt.Sprint(m.Seed)}
	for key, v := range m.Config {
		raw, _ := json.Marshal(v) // what cannot be JSON is in no store
		facts["config."+key] = string(raw)
	}
	return facts
}

// readManifest reads the manifest of the store in dir.
func readManifest(dir string) (m Manifest, err error) {
	path := filepath.Join(dir, manifestName)
	raw, err := os.ReadFile(path)
	if err != nil {
		return m, fmt.Errorf("experience: %w", err)
	}
	if err := files.DecodeSchema(raw, Schema, &m); err != nil {
		return m, fmt.Errorf("experience: %s: %w: %w", path, data.ErrFormat, err)
	}
	if err := m.Validate(); err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// establish makes sure that dir is a store with the manifest m, creating it if
// it is none yet. Of several processes that create one at a time, one succeeds
// and the others find its manifest. Shards are made after the manifest, so whoever
// sees one first must see the other.
func establish(dir string, m Manifest) error {
	shards, err := list(dir, "*"+shardSuffix)
	if err == nil && len(shards) == 0 {
		err = create(dir, m)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	have, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; there are shards, and nobody knows what they are", err)
	}
	if err != nil {
		return err
	}
	return have.agree(filepath.Join(dir, manifestName), m)
}

// create puts a complete manifest into dir, or returns fs.ErrExist if there is
// one already.
func create(dir string, m Manifest) error {
	m.Schema = Schema
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return files.Create(filepath.Join(dir, manifestName), append(raw, '\n'))
}

// Labelled is what "o" is in the configuration where the fits have all labelled rows to
// train on, those of validation among them.
const Labelled = "labelled"
