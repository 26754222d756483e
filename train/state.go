package train

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"l2mt/model"
	"l2mt/model/safetensors"
)

// StateFile is where a run's state is kept, beside its network: everything
// that the rest of the run depends on, in one file, replaced at once.
const StateFile = "state.safetensors"

const (
	stateSchema = 1
	stateKey    = "state"
)

// state is where a run has got to.
type state struct {
	Schema int    `json:"schema"`
	Config Config `json:"config"`
	// Digest is that of the tuples.
	Digest string `json:"digest"`
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

func (t *trainer) parts() map[string]model.Params {
	return map[string]model.Params{
		paramsPrefix: t.network.Params, firstPrefix: t.adam.First, secondPrefix: t.adam.Second, bestPrefix: t.state.best,
	}
}

func (t *trainer) save() error {
	if t.options.Out == "" {
		return nil
	}
	s := t.state
	s.Schema, s.Config, s.Digest, s.Time = stateSchema, t.config, t.digest, t.adam.Time
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("train: save the state: %w", err)
	}
	var all []model.Tensor
	parts := t.parts()
	for _, prefix := range []string{paramsPrefix, firstPrefix, secondPrefix, bestPrefix} {
		for _, p := range parts[prefix] {
			p.Name, p.DType = prefix+p.Name, safetensors.F64
			all = append(all, p)
		}
	}
	path := filepath.Join(t.options.Out, StateFile)
	if err := safetensors.Write(path, all, map[string]string{stateKey: string(text)}); err != nil {
		return fmt.Errorf("train: save the state: %w", err)
	}
	return nil
}

// resume goes on from the state in the directory, or begins where there is none.
func (t *trainer) resume() error {
	path := filepath.Join(t.options.Out, StateFile)
	if t.options.Out == "" {
		return t.begin()
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return t.begin()
	}
	tensors, metadata, err := safetensors.Read(path)
	if err != nil {
		return fmt.Errorf("train: resume: %w", err)
	}
	if err := json.Unmarshal([]byte(metadata[stateKey]), &t.state); err != nil {
		return fmt.Errorf("train: resume: %s: %w", path, err)
	}
	switch s := t.state; {
	case s.Schema != stateSchema:
		return fmt.Errorf("train: resume: %s: %w: schema %d; this program reads %d", path, ErrConfig, s.Schema, stateSchema)
	case s.Config != t.config:
		return fmt.Errorf("train: resume: %s: %w: the run there has other settings (%+v, not %+v); give the same, or another directory", path, ErrConfig, s.Config, t.config)
	case s.Digest != t.digest:
		return fmt.Errorf("train: resume: %s: %w: the run there learns from other experience; give another directory", path, ErrConfig)
	case len(s.Metrics) == 0 || s.Best < 0 || s.Best >= len(s.Metrics) || s.Step < 0 || s.Step > len(t.steps):
		return fmt.Errorf("train: resume: %s: %w: the state is not one that a run can be in", path, ErrConfig)
	}
	t.state.best = t.network.Params.Clone()
	t.adam.Time = t.state.Time
	for prefix, params := range t.parts() {
		for _, p := range params {
			i := slices.IndexFunc(tensors, func(s model.Tensor) bool { return s.Name == prefix+p.Name })
			if i < 0 || len(tensors[i].Value) != len(p.Value) {
				return fmt.Errorf("train: resume: %s: %w: the tensor %q is missing or has another size", path, model.ErrMismatch, prefix+p.Name)
			}
			copy(p.Value, tensors[i].Value)
		}
	}
	return nil
}

// digest identifies the tuples that a run learns from.
func digest(examples []prepared) string {
	h := sha256.New()
	var b []byte
	for _, e := range examples {
		b = binary.LittleEndian.AppendUint64(b[:0], uint64(e.payload.Rows()))
		for _, t := range e.tuples {
			for _, v := range t.Omega {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(t.O))
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}
