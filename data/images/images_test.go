package images

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/format"
	"l2mt/data/progress"
)

// put writes a file, and the folders above it.
func put(t testing.TB, content []byte, elem ...string) string {
	t.Helper()
	path := filepath.Join(elem...)
	datatest.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	datatest.Check(t, os.WriteFile(path, content, 0o644))
	return path
}

// pngOf encodes a picture that a function of the position colours.
func pngOf(t testing.TB, width, height int, colour func(x, y int) color.Color) []byte {
	t.Helper()
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			p.Set(x, y, colour(x, y))
		}
	}
	var b bytes.Buffer
	datatest.Check(t, png.Encode(&b, p))
	return b.Bytes()
}

func TestFindReadsDatasetsAsTheyAreUnpacked(t *testing.T) {
	for name, test := range map[string]struct {
		files   []string
		without []string
		classes []string
		want    []string
		others  int
	}{
		"MIT-Indoor-67": {
			files:   []string{"Images/bar/b.jpg", "Images/bar/a.JPG", "Images/airport_inside/x.jpeg", "Annotations/bar/a.xml"},
			classes: []string{"airport_inside", "bar"},
			want:    []string{"airport_inside/x.jpeg", "bar/a.JPG", "bar/b.jpg"},
		},
		"Caltech256": {
			files:   []string{"256_ObjectCategories/001.ak47/001_0001.jpg", "256_ObjectCategories/056.dog/056_0001.jpg", "256_ObjectCategories/056.dog/greg/x.jpg", "256_ObjectCategories/198.spider/RENAME2", "256_ObjectCategories/198.spider/1.jpg", "256_ObjectCategories/257.clutter/1.jpg"},
			classes: []string{"001.ak47", "056.dog", "198.spider", "257.clutter"},
			want:    []string{"001.ak47/001_0001.jpg", "056.dog/056_0001.jpg", "198.spider/1.jpg", "257.clutter/1.jpg"},
			others:  2,
		},
		"Caltech-101": {
			files:   []string{"101_ObjectCategories/BACKGROUND_Google/image_0001.jpg", "101_ObjectCategories/BACKGROUND_Google/tmp", "101_ObjectCategories/ant/image_0001.jpg", "101_ObjectCategories/.DS_Store"},
			without: []string{"BACKGROUND_Google"},
			classes: []string{"ant"},
			want:    []string{"ant/image_0001.jpg"},
		},
		"classes": {
			files:   []string{"b/1.png", "a/2.png", "README"},
			classes: []string{"a", "b"},
			want:    []string{"a/2.png", "b/1.png"},
		},
		"a class called Images": {
			files:   []string{"Images/1.png", "a/2.png"},
			classes: []string{"Images", "a"},
			want:    []string{"Images/1.png", "a/2.png"},
		},
	} {
		dir := t.TempDir()
		for _, f := range test.files {
			put(t, []byte("1234"), dir, f)
		}
		c, err := Find(dir, test.without...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var names []string
		for _, f := range c.Files {
			names = append(names, f.Name)
			if class, _, _ := strings.Cut(f.Name, "/"); class != c.Classes[f.Class] || f.Size != 4 {
				t.Errorf("%s: %+v with the classes %q", name, f, c.Classes)
			}
			_, err = os.Stat(filepath.Join(c.Dir, f.Name))
			datatest.Holds(t, err == nil, "%s: %v", name, err)
		}
		datatest.Holds(t, slices.Equal(c.Classes, test.classes) && slices.Equal(names, test.want) && c.Others == test.others,
			"%s: classes %q, files %q, %d others", name, c.Classes, names, c.Others)
	}
}

func TestFindSaysWhatIsWrong(t *testing.T) {
	for want, test := range map[string]struct {
		files, without []string
	}{
		"has no classes":              {files: []string{"1.jpg"}},
		"class b: ":                   {files: []string{"a/1.jpg", "b/1.txt"}},
		`no class "c" to leave out`:   {files: []string{"a/1.jpg"}, without: []string{"c"}},
		"it has no classes; it needs": {files: []string{"a/1.jpg"}, without: []string{"a"}},
	} {
		dir := t.TempDir()
		for _, f := range test.files {
			put(t, nil, dir, f)
		}
		datatest.Refused(Find(dir, test.without...))(t, data.ErrInvalid, want)
	}
}

// TestScaledAsPillowDoes compares with pictures that Pillow scaled.
func TestScaledAsPillowDoes(t *testing.T) {
	text := datatest.Must(os.ReadFile(filepath.Join("testdata", "pil.json")))(t)
	var cases []struct {
		Width, Height, Short, Crop int
		Pixels                     []byte
	}
	datatest.Check(t, json.Unmarshal(text, &cases))
	datatest.Need(t, len(cases) >= 5, "only %d cases", len(cases))
	for _, c := range cases {
		colour := func(x, y int) color.Color {
			v := func(k int) byte { return byte(x*x*7 + y*13 + x*y*(k+3) + k*85) }
			return color.NRGBA{v(0), v(1), v(2), 255}
		}
		path := put(t, pngOf(t, c.Width, c.Height, colour), t.TempDir(), "x.png")
		got := datatest.Must(Read(path, Options{c.Short, c.Crop, 1 << 20}))(t)
		datatest.Holds(t, bytes.Equal(got, c.Pixels),
			"%d x %d, scaled to %d, cropped to %d: another picture", c.Width, c.Height, c.Short, c.Crop)
	}
}

// TestEveryKindOfPictureIsRead: a picture of one colour stays that, whatever
// it is stored as and whatever its name says.
func TestEveryKindOfPictureIsRead(t *testing.T) {
	grey, red := color.NRGBA{90, 90, 90, 255}, color.NRGBA{200, 10, 30, 255}
	all := image.Rect(0, 0, 9, 6)
	for name, test := range map[string]struct {
		picture      draw.Image
		colour, want color.NRGBA
		jpeg         bool
	}{
		"grey png":        {picture: image.NewGray(all), colour: grey, want: grey},
		"16-bit png":      {picture: image.NewNRGBA64(all), colour: red, want: red},
		"transparent png": {picture: image.NewNRGBA(all), colour: color.NRGBA{200, 10, 30, 5}, want: red},
		"opaque png":      {picture: image.NewRGBA(all), colour: red, want: red},
		"palette png":     {picture: image.NewPaletted(all, color.Palette{grey, red}), colour: red, want: red},
		"colour jpeg":     {picture: image.NewRGBA(all), colour: red, want: red, jpeg: true},
		"grey jpeg":       {picture: image.NewGray(all), colour: grey, want: grey, jpeg: true},
	} {
		draw.Draw(test.picture, all, image.NewUniform(test.colour), image.Point{}, draw.Src)
		var b bytes.Buffer
		var err error
		if test.jpeg {
			err = jpeg.Encode(&b, test.picture, &jpeg.Options{Quality: 100})
		} else {
			err = png.Encode(&b, test.picture)
		}
		datatest.Check(t, err)
		got, err := Read(put(t, b.Bytes(), t.TempDir(), "wrong.name"), Options{5, 4, 1 << 20})
		if err != nil || len(got) != 4*4*3 {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
			continue
		}
		for i, v := range got {
			if want := []byte{test.want.R, test.want.G, test.want.B}[i%3]; max(v, want)-min(v, want) > 2 {
				t.Errorf("%s: byte %d is %d, want %d", name, i, v, want)
				break
			}
		}
	}
}

// bomb is a sound PNG header that claims a size.
func bomb(t testing.TB, width, height uint32) []byte {
	b := pngOf(t, 1, 1, func(int, int) color.Color { return color.White })
	binary.BigEndian.PutUint32(b[16:], width)
	binary.BigEndian.PutUint32(b[20:], height)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

var badPictures = map[string]func(t testing.TB) []byte{
	"nothing":  func(testing.TB) []byte { return nil },
	"text":     func(testing.TB) []byte { return []byte("no picture") },
	"a bomb":   func(t testing.TB) []byte { return bomb(t, 1<<16, 1<<16) },
	"overflow": func(t testing.TB) []byte { return bomb(t, math.MaxInt32, math.MaxInt32) },
	"cut short": func(t testing.TB) []byte {
		b := pngOf(t, 30, 30, func(x, y int) color.Color { return color.Gray{byte(x * y)} })
		return b[:len(b)/2]
	},
}

func TestBadPicturesAreErrors(t *testing.T) {
	for name, content := range badPictures {
		path := put(t, content(t), t.TempDir(), "x.png")
		_, err := Read(path, options)
		datatest.Holds(t, (errors.Is(err, data.ErrFormat) || errors.Is(err, data.ErrInvalid)) && strings.Contains(err.Error(), path),
			"%s: the error is %v", name, err)
	}
	path := put(t, pngOf(t, 5, 4, func(int, int) color.Color { return color.White }), t.TempDir(), "x.png")
	_, err := Read(path, Options{4, 3, 20})
	datatest.Holds(t, err == nil, "20 pixels: %v", err)
	datatest.Refused(Read(path, Options{4, 3, 19}))(t, data.ErrInvalid, "5 x 4 pixels")
}

// FuzzRead: no content makes Read panic or pass its limit of pixels.
func FuzzRead(f *testing.F) {
	for _, content := range badPictures {
		f.Add(content(f))
	}
	f.Add(pngOf(f, 5, 4, func(x, y int) color.Color { return color.NRGBA{byte(x), byte(y), 3, 200} }))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := put(t, content, t.TempDir(), "x")
		p, err := Read(path, Options{Short: 6, Crop: 5, MaxPixels: 1 << 16})
		datatest.Holds(t, err != nil || len(p) == 5*5*3, "%d bytes", len(p))
	})
}

func ExampleFind() {
	c, err := Find("caltech-101", "BACKGROUND_Google")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(c.Files), "pictures of", len(c.Classes), "classes")
}

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
	datatest.Holds(t, len(r.Skipped) == 2 && r.Skipped[0].Name == "0/007.png" && r.Skipped[1].Name == "1/020.png" && errors.Is(r.Skipped[0].Err, data.ErrFormat),
		"skipped %v", r.Skipped)
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
