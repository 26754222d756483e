package command

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"l2mt/data"
)

// BenchmarkPredict predicts a table of 20,000 x 64. Its peer is what a Go program
// of a few lines does: encoding/csv, strconv, and a product.
func BenchmarkPredict(b *testing.B) {
	const n, d = 20_000, 64
	dir := b.TempDir()
	var header, body, labelled strings.Builder
	for j := range d {
		fmt.Fprintf(&header, "f%d,", j)
	}
	random := data.Stream(1, "benchmark")
	for i := range n {
		for range d {
			fmt.Fprintf(&body, "%.6g,", random.NormFloat64())
		}
		fmt.Fprintf(&body, "%d\n", i%8)
		if i == 400 {
			for k, line := range strings.Split(strings.TrimSpace(body.String()), "\n") {
				fmt.Fprintf(&labelled, "%s,%d.5\n", line, k)
			}
		}
	}
	path := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		return file
	}
	train := path("train.csv", header.String()+"task,y\n"+labelled.String())
	rows := path("rows.csv", header.String()+"task\n"+body.String())
	model, out := filepath.Join(dir, "model"), filepath.Join(dir, "out.csv")
	if code, _, stderr := l2mt(b, "-q", "fit", train, "--task", "task", "--model", "stl", "--out", model); code != exitDone {
		b.Fatal(stderr)
	}
	b.Run("l2mt", func(b *testing.B) {
		b.SetBytes(int64(body.Len()))
		for b.Loop() {
			if code, _, stderr := l2mt(b, "-q", "predict", "--model", model, rows, "--out", out); code != exitDone {
				b.Fatal(stderr)
			}
		}
	})
	b.Run("peer", func(b *testing.B) {
		b.SetBytes(int64(body.Len()))
		for b.Loop() {
			f := must(os.Open(rows))(b)
			in := csv.NewReader(f)
			in.ReuseRecord = true
			sum := 0.0
			for k := 0; ; k++ {
				row, err := in.Read()
				if err == io.EOF {
					break
				}
				if k == 0 {
					continue
				}
				for j := range d {
					v := must(strconv.ParseFloat(row[j], 64))(b)
					sum += v * float64(j)
				}
			}
			f.Close()
		}
	})
}
