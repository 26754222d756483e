package images

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/data/safetensors"
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

// batchSize is the number of pictures that Net is given at a time, and whose features are kept
// together. Fully connected layers are then no longer bound by the reading of their weights.
const batchSize = 32

// Extract makes a dataset of the features of a collection. It keeps what is
// done in the folder partial, and goes on from there when called again after an
// interruption; the result is the same as without. The folder remains until
// the caller has kept the result and removes it.
//
// Pictures that cannot be read are skipped, and tried again when called again. A
// class of which no picture can be read is an error.
func Extract(ctx context.Context, c *Collection, partial string, config Config) (*Result, error) {
	e := &extraction{
		Config: config, collection: c, partial: partial, result: &Result{},
		made:  &data.Dataset{Name: c.Dir, Classes: c.Classes},
		value: make([]float32, 0, len(c.Files)*config.Features),
	}
	e.Workers = cmp.Or(e.Workers, runtime.GOMAXPROCS(0))
	err := os.MkdirAll(partial, 0o755)
	if err == nil {
		err = e.run(ctx)
	}
	if err == nil {
		err = e.finish()
	}
	return e.result, err
}

type extraction struct {
	Config
	collection *Collection
	partial    string
	result     *Result
	made       *data.Dataset
	value      []float32 // of the rows
}

// run extracts batch after batch.
func (e *extraction) run(ctx context.Context) error {
	e.Progress.Start("features", len(e.collection.Files))
	defer e.Progress.Finish()
	for batch := range slices.Chunk(e.collection.Files, batchSize) {
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

// batch adds the rows of files. They are kept by the names of their files in one file that is
// called after everything that decides them, so that those of another net, other options or
// other pictures are not taken for them.
func (e *extraction) batch(batch []File) error {
	text, err := json.Marshal(struct {
		Identity string
		Features int
		Read     Options
		Files    []File
	}{e.Identity, e.Features, e.Read, batch})
	if err != nil {
		return err
	}
	path := filepath.Join(e.partial, fmt.Sprintf("%x.safetensors", sha256.Sum256(text)))
	kept, _, _ := safetensors.Read(path, func(string) safetensors.DType { return safetensors.F32 }) // one that is absent or damaged is made anew
	rows := map[string][]float32{}
	for _, t := range kept {
		rows[t.Name] = t.Single
	}
	made, err := e.extract(slices.DeleteFunc(slices.Clone(batch), func(f File) bool { return rows[f.Name] != nil }))
	if err != nil {
		return err
	}
	for _, t := range made {
		rows[t.Name] = t.Single
	}
	if len(made) > 0 {
		if err := safetensors.Write(path, append(kept, made...), nil); err != nil {
			return fmt.Errorf("keeping features: %w", err)
		}
	}
	for _, f := range batch {
		if row := rows[f.Name]; row != nil {
			e.value = append(e.value, row...)
			e.made.Label = append(e.made.Label, int32(f.Class))
			e.result.Files = append(e.result.Files, f.Name)
		}
	}
	return nil
}

// extract returns the features of the files that can be read.
func (e *extraction) extract(batch []File) (made []safetensors.Tensor, err error) {
	all := make([][]byte, len(batch))
	faults := make([]error, len(batch))
	var work errgroup.Group
	work.SetLimit(e.Workers)
	for i, f := range batch {
		work.Go(func() error {
			all[i], faults[i] = Read(e.collection.path(f), e.Read)
			return nil
		})
	}
	_ = work.Wait() // never fails: each file has a fault of its own
	var pictures [][]byte
	for i, f := range batch {
		if faults[i] != nil {
			e.result.Skipped = append(e.result.Skipped, Skipped{f.Name, faults[i]})
			continue
		}
		pictures = append(pictures, all[i])
		made = append(made, safetensors.Tensor{Name: f.Name, DType: safetensors.F32, Shape: []int{e.Features}})
	}
	if len(made) == 0 {
		return nil, nil
	}
	features, err := e.Net(pictures, e.Workers)
	for k, row := range features {
		made[k].Single = row
	}
	return made, err
}

// finish makes the dataset.
func (e *extraction) finish() error {
	for class, n := range e.made.ClassSizes() {
		if n == 0 {
			return data.ErrInvalid.Errorf("class %s: none of its pictures can be read; remove it, or leave it out", e.made.Classes[class])
		}
	}
	x, err := data.NewDense(len(e.made.Label), e.Features, e.value)
	e.made.X = x
	e.result.Dataset = e.made
	return err
}
