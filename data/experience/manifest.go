package experience

import (
	"bytes"
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
const Schema = 1

// ErrConflict marks stores, runs or records that contradict each other.
var ErrConflict = errors.New("conflict")

const manifestName = "manifest.json"

// Manifest says what the numbers of a store depend on. All writers of a store,
// and all stores of a merge, must agree in Schema, Dataset.SHA256, Seed and
// Config.
type Manifest struct {
	// Schema is the version of the store. Zero means the current one.
	Schema int `json:"schema"`
	// Dataset is the dataset of the problems. Its path is a hint for people;
	// its fingerprint counts.
	Dataset data.DatasetRef `json:"dataset"`
	// Seed is the seed of everything drawn.
	Seed uint64 `json:"seed"`
	// Config is the configuration, any JSON object. It holds what the numbers
	// of a tuple depend on beyond its own fields: the kind of relative error,
	// the loss, the grids. What only decides which tuples are made (models,
	// draws, shards) does not belong here, or a store could not grow. Empty
	// means {}.
	Config json.RawMessage `json:"config"`
	// CreatedBy names the programs and versions that created the store: one, or
	// after a merge all.
	CreatedBy []string `json:"created_by,omitempty"`
}

// normal fills in the zero values and brings Config into canonical form: keys
// sorted, no spaces.
func (m Manifest) normal() (Manifest, error) {
	m.Schema = cmp.Or(m.Schema, Schema)
	if m.Schema != Schema {
		return m, fmt.Errorf("%w: the store has schema %d; this program knows schema %d", files.ErrSchema, m.Schema, Schema)
	}
	if m.Dataset.SHA256 == "" {
		return m, fmt.Errorf("dataset.sha256: %w: it is missing; it must be the fingerprint of the dataset", data.ErrInvalid)
	}
	if len(m.Config) == 0 {
		m.Config = json.RawMessage("{}")
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(m.Config))
	d.UseNumber() // or large integers would lose digits
	if err := d.Decode(&object); err != nil {
		return m, fmt.Errorf("config: %w: it must be a JSON object: %w", data.ErrInvalid, err)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return m, fmt.Errorf("config: %w: %w", data.ErrInvalid, err)
	}
	m.Config = raw
	return m, nil
}

// Validate checks that a store can be made with m.
func (m Manifest) Validate() error {
	if _, err := m.normal(); err != nil {
		return fmt.Errorf("experience: manifest: %w", err)
	}
	return nil
}

// agree checks that two normal manifests may share a store. The error shows
// both values of all that differs; here and there say whose they are.
func (m Manifest) agree(here string, other Manifest, there string) error {
	var differ []error
	compare := func(what string, a, b any) {
		if a != b {
			differ = append(differ, fmt.Errorf("experience: %w: %s is %v in %s but %v in %s", ErrConflict, what, a, here, b, there))
		}
	}
	compare("the dataset's fingerprint", m.Dataset.SHA256, other.Dataset.SHA256)
	compare("the seed", m.Seed, other.Seed)
	a, b := fields(m.Config), fields(other.Config)
	keys := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		compare(fmt.Sprintf("config.%s", key), shown(a, key), shown(b, key))
	}
	return errors.Join(differ...)
}

// fields splits a canonical configuration, which is known to be an object.
func fields(config json.RawMessage) (f map[string]json.RawMessage) {
	_ = json.Unmarshal(config, &f)
	return f
}

func shown(f map[string]json.RawMessage, key string) string {
	if v, ok := f[key]; ok {
		return string(v)
	}
	return "absent"
}

// union returns the manifest of what is merged from stores that agree. It does
// not depend on their order: of several paths to the dataset the first by
// alphabet stays.
func union(manifests []Manifest) Manifest {
	all := manifests[0]
	all.CreatedBy = nil
	for _, m := range manifests {
		all.Dataset.Path = min(all.Dataset.Path, m.Dataset.Path)
		all.CreatedBy = append(all.CreatedBy, m.CreatedBy...)
	}
	slices.Sort(all.CreatedBy)
	all.CreatedBy = slices.Compact(all.CreatedBy)
	return all
}

func (m Manifest) encode() ([]byte, error) {
	raw, err := json.MarshalIndent(m, "", "  ")
	return append(raw, '\n'), err
}

// readManifest reads the manifest of the store in dir.
func readManifest(dir string) (Manifest, error) {
	path := filepath.Join(dir, manifestName)
	raw, err := os.ReadFile(path)
	if err != nil {
		return Manifest{}, fmt.Errorf("experience: %w", err)
	}
	m, err := parseManifest(raw)
	if err != nil {
		return Manifest{}, fmt.Errorf("experience: %s: %w", path, err)
	}
	return m, nil
}

func parseManifest(raw []byte) (m Manifest, err error) {
	if err := files.DecodeSchema(raw, Schema, &m); err != nil {
		return m, fmt.Errorf("%w: %w", data.ErrFormat, err)
	}
	return m.normal()
}

// establish makes sure that dir is a store with the manifest m, creating it if
// it is none yet. Of several processes that create one at a time, one succeeds
// and the others find its manifest.
func establish(dir string, m Manifest) error {
	// Shards are made after the manifest, so whoever sees one first must see the other.
	shards, err := shardPaths(dir)
	if err != nil {
		return err
	}
	have, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if len(shards) > 0 {
			return fmt.Errorf("experience: %s: %w: there are shards but no %s, so nobody knows what they are", dir, data.ErrInvalid, manifestName)
		}
		if err := create(dir, m); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("experience: %w", err)
		}
		have, err = readManifest(dir)
	}
	if err != nil {
		return err
	}
	return have.agree(filepath.Join(dir, manifestName), m, "this run")
}

// create puts a complete manifest into dir, or returns fs.ErrExist if there is
// one already.
func create(dir string, m Manifest) error {
	raw, err := m.encode()
	if err != nil {
		return err
	}
	return files.Create(filepath.Join(dir, manifestName), raw)
}

// Labelled is what o measures where the fits have all labelled rows to train on,
// those of validation among them.
const Labelled = "labelled"

// Measured is what o is the error of, as the configuration says; empty if it does not.
func (m Manifest) Measured() string {
	var c struct {
		O string `json:"o"`
	}
	if json.Unmarshal(m.Config, &c) != nil {
		return ""
	}
	return c.O
}
