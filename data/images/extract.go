package images

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"l2mt/data"
	"l2mt/data/files"
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
	// Identity names Net and everything that decides its features: an interrupted
	// extraction goes on only under the same identity.
	Identity string
	// Read says how pictures are read.
	Read Options
	// Workers is the number of pictures that are read and computed at a time; 0
	// means one per CPU.
	Workers int
	// Progress follows the batches.
	Progress progress.Reporter
}

// Result is the result of an extraction.
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

// batchSize is the number of pictures that Net is given at a time. One file keeps their
// features. Fully connected layers are then no longer bound by the reading of their weights.
const batchSize = 32

// Extract makes a dataset of the features of a collection. It keeps finished
// batches in the folder partial. Called again after an interruption it goes on
// from there, to the same result. The folder remains until the caller has kept
// the result and removes it.
//
// Pictures that cannot be read are skipped, and tried again when called again. A
// class without a readable picture is an error.
func Extract(ctx context.Context, c *Collection, partial string, config Config) (*Result, error) {
	e := &extraction{
		Config: config, collection: c, partial: partial, result: &Result{},
		dataset: &data.Dataset{
			Name:    c.Dir,
			Classes: c.Classes,
		},
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
	dataset    *data.Dataset
	value      []float32 // of the rows
}

// run extracts batch after batch.
func (e *extraction) run(ctx context.Context) error {
	e.Progress.Start("features", len(e.collection.Files))
	defer e.Progress.Finish()
	for batch := range slices.Chunk(e.collection.Files, batchSize) {
		err := ctx.Err()
		if err != nil {
			return err
		}
		err = e.batch(batch)
		if err != nil {
			return err
		}
		status := ""
		n := len(e.result.Skipped)
		if n > 0 {
			status = fmt.Sprintf("%d skipped", n)
		}
		e.Progress.Advance(len(batch), status)
	}
	return nil
}

// batch adds the rows of files. One file keeps them. Its name is a checksum of everything
// that decides the rows, so that another net, other options or other pictures never share it.
func (e *extraction) batch(batch []File) error {
	text, _ := json.Marshal([]any{e.Identity,
		e.Features, e.Read, batch}) // texts and numbers
	path := filepath.Join(e.partial, files.Sum(text)+".safetensors")
	single := func(string) safetensors.DType {
		return safetensors.F32
	}
	kept, _, _ := safetensors.Read(path, single) // an absent or damaged file is made anew
	missing := slices.DeleteFunc(slices.Clone(batch), func(f File) bool {
		return slices.ContainsFunc(kept, func(t safetensors.Tensor) bool {
			return t.Name == f.Name
		})
	})
	features, err := e.extract(missing)
	if err != nil {
		return err
	}
	kept = append(kept, features...)
	if len(features) > 0 {
		err := safetensors.Write(path, kept, nil)
		if err != nil {
			return fmt.Errorf("keeping features: %w", err)
		}
	}
	rows := map[string][]float32{}
	for _, t := range kept {
		rows[t.Name] = t.Single
	}
	for _, f := range batch {
		row := rows[f.Name]
		if row != nil {
			e.value = append(e.value, row...)
			e.dataset.Label = append(e.dataset.Label, int32(f.Class))
			e.result.Files = append(e.result.Files, f.Name)
		}
	}
	return nil
}

// extract returns the features of the files that can be read.
func (e *extraction) extract(batch []File) (features []safetensors.Tensor, err error) {
	read := make([][]byte, len(batch))
	faults := make([]error, len(batch))
	var work errgroup.Group
	work.SetLimit(e.Workers)
	for i, f := range batch {
		work.Go(func() error {
			path := filepath.Join(e.collection.Dir, f.Name)
			read[i], faults[i] = Read(path, e.Read)
			return nil
		})
	}
	_ = work.Wait() // never fails: each file has a fault of its own
	var pictures [][]byte
	for i, f := range batch {
		if faults[i] != nil {
			e.result.Skipped = append(e.result.Skipped,
				Skipped{f.Name, faults[i]})
			continue
		}
		pictures = append(pictures, read[i])
		features = append(features, safetensors.Tensor{
			Name: f.Name, DType: safetensors.F32, Shape: []int{e.Features}})
	}
	if pictures == nil {
		return nil, nil
	}
	rows, err := e.Net(pictures, e.Workers)
	for k, row := range rows {
		features[k].Single = row
	}
	return features, err
}

// finish makes the dataset.
func (e *extraction) finish() (err error) {
	for class, n := range e.dataset.ClassSizes() {
		if n == 0 {
			return data.Invalid("class %s: none of its pictures can be read; remove it, or leave it out",
				e.dataset.Classes[class])
		}
	}
	e.dataset.X, err = data.NewDense(len(e.dataset.Label), e.Features, e.value)
	e.result.Dataset = e.dataset
	return err
}
