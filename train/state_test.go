package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/files"
	"l2mt/data/safetensors"
	"l2mt/layers"
	"l2mt/model"
)

// A run that is cancelled before some step, any number of times, ends in the
// same bytes as one that is not.
func TestCancelledAndResumedIsUninterrupted(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	simple, measured := small(1), tested(t, 5, 5, 5)
	configured := func(of Config, update Update, dtype layers.DType, objective model.Objective) Config {
		of.Epochs, of.Update, of.Model.DType, of.Model.Objective = 4, update, dtype, objective
		return of
	}
	for _, way := range []struct {
		Config
		examples []Example
	}{
		{configured(config(t, "default", simple), ByTuple, layers.Float32, model.Scaled), simple},
		{configured(config(t, "default", simple), ByProblem, layers.Float64, model.Scaled), simple},
		{configured(config(t, "default", measured), ByProblem, layers.Float32, model.Found), measured},
		{configured(pairwise(t), ByProblem, layers.Float64, model.Found), measured},
	} {
		c, examples, update := way.Config, way.examples, fmt.Sprint(way.Update, ", ", way.Model.Objective, ", ", way.Model.Body)
		whole := t.TempDir()
		want := run(t, c, examples, Options{Out: whole})
		dir, r := t.TempDir(), data.Stream(1, "cancel")
		got, stops := resumed(t, c, examples, Options{Out: dir}, func() int { return 1 + r.IntN(6) })
		datatest.Holds(t, len(got.Metrics) == len(want.Metrics) && got.Best == want.Best,
			"update %s: %d epochs of which %d is the best, want %d and %d", update, len(got.Metrics)-1, got.Best, len(want.Metrics)-1, want.Best)
		datatest.Holds(t, stops >= 2, "update %s: cancelled %d times only", update, stops)
		compareFiles(t, "cancelled and resumed", dir, whole)
	}
}

// childDir is the environment variable that makes TestChild train there.
const childDir = "L2MT_TEST_TRAIN_DIR"

// large is experience whose products are divided among threads.
func large(t testing.TB) ([]Example, Config) {
	examples := made(3, 3, 6, 3, 50, 300)
	c := config(t, "default", examples)
	c.Model.Hidden, c.Model.DType, c.Epochs = 50, layers.Float32, 6
	return examples, c
}

func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("this is the process that other tests start and kill")
	}
	examples, c := large(t)
	run(t, c, examples, Options{Out: dir})
}

func child(t testing.TB, dir string, env ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], "-test.run=^TestChild$")
	c.Env = append(append(os.Environ(), childDir+"="+dir), env...)
	return c
}

func TestTheSameSeedGivesTheSameBytesForAnyGOMAXPROCS(t *testing.T) {
	t.Parallel()
	examples, c := large(t)
	here := t.TempDir()
	run(t, c, examples, Options{Out: here})
	for _, procs := range []string{"1", "4"} {
		dir := t.TempDir()
		out, err := child(t, dir, "GOMAXPROCS="+procs).CombinedOutput()
		datatest.Need(t, err == nil, "GOMAXPROCS=%s: %v\n%s", procs, err, out)
		compareFiles(t, "GOMAXPROCS="+procs, dir, here)
	}
	other := t.TempDir()
	c.Seed++
	run(t, c, examples, Options{Out: other})
	datatest.Holds(t, contents(t, other)[model.WeightsFile] != contents(t, here)[model.WeightsFile],
		"another seed gives the same weights")
}

// The kernels in assembly and those in Go add in other orders. Over a dozen steps in
// float32 the weights differ by what rounding does, and no more.
func TestTheGenericKernelsComeToTheSameWeights(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	const tolerance = 1e-4 // of the largest weight
	var ends [][]safetensors.Tensor
	for _, kernels := range []string{"", "generic"} {
		dir := t.TempDir()
		out, err := child(t, dir, "L2MT_BLAS="+kernels).CombinedOutput()
		datatest.Need(t, err == nil, "L2MT_BLAS=%s: %v\n%s", kernels, err, out)
		tensors, _, err := safetensors.Read(filepath.Join(dir, StateFile))
		datatest.Check(t, err)
		ends = append(ends, slices.DeleteFunc(tensors, func(p safetensors.Tensor) bool { return !strings.HasPrefix(p.Name, paramsPrefix) }))
	}
	for i, p := range ends[0] {
		largest, gap := 0.0, 0.0
		for j, v := range p.Value {
			largest, gap = max(largest, math.Abs(v)), max(gap, math.Abs(v-ends[1][i].Value[j]))
		}
		t.Logf("%s: %.2g, the largest is %.2g", p.Name, gap, largest)
		datatest.Holds(t, largest != 0 && gap <= tolerance*largest,
			"%s differs by %v, the largest weight is %v", p.Name, gap, largest)
	}
}

func TestARunWithOtherSettingsOrExperienceIsNotResumed(t *testing.T) {
	datatest.Long(t)
	examples := small(1)
	c := config(t, "default", examples)
	dir := t.TempDir()
	run(t, c, examples, Options{Out: dir})
	before := contents(t, dir)
	for want, change := range map[string]func(c *Config){
		"epochs is 4 there and 5 here":                                       func(c *Config) { c.Epochs = 5 },
		"train.embedding_rate is 0.0003 there and 0.001 here":                func(c *Config) { c.EmbeddingRate = 1e-3 },
		"seed is 1 there and 2 here":                                         func(c *Config) { c.Seed = 2 },
		"estimator is odd-kernel there and relu here":                        func(c *Config) { c.Model.Estimator = "relu" },
		"model.hidden is 6 there and 7 here, train.rate is 0.01 there":       func(c *Config) { c.Model.Hidden, c.Rate = 7, 0.1 },
		"dtype is float64 there and float32 here":                            func(c *Config) { c.Model.DType = layers.Float32 },
		"model.unit is true there and false here, model.objective is scaled": func(c *Config) { c.Model.Unit, c.Model.Objective = false, model.Paper },
	} {
		other := c
		change(&other)
		datatest.Refused(Run(t.Context(), other, examples, Options{Out: dir}))(t, ErrResume, want, dir)
	}
	examples[3].Tuples = examples[3].Tuples[1:]
	datatest.Refused(Run(t.Context(), c, examples, Options{Out: dir}))(t, ErrResume, "other experience")
	for name, content := range contents(t, dir) {
		datatest.Holds(t, before[name] == content, "a refused run changes %s", name)
	}
}

func TestAStateThatIsNotOneIsRefused(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	examples := small(1)
	c := config(t, "default", examples)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	datatest.Refused(Run(ctx, c, examples, Options{Out: dir, Progress: &spy{at: 10, stop: cancel}}))(t, context.Canceled)
	path := filepath.Join(dir, StateFile)
	good := datatest.Must(os.ReadFile(path))(t)
	resume := func(content []byte) error {
		datatest.Check(t, os.WriteFile(path, content, 0o644))
		_, err := Run(t.Context(), c, examples, Options{Out: dir})
		return err
	}
	refused := func(what string, content []byte) {
		t.Helper()
		datatest.Says(t, resume(content), ErrResume, path)
	}
	whole := t.TempDir()
	run(t, c, examples, Options{Out: whole})
	for seed := range uint64(30) {
		r := data.Stream(seed, "corrupt")
		bad := bytes.Clone(good)
		at := r.IntN(len(bad))
		bad[at] ^= 1 << r.IntN(8)
		refused("a cut file", good[:at])
		switch err := resume(bad); {
		case err == nil: // such as a capital letter in a key of the header
			compareFiles(t, "a flipped bit that is overlooked", dir, whole)
		case !errors.Is(err, ErrResume) || !strings.Contains(err.Error(), path):
			t.Errorf("seed %d: a flipped bit: the error is %v", seed, err)
		}
	}
	refused("an empty file", nil)

	tensors, metadata, err := safetensors.Decode(good)
	datatest.Check(t, err)
	rewrite := func(what string, tensors []model.Tensor, old, new string) {
		t.Helper()
		text := metadata[stateKey]
		datatest.Need(t, strings.Contains(text, old), "%s: the state has no %q: %s", what, old, text)
		text = strings.Replace(text, old, new, 1)
		refused(what, sealed(t, tensors, text))
	}
	rewrite("a missing tensor", tensors[1:], "", "")
	rewrite("another schema", tensors, `"schema":6`, `"schema":9`)
	rewrite("a step past the end", tensors, `"step":3`, `"step":7`) // 7 steps an epoch, stopped after 10
	rewrite("a step before the start", tensors, `"step":3`, `"step":-1`)
	rewrite("text for a number", tensors, `"step":3`, `"step":"3"`)
	datatest.Check(t, os.WriteFile(path, good, 0o644))
	run(t, c, examples, Options{Out: dir})
}

// sealed is a file of a state with a right checksum.
func sealed(t *testing.T, tensors []model.Tensor, text string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sealed")
	datatest.Check(t, safetensors.Write(path, tensors, map[string]string{stateKey: text, sumKey: files.Sum([]byte(text))}))
	return datatest.Must(os.ReadFile(path))(t)
}

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
	f.Add([]byte{}, `{"schema":6,"metrics":[]}`)
	f.Add(good, `null`)
	at := trainerOf(f, c, examples, Options{Out: f.TempDir()})
	path = filepath.Join(at.options.Out, StateFile)
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		for _, content := range [][]byte{raw, sealed(t, tensors, text)} {
			datatest.Check(t, os.WriteFile(path, content, 0o644))
			at.state = state{}
			if err := at.resume(t.Context()); err != nil {
				continue
			}
			datatest.Holds(t, at.finished() == (len(at.state.Metrics)-1 == c.Epochs),
				"finished with %d metrics", len(at.state.Metrics))
			at.report()
		}
	})
}
