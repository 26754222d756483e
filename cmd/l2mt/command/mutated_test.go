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
	"strings"
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
	formats := datatest.Must(filepath.Abs(filepath.Join("..", "..", "..", "testdata", "formats")))(t)
	in := func(name string) []byte { return datatest.Must(os.ReadFile(filepath.Join(formats, name)))(t) }
	t.Chdir(tinyStudy(t))
	datatest.Check(t, os.WriteFile("alike.csv", []byte(alike()), 0o600))
	mustL2mt(t, "-q", "fit", "alike.csv", "--task", "task", "--target", "y", "--out", "fitted")
	for _, r := range []struct {
		name, args string // of the file, which is made if there is content, and of a command that reads it
		content    []byte
		repack     func(t *testing.T, random *rand.Rand, content []byte) []byte
		unread     bool // the format is refused, damaged or not
	}{
		{name: "a.csv", content: in("table.csv"), args: "data info a.csv"},
		{name: "a.tsv", content: in("table.tsv"), args: "data info a.tsv"},
		{name: "a.csv.gz", content: in("table.csv.gz"), repack: regzip, args: "data info a.csv.gz"},
		{name: "a.svmlight", content: in("table.svmlight"), args: "data info a.svmlight"},
		{name: "a.svmlight.gz", content: gzipped(in("table.svmlight")), repack: regzip, args: "data info a.svmlight.gz"},
		{name: "a.parquet", content: in("people.parquet"), args: "data info a.parquet"},
		{name: "a.npy", content: in("array.npy"), args: "data info a.npy", unread: true},
		{name: "a.npz", content: in("tasks.npz"), repack: rezip, args: "data info a.npz"},
		{name: "sparse.npz", content: in("table-sparse.npz"), repack: rezip, args: "data info sparse.npz"},
		{name: "a.mat", content: []byte("MATLAB 5.0 MAT-file"), args: "data info a.mat", unread: true},
		{name: "a.toml", content: datatest.Must(shipped.ReadFile("experiments/fig2.toml"))(t), args: "sweep a.toml --show"},
		{name: "fit.csv", content: []byte(alike()), args: "fit fit.csv --task task --target y --model stl --lambda1 0.1"},
		{name: "predict.csv", content: []byte(alike()), args: "predict predict.csv --model fitted"},
		{name: "p/test.json", args: "problems check p/test.json"},
		{name: "e/shard-0-of-1.jsonl", args: "experience check e"},
		{name: "n/weights.safetensors", args: "report n"},
		{name: "n/config.json", args: "report n"},
		{name: "n/metrics.jsonl", args: "report n"},
		{name: "fitted/weights.safetensors", args: "predict alike.csv --model fitted"},
		{name: "fitted/model.json", args: "show fitted"},
	} {
		t.Run(r.name, func(t *testing.T) {
			content := r.content
			if content == nil {
				content = datatest.Must(os.ReadFile(r.name))(t)
				defer func() { os.WriteFile(r.name, content, 0o600) }()
			}
			attack := func(content []byte, what string) (done bool) {
				datatest.Check(t, os.WriteFile(r.name, content, 0o600))
				return attacked(t, r.name+", "+what, strings.Fields(r.args)) == exitDone
			}
			datatest.Need(t, attack(content, "undamaged") != r.unread, "%s: undamaged it is read: %v", r.args, r.unread)
			refused := 0
			for seed := range uint64(mutations) {
				random := data.Stream(seed, "mutated "+r.name)
				var damaged []byte
				if r.repack != nil && seed%2 == 0 {
					damaged = r.repack(t, random, content)
				} else {
					damaged = mutate(random, content)
				}
				if !attack(damaged, fmt.Sprint("seed ", seed)) {
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
func regzip(t *testing.T, random *rand.Rand, content []byte) []byte {
	z := datatest.Must(gzip.NewReader(bytes.NewReader(content)))(t)
	return gzipped(mutate(random, datatest.Must(io.ReadAll(z))(t)))
}

// rezip damages one array, so that its checksum is right.
func rezip(t *testing.T, random *rand.Rand, content []byte) []byte {
	z := datatest.Must(zip.NewReader(bytes.NewReader(content), int64(len(content))))(t)
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	damaged := random.IntN(len(z.File))
	for i, f := range z.File {
		array := datatest.Must(io.ReadAll(datatest.Must(f.Open())(t)))(t)
		if i == damaged {
			array = mutate(random, array)
		}
		w, _ := out.Create(f.Name)
		w.Write(array)
	}
	out.Close()
	return b.Bytes()
}
