package vgg

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/safetensors"
)

// small is a network through the same code, with sizes that do not divide
// evenly into tiles, vectors or parts.
var small = Config{Name: "small", Size: 13, Blocks: []Block{{1, 5}, {2, 70}}, Dense: [3]int{19, 11, 7}}

// A memory is a file of weights in memory.
type memory []safetensors.Tensor

// of is the tensor of a name.
func (m memory) of(name string) *safetensors.Tensor {
	return &m[slices.IndexFunc(m, func(t safetensors.Tensor) bool { return t.Name == name })]
}

// randomWeights makes the weights of a network as torchvision lays them out.
func randomWeights(r *rand.Rand, c Config) (m memory) {
	for _, w := range wanted(c, FC8) {
		for part, shape := range [][]int{w.shape, {w.out}} {
			name := w.name + [2]string{".weight", ".bias"}[part]
			size, fan := 1, w.in
			for _, n := range shape {
				size *= n
			}
			if len(w.shape) == 4 {
				fan *= taps
			}
			value := make([]float32, size)
			for i := range value {
				value[i] = float32(math.Sqrt(2/float64(fan))) * (2*r.Float32() - 0.9)
			}
			m = append(m, safetensors.Tensor{Name: name, DType: safetensors.F32, Shape: shape, Single: value})
		}
	}
	return m
}

func randomPictures(r *rand.Rand, c Config, n int) [][]byte {
	pictures := make([][]byte, n)
	for i := range pictures {
		pictures[i] = make([]byte, c.Size*c.Size*colours)
		for j := range pictures[i] {
			pictures[i][j] = byte(r.Uint32())
		}
	}
	return pictures
}

func mustLoad(t testing.TB, m memory, c Config, up Layer) *Net {
	t.Helper()
	return datatest.Must(load(m, c, up))(t)
}

func features(t testing.TB, n *Net, pictures [][]byte, workers int) [][]float32 {
	t.Helper()
	return datatest.Must(n.Features(pictures, workers))(t)
}

// An image is activations [channel][row][column] of the naive implementation.
type image [][][]float64

func newImage(channels, height, width int) image {
	x := make(image, channels)
	for c := range x {
		x[c] = make([][]float64, height)
		for i := range x[c] {
			x[c][i] = make([]float64, width)
		}
	}
	return x
}

// naive computes all layers as the definitions say, in float64, from the file
// itself.
func naive(c Config, m memory, picture []byte) map[Layer][]float64 {
	x := newImage(3, c.Size, c.Size)
	for i := range c.Size {
		for j := range c.Size {
			p := picture[3*(i*c.Size+j):]
			for k := range 3 {
				mean, deviation := [3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}
				x[k][i][j] = (float64(p[k])/255 - mean[k]) / deviation[k]
			}
		}
	}
	var names []string
	for _, l := range wanted(c, FC8) {
		names = append(names, l.name)
	}
	for _, b := range c.Blocks {
		for range b.Convolutions {
			x = naiveConvolution(x, b.Channels, m.of(names[0]+".weight").Single, m.of(names[0]+".bias").Single)
			names = names[1:]
		}
		x = naivePool(x)
	}
	var flat []float64
	for _, channel := range x {
		flat = append(flat, slices.Concat(channel...)...)
	}
	all := map[Layer][]float64{Pool5: flat}
	for i, up := range []Layer{FC6, FC7, FC8} {
		w, b := m.of(names[i]+".weight").Single, m.of(names[i]+".bias").Single
		out := make([]float64, len(b))
		for o := range out {
			out[o] = float64(b[o])
			for j, v := range flat {
				out[o] += float64(w[o*len(flat)+j]) * v
			}
			if up != FC8 {
				out[o] = max(0, out[o])
			}
		}
		all[up], flat = out, out
	}
	return all
}

func naiveConvolution(x image, out int, weight, bias []float32) image {
	height, width := len(x[0]), len(x[0][0])
	y := newImage(out, height, width)
	for o := range out {
		for i := range height {
			for j := range width {
				s := float64(bias[o])
				for c := range x {
					for di := range 3 {
						for dj := range 3 {
							p, q := i+di-1, j+dj-1
							if p < 0 || q < 0 || p >= height || q >= width {
								continue
							}
							at := ((o*len(x)+c)*3+di)*3 + dj
							s += float64(weight[at]) * x[c][p][q]
						}
					}
				}
				y[o][i][j] = max(0, s)
			}
		}
	}
	return y
}

func naivePool(x image) image {
	y := newImage(len(x), len(x[0])/2, len(x[0][0])/2)
	for c := range y {
		for i := range y[c] {
			for j := range y[c][i] {
				y[c][i][j] = max(x[c][2*i][2*j], x[c][2*i][2*j+1], x[c][2*i+1][2*j], x[c][2*i+1][2*j+1])
			}
		}
	}
	return y
}

func TestFeaturesAgreeWithTheDefinition(t *testing.T) {
	for _, c := range []Config{
		small,
		{Name: "odd", Size: 13, Blocks: []Block{{2, 3}, {1, 4}, {1, 2}}, Dense: [3]int{3, 2, 5}},
		{Name: "bands", Size: 64, Blocks: []Block{{1, 2}, {1, 3}}, Dense: [3]int{2, 2, 2}},
	} {
		r := data.Stream(1, "vgg")
		m, pictures := randomWeights(r, c), randomPictures(r, c, 2)
		for _, up := range Layers() {
			got := features(t, mustLoad(t, m, c, up), pictures, 2)
			for i, p := range pictures {
				want := naive(c, m, p)[up]
				datatest.Need(t, len(got[i]) == len(want) && len(want) == c.Width(up),
					"%s, %s: %d features, want %d", c.Name, up, len(got[i]), len(want))
				var scale float64
				for _, v := range want {
					scale = max(scale, math.Abs(v))
				}
				for j, v := range want {
					if d := math.Abs(float64(got[i][j]) - v); d > 1e-5*scale {
						t.Fatalf("%s, %s, picture %d: feature %d is %v, want %v", c.Name, up, i, j, got[i][j], v)
					}
				}
			}
		}
	}
}

// TestFeaturesDependOnThePictureAlone: not on the workers, nor on the other
// pictures, to the last bit.
func TestFeaturesDependOnThePictureAlone(t *testing.T) {
	r := data.Stream(2, "vgg")
	n := mustLoad(t, randomWeights(r, small), small, FC8)
	pictures := randomPictures(r, small, 20)
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(pictures)-1).Draw(t, "from")
		j := rapid.IntRange(i+1, len(pictures)).Draw(t, "to")
		many := datatest.Must(n.Features(pictures[i:j], rapid.IntRange(-1, 9).Draw(t, "workers")))(t)
		k := rapid.IntRange(i, j-1).Draw(t, "picture")
		alone := datatest.Must(n.Features(pictures[k:k+1], rapid.IntRange(1, 9).Draw(t, "workers alone")))(t)
		datatest.Holds(t, slices.Equal(alone[0], many[k-i]),
			"%v alone, %v among %d", alone[0], many[k-i], j-i)
	})
}

// TestVGG19 checks the sizes against those that the literature gives.
func TestVGG19(t *testing.T) {
	c := VGG19()
	for l, want := range map[Layer]int{Pool5: 25088, FC6: 4096, FC7: 4096, FC8: 1000} {
		datatest.Equal(t, c.Width(l), want, "%s: features", l)
	}
	n := 0
	layers := wanted(c, FC8)
	datatest.Holds(t, len(layers) == 19 && layers[15].name == "features.34" && layers[18].name == "classifier.6",
		"layers %v", layers)
	for _, w := range layers {
		size := 1
		for _, k := range w.shape {
			size *= k
		}
		n += size + w.out
	}
	datatest.Equal(t, n, 143_667_240, "numbers of the tensors")
}

// TestFilesAreRead: both formats give the same network.
func TestFilesAreRead(t *testing.T) {
	r := data.Stream(3, "vgg")
	picture, m := randomPictures(r, small, 1), randomWeights(r, small)
	want := features(t, mustLoad(t, m, small, FC8), picture, 1)[0]
	datatest.Equal(t, features(t, datatest.Must(Load(writeFile(t, m), small, FC8))(t), picture, 1)[0], want, "features")
}

func writeFile(t *testing.T, m memory) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.safetensors")
	datatest.Check(t, safetensors.Write(path, m, nil))
	return path
}

func TestWrongWeightsAreRefused(t *testing.T) {
	r := data.Stream(4, "vgg")
	for _, test := range []struct {
		change func(m memory)
		want   string
	}{
		{func(m memory) { m.of("features.3.weight").Shape = []int{70, 5, 3, 2} }, "features.3.weight is 70 x 5 x 3 x 2; small has 70 x 5 x 3 x 3"},
		{func(m memory) { m.of("classifier.6.bias").Shape = []int{8} }, "classifier.6.bias is 8; small has 7"},
		{func(m memory) { m[4].Name = "a" }, "features.5.weight is missing; small has it with 70 x 70 x 3 x 3"},
		{func(m memory) { m[0].Name = "a" }, "features.0.weight is missing; small has it with 5 x 3 x 3 x 3"},
		{func(m memory) { m.of("features.0.bias").Single[2] = float32(math.NaN()) }, "entry 2 of features.0.bias is NaN"},
	} {
		m := randomWeights(r, small)
		test.change(m)
		datatest.Refused(load(m, small, FC8))(t, ErrWeights, test.want)
	}
	for _, path := range []string{"absent.safetensors"} {
		datatest.Refused(Load(path, small, FC8))(t, nil, path)
	}
}

// TestLayersAboveMayBeMissing: files without the top serve for pool5.
func TestLayersAboveMayBeMissing(t *testing.T) {
	m := randomWeights(data.Stream(5, "vgg"), small)
	m = m[:6]
	mustLoad(t, m, small, Pool5)
	datatest.Refused(load(m, small, FC6))(t, ErrWeights, "classifier.0.weight is missing")
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	m := randomWeights(data.Stream(6, "vgg"), small)
	datatest.Refused(mustLoad(t, m, small, Pool5).Features([][]byte{make([]byte, 5)}, 1))(t, ErrInvalid)
}

// Whatever the file of weights, it is refused or makes a
// network that has features of the width it says.
func FuzzLoad(f *testing.F) {
	tiny := Config{Name: "tiny", Size: 2, Blocks: []Block{{1, 2}}, Dense: [3]int{2, 1, 3}}
	picture := make([]byte, tiny.Size*tiny.Size*colours)
	all := randomWeights(data.Stream(1, "fuzz"), tiny)
	for i := range all {
		content := datatest.Must(safetensors.Encode(all[i:], nil))(f)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "w.safetensors")
		datatest.Check(t, os.WriteFile(path, content, 0o644))
		for _, up := range Layers() {
			n, err := Load(path, tiny, up)
			if err != nil {
				continue
			}
			if got := features(t, n, [][]byte{picture}, 1)[0]; len(got) != tiny.Width(up) {
				t.Errorf("%s has %d features, want %d", up, len(got), tiny.Width(up))
			}
		}
	})
}
