package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"l2mt/data/files"
	"l2mt/infer"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// Outcome is what one method came to on one problem.
type Outcome struct {
	// Problem is the name of the problem.
	Problem string `json:"problem"`
	// Model is the name of the multitask model, or L2MT.
	Model string `json:"model"`
	// Variant is how the model was used.
	Variant Variant `json:"variant,omitempty"`
	// Network is the name of the network, of those variants of L2MT that ask one.
	Network string `json:"network,omitempty"`
	// Params are the hyperparameters that the validation rows chose.
	Params multitask.Params `json:"params"`
	// Omega is the covariance, with trace 1.
	Omega [][]float64 `json:"omega"`
	// Validation and Test are the errors on these rows. Nothing but the report
	// depends on the test rows.
	Validation evidence.Errors `json:"validation"`
	Test       evidence.Errors `json:"test"`
	// Seconds is the time that it took, with that of the outcome it starts from.
	Seconds float64 `json:"seconds"`
}

// Journal keeps the outcomes of an evaluation as they come, so that an
// interrupted one can go on: a file with one JSON object a line, which is only
// appended to. One process at a time may have it open.
type Journal struct {
	mu   sync.Mutex
	log  *files.Log // nil keeps nothing
	torn bool
	done map[outcomeKey]Outcome
}

type outcomeKey struct {
	problem, model string
	variant        Variant
	network        string
}

func newJournal() *Journal { return &Journal{done: map[outcomeKey]Outcome{}} }

// OpenJournal opens a journal, or creates it. A last line that was cut off
// while it was written is dropped.
func OpenJournal(path string) (*Journal, error) {
	log, err := files.OpenLog(path)
	if err != nil {
		return nil, fmt.Errorf("compare: journal: %w", err)
	}
	j := newJournal()
	j.log = log
	if err := j.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("compare: journal: %s: %w", path, err), log.Close())
	}
	return j, nil
}

func (j *Journal) read() (err error) {
	if j.torn, err = j.log.Repair(); err != nil {
		return err
	}
	raw := make([]byte, j.log.Size())
	if _, err := io.ReadFull(io.NewSectionReader(j.log, 0, j.log.Size()), raw); err != nil {
		return err
	}
	number := 0
	for line := range bytes.Lines(raw) {
		number++
		var o Outcome
		if err := files.DecodeJSON(line, &o); err != nil || o.Problem == "" || o.Model == "" {
			return fmt.Errorf("line %d: %w: it is not an outcome as this program writes it; cut it out, and it is made again (%v)", number, infer.ErrInvalid, err)
		}
		j.done[o.key()] = o
	}
	return nil
}

// Torn reports whether a torn last line was dropped.
func (j *Journal) Torn() bool { return j.torn }

// Len is the number of outcomes kept.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.done)
}

// Close ends the writing.
func (j *Journal) Close() error {
	if err := j.log.Close(); err != nil {
		return fmt.Errorf("compare: journal: %w", err)
	}
	return nil
}

func (o Outcome) key() outcomeKey { return outcomeKey{o.Problem, o.Model, o.Variant, o.Network} }

func (j *Journal) get(k outcomeKey) (o Outcome, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	o, ok = j.done[k]
	return o, ok
}

// add keeps outcomes, all or none of them.
func (j *Journal) add(outcomes []Outcome) error {
	var text []byte
	for _, o := range outcomes {
		line, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("compare: journal: %w", err)
		}
		text = append(append(text, line...), '\n')
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.log != nil {
		if err := j.log.Append(text); err != nil {
			return fmt.Errorf("compare: journal: %w", err)
		}
	}
	for _, o := range outcomes {
		j.done[o.key()] = o
	}
	return nil
}
