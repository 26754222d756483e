package vgg

import (
	"os"
	"path/filepath"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/safetensors"
)

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
