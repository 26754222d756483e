package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"l2mt/data"
	"l2mt/data/datatest"
)

// slowSVMLight reads sound svmlight text the obvious way: an independent
// account of labels, qids and entries as (row, index, value).
func slowSVMLight(t *testing.T, text string) (labels, qids []string, entries [][3]float64) {
	t.Helper()
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		for _, pair := range fields[1:] {
			index, value, _ := strings.Cut(pair, ":")
			if index == "qid" {
				qids = append(qids, value)
				continue
			}
			i := must(strconv.Atoi(index))(t)
			v := must(strconv.ParseFloat(value, 32))(t)
			if v != 0 {
				entries = append(entries, [3]float64{float64(len(labels)), float64(i), v})
			}
		}
		labels = append(labels, fields[0])
	}
	return labels, qids, entries
}

func TestSVMLightAgreesWithASlowReader(t *testing.T) {
	for seed := range uint64(200) {
		rng := data.Stream(seed, "test slow svmlight")
		from := rng.IntN(2)
		var text strings.Builder
		space := func() string { return []string{" ", "  ", "\t", " \t "}[rng.IntN(4)] }
		for range 1 + rng.IntN(30) {
			fmt.Fprintf(&text, "%s%d", []string{"", " ", "+"}[rng.IntN(3)], rng.IntN(3))
			if seed%3 == 0 {
				fmt.Fprintf(&text, "%sqid:%d", space(), rng.IntN(3))
			}
			for j := from; j < 40; j += 1 + rng.IntN(10) {
				v := []string{
					strconv.Itoa(rng.IntN(3)),
					strconv.Itoa(rng.IntN(1e9)),
					strconv.FormatFloat(rng.NormFloat64(), 'f', rng.IntN(12), 64),
					strconv.FormatFloat(rng.NormFloat64()*math.Exp(20*rng.NormFloat64()), 'g', -1, 32),
					"1.", ".5", "-0", "007", "123456789012345678901234", "1e-3",
				}[rng.IntN(10)]
				fmt.Fprintf(&text, "%s%d:%s", space(), j, v)
			}
			text.WriteString([]string{"\n", "\r\n", " \n", " # 1:2 comment\n", "\n\n", "\n# 3:4\n"}[rng.IntN(6)])
		}
		d := mustReadBytes(t, "a.svm", []byte(text.String()), Options{})
		labels, qids, entries := slowSVMLight(t, text.String())
		if slices.ContainsFunc(entries, func(e [3]float64) bool { return e[1] == 0 }) != (from == 0) {
			continue // by chance all values at index 0 are zero: the slow reader drops them
		}
		if d.X.Rows() != len(labels) || d.X.NNZ() != len(entries) || len(d.Group) != len(qids) {
			t.Fatalf("seed %d: %d rows, %d entries, %d qids; want %d, %d, %d", seed, d.X.Rows(), d.X.NNZ(), len(d.Group), len(labels), len(entries), len(qids))
		}
		for i, label := range labels {
			if d.Classes[d.Label[i]] != strings.TrimPrefix(label, "+") {
				t.Fatalf("seed %d: row %d has label %s, want %s", seed, i, d.Classes[d.Label[i]], label)
			}
			if qids != nil && d.Groups[d.Group[i]] != qids[i] {
				t.Fatalf("seed %d: row %d has group %s, want %s", seed, i, d.Groups[d.Group[i]], qids[i])
			}
		}
		for i := range labels {
			for p, v := range d.X.Row(i).Value {
				want := entries[0]
				entries = entries[1:]
				got := [3]float64{float64(i), float64(int(d.X.Row(i).Index[p]) + from), float64(v)}
				if got != want {
					t.Fatalf("seed %d: entry %v, want %v", seed, got, want)
				}
			}
		}
	}
}

func TestLinesComeWholeHoweverTheyAreRead(t *testing.T) {
	text := "1 1:1\n" + strings.Repeat("2 2:2\n", 3) + "1 3:" + strings.Repeat("0", 300<<10) + "1\n\n2 4:4"
	want := mustReadBytes(t, "a.svm", []byte(text+"\n"), Options{}).Fingerprint()
	for name, r := range map[string]io.Reader{
		"at once":          strings.NewReader(text),
		"end with content": iotest.DataErrReader(strings.NewReader(text)),
		"byte by byte":     iotest.OneByteReader(strings.NewReader(text)),
		"by halves":        iotest.HalfReader(strings.NewReader(text)),
	} {
		tab := must(parseSVMLight(r, Options{}))(t)
		if d, err := tab.dataset(name, Options{}); err != nil || d.Fingerprint() != want {
			t.Errorf("read %s it is another dataset (%v)", name, err)
		}
	}
	broken := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(text)))
	if _, err := parseSVMLight(broken, Options{}); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("error %v, want the reader's", err)
	}
}

func TestSVMLightColumns(t *testing.T) {
	for _, c := range []struct {
		text string
		o    Options
		cols int
	}{
		{"1 3:1\n", Options{}, 3},
		{"1 0:1 3:1\n", Options{}, 4},
		{"1 1:1\n2 7:0\n", Options{}, 7}, // a zero says how many columns there are
		{"1 1:1\n", Options{Columns: 9}, 9},
		{"1 0:1 8:1\n", Options{Columns: 9}, 9},
	} {
		if d := mustRead(t, inFile(t, "a.svm", c.text), c.o); d.X.Cols() != c.cols {
			t.Errorf("%q has %d columns, want %d", c.text, d.X.Cols(), c.cols)
		}
	}
}

func TestSVMLightRefusesBadLines(t *testing.T) {
	good := "1 1:1 2:0.5\n# comment\n\n"
	checkRefusals(t, ".svmlight", []refusal{
		{name: "nothing", content: "", is: data.ErrInvalid, want: "no rows"},
		{name: "comments alone", content: "# nothing\n\n", is: data.ErrInvalid, want: "no rows"},
		{name: "labels alone", content: "1\n2\n", is: data.ErrInvalid, want: "no features"},
		{name: "not text", content: "\x00\x01\x02:\x03", is: data.ErrFormat, want: "line 1"},
		{name: "NaN", content: good + "1 2:nan", is: data.ErrInvalid, want: "line 4: index 2: invalid data: the feature is nan"},
		{name: "infinite", content: good + "1 2:-Inf\n", is: data.ErrInvalid, want: "line 4: index 2: invalid data: the feature is -Inf"},
		{name: "beyond float32", content: good + "1 2:1e39\n", is: data.ErrInvalid, want: "line 4: index 2: invalid data: the feature is 1e39"},
		{name: "word as feature", content: good + "1 2:x 3:1\n", is: data.ErrFormat, want: `line 4: index 2: malformed file: the feature "x"`},
		{name: "no value", content: good + "1 2: 3:1\n", is: data.ErrFormat, want: `line 4: index 2: malformed file: the feature ""`},
		{name: "no colon", content: good + "1 2 3:1\n", is: data.ErrFormat, want: `line 4: malformed file: "2" is not index:value`},
		{name: "no index", content: good + "1 :2\n", is: data.ErrFormat, want: `":2" is not index:value`},
		{name: "negative index", content: good + "1 -1:2\n", is: data.ErrFormat, want: `"-1:2" is not index:value`},
		{name: "word as index", content: good + "1 a:2\n", is: data.ErrFormat, want: `"a:2" is not index:value`},
		{name: "index beyond int32", content: good + "1 2147483648:2\n", is: data.ErrInvalid, want: `line 4: invalid data: the index of "2147483648:2" is beyond`},
		{name: "index twice", content: good + "1 2:1 2:1\n", is: data.ErrInvalid, want: "line 4: invalid data: the index 2 occurs twice"},
		{name: "indices descend", content: good + "1 3:1 2:1\n", is: data.ErrInvalid, want: "line 4: invalid data: the index 2 comes after 3"},
		{name: "beyond the columns", content: good + "1 3:1\n1 5:1\n1 4:1", options: Options{Columns: 4}, is: data.ErrInvalid, want: "line 5: invalid data: it has more than the 4 columns"},
		{name: "several labels", content: good + "1,2 3:1\n", is: data.ErrFormat, want: `line 4: malformed file: the row has the labels "1,2"`},
		{name: "no label", content: good + "1:1 3:1\n", is: data.ErrFormat, want: `line 4: malformed file: it begins with "1:1"`},
		{name: "label without number", content: good + "nan 3:1\n", is: data.ErrInvalid, want: "line 4: label: invalid data: it is nan"},
		{name: "word among numbers", content: good + "x 3:1\n", is: data.ErrFormat, want: `line 4: label: malformed file: "x" is among`},
		{name: "number among words", content: "x 3:1\n1 3:1", is: data.ErrFormat, want: `line 2: label: malformed file: "1" is among`},
		{name: "word as target", content: good + "x 3:1\n", options: Options{Kind: data.Regression}, is: data.ErrFormat, want: `line 4: label: malformed file: "x" is not a number`},
		{name: "qid missing", content: "1 qid:1 1:1\n" + good, is: data.ErrFormat, want: "line 2: malformed file: either every row has a qid or none"},
		{name: "qid added", content: good + "1 qid:1 1:1\n", is: data.ErrFormat, want: "line 4: malformed file: either every row has a qid or none"},
		{name: "qid without number", content: "1 qid:a 1:1\n", is: data.ErrFormat, want: `line 1: malformed file: the qid "a"`},
	})
}

// fuzzed checks what a reader made of any input: a sound dataset that survives being
// written and read.
func fuzzed(t *testing.T, d *data.Dataset) {
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := WriteNPZ(&first, d); err != nil {
		return // names that NumPy cannot hold
	}
	again := mustReadBytes(t, "a.npz", first.Bytes(), Options{})
	if again.Fingerprint() != d.Fingerprint() {
		t.Fatal("the dataset changed on its way through a file")
	}
	if err := WriteNPZ(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatalf("written again the file differs (%v)", err)
	}
}

// addSeeds gives a fuzz target the files with one of the endings.
func addSeeds(f *testing.F, endings ...string) {
	f.Helper()
	files := must(os.ReadDir(formats))(f)
	for _, file := range files {
		if !slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(file.Name(), e) }) {
			continue
		}
		content := must(os.ReadFile(formats + file.Name()))(f)
		f.Add(content)
	}
}

func FuzzSVMLight(f *testing.F) {
	addSeeds(f, ".svmlight")
	for _, seed := range []string{"", "1 qid:3 1:2\n-1 qid:4 2:1e-3 # x\n", "1.5 0:1\n2 7:0\n", "a 1:.5\r\n\r\nb 2147483647:1", "1 1:1 1:2", "0x1p3 1:0x1p-2"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := fromBytes("fuzz.svm", text, Options{}); err == nil {
			fuzzed(t, d)
		}
	})
}

func BenchmarkReadSVMLight(b *testing.B) {
	path := datatest.Path(b, "20newsgroups", "20newsgroups.svmlight.gz")
	b.ReportAllocs()
	for b.Loop() {
		mustRead(b, path, Options{})
	}
}
