package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"l2mt/data/files"
	"l2mt/infer"
	"l2mt/model/evidence"
)

// Method is a way to solve problems.
type Method struct {
	// Model is the name of the multitask model, L2MT or Best.
	Model string `json:"model"`
	// Variant is how the model was used.
	Variant Variant `json:"variant,omitempty"`
	// Network is the name of the network, for variants of L2MT that ask one.
	Network string `json:"network,omitempty"`
}

// Outcome is the result of one method on one problem.
type Outcome struct {
	// Problem is the name of the problem.
	Problem string `json:"problem"`
	Method
	// Omega is the covariance, with trace 1.
	Omega [][]float64 `json:"omega"`
	// Validation and Test are the errors on these rows. Nothing but the report
	// depends on the test rows.
	Validation evidence.Errors `json:"validation"`
	Test       evidence.Errors `json:"test"`
}

// Journal keeps the outcomes of an evaluation as they come, so that an
// interrupted one can go on: a file with one JSON object a line, which begins with its
// checksum and is only appended to. One process at a time may have it open.
type Journal struct {
	// Torn says that a last line was dropped, which was cut off while it was written.
	Torn bool

	mu   sync.Mutex
	log  *files.Log // nil keeps nothing
	done map[outcomeKey]Outcome
}

type outcomeKey struct {
	problem string
	Method
}

// OpenJournal opens a journal, or creates it. It has the outcomes of other journals too.
func OpenJournal(path string, siblings ...string) (*Journal, error) {
	log, err := files.OpenLog(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{
		Torn: log.Torn,
		log:  log,
		done: map[outcomeKey]Outcome{},
	}
	for _, from := range append(siblings, path) {
		if err == nil {
			err = j.read(from)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("journal: %s: %w", from, err),
				log.Close())
		}
	}
	return j, nil
}

func (j *Journal) read(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	number := 0
	for line := range bytes.Lines(raw) {
		number++
		var o Outcome
		body, err := files.Unseal(bytes.TrimSuffix(line, []byte("\n")))
		err = cmp.Or(err, files.DecodeJSON(body, &o))
		if err != nil {
			return infer.ErrInvalid.Errorf("line %d: it is not an outcome that this program writes; delete the line, and the outcome is computed again (%w)", number, err)
		}
		j.done[outcomeKey{o.Problem, o.Method}] = o
	}
	return nil
}

// Len is the number of outcomes kept.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.done)
}

// Close ends the writing.
func (j *Journal) Close() error {
	return j.log.Close()
}

// kept are the outcomes of a cell that there are.
func (j *Journal) kept(c *cell) (outcomes []Outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, k := range c.keys() {
		o, ok := j.done[k]
		if ok {
			outcomes = append(outcomes, o)
		}
	}
	return outcomes
}

// add keeps all of the outcomes, or none.
func (j *Journal) add(outcomes []Outcome) error {
	var text bytes.Buffer
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, o := range outcomes {
		body, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		text.Write(files.Seal(body))
	}
	if j.log != nil {
		err := j.log.Append(text.Bytes())
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	for _, o := range outcomes {
		j.done[outcomeKey{o.Problem, o.Method}] = o
	}
	return nil
}
