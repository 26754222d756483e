package experience

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"l2mt/data"
	"l2mt/data/fault"
	"l2mt/data/files"
)

// syncInterval is the work that a power cut may cost. A sync takes milliseconds
// and a fit may take less, so syncing every record would halve the speed.
const syncInterval = time.Second

// ErrDuplicate marks a tuple that the store already has.
var ErrDuplicate = fault.New("duplicate tuple")

// Writer appends records to one shard of a store. Its methods may be called
// from several goroutines.
type Writer struct {
	// Torn says that a last line of the shard was cut off, as its writer was killed.
	Torn bool

	mu     sync.Mutex
	log    *files.Log
	done   map[string]*Record // by id; nil except of single-task learning
	synced time.Time
}

// OpenWriter opens a shard for appending, creating the store and the shard as
// needed, and finds out which tuples the store already has, in any shard. The
// shard's name is one of a file.
//
// It refuses a store whose manifest disagrees with m (ErrConflict), a shard
// that another writer has open (files.ErrLocked), and a store with a damaged line, and
// leaves their records as they are. A torn last line of this shard is cut off.
func OpenWriter(dir, shard string, m Manifest) (*Writer, error) {
	if shard == "" || shard != filepath.Base(shard) {
		return nil, data.Invalid("shard %q: it must be the name of a file", shard)
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("a store is a directory: %w", err)
	}
	if err := establish(dir, m); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, shard+shardSuffix)
	log, err := files.OpenLog(path)
	if errors.Is(err, files.ErrLocked) {
		err = fmt.Errorf("%w; wait for that one or write another shard", err)
	}
	if err != nil {
		return nil, err
	}
	w := &Writer{
		Torn:   log.Torn,
		log:    log,
		synced: time.Now(),
	}
	w.done = map[string]*Record{}
	if err := w.index(dir); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return w, nil
}

// index collects the ids of all shards. A torn last line of one may be a writer at work.
func (w *Writer) index(dir string) error {
	for e, err := range entries(dir) {
		_, damaged := errors.AsType[*Fault](err)
		switch {
		case errors.Is(err, ErrTorn):
		case damaged:
			return fmt.Errorf("%w (delete that line and its tuple is made again)", err)
		case err != nil:
			return err
		case e.Source == STL:
			w.done[e.ID] = e.Record
		default:
			w.done[e.ID] = nil
		}
	}
	return nil
}

// Has reports whether the store had the tuple when it was opened, or got it
// through this writer.
func (w *Writer) Has(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.done[id]
	return ok
}

// STL returns a tuple that the store had when it was opened, if it is of single-task
// learning, and nil otherwise.
func (w *Writer) STL(id string) *Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done[id]
}

// Append adds a record. When it returns nil, the record survives the death of the
// process. It returns an error that wraps ErrDuplicate if the store has the tuple, and
// one that wraps data.ErrInvalid if the record isn't valid. If writing fails the shard
// stays as it was, and Append may be tried again.
func (w *Writer) Append(r *Record) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("problem %q, %s, draw %d: %w", r.Problem, r.Source, r.Draw, err)
		}
	}()
	if err := r.Validate(); err != nil {
		return err
	}
	line, err := encode(r)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.done[r.ID]
	if ok {
		return ErrDuplicate.Errorf("the store has the tuple %s already", r.ID)
	}
	if err := w.log.Append(line); err != nil {
		return err
	}
	w.done[r.ID] = nil
	if time.Since(w.synced) < syncInterval {
		return nil
	}
	w.synced = time.Now()
	if err := w.log.Sync(); err != nil {
		return fmt.Errorf("the record is written, but may be lost if the machine stops: %w", err)
	}
	return nil
}

// Close syncs the shard and gives it free for others.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Close()
}
