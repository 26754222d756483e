package experience

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"l2mt/data"
	"l2mt/data/files"
)

// mergedShard is the name of the only shard of a store made by Merge or Remove.
const mergedShard = "records"

// Summary is what Merge or Remove did.
type Summary struct {
	// Records counts the records of the new store.
	Records int
	// Left counts the records that were left out: repetitions, or what was to
	// be removed.
	Left int
	// Warnings lists the torn last lines of the sources, which are left out too.
	Warnings []*Fault
}

// Merge makes the new store out of the records of all stores in dirs, in
// canonical order, and of their problem files. The result depends only on the
// records, so neither on the order of dirs nor on how the records are divided
// into shards. A tuple that occurs several times alike is kept once.
//
// Merge returns an error that wraps ErrConflict, with both values, if manifests
// disagree or if a tuple occurs in two versions. It refuses damaged lines, and an
// out that exists. A merge that fails or is interrupted leaves nothing behind at
// out. Sources are only read.
func Merge(ctx context.Context, out string, dirs ...string) (*Summary, error) {
	if len(dirs) == 0 {
		return nil, fmt.Errorf("experience: merge: %w: there are no stores to merge", data.ErrInvalid)
	}
	return derive(ctx, out, dirs, func(*Record) bool { return false })
}

// Remove makes the new store out of the records of the store in dir for which
// drop is false, in canonical order. The store in dir stays as it is. Out and
// damaged lines are treated as by Merge.
func Remove(ctx context.Context, out, dir string, drop func(*Record) bool) (*Summary, error) {
	return derive(ctx, out, []string{dir}, drop)
}

func derive(ctx context.Context, out string, dirs []string, drop func(*Record) bool) (*Summary, error) {
	if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("experience: %s: %w; the new store needs a directory of its own", out, cmp.Or(err, fs.ErrExist))
	}
	stores, manifest, err := openAgreeing(dirs)
	if err != nil {
		return nil, err
	}
	summary := new(Summary)
	var items []*item
	for _, s := range stores {
		if items, err = s.collect(ctx, items, drop, summary); err != nil {
			return nil, err
		}
	}
	if items, err = unique(items, summary); err != nil {
		return nil, err
	}
	summary.Records = len(items)
	problems, err := rebased(out, dirs...)
	if err != nil {
		return nil, err
	}
	return summary, publish(ctx, out, manifest, problems, items)
}

// openAgreeing opens stores that may be merged, and unites their manifests.
func openAgreeing(dirs []string) ([]*Store, Manifest, error) {
	var stores []*Store
	var manifests []Manifest
	for _, dir := range dirs {
		s, err := Open(dir)
		if err != nil {
			return nil, Manifest{}, err
		}
		if len(stores) > 0 {
			if err := manifests[0].agree(dirs[0], s.manifest, dir); err != nil {
				return nil, Manifest{}, err
			}
		}
		stores, manifests = append(stores, s), append(manifests, s.manifest)
	}
	return stores, union(manifests), nil
}

// item is a record that stays on the disk: what orders it, and where it is.
type item struct {
	key    Record // without Omega and Result
	sum    string
	path   string
	number int
	offset int64
	length int
}

// collect appends an item for every record of the store that drop lets pass.
func (s *Store) collect(ctx context.Context, items []*item, drop func(*Record) bool, summary *Summary) ([]*item, error) {
	for e, err := range s.entries() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if summary.Warnings, err = divert(summary.Warnings, err); err != nil {
			return nil, err
		}
		if e.record == nil {
			continue
		}
		if drop(e.record) {
			summary.Left++
			continue
		}
		key := *e.record
		key.Hyper, key.Omega, key.Result, key.Reason = nil, nil, nil, ""
		items = append(items, &item{
			key: key, sum: sumOf(e.line.text), path: e.path,
			number: e.line.number, offset: e.line.offset, length: len(e.line.text) + 1,
		})
	}
	return items, nil
}

// unique keeps one item of each tuple and sorts them canonically.
func unique(items []*item, summary *Summary) ([]*item, error) {
	first := map[string]*item{}
	kept := items[:0]
	for _, it := range items {
		twin, ok := first[it.key.ID]
		if !ok {
			first[it.key.ID] = it
			kept = append(kept, it)
			continue
		}
		if twin.sum != it.sum {
			return nil, fmt.Errorf("experience: %w: problem %q, %s, draw %d differs between %s:%d and %s:%d", ErrConflict,
				it.key.Problem, it.key.Source, it.key.Draw, twin.path, twin.number, it.path, it.number)
		}
		summary.Left++
	}
	slices.SortFunc(kept, func(a, b *item) int { return Compare(&a.key, &b.key) })
	return kept, nil
}

// publish writes a store beside out and renames it when it is complete.
func publish(ctx context.Context, out string, m Manifest, problems map[string]*data.ProblemFile, items []*item) (err error) {
	tmp := filepath.Clean(out) + ".tmp-" + rand.Text()
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return fmt.Errorf("experience: %w", err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(tmp)
		}
	}()
	if err := create(tmp, m); err != nil {
		return fmt.Errorf("experience: %w", err)
	}
	for name, f := range problems {
		if err := f.Save(filepath.Join(tmp, name)); err != nil {
			return fmt.Errorf("experience: %w", err)
		}
	}
	if err := writeShard(ctx, filepath.Join(tmp, mergedShard+shardSuffix), items); err != nil {
		return fmt.Errorf("experience: %w", err)
	}
	if err := errors.Join(os.Rename(tmp, out), files.SyncDir(filepath.Dir(out))); err != nil {
		return fmt.Errorf("experience: %w", err)
	}
	return nil
}

// writeShard copies the lines of the items, one at a time.
func writeShard(ctx context.Context, path string, items []*item) error {
	return files.Write(path, func(f io.Writer) error {
		w := bufio.NewWriter(f)
		for _, it := range items {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			line, err := it.read()
			if err != nil {
				return err
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}

// read fetches the line of an item. It opens the shard every time: canonical
// order jumps between shards, and there may be more of them than a process may
// have open.
func (it *item) read() ([]byte, error) {
	f, err := os.Open(it.path)
	if err != nil {
		return nil, fmt.Errorf("experience: %w", err)
	}
	defer f.Close()
	line := make([]byte, it.length)
	if _, err := f.ReadAt(line, it.offset); err != nil {
		return nil, fmt.Errorf("experience: %s:%d: %w", it.path, it.number, err)
	}
	return line, nil
}
