package train

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"l2mt/data/files"
	"l2mt/data/safetensors"
	"l2mt/model"
)

// StateFile is where a run's state is kept, beside its network: everything
// that the rest of the run depends on, in one file, replaced at once.
const StateFile = "state.safetensors"

// ErrResume marks a state that a run cannot go on from.
var ErrResume = errors.New("this run cannot be resumed")

const (
	stateSchema = 3
	stateKey    = "state"
	sumKey      = "state_sha256" // the file has a checksum of its tensors only
)

// state is where a run has got to.
type state struct {
	Schema int    `json:"schema"`
	Config Config `json:"config"`
	// Digest is that of the examples, and Head that of the head at the start.
	Digest string `json:"digest"`
	Head   string `json:"head,omitempty"`
	// Step counts the steps done in the current epoch; Loss and Residual are
	// their sums.
	Step     int     `json:"step"`
	Loss     float64 `json:"loss"`
	Residual float64 `json:"residual"`
	// Time is Adam's.
	Time int `json:"time"`
	// Metrics has the start and every epoch done; Best is the index of the best.
	Metrics []Metrics `json:"metrics"`
	Best    int       `json:"best"`

	best model.Params
}

// The tensors of a state, by prefix. They are float64 whatever the network's
// precision is, so that a run goes on from the very same numbers.
const (
	paramsPrefix = "params."
	firstPrefix  = "adam.first."
	secondPrefix = "adam.second."
	bestPrefix   = "best."
)

// tensors are those of a state, which share the numbers of the run.
func (t *trainer) tensors() (all []model.Tensor) {
	for _, part := range []struct {
		prefix string
		params model.Params
	}{{paramsPrefix, t.network.Params}, {firstPrefix, t.adam.First}, {secondPrefix, t.adam.Second}, {bestPrefix, t.state.best}} {
		for _, p := range part.params {
			p.Name, p.DType = part.prefix+p.Name, safetensors.F64
			all = append(all, p)
		}
	}
	return append(all, t.tuning.singles()...)
}

func (t *trainer) save() error {
	if t.options.Out == "" {
		return nil
	}
	s := t.state
	s.Schema, s.Config, s.Digest, s.Head, s.Time = stateSchema, t.config, t.digest, t.tuning.sum, t.adam.Time
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("train: save the state: %w", err)
	}
	path := filepath.Join(t.options.Out, StateFile)
	if err := safetensors.Write(path, t.tensors(), map[string]string{stateKey: string(text), sumKey: checksum(text)}); err != nil {
		return fmt.Errorf("train: save the state: %w", err)
	}
	return nil
}

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// resume goes on from the state in the directory, or begins where there is none.
func (t *trainer) resume(ctx context.Context, source Source) error {
	path := filepath.Join(t.options.Out, StateFile)
	if t.options.Out == "" {
		return t.begin(ctx, source)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return t.begin(ctx, source)
	}
	if err := t.restore(path); err != nil {
		return fmt.Errorf("train: %s: %w: %w", path, ErrResume, err)
	}
	return nil
}

// errDamaged marks a state that no run has left.
var errDamaged = errors.New("the file is damaged, or not that of a run; remove it to begin anew")

// restore takes up the state in a file.
func (t *trainer) restore(path string) error {
	tensors, metadata, err := safetensors.Read(path, func(name string) safetensors.DType {
		if strings.HasPrefix(name, headPrefix) {
			return safetensors.F32
		}
		return safetensors.F64
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	text := []byte(metadata[stateKey])
	if checksum(text) != metadata[sumKey] {
		return fmt.Errorf("%w: its state does not have the checksum that it says", errDamaged)
	}
	var there state
	if err := files.DecodeSchema(text, stateSchema, &there); errors.Is(err, files.ErrSchema) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err := t.check(there); err != nil {
		return err
	}
	t.state = there
	t.state.best = t.network.Params.Clone()
	t.adam.Time = t.state.Time
	for _, s := range t.tensors() {
		i := slices.IndexFunc(tensors, func(there model.Tensor) bool { return there.Name == s.Name })
		if i < 0 || len(tensors[i].Value) != len(s.Value) || len(tensors[i].Single) != len(s.Single) {
			return fmt.Errorf("%w: the tensor %q is missing or has another size", errDamaged, s.Name)
		}
		copy(s.Value, tensors[i].Value)
		copy(s.Single, tensors[i].Single)
	}
	return nil
}

// check says why the run cannot have left the state.
func (t *trainer) check(s state) error {
	var differences []string
	for _, d := range t.config.Settings().Differences(s.Config.Settings()) {
		differences = append(differences, fmt.Sprintf("%s is %s there and %s here", d.Name, d.There, d.Here))
	}
	switch {
	case differences != nil:
		return fmt.Errorf("the run there has other settings: %s; give the same, or another directory", strings.Join(differences, ", "))
	case s.Digest != t.digest:
		return errors.New("the run there learns from other experience or problems; give the same, or another directory")
	case s.Head != t.tuning.sum:
		return errors.New("the run there began with another head; give the same, or another directory")
	case len(s.Metrics) == 0 || len(s.Metrics)-1 > t.config.Epochs || s.Best < 0 || s.Best >= len(s.Metrics) || s.Step < 0 || s.Step >= len(t.steps) || s.Time < 0:
		return fmt.Errorf("%w: it is not a state that a run can be in", errDamaged)
	}
	return nil
}
