package images

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"l2mt/data"
	"l2mt/data/progress"
)

// Net turns pictures, as Read returns them, into rows of features, with up to
// so many workers. The features of a picture must not depend on the others.
type Net func(pictures [][]byte, workers int) ([][]float32, error)

// Config says how features are extracted.
type Config struct {
	// Net makes the features.
	Net Net
	// Features is the number of features that Net makes of a picture.
	Features int
	// Identity says what Net is, with everything that decides its features: an
	// interrupted extraction goes on only under the same identity.
	Identity string
	// Read says how pictures are read.
	Read Options
	// Workers is how many pictures are read, and with Net's help computed, at a
	// time; 0 means one per CPU.
	Workers int
	// Progress follows the batches.
	Progress progress.Reporter
}

// Result is what an extraction came to.
type Result struct {
	// Dataset has a row for every picture that could be read; nil if the
	// extraction was interrupted.
	Dataset *data.Dataset
	// Files are the names of the rows' files.
	Files []string
	// Skipped are the files that hold no picture that could be read.
	Skipped []Skipped
}

// Skipped is a file without a readable picture.
type Skipped struct {
	Name string
	Err  error
}

// minBatch is the least number of pictures that Net is given at a time. Fully
// connected layers are then no longer bound by the reading of their weights.
const minBatch = 16

// Extract makes a dataset of the features of a collection. It keeps what is
// done in the file partial, and goes on from there when called again after an
// interruption; the result is the same as without. The file remains until
// the caller has kept the result and removes it.
//
// Pictures that cannot be read are skipped, and tried again when called again. A
// class of which no picture can be read is an error.
func Extract(ctx context.Context, c *Collection, partial string, config Config) (*Result, error) {
	key, err := keyOf(c, config)
	if err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	kept, err := openRows(partial, key, len(c.Files), config.Features)
	if err != nil {
		return nil, fmt.Errorf("images: %s: %w", partial, err)
	}
	e := &extraction{collection: c, Config: config, rows: kept, result: &Result{}}
	e.Workers = cmp.Or(e.Workers, runtime.GOMAXPROCS(0))
	err = e.run(ctx)
	if err == nil {
		err = e.finish()
	}
	return e.result, errors.Join(err, kept.log.Close())
}

// keyOf identifies an extraction: the net, the pictures, and how these are read.
func keyOf(c *Collection, config Config) (string, error) {
	text, err := json.Marshal(struct {
		Identity string
		Read     Options
		Files    []File
	}{config.Identity, config.Read, c.Files})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

type extraction struct {
	Config
	collection *Collection
	rows       *rows
	result     *Result
}

// run extracts what is missing.
func (e *extraction) run(ctx context.Context) error {
	e.Progress.Start("features", len(e.collection.Files))
	defer e.Progress.Finish()
	var todo []int
	for i, has := range e.rows.has {
		if !has {
			todo = append(todo, i)
		}
	}
	e.Progress.Advance(len(e.rows.has)-len(todo), "")
	for batch := range slices.Chunk(todo, max(minBatch, e.Workers)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.batch(batch); err != nil {
			return err
		}
		status := ""
		if n := len(e.result.Skipped); n > 0 {
			status = fmt.Sprintf("%d skipped", n)
		}
		e.Progress.Advance(len(batch), status)
	}
	return nil
}

// batch extracts the features of the files with these indices.
func (e *extraction) batch(batch []int) error {
	all, faults := make([][]byte, len(batch)), make([]error, len(batch))
	var work errgroup.Group
	work.SetLimit(e.Workers)
	for i, file := range batch {
		work.Go(func() error {
			all[i], faults[i] = Read(e.collection.path(e.collection.Files[file]), e.Read)
			return nil
		})
	}
	_ = work.Wait() // never fails: each file has a fault of its own
	var pictures [][]byte
	var read []int
	for i, file := range batch {
		if faults[i] != nil {
			e.result.Skipped = append(e.result.Skipped, Skipped{e.collection.Files[file].Name, faults[i]})
			continue
		}
		pictures, read = append(pictures, all[i]), append(read, file)
	}
	if len(pictures) == 0 {
		return nil
	}
	features, err := e.Net(pictures, e.Workers)
	if err != nil {
		return err
	}
	return e.rows.add(read, features)
}

// finish makes the dataset of what is kept.
func (e *extraction) finish() error {
	d := &data.Dataset{Name: e.collection.Dir, Classes: e.collection.Classes}
	for i, f := range e.collection.Files {
		if e.rows.has[i] {
			e.result.Files = append(e.result.Files, f.Name)
			d.Label = append(d.Label, int32(f.Class))
		}
	}
	for class, n := range d.ClassSizes() {
		if n == 0 {
			return fmt.Errorf("images: class %s: %w: none of its pictures can be read; remove it, or leave it out", d.Classes[class], data.ErrInvalid)
		}
	}
	x, err := data.NewDense(len(d.Label), e.Features, e.rows.all())
	d.X, e.result.Dataset = x, d
	return err
}
