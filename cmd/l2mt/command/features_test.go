package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/images"
	"l2mt/data/safetensors"
	"l2mt/data/table"
	"l2mt/layers/vgg"
)

// tiny is a network that tests and scripts can have the weights of.
var tiny = vgg.Config{Name: "tiny", Size: 32, Blocks: []vgg.Block{{Convolutions: 1, Channels: 3}, {Convolutions: 1, Channels: 4}}, Dense: [3]int{6, 5, 4}}

func init() { extractor = tiny }

// tinyWeights writes weights with the names of torchvision.
func tinyWeights(t *testing.T, seed uint64) string {
	t.Helper()
	r := data.Stream(seed, "tiny weights")
	var all []safetensors.Tensor
	for _, x := range []struct {
		layer string
		shape []int
	}{
		{"features.0", []int{3, 3, 3, 3}}, {"features.3", []int{4, 3, 3, 3}},
		{"classifier.0", []int{6, 4 * 8 * 8}}, {"classifier.3", []int{5, 6}}, {"classifier.6", []int{4, 5}},
	} {
		for part, shape := range map[string][]int{"weight": x.shape, "bias": x.shape[:1]} {
			size := 1
			for _, n := range shape {
				size *= n
			}
			w := datatest.Normals[float64](r, size)
			floats.Scale(1./8, w)
			all = append(all, safetensors.Tensor{Name: x.layer + "." + part, DType: safetensors.F32, Shape: shape, Value: w})
		}
	}
	path := filepath.Join(t.TempDir(), "tiny.safetensors")
	datatest.Check(t, safetensors.Write(path, all, nil))
	return path
}

// pictures makes Caltech-101 in small: n pictures of two classes, of which the
// fourth is none.
func pictures(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	r := data.Stream(1, "pictures")
	for i := range n {
		p := image.NewGray(image.Rect(0, 0, 20+i, 30))
		for j := range p.Pix {
			p.Pix[j] = byte(r.Uint32())
		}
		var content bytes.Buffer
		datatest.Check(t, jpeg.Encode(&content, p, nil))
		if i == 3 {
			content.Truncate(content.Len() / 2)
		}
		path := filepath.Join(dir, "101_ObjectCategories", []string{"ant", "bee"}[i%2], fmt.Sprintf("image_%04d.jpg", i))
		datatest.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		datatest.Check(t, os.WriteFile(path, content.Bytes(), 0o644))
	}
	return dir
}

func TestFeaturesOfPictures(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	dir, weights, out := pictures(t, 20), tinyWeights(t, 1), filepath.Join(t.TempDir(), "x.npz")
	for _, layer := range vgg.Layers() {
		code, stdout, stderr := l2mt(t, "data", "features", "--images", dir, "--weights", weights, "--layer", string(layer), "--out", out)
		datatest.Need(t, code == exitDone, "%s: exit code %d: %s", layer, code, stderr)
		for _, want := range []string{"20 pictures of 2 classes", "skipped bee/image_0003.jpg: ", "1 of 20 pictures skipped"} {
			datatest.Holds(t, strings.Contains(stderr, want), "%s: stderr does not say %q: %s", layer, want, stderr)
		}
		if code, again, _ := l2mt(t, "data", "info", out); code != exitDone || again != stdout {
			t.Errorf("%s: data info prints %s, the command %s", layer, again, stdout)
		}
		checkFeatures(t, dir, weights, layer, out)
		left, _ := filepath.Glob(out + ".partial")
		datatest.Holds(t, left == nil, "%s is left", left)
	}
}

// checkFeatures compares a file with the features of every picture by itself.
func checkFeatures(t *testing.T, dir, weights string, layer vgg.Layer, path string) {
	t.Helper()
	d := datatest.Must(table.Dataset(path, table.Options{}))(t)
	text := datatest.Must(os.ReadFile(path + ".json"))(t)
	var record extracted
	datatest.Check(t, json.Unmarshal(text, &record))
	if len(record.Files) != d.X.Rows() || d.X.Rows() != 19 || !slices.Equal(record.Skipped, []string{"bee/image_0003.jpg"}) || !slices.Equal(d.Classes, []string{"ant", "bee"}) {
		t.Fatalf("%d rows of the classes %q, recorded as %+v", d.X.Rows(), d.Classes, record)
	}
	net := datatest.Must(vgg.Load(weights, tiny, layer))(t)
	for i, name := range record.Files {
		p := datatest.Must(images.Read(filepath.Join(dir, "101_ObjectCategories", name), images.Options{Short: 256, Crop: tiny.Size, MaxPixels: 1 << 20}))(t)
		want := datatest.Must(net.Features([][]byte{p}, 1))(t)
		if !slices.Equal(d.X.Row(i).Value, want[0]) || !strings.HasPrefix(name, d.Classes[d.Label[i]]+"/") {
			t.Errorf("%s, %s: class %s, features %v, want %v", layer, name, d.Classes[d.Label[i]], d.X.Row(i).Value, want[0])
		}
	}
}
