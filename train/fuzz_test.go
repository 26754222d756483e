package train

import (
	"os"
	"path/filepath"
	"testing"

	"l2mt/data/datatest"
	"l2mt/data/safetensors"
)

// Whatever stands where a run left its state, it is refused, or a run goes on
// from it that can be reported. Texts also come with a right checksum in a
// sound file, without which nothing gets past the first test.
func FuzzState(f *testing.F) {
	examples := small(1)
	c := config(f, "default", examples)
	c.Epochs = 2
	dir := f.TempDir()
	run(f, c, examples, Options{Out: dir})
	path := filepath.Join(dir, StateFile)
	good := datatest.Must(os.ReadFile(path))(f)
	tensors, metadata, err := safetensors.Decode(good)
	datatest.Check(f, err)
	f.Add(good, metadata[stateKey])
	f.Add(good[:len(good)-9], `{"schema":6,"config":[]}`)
	f.Add([]byte{}, `{"schema":5,"metrics":[]}`)
	f.Add(good, `null`)
	at := trainerOf(f, c, examples, Options{Out: f.TempDir()})
	path = filepath.Join(at.options.Out, StateFile)
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		sealed := datatest.Must(safetensors.Encode(tensors, map[string]string{stateKey: text, sumKey: checksum([]byte(text))}))(t)
		for _, content := range [][]byte{raw, sealed} {
			datatest.Check(t, os.WriteFile(path, content, 0o644))
			at.state = state{}
			if err := at.resume(t.Context(), nil); err != nil {
				continue
			}
			if at.finished() != (len(at.state.Metrics)-1 == c.Epochs) {
				t.Errorf("finished with %d metrics", len(at.state.Metrics))
			}
			at.report()
		}
	})
}
