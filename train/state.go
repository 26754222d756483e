package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"l2mt/data/files"
	"l2mt/data/safetensors"
	"l2mt/model"
)

// StateFile is where a run's state is kept, beside its network: everything
// that the rest of the run depends on, in one file, replaced at once.
const StateFile = "state.safetensors"

// StartFolder is where the network before training is kept, to compare with.
const StartFolder = "start"

// ErrResume marks a state that a run cannot go on from.
var ErrResume = errors.New("this run cannot be resumed")

const (
	stateSchema = 6
	stateKey    = "state"
	sumKey      = "state_sha256" // the file has a checksum of its tensors only

	paramsPrefix = "params." // of the network's parameters in the file
)

// state is where a run has got to.
type state struct {
	Schema int    `json:"schema"`
	Config Config `json:"config"`
	// Digest is a checksum of the examples.
	Digest string `json:"digest"`
	// Step counts the steps done in the current epoch; Loss and Residual are
	// their sums.
	Step     int     `json:"step"`
	Loss     float64 `json:"loss"`
	Residual float64 `json:"residual"`
	// Time is the number of steps done.
	Time int `json:"time"`
	// Metrics has the start and every epoch done.
	Metrics []Metrics `json:"metrics"`

	best model.Params
}

// tensors are the tensors of a state, which share the numbers of the run. They are float64 for a
// network of any precision, so that a run resumes from the very same numbers.
func (t *trainer) tensors() (tensors []model.Tensor) {
	add := func(prefix string, params model.Params) {
		for _, p := range params {
			p.Name = prefix + p.Name
			p.DType = safetensors.F64
			tensors = append(tensors, p)
		}
	}
	add(paramsPrefix, t.network.Params)
	add("first.", t.optimiser.First)
	add("second.", t.optimiser.Second)
	add("best.", t.state.best)
	return tensors
}

func (t *trainer) save() error {
	s := t.state
	s.Schema = stateSchema
	s.Config = t.config
	s.Digest = t.digest
	s.Time = t.optimiser.Time
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	metadata := map[string]string{
		stateKey: string(text),
		sumKey:   files.Sum(text),
	}
	return safetensors.Write(filepath.Join(t.options.Out, StateFile),
		t.tensors(), metadata)
}

// resume goes on from the state in the directory, or begins where there is none.
func (t *trainer) resume(ctx context.Context) error {
	path := filepath.Join(t.options.Out, StateFile)
	err := t.restore(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return fmt.Errorf("%s: %w: %w", path, ErrResume, err)
	}
	if t.options.Begin != nil && !t.finished() {
		err := t.options.Begin()
		if err != nil {
			return err
		}
	}
	if fresh {
		return t.begin(ctx)
	}
	return nil
}

// errDamaged marks a state that no run has left.
var errDamaged = errors.New("the file is damaged, or no run wrote it; remove it to begin anew")

// restore takes up the state in a file.
func (t *trainer) restore(path string) error {
	tensors, metadata, err := safetensors.Read(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	text := []byte(metadata[stateKey])
	if files.Sum(text) != metadata[sumKey] {
		return fmt.Errorf("%w: the checksum of its state is wrong", errDamaged)
	}
	var saved state
	if err := files.DecodeSchema(text, stateSchema,
		&saved); errors.Is(err, files.ErrSchema) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err := t.check(saved); err != nil {
		return err
	}
	t.state = saved
	t.optimiser.Time = saved.Time
	t.state.best = t.network.Params.Clone()
	for _, s := range t.tensors() {
		value := model.Params(tensors).Get(s.Name)
		if len(value) != len(s.Value) {
			return fmt.Errorf("%w: the tensor %q is missing or has another size", errDamaged, s.Name)
		}
		copy(s.Value, value)
	}
	return nil
}

// check says why the run cannot have left the state.
func (t *trainer) check(s state) error {
	differences := t.config.Settings().Differences(s.Config.Settings())
	switch {
	case differences != nil:
		return fmt.Errorf("the run there has other settings: %s; give the same settings, or another directory",
			strings.Join(differences, ", "))
	case s.Digest != t.digest:
		return errors.New("the run there learns from other experience or problems; give the same ones, or another directory")
	case len(s.Metrics) == 0 || len(s.Metrics)-1 > t.config.Epochs ||
		s.Step < 0 || s.Step >= len(t.steps) || s.Time < 0:
		return fmt.Errorf("%w: no run can be in its state", errDamaged)
	}
	return nil
}
