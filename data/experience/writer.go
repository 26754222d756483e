package experience

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"l2mt/data"
	"l2mt/data/files"
)

// syncInterval is how much work a power cut may cost. A sync takes milliseconds
// and a fit may take less, so syncing every record would halve the speed.
const syncInterval = time.Second

// ErrDuplicate marks a tuple that the store already has.
var ErrDuplicate = errors.New("duplicate tuple")

// Writer appends records to one shard of a store. Its methods may be called
// from several goroutines.
type Writer struct {
	mu       sync.Mutex
	records  *files.Log
	seconds  *files.Log
	done     map[string]bool
	warnings []*Fault
	synced   time.Time
}

// OpenWriter opens a shard for appending, creating the store and the shard as
// needed, and finds out which tuples the store already has, in any shard. The
// shard's name consists of letters, digits, "-" and "_".
//
// It refuses a store whose manifest disagrees with m (ErrConflict), a shard
// that another writer has open (files.ErrLocked), and a store with a damaged line, and
// leaves their records as they are. A torn last line of this shard is cut off
// and reported by Warnings.
func OpenWriter(dir, shard string, m Manifest) (*Writer, error) {
	return openWriter(dir, shard, m, files.OpenLog)
}

func openWriter(dir, shard string, m Manifest, open func(path string) (*files.Log, error)) (w *Writer, err error) {
	if err := checkShardName(shard); err != nil {
		return nil, err
	}
	if m, err = m.normal(); err != nil {
		return nil, fmt.Errorf("experience: manifest: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("experience: a store is a directory: %w", err)
	}
	if err := establish(dir, m); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, shard)
	w = &Writer{done: map[string]bool{}, synced: time.Now()}
	defer func() {
		if err != nil {
			w.close()
			w = nil
		}
	}()
	if w.records, err = open(path + shardSuffix); err != nil {
		return w, openFault(err)
	}
	if w.seconds, err = open(path + secondsSuffix); err != nil {
		return w, openFault(err)
	}
	if err := w.index(dir, path+shardSuffix); err != nil {
		return w, err
	}
	for _, log := range []*files.Log{w.records, w.seconds} {
		if _, err := log.Repair(); err != nil {
			return w, fmt.Errorf("experience: %s: %w", path, err)
		}
	}
	return w, nil
}

func openFault(err error) error {
	if errors.Is(err, files.ErrLocked) {
		err = fmt.Errorf("%w; wait for that one or write another shard", err)
	}
	return fmt.Errorf("experience: %w", err)
}

func checkShardName(name string) error {
	strange := strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
	if name == "" || strange != "" {
		return fmt.Errorf("experience: shard %q: %w: a name consists of letters, digits, - and _", name, data.ErrInvalid)
	}
	return nil
}

// index collects the ids of all shards, and warns of a torn last line of the
// writer's own. In another shard such a line may be a writer at work.
func (w *Writer) index(dir, own string) error {
	for e, err := range (&Store{dir: dir}).entries() {
		var fault *Fault
		switch {
		case err == nil:
			w.done[e.record.ID] = true
		case !errors.As(err, &fault):
			return err
		case !errors.Is(err, ErrTorn):
			return fmt.Errorf("%w (delete that line and its tuple is made again)", err)
		case e.path == own:
			w.warnings = append(w.warnings, fault)
		}
	}
	return nil
}

// Has reports whether the store had the tuple when it was opened, or got it
// through this writer.
func (w *Writer) Has(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done[id]
}

// Warnings lists what OpenWriter repaired.
func (w *Writer) Warnings() []*Fault { return w.warnings }

// Append adds a record, which took that many seconds to make. When it returns
// nil, the record survives the death of the process. It returns an error that
// wraps ErrDuplicate if the store has the tuple, and one that wraps
// data.ErrInvalid if the record isn't valid. If writing fails the shard stays as
// it was, and Append may be tried again.
func (w *Writer) Append(r *Record, seconds float64) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("experience: problem %q, %s, draw %d: %w", r.Problem, r.Source, r.Draw, err)
	}
	line, err := encode(r)
	if err != nil {
		return fmt.Errorf("experience: problem %q, %s, draw %d: %w", r.Problem, r.Source, r.Draw, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done[r.ID] {
		return fmt.Errorf("experience: problem %q, %s, draw %d: %w: the store has %s", r.Problem, r.Source, r.Draw, ErrDuplicate, r.ID)
	}
	// Seconds without a record do no harm, so they go first.
	if err := w.seconds.Append(fmt.Appendf(nil, "%s\t%.3f\n", r.ID, seconds)); err != nil {
		return fmt.Errorf("experience: %w", err)
	}
	if err := w.records.Append(line); err != nil {
		return fmt.Errorf("experience: %w", err)
	}
	w.done[r.ID] = true
	if time.Since(w.synced) < syncInterval {
		return nil
	}
	w.synced = time.Now()
	if err := w.records.Sync(); err != nil {
		return fmt.Errorf("experience: the record is written, but not yet safe: %w", err)
	}
	return nil
}

// Close syncs the shard and gives it free for others.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.close(); err != nil {
		return fmt.Errorf("experience: %w", err)
	}
	return nil
}

func (w *Writer) close() (err error) {
	for _, log := range []*files.Log{w.seconds, w.records} { // the lock that counts last
		if log != nil {
			err = errors.Join(err, log.Close())
		}
	}
	return err
}
