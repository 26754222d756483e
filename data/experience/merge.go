package experience

import (
	"bufio"
	"bytes"
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

// Summary is what Merge did.
type Summary struct {
	// Records counts the records of the new store.
	Records int
	// Left counts the repetitions that were left out.
	Left int
	// Warnings lists the torn last lines of the sources, which are left out too.
	Warnings []*Fault
}

// Merge makes the new store out of the records of all stores in dirs, in
// canonical order, and of their problem files. The result depends only on the records,
// so neither on the order of dirs nor on how the records are divided into shards. A
// tuple that occurs several times alike is kept once.
//
// Merge returns an error that wraps ErrConflict, with both values, if manifests
// disagree or if a tuple occurs in two versions. It refuses damaged lines, and an
// out that exists. A merge that fails or is interrupted leaves nothing behind at
// out. Sources are only read.
func Merge(ctx context.Context, out string, dirs ...string) (*Summary, error) {
	if len(dirs) == 0 {
		return nil, fmt.Errorf("experience: merge: %w: there are no stores to merge", data.ErrInvalid)
	}
	if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("experience: %s: %w; the new store needs a directory of its own", out, cmp.Or(err, fs.ErrExist))
	}
	manifest, err := agreed(dirs)
	if err != nil {
		return nil, err
	}
	summary := new(Summary)
	var kept []entry // which stay on the disk: here is only what orders them
	for _, dir := range dirs {
		for e, err := range entries(dir, &summary.Warnings) {
			if err := cmp.Or(ctx.Err(), err); err != nil {
				return nil, err
			}
			kept = append(kept, entry{&Record{ID: e.ID, Problem: e.Problem, ProblemID: e.ProblemID, Source: e.Source, Draw: e.Draw}, e.place})
		}
	}
	slices.SortStableFunc(kept, func(a, b entry) int { return Compare(a.Record, b.Record) })
	return summary, publish(ctx, out, dirs, manifest, kept, summary)
}

// agreed unites the manifests of stores that may be merged. It does not depend on their
// order: of several paths to the dataset the first by alphabet stays.
func agreed(dirs []string) (all Manifest, err error) {
	for i, dir := range dirs {
		m, err := readManifest(dir)
		if i == 0 {
			all = m
		}
		if err == nil {
			err = all.agree(dirs[0], m, dir)
		}
		if err != nil {
			return all, err
		}
		all.Dataset.Path = min(all.Dataset.Path, m.Dataset.Path)
		all.CreatedBy = append(all.CreatedBy, m.CreatedBy...)
	}
	slices.Sort(all.CreatedBy)
	all.CreatedBy = slices.Compact(all.CreatedBy)
	return all, nil
}

// publish writes a store beside out and renames it when it is complete.
func publish(ctx context.Context, out string, dirs []string, m Manifest, kept []entry, summary *Summary) error {
	tmp := filepath.Clean(out) + ".tmp-" + rand.Text()
	err := os.Mkdir(tmp, 0o755)
	if err == nil {
		err = create(tmp, m)
	}
	if err == nil {
		err = keepProblems(tmp, out, dirs)
	}
	if err == nil {
		err = files.Write(filepath.Join(tmp, "records"+shardSuffix), func(w io.Writer) error { return copyRecords(ctx, w, kept, summary) })
	}
	if err == nil {
		err = errors.Join(os.Rename(tmp, out), files.SyncDir(filepath.Dir(out)))
	}
	if err != nil {
		return fmt.Errorf("experience: %w", errors.Join(err, os.RemoveAll(tmp)))
	}
	return nil
}

// copyRecords writes records in canonical order, each tuple once and without its seconds.
func copyRecords(ctx context.Context, to io.Writer, kept []entry, summary *Summary) error {
	w := bufio.NewWriter(to)
	var last entry
	var written []byte
	for _, e := range kept {
		r, err := e.read()
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return err
		}
		r.Seconds = 0
		line, err := encode(r)
		switch twin := written != nil && last.ID == e.ID; {
		case err != nil:
			return e.fault(err)
		case twin && !bytes.Equal(line, written):
			return fmt.Errorf("%w: problem %q, %s, draw %d differs between %v and %v", ErrConflict, e.Problem, e.Source, e.Draw, last.place, e.place)
		case twin:
			summary.Left++
			continue
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		summary.Records++
		last, written = e, line
	}
	return w.Flush()
}
