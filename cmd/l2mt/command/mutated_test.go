package command

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"l2mt/data"
	"l2mt/data/datatest"
)

const (
	// mutations are made of every file.
	mutations = 100
	// memoryBound bounds the bytes that reading a damaged file allocates in all, garbage too.
	memoryBound = 300 << 20
	// timeBound bounds the time it takes.
	timeBound = 20 * time.Second
)

// Files that are damaged in any way are read or refused by every reader: without a panic, a
// hang, or the memory for what they claim to be.
func TestMutatedFiles(t *testing.T) {
	datatest.Long(t)
	formats := filepath.Join("..", "..", "..", "testdata", "formats")
	in := func(name string) []byte { return datatest.Must(os.ReadFile(filepath.Join(formats, name)))(t) }
	network, problems := tinyNetwork(t)
	experience := tinyExperience(t)
	shards := datatest.Must(filepath.Glob(filepath.Join(experience, "*.jsonl")))(t)
	fitted := filepath.Join(t.TempDir(), "fitted")
	table := write(t, "alike.csv", alike())
	mustL2mt(t, "-q", "fit", table, "--task", "task", "--target", "y", "--out", fitted)
	info := []string{"data", "info", "FILE"}
	page := []string{"report", filepath.Dir(network)}
	for _, r := range []struct {
		name, path string // a path where a file lies among others
		content    []byte
		repack     func(random *rand.Rand, content []byte) []byte
		args       []string
		unread     bool // the format is refused, damaged or not
	}{
		{name: "a.csv", content: in("table.csv"), args: info},
		{name: "a.tsv", content: in("table.tsv"), args: info},
		{name: "a.csv.gz", content: in("table.csv.gz"), repack: regzip, args: info},
		{name: "a.svmlight", content: in("table.svmlight"), args: info},
		{name: "a.svmlight.gz", content: gzipped(in("table.svmlight")), repack: regzip, args: info},
		{name: "a.parquet", content: in("people.parquet"), args: info},
		{name: "a.npy", content: in("array.npy"), args: info, unread: true},
		{name: "a.npz", content: in("tasks.npz"), repack: rezip, args: info},
		{name: "sparse.npz", content: in("table-sparse.npz"), repack: rezip, args: info},
		{name: "a.mat", content: []byte("MATLAB 5.0 MAT-file"), args: info, unread: true},
		{name: "a.toml", content: datatest.Must(shipped.ReadFile("experiments/fig2.toml"))(t), args: []string{"sweep", "FILE", "--show"}},
		{name: "fit.csv", content: []byte(alike()), args: []string{"fit", "FILE", "--task", "task", "--target", "y", "--model", "stl", "--lambda1", "0.1"}},
		{name: "predict.csv", content: []byte(alike()), args: []string{"predict", "FILE", "--model", fitted}},
		{name: "problems", path: problems, args: []string{"problems", "check", "FILE"}},
		{name: "tuples", path: shards[0], args: []string{"experience", "check", experience}},
		{name: "network", path: filepath.Join(network, "weights.safetensors"), args: page},
		{name: "configuration", path: filepath.Join(network, "config.json"), args: page},
		{name: "metrics", path: filepath.Join(network, metricsFile), args: page},
		{name: "weights", path: filepath.Join(fitted, "weights.safetensors"), args: []string{"predict", table, "--model", fitted}},
		{name: "model", path: filepath.Join(fitted, "model.json"), args: []string{"show", fitted}},
	} {
		t.Run(r.name, func(t *testing.T) {
			path, content := r.path, r.content
			if path == "" {
				path = filepath.Join(t.TempDir(), r.name)
			} else {
				content = datatest.Must(os.ReadFile(path))(t)
				defer func() { os.WriteFile(path, content, 0o600) }()
			}
			args := slices.Clone(r.args)
			if i := slices.Index(args, "FILE"); i >= 0 {
				args[i] = path
			}
			attack := func(content []byte, what string) (done bool) {
				datatest.Check(t, os.WriteFile(path, content, 0o600))
				return attacked(t, r.name+", "+what, args) == exitDone
			}
			datatest.Need(t, attack(content, "undamaged") != r.unread, "%v: undamaged it is read: %v", args, r.unread)
			refused := 0
			for seed := range uint64(mutations) {
				random := data.Stream(seed, "mutated "+r.name)
				damage := mutate
				if r.repack != nil && seed%2 == 0 {
					damage = r.repack
				}
				if !attack(damage(random, content), fmt.Sprint("seed ", seed)) {
					refused++
				}
			}
			t.Logf("seeds 0..%d: %d of %d files refused", mutations-1, refused, mutations)
		})
	}
}

// inside is what errors say of the inside of the program.
var inside = regexp.MustCompile(`template:|runtime error|goroutine|negative offset|bufio`)

// attacked runs a command on a damaged file.
func attacked(t *testing.T, file string, args []string) (code int) {
	t.Helper()
	defer func() {
		fault := recover()
		datatest.Holds(t, fault == nil, "%s: %v\n%s", file, fault, debug.Stack())
	}()
	ctx, cancel := context.WithTimeout(context.Background(), timeBound)
	defer cancel()
	var stderr bytes.Buffer
	n := datatest.Allocated(func() { code = runHere(ctx, append([]string{"-q"}, args...), io.Discard, &stderr) })
	datatest.Holds(t, n <= memoryBound, "%s: %d bytes allocated, more than %d", file, n, memoryBound)
	datatest.Holds(t, !inside.Match(stderr.Bytes()), "%s: an error for programmers: %s", file, &stderr)
	datatest.Holds(t, ctx.Err() == nil, "%s: it takes longer than %v", file, timeBound)
	return code
}

// extremes are what numbers and texts are replaced by.
var extremes = []string{"-1", "0", "1e308", "-1e-320", "NaN", "Inf", "99999999999", "9223372036854775807", "", "\"", "null", "[[[[", "{", ",,,,,,,,", "\n\n", "\x00", "\xff\xfe", "\r", "é"}

// mutate damages content in one to three ways.
func mutate(random *rand.Rand, content []byte) []byte {
	content = slices.Clone(content)
	for range 1 + random.IntN(3) {
		if len(content) == 0 {
			break
		}
		from := random.IntN(len(content))
		to := min(len(content), from+1+random.IntN(1+random.IntN(40)))
		switch random.IntN(6) {
		case 0:
			content[from] ^= 1 << random.IntN(8)
		case 1:
			content = content[:from]
		case 2:
			content = slices.Delete(content, from, to)
		case 3:
			content = slices.Insert(content, from, bytes.Repeat(content[from:to], 1+random.IntN(200))...)
		case 4:
			content = slices.Replace(content, from, to, []byte(extremes[random.IntN(len(extremes))])...)
		default: // a number, if one follows
			i := bytes.IndexAny(content[from:], "0123456789")
			if i < 0 {
				continue
			}
			from += i
			digits := len(content[from:]) - len(bytes.TrimLeft(content[from:], "0123456789.e"))
			content = slices.Replace(content, from, from+digits, []byte(extremes[random.IntN(len(extremes))])...)
		}
	}
	return content
}

func gzipped(content []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(content)
	z.Close()
	return b.Bytes()
}

// regzip damages what is packed, so that its checksum is right.
func regzip(random *rand.Rand, content []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	return gzipped(mutate(random, text))
}

// rezip damages one array, so that its checksum is right.
func rezip(random *rand.Rand, content []byte) []byte {
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	damaged := random.IntN(len(z.File))
	for i, f := range z.File {
		r, _ := f.Open()
		array, err := io.ReadAll(r)
		if err != nil {
			panic(err)
		}
		if i == damaged {
			array = mutate(random, array)
		}
		w, _ := out.Create(f.Name)
		w.Write(array)
	}
	out.Close()
	return b.Bytes()
}
