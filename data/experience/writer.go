package experience

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"l2mt/data"
)

// syncInterval is how much work a power cut may cost. A sync takes milliseconds
// and a fit may take less, so syncing every record would halve the speed.
const syncInterval = time.Second

var (
	// ErrLocked marks a shard that another process is writing.
	ErrLocked = errors.New("shard is locked")
	// ErrDuplicate marks a tuple that the store already has.
	ErrDuplicate = errors.New("duplicate tuple")
)

// Writer appends records to one shard of a store. Its methods may be called
// from several goroutines.
type Writer struct {
	mu       sync.Mutex
	records  *appender
	seconds  *appender
	done     map[string]bool
	warnings []*Fault
	synced   time.Time
}

// OpenWriter opens a shard for appending, creating the store and the shard as
// needed, and finds out which tuples the store already has, in any shard. The
// shard's name consists of letters, digits, "-" and "_".
//
// It refuses a store whose manifest disagrees with m (ErrConflict), a shard
// that another writer has open (ErrLocked), and a store with a damaged line, and
// leaves their records as they are. A torn last line of this shard is cut off
// and reported by Warnings.
func OpenWriter(dir, shard string, m Manifest) (*Writer, error) {
	return openWriter(dir, shard, m, openFile)
}

// file is what the writer needs of a file; tests put one that fails in its place.
type file interface {
	Write(b []byte) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

func openFile(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err // not f: a nil *os.File would be a file
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = fmt.Errorf("%w: another process is writing it; wait for that one or write another shard", ErrLocked)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func openWriter(dir, shard string, m Manifest, open func(path string) (file, error)) (w *Writer, err error) {
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
	if w.records, err = openAppender(path+shardSuffix, open); err != nil {
		return w, err
	}
	if w.seconds, err = openAppender(path+secondsSuffix, open); err != nil {
		return w, err
	}
	if err := w.index(dir, path+shardSuffix); err != nil {
		return w, err
	}
	if err := w.seconds.cutTorn(path + secondsSuffix); err != nil {
		return w, err
	}
	if w.records.size > 0 {
		return w, nil
	}
	return w, syncDir(dir) // the shard is new
}

func checkShardName(name string) error {
	strange := strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
	if name == "" || strange != "" {
		return fmt.Errorf("experience: shard %q: %w: a name consists of letters, digits, - and _", name, data.ErrInvalid)
	}
	return nil
}

// index collects the ids of all shards, and cuts off a torn last line of the
// writer's own. In another shard such a line may be a writer at work.
func (w *Writer) index(dir, own string) error {
	whole := w.records.size
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
			whole = e.line.offset
		}
	}
	if whole == w.records.size {
		return nil
	}
	if err := w.records.cut(whole); err != nil {
		return fmt.Errorf("experience: %s: cannot cut off the torn last line: %w", own, err)
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
	if err := w.seconds.append(fmt.Appendf(nil, "%s\t%.3f\n", r.ID, seconds)); err != nil {
		return fmt.Errorf("experience: %w", err)
	}
	if err := w.records.append(line); err != nil {
		return fmt.Errorf("experience: %w", err)
	}
	w.done[r.ID] = true
	if time.Since(w.synced) < syncInterval {
		return nil
	}
	w.synced = time.Now()
	if err := w.records.f.Sync(); err != nil {
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
	for _, a := range []*appender{w.seconds, w.records} { // the lock that counts last
		if a != nil {
			err = errors.Join(err, a.f.Sync(), a.f.Close())
		}
	}
	return err
}

// appender adds whole lines to a file, or nothing.
type appender struct {
	f    file
	size int64 // of the whole lines
	torn error // set when a part of a line could not be cut off again
}

func openAppender(path string, open func(path string) (file, error)) (*appender, error) {
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("experience: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("experience: %w", err)
	}
	return &appender{f: f, size: info.Size()}, nil
}

// append writes the line in one call, and cuts off what a failed call wrote.
func (a *appender) append(line []byte) error {
	if a.torn != nil {
		return a.torn
	}
	_, err := a.f.Write(line)
	if err == nil {
		a.size += int64(len(line))
		return nil
	}
	if cutErr := a.f.Truncate(a.size); cutErr != nil {
		a.torn = errors.Join(err, fmt.Errorf("the shard now ends in a torn line, which the next writer cuts off: %w", cutErr))
		return a.torn
	}
	return err
}

// cut shortens the file to size bytes.
func (a *appender) cut(size int64) error {
	a.size = size
	return errors.Join(a.f.Truncate(size), a.f.Sync())
}

// cutTorn cuts off a last line without newline.
func (a *appender) cutTorn(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("experience: %w", err)
	}
	defer f.Close()
	for l, err := range lines(f) {
		if errors.Is(err, ErrTorn) {
			err = a.cut(l.offset)
		}
		if err != nil {
			return fmt.Errorf("experience: %s: %w", path, err)
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("experience: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("experience: %s: %w", dir, err)
	}
	return nil
}
