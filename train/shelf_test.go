package train

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/layers"
	"l2mt/model"
)

// mixed is made experience of all kinds: problems of different sizes, dense and
// sparse, classification and regression.
func mixed(t testing.TB, problems int) (examples []Example) {
	t.Helper()
	for i := range problems {
		seed := uint64(i)
		e := made(seed, 1, 2+i%3, 2+i%3, 8+2*(i%4), 5)[0]
		e.Problem.Problem.Name += " " + string(rune('a'+i%26)) + string(rune('a'+i/26))
		r := data.Stream(seed, "mixed")
		for j := range e.Problem.Tasks {
			task := &e.Problem.Tasks[j]
			if i%2 == 0 {
				thin(t, r.Float64, &task.TrainSet, 0.4)
			}
			if i%5 == 0 {
				task.Task.Kind = data.Regression
				for q := range task.TrainSet.Y {
					task.TrainSet.Y[q] = r.NormFloat64()
				}
			}
		}
		examples = append(examples, e)
	}
	return examples
}

// What is in memory never exceeds the limit, is accounted for to the byte, and
// is what there would be without one.
func TestAShelfKeepsToItsLimit(t *testing.T) {
	examples := mixed(t, 40)
	for _, dtype := range []layers.DType{layers.Float32, layers.Float64} {
		for _, hidden := range []int{1, 2} { // without and with label graphs
			c := config(t, "default", examples).Model
			c.DType, c.Layers = dtype, hidden
			all := shelved(t, c, examples)
			largest, total := int64(0), int64(0)
			for _, e := range all.examples {
				largest, total = max(largest, e.place.size), total+e.place.size
			}
			for _, limit := range []int64{largest, 3 * largest, total - 1, total} {
				s, err := newShelf(c, nil, limit, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				defer s.close()
				if err := s.fill(t.Context(), InMemory(examples), nil, 0, progress.Silent()); err != nil {
					t.Fatal(err)
				}
				r, most := data.Stream(uint64(limit), "loads"), int64(0)
				for range 300 {
					i := r.IntN(len(examples))
					payload, tuples := s.examples[i].content(t)
					wantPayload, wantTuples := all.examples[i].content(t)
					if !reflect.DeepEqual(payload, wantPayload) || !reflect.DeepEqual(tuples, wantTuples) {
						t.Fatalf("limit %d: %s is not what was put there", limit, s.examples[i].name)
					}
					live := int64(0)
					for _, e := range s.examples {
						if c := e.place.content; c != nil {
							live += c.payload.Bytes()
							for _, tuple := range c.tuples {
								live += int64(8 * (len(tuple.Omega) + 1))
							}
						}
					}
					most = max(most, live)
					if live > limit || live != s.used {
						t.Fatalf("limit %d: %d bytes are in memory, %d accounted for", limit, live, s.used)
					}
				}
				if limit == total && most != total {
					t.Errorf("with room for all %d bytes at most %d are used", total, most)
				}
			}
		}
	}
}

// A limit changes no byte of what a run leaves, whatever is trained.
func TestTrainingFromAFileComesToTheSameBytes(t *testing.T) {
	examples := mixed(t, 24)
	for name, change := range map[string]func(c *Config) model.Head{
		"problems":      func(*Config) model.Head { return nil },
		"tuples":        func(c *Config) model.Head { c.Batch = ByTuple; return nil },
		"a frozen head": func(*Config) model.Head { return someHead(1, widths(examples)...) },
		"a head":        func(c *Config) model.Head { c.TrainHead = HeadLast; return someHead(1, widths(examples)...) },
	} {
		c := config(t, "default", examples)
		change(&c)
		free, bound := t.TempDir(), t.TempDir()
		run(t, c, examples, Options{Out: free, Head: change(&c)})
		run(t, c, examples, Options{Out: bound, Head: change(&c), Memory: 9000})
		files, err := os.ReadDir(free)
		if err != nil || len(files) < 3 {
			t.Fatal(files, err)
		}
		left, err := os.ReadDir(bound)
		if err != nil || len(left) != len(files) {
			t.Errorf("%s: the run with a limit leaves %v, without %v", name, left, files)
		}
		for _, f := range files {
			a, err1 := os.ReadFile(filepath.Join(free, f.Name()))
			b, err2 := os.ReadFile(filepath.Join(bound, f.Name()))
			if err := errors.Join(err1, err2); err != nil || string(a) != string(b) {
				t.Errorf("%s: %s differs (%v)", name, f.Name(), err)
			}
		}
	}
}

func TestALimitThatCannotBeIsRefused(t *testing.T) {
	examples := small(1)
	c := config(t, "default", examples)
	for limit, says := range map[int64]string{-1: "0 means no limit", 100: "raise the limit"} {
		if _, err := Run(t.Context(), c, InMemory(examples), Options{Memory: limit}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("a limit of %d: the error is %v", limit, err)
		}
	}
}

// failing is a source whose third example cannot be had.
type failing struct{ InMemory }

var errGone = errors.New("it is gone")

func (f failing) Example(i int) (Example, error) {
	if i == 2 {
		return Example{}, errGone
	}
	return f.InMemory.Example(i)
}

func TestASourceThatFailsEndsTheRun(t *testing.T) {
	examples := small(1)
	if _, err := Run(t.Context(), config(t, "default", examples), failing{examples}, Options{}); !errors.Is(err, errGone) {
		t.Errorf("the error is %v", err)
	}
}
