package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/format"
	"l2mt/data/progress"
)

// options make small pictures.
var options = Options{Short: 4, Crop: 3, MaxPixels: 1 << 20}

// mean is a Net of three features: the mean colour, and two that the order of
// the pixels decides.
func mean(pictures [][]byte, _ int) ([][]float32, error) {
	rows := make([][]float32, len(pictures))
	for i, p := range pictures {
		rows[i] = make([]float32, 3)
		for j, v := range p {
			rows[i][0] += float32(v) / float32(len(p))
			rows[i][1+j%2] += float32(j) * float32(v)
		}
	}
	return rows, nil
}

// collection makes a folder of n pictures in three classes, of which those with
// the indices in bad are none.
func collection(t testing.TB, n int, bad ...int) *Collection {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		content := []byte("bad")
		if !slices.Contains(bad, i) {
			content = pngOf(t, 5+i%7, 4+i%5, func(x, y int) color.Color { return color.Gray{byte(40*x + y*i)} })
		}
		put(t, content, dir, fmt.Sprint(i*3/n), fmt.Sprintf("%03d.png", i))
	}
	return datatest.Must(Find(dir))(t)
}

func TestExtractMakesADataset(t *testing.T) {
	c := collection(t, 50, 7, 20)
	config := Config{Net: mean, Features: 3, Read: options, Workers: 2, Progress: progress.Silent()}
	r := datatest.Must(Extract(t.Context(), c, filepath.Join(t.TempDir(), "p"), config))(t)
	datatest.Check(t, r.Dataset.Validate())
	if len(r.Skipped) != 2 || r.Skipped[0].Name != "0/007.png" || r.Skipped[1].Name != "1/020.png" || !errors.Is(r.Skipped[0].Err, data.ErrFormat) {
		t.Errorf("skipped %v", r.Skipped)
	}
	datatest.Need(t, len(r.Files) == 48 && r.Dataset.X.Rows() == 48 && r.Dataset.X.Cols() == 3,
		"%d files, %d rows", len(r.Files), r.Dataset.X.Rows())
	for i, name := range r.Files {
		p := datatest.Must(Read(filepath.Join(c.Dir, name), options))(t)
		want, _ := mean([][]byte{p}, 1)
		if class := r.Dataset.Classes[r.Dataset.Label[i]]; !slices.Equal(r.Dataset.X.Row(i).Value, want[0]) || class != name[:1] {
			t.Errorf("%s: class %s, features %v, want %v", name, class, r.Dataset.X.Row(i).Value, want[0])
		}
	}
}

// bytesOf extracts and returns the dataset's file.
func bytesOf(r *Result) ([]byte, error) {
	var b bytes.Buffer
	err := format.WriteNPZ(&b, r.Dataset)
	return b.Bytes(), err
}

// TestInterruptedExtractionsComeToTheSame: however often an extraction is
// interrupted, and whatever is left of a file that it keeps, the result is
// byte for byte that of one run, and no batch that was kept is computed again.
func TestInterruptedExtractionsComeToTheSame(t *testing.T) {
	t.Parallel()
	c := collection(t, 70, 3, 33, 34)
	dir := t.TempDir()
	whole := datatest.Must(Extract(t.Context(), c, filepath.Join(dir, "whole"), Config{Net: mean, Features: 3, Read: options, Progress: progress.Silent()}))(t)
	want := datatest.Must(bytesOf(whole))(t)
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		path := filepath.Join(dir, fmt.Sprint(runs))
		computed, torn := 0, 0
		var r *Result
		for run := 0; ; run++ {
			datatest.Need(t, run <= 20, "it never ends")
			ctx, stop := context.WithCancel(context.Background())
			left := rapid.IntRange(0, 4).Draw(t, "batches before the interruption")
			net := func(p [][]byte, workers int) ([][]float32, error) {
				computed += len(p)
				if left--; left == 0 {
					stop()
				}
				return mean(p, workers)
			}
			var err error
			r, err = Extract(ctx, c, path, Config{Net: net, Features: 3, Read: options, Workers: rapid.IntRange(1, 3).Draw(t, "workers"), Progress: progress.Silent()})
			stop()
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) || r.Dataset != nil {
				t.Fatal(err)
			}
			torn += tear(t, path)
		}
		datatest.Equal(t, datatest.Must(bytesOf(r))(t), want, "the bytes")
		datatest.Holds(t, slices.Equal(r.Files, whole.Files) && len(r.Skipped) != 0,
			"files %q, %d skipped", r.Files, len(r.Skipped))
		datatest.Holds(t, computed <= 67+torn, "%d pictures computed, of 67 and %d torn", computed, torn)
	})
}

// tear damages one of the files that features are kept in, and returns how many they are of.
func tear(t *rapid.T, path string) int {
	kept, _ := filepath.Glob(filepath.Join(path, "*.safetensors"))
	if len(kept) == 0 {
		return 0
	}
	path = rapid.SampledFrom(kept).Draw(t, "file")
	file := datatest.Must(os.ReadFile(path))(t)
	switch rapid.SampledFrom([]string{"whole", "cut", "flipped", "longer", "absent"}).Draw(t, "damage") {
	case "whole":
		return 0
	case "cut":
		file = file[:rapid.IntRange(0, len(file)-1).Draw(t, "left")]
	case "flipped":
		file[len(file)-1-rapid.IntRange(0, 3*4-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	case "longer":
		file = append(file, make([]byte, rapid.IntRange(1, 50).Draw(t, "more"))...)
	case "absent":
		datatest.Check(t, os.Remove(path))
		return batchSize
	}
	datatest.Check(t, os.WriteFile(path, file, 0o644))
	return batchSize
}

func TestRowsOfOtherExtractionsAreNotUsed(t *testing.T) {
	c := collection(t, 6)
	path := filepath.Join(t.TempDir(), "p")
	config := Config{Net: mean, Features: 3, Identity: "mean", Read: options, Progress: progress.Silent()}
	computed := func(c *Collection, config Config) (n int) {
		config.Net = func(p [][]byte, workers int) ([][]float32, error) {
			n += len(p)
			rows, err := mean(p, workers)
			for i := range rows {
				rows[i] = rows[i][:config.Features]
			}
			return rows, err
		}
		datatest.Must(Extract(t.Context(), c, path, config))(t)
		return n
	}
	computed(c, config)
	for name, change := range map[string]func(*Config, *Collection){
		"another net":           func(c *Config, _ *Collection) { c.Identity = "median" },
		"other options":         func(c *Config, _ *Collection) { c.Read.Crop = 2 },
		"another width":         func(c *Config, _ *Collection) { c.Features = 2 },
		"another picture":       func(_ *Config, c *Collection) { c.Files[2].Name = "1/../1/002.png" },
		"a picture that grew":   func(_ *Config, c *Collection) { c.Files[2].Size++ },
		"a picture in addition": func(_ *Config, c *Collection) { c.Files = append(c.Files, File{Name: "2/../0/000.png"}) },
	} {
		other, files := config, *c
		files.Files = slices.Clone(c.Files)
		change(&other, &files)
		n := computed(&files, other)
		datatest.Holds(t, n != 0, "%s: the rows are those of before", name)
	}
	n := computed(c, config)
	datatest.Holds(t, n <= 0, "the same again: %d are computed", n)
}

func TestExtractSaysWhatIsWrong(t *testing.T) {
	good := Config{Net: mean, Features: 3, Read: options, Progress: progress.Silent()}
	broken := good
	broken.Net = func([][]byte, int) ([][]float32, error) { return nil, errors.New("broken") }
	datatest.Refused(Extract(t.Context(), collection(t, 6), filepath.Join(t.TempDir(), "p"), broken))(t, nil, "broken")
	datatest.Refused(Extract(t.Context(), collection(t, 6, 2, 3), filepath.Join(t.TempDir(), "p"), good))(t, data.ErrInvalid, "class 1: ")
}
