package format

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"l2mt/data"
	"l2mt/data/datatest"
)

const formats = "../../testdata/formats/"

func nan() float64 { return math.NaN() }

// inFile writes content to a file of that name.
func inFile(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func mustRead(t testing.TB, path string, o Options) *data.Dataset {
	t.Helper()
	d, err := Read(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// fromBytes reads content as Read would read it from a file of that name, but
// without the file, which would be slow.
func fromBytes(name string, content []byte, o Options) (*data.Dataset, error) {
	format, err := formatOfName(name)
	if err != nil {
		return nil, err
	}
	var t *table
	r := bytes.NewReader(content)
	switch format {
	case SVMLight:
		t, err = parseSVMLight(r, o)
	case CSV:
		return ReadCSV(r, name, o)
	case NPY:
		t, err = parseNPY(r, r.Size(), o)
	case NPZ:
		t, err = parseNPZ(r, r.Size(), o)
	}
	if err != nil {
		return nil, err
	}
	return t.dataset(name, o)
}

func mustReadBytes(t testing.TB, name string, content []byte, o Options) *data.Dataset {
	t.Helper()
	d, err := fromBytes(name, content, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// tableDataset is the content of the files table.*, as their maker states it.
func tableDataset(t testing.TB) *data.Dataset {
	t.Helper()
	x, err := data.NewDense(8, 5, []float32{
		0, 1.5, 0, -2, 0,
		3, 0, 0.25, 0, 0,
		0, 0, 0, 0, 0,
		1, 2, 3, 4, 5,
		-0.5, 0, 1024, 0, 0,
		0, 1. / 1024, 0, 7, 0,
		2, 2, 2, 2, 0,
		0, 0, 0, -1, 0,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &data.Dataset{X: x, Label: []int32{1, 0, 2, 0, 1, 2, 0, 1}, Classes: []string{"1", "2", "5"}}
}

func TestAllFormatsGiveTheSameDataset(t *testing.T) {
	want := tableDataset(t).Fingerprint()
	paths, err := filepath.Glob(formats + "table*")
	if err != nil || len(paths) != 12 {
		t.Fatalf("%d files (%v), want 12", len(paths), err)
	}
	for _, path := range paths {
		d := mustRead(t, path, Options{})
		if d.Fingerprint() != want {
			t.Errorf("%s: a different dataset: %d x %d, classes %q", path, d.X.Rows(), d.X.Cols(), d.Classes)
		}
		if d.Name != path {
			t.Errorf("%s: named %s", path, d.Name)
		}
	}
}

func TestFormatAskedForBeatsTheName(t *testing.T) {
	text, err := os.ReadFile(formats + "table.svmlight")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.csv", "b", "c.npz"} {
		for _, content := range []string{string(text), packed(t, string(text))} {
			d := mustRead(t, inFile(t, name, content), Options{Format: SVMLight})
			if d.Fingerprint() != tableDataset(t).Fingerprint() {
				t.Errorf("%s is a different dataset", name)
			}
		}
	}
}

func TestReadCSVUnpacks(t *testing.T) {
	content, err := os.ReadFile(formats + "table.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	d, err := ReadCSV(bytes.NewReader(content), "embedded", Options{})
	if err != nil || d.Name != "embedded" || d.Fingerprint() != tableDataset(t).Fingerprint() {
		t.Errorf("a different dataset (%v)", err)
	}
}

func TestNamesFromFiles(t *testing.T) {
	classes := inFile(t, "classes.txt", "one\r\ntwo\nthree\nfour\nfive")
	features := inFile(t, "features.txt.gz", packed(t, "a\nb\nc\nd\ne\nf\n"))
	d := mustRead(t, formats+"table.svmlight", Options{ClassNames: classes, FeatureNames: features})
	if want := []string{"one", "two", "three", "four", "five"}; !slices.Equal(d.Classes, want) {
		t.Errorf("classes %q, want %q", d.Classes, want)
	}
	if want := []int32{1, 0, 4, 0, 1, 4, 0, 1}; !slices.Equal(d.Label, want) {
		t.Errorf("labels %v, want %v", d.Label, want)
	}
	if d.X.Cols() != 6 || len(d.Features) != 6 {
		t.Errorf("%d columns, %d names; the names say 6", d.X.Cols(), len(d.Features))
	}
	for content, want := range map[string]string{
		"":           "it holds no names",
		"a\n\nb":     "line 2: malformed file: the name \"\" is empty",
		"a\nb\na\nc": "line 3: malformed file: the name \"a\" is empty or occurs twice",
		"a\nb":       "5 columns but 2 feature names",
	} {
		_, err := Read(formats+"table.npz", Options{FeatureNames: inFile(t, "names", content)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("names %q: error %v, want %q", content, err, want)
		}
	}
}

// randomDataset draws a dataset of any kind that files must carry.
func randomDataset(rng *rand.Rand) *data.Dataset {
	n, cols := 1+rng.IntN(12), 1+rng.IntN(6)
	begin, index, value := []int{0}, []int32{}, []float32{}
	dense := make([]float32, n*cols)
	for i := range n {
		for j := range cols {
			if rng.IntN(3) > 0 {
				continue
			}
			v := float32(rng.NormFloat64() * math.Exp(10*rng.NormFloat64()))
			if rng.IntN(2) == 0 {
				v = float32(rng.IntN(2000))
			}
			dense[i*cols+j] = v
			index, value = append(index, int32(j)), append(value, v)
		}
		begin = append(begin, len(index))
	}
	d := &data.Dataset{Name: "made"}
	d.X, _ = data.NewDense(n, cols, dense)
	if rng.IntN(2) == 0 {
		d.X, _ = data.NewCSR(cols, begin, index, value)
	}
	if rng.IntN(3) == 0 {
		d.Target = make([]float64, n)
		for i := range d.Target {
			d.Target[i] = float64(rng.IntN(3)) * 1.1
		}
	} else {
		d.Label, d.Classes = randomClasses(rng, n)
	}
	if rng.IntN(2) == 0 {
		d.Group, d.Groups = randomClasses(rng, n)
	}
	if rng.IntN(2) == 0 {
		for j := range cols {
			d.Features = append(d.Features, strings.Repeat("é", j)+"word")
		}
	}
	if rng.IntN(2) == 0 {
		d.Steps = []data.Step{{Kind: data.StepUnit, Cols: cols}, {Kind: data.StepStandardise, Cols: cols, Mean: []float64{rng.NormFloat64()}}}
	}
	return d
}

// randomClasses draws classes, numbered or named, some of them perhaps empty.
func randomClasses(rng *rand.Rand, n int) ([]int32, []string) {
	var names []string
	first, numbered := rng.IntN(4)-2, rng.IntN(2) == 0
	for c := range 1 + rng.IntN(4) {
		name := strconv.Itoa(first + 3*c)
		if !numbered {
			name = fmt.Sprintf("class %d ☂", c)
		}
		names = append(names, name)
	}
	index := make([]int32, n)
	for i := range index {
		index[i] = rng.Int32N(int32(len(names)))
	}
	return index, names
}

func TestNPZKeepsEverything(t *testing.T) {
	for seed := range uint64(150) {
		d := randomDataset(data.Stream(seed, "test npz"))
		var first, second bytes.Buffer
		if err := WriteNPZ(&first, d); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		again := mustReadBytes(t, "a.npz", first.Bytes(), Options{})
		if again.Fingerprint() != d.Fingerprint() || again.X.NNZ() != d.X.NNZ() {
			t.Fatalf("seed %d: the dataset changed", seed)
		}
		if diff := cmp.Diff(d.Features, again.Features) + cmp.Diff(d.Steps, again.Steps); diff != "" {
			t.Fatalf("seed %d: features or steps changed: %s", seed, diff)
		}
		if err := WriteNPZ(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("seed %d: written again the file differs (%v)", seed, err)
		}
	}
}

// renamed is the dataset as svmlight can hold it: classes and groups without
// rows are gone and names that are no whole numbers are numbered.
func renamed(t *testing.T, d *data.Dataset) *data.Dataset {
	t.Helper()
	r := &data.Dataset{X: d.X, Target: d.Target}
	for _, part := range []struct {
		index []int32
		names []string
		set   func(*values, []string) error
	}{
		{d.Label, d.Classes, func(v *values, names []string) error { return setLabels(r, v, names, data.Classification) }},
		{d.Group, d.Groups, func(v *values, names []string) error { return setGroups(r, v, names) }},
	} {
		if part.index == nil {
			continue
		}
		v := &values{}
		for _, c := range part.index {
			number, err := strconv.ParseFloat(part.names[c], 64)
			if err != nil {
				number = float64(c + 1)
			}
			v.number = append(v.number, number)
		}
		if err := part.set(v, nil); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestSVMLightRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		d := randomDataset(data.Stream(seed, "test svmlight"))
		o := Options{Kind: data.Classification}
		if d.Regression() {
			o.Kind = data.Regression
		}
		var first, second bytes.Buffer
		if err := WriteSVMLight(&first, d); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		again := mustReadBytes(t, "a.svm", first.Bytes(), o)
		if again.Fingerprint() != renamed(t, d).Fingerprint() {
			t.Fatalf("seed %d: the dataset changed:\n%s", seed, first.String())
		}
		if err := WriteSVMLight(&second, again); err != nil || first.String() != second.String() {
			t.Fatalf("seed %d: written again the file differs (%v):\n%s\n%s", seed, err, first.String(), second.String())
		}
	}
}

// asCSV writes a dataset as a table with the label first, and then the group.
func asCSV(d *data.Dataset) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	for i := range d.X.Rows() {
		var record []string
		if d.Regression() {
			record = append(record, fmt.Sprint(d.Target[i]))
		} else {
			record = append(record, d.Classes[d.Label[i]])
		}
		if d.Group != nil {
			record = append(record, d.Groups[d.Group[i]])
		}
		dense := make([]float32, d.X.Cols())
		for p, v := range d.X.Row(i).Value {
			j := p
			if d.X.Row(i).Index != nil {
				j = int(d.X.Row(i).Index[p])
			}
			dense[j] = v
		}
		for _, v := range dense {
			record = append(record, fmt.Sprint(v))
		}
		w.Write(record)
	}
	w.Flush()
	return b.String()
}

func TestFormatsAgreeOnRandomData(t *testing.T) {
	for seed := range uint64(300) {
		d := renamed(t, randomDataset(data.Stream(seed, "test formats")))
		o := Options{Kind: data.Classification, Header: HeaderNo, Label: "0"}
		if d.Regression() {
			o.Kind = data.Regression
		}
		if d.Group != nil {
			o.Group = "1"
		}
		table := mustReadBytes(t, "a.csv.gz", []byte(packed(t, asCSV(d))), o)
		var text bytes.Buffer
		if err := WriteSVMLight(&text, d); err != nil {
			t.Fatal(err)
		}
		lines := mustReadBytes(t, "a.svm", text.Bytes(), Options{Kind: o.Kind})
		if table.Fingerprint() != d.Fingerprint() || lines.Fingerprint() != d.Fingerprint() {
			t.Fatalf("seed %d: CSV and svmlight disagree:\n%s", seed, asCSV(d))
		}
	}
}

func TestWriteChoosesTheFormatByName(t *testing.T) {
	d := tableDataset(t)
	for _, name := range []string{"a.npz", "a.svmlight", "a.libsvm", "a.svm.gz"} {
		path := filepath.Join(t.TempDir(), name)
		if err := Write(path, d); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil || isGzip(name) != bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
			t.Errorf("%s begins with %q (%v)", name, content[:2], err)
		}
		if again := mustRead(t, path, Options{}); again.Fingerprint() != d.Fingerprint() {
			t.Errorf("%s holds a different dataset", name)
		}
	}
}

func TestWriteIsAllOrNothing(t *testing.T) {
	path := inFile(t, "a.npz", "as it was")
	bad := &data.Dataset{X: tableDataset(t).X}
	if err := Write(path, bad); !errors.Is(err, data.ErrInvalid) {
		t.Errorf("error %v, want ErrInvalid", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "as it was" {
		t.Errorf("the file became %q (%v)", content, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("files left behind: %v (%v)", left, err)
	}
	for _, name := range []string{"a.csv", "a.mat", "a"} {
		if err := Write(name, tableDataset(t)); !errors.Is(err, data.ErrFormat) {
			t.Errorf("%s: error %v, want ErrFormat", name, err)
		}
	}
}

// refusal is a file that must be refused, and what the error must say.
type refusal struct {
	name, content string
	options       Options
	is            error
	want          string
}

func checkRefusals(t *testing.T, extension string, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := inFile(t, "file"+extension, c.content)
			d, err := Read(path, c.options)
			if err == nil {
				t.Fatalf("read %d x %d, classes %q; want an error", d.X.Rows(), d.X.Cols(), d.Classes)
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), ": "+path+": ") {
				t.Errorf("error %q, want %q of kind %q", err, c.want, c.is)
			}
		})
	}
}

func TestReadRefusesWhatItCannotFindOrName(t *testing.T) {
	table := formats + "table.npz"
	for _, c := range []struct {
		name, path string
		options    Options
		is         error
		want       string
	}{
		{"missing file", "nowhere.csv", Options{}, fs.ErrNotExist, "nowhere.csv"},
		{"missing names", table, Options{ClassNames: "nowhere.txt"}, fs.ErrNotExist, "nowhere.txt"},
		{"nameless format", formats + "make.py", Options{}, data.ErrFormat, "does not say what it is"},
		{"unknown format", table, Options{Format: "xls"}, data.ErrInvalid, `format "xls"`},
		{"unknown kind", table, Options{Kind: "ranking"}, data.ErrInvalid, `kind "ranking"`},
		{"unknown header", table, Options{Header: "maybe"}, data.ErrInvalid, `header "maybe"`},
		{"negative columns", table, Options{Columns: -1}, data.ErrInvalid, "-1 columns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(c.path, c.options)
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q of kind %q", err, c.want, c.is)
			}
		})
	}
}

func TestDamagedGzipIsRefused(t *testing.T) {
	whole := packed(t, strings.Repeat("1 1:2 2:3\n", 100))
	flipped := []byte(whole)
	flipped[len(flipped)/2] ^= 0x10
	checkRefusals(t, ".svmlight.gz", []refusal{
		{name: "text instead", content: "1 1:2\n", is: data.ErrFormat, want: "not a sound gzip file"},
		{name: "empty", content: "", is: data.ErrFormat, want: "not a sound gzip file"},
		{name: "cut short", content: whole[:len(whole)-9], is: data.ErrFormat, want: "damaged or cut short"},
		{name: "without its end", content: whole[:len(whole)-1], is: data.ErrFormat, want: "damaged or cut short"},
		{name: "flipped bit", content: string(flipped), is: data.ErrFormat, want: "damaged or cut short"},
	})
}

// Every cut of a binary file must be noticed; no flipped bit may do more than
// give an error or other data.
func TestDamagedFilesNeverPanic(t *testing.T) {
	for _, name := range []string{"table.csv.gz", "table.npy", "table.npz", "table-sparse.npz", "tasks.npz"} {
		content, err := os.ReadFile(formats + name)
		if err != nil {
			t.Fatal(err)
		}
		for cut := range content {
			if _, err := fromBytes(name, content[:cut], Options{}); err == nil {
				t.Errorf("%s cut to %d of %d bytes was read", name, cut, len(content))
			}
		}
		for i := range content {
			flipped := slices.Clone(content)
			flipped[i] ^= 1 << (i % 8)
			if d, err := fromBytes(name, flipped, Options{}); err == nil && d.Validate() != nil {
				t.Errorf("%s with a flipped bit in byte %d is invalid: %v", name, i, d.Validate())
			}
		}
	}
}

func TestChecksumsOfArraysAreChecked(t *testing.T) {
	content, err := os.ReadFile(formats + "table-half.npz") // whose arrays are not packed
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		start, err := f.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		flipped := slices.Clone(content)
		flipped[start+int64(f.UncompressedSize64)-1] ^= 1
		_, err = fromBytes("a.npz", flipped, Options{})
		if want := "array " + strings.TrimSuffix(f.Name, ".npy") + ": malformed file: the array is damaged"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestLyingFilesDoNotFillTheMemory(t *testing.T) {
	header := func(numpyType, shape string) string {
		text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", numpyType, shape)
		return "\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), byte(len(text) >> 8)}) + text
	}
	zipped := func(claim uint64, content string) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.CreateRaw(&zip.FileHeader{Name: "X.npy", CompressedSize64: uint64(len(content)), UncompressedSize64: claim})
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(content))
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	texts := packedArrays(t, map[string]string{"X": header("<f4", "(1, 2)") + strings.Repeat("\x00", 8), "y": header("|S1", "(15728640,)") + strings.Repeat("a", 15728640)})
	comments := strings.Repeat(packed(t, strings.Repeat("#"+strings.Repeat("-", 1<<12)+"\n", 256)), 100)
	endless := strings.Repeat(packed(t, strings.Repeat("1", 1<<20)), 100)
	for _, c := range []struct {
		file, content, want string
		limit               uint64
	}{
		{"rows.npy", header("<f4", "(1000000000000, 3)"), "promises", 1 << 20},
		{"overflow.npy", header("<f8", "(4611686018427387904, 4611686018427387904)"), "beyond all memory", 1 << 20},
		{"columns.npy", header("<f8", "(0, 4611686018427387904)"), "must have rows", 1 << 20},
		{"nothing.npy", header("<f8", "(1000000000000, 0)"), "must have rows", 1 << 20},
		{"wide.npy", header("<U0", "(1000000000000, 2)"), "U0", 1 << 20},
		{"newer.npy", "\x93NUMPY\x04\x00" + strings.Repeat(" ", 100), "NumPy format version 4.0; versions 1 to 3 are read", 1 << 20},
		{"header.npy", "\x93NUMPY\x02\x00\xff\xff\xff\x7f", "claims", 1 << 20},
		{"rows.npz", zipped(1<<40, header("<f4", "(274877906, 1000)")), "unpacks to more", 1 << 20},
		{"claim.npz", zipped(uint64(len(header("<f4", "(4000, 1000)")))+16e6, header("<f4", "(4000, 1000)")), "cut short after 0 of 4000000", 1 << 20},
		{"texts.npz", texts, "15728640 texts in", 4 << 20},
		{"wide.svm", "1 1:1\n2 2147483647:1\n", "2147483647 columns for 2 entries", 4 << 20},
		{"comments.svm.gz", comments, "unpacks to more", 4 << 20},
		{"endless.svm.gz", endless, "unpacks to more", 8 * minInflated},
		{"endless.csv.gz", endless, "unpacks to more", 8 * minInflated},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := inFile(t, c.file, c.content)
			var err error
			if got := datatest.Allocated(func() { _, err = Read(path, Options{}) }); got > c.limit {
				t.Errorf("%d bytes allocated, more than %d", got, c.limit)
			}
			if !errors.Is(err, data.ErrFormat) && !errors.Is(err, data.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// packedArrays is an .npz file.
func packedArrays(t testing.TB, arrays map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range arrays {
		w, err := z.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Who knows that so many columns are right can say so.
func TestWideFilesAreReadWhenAskedFor(t *testing.T) {
	path := inFile(t, "wide.svm", "1 1:1\n2 2147483646:1\n")
	if d := mustRead(t, path, Options{Columns: 2147483646}); d.X.Cols() != 2147483646 {
		t.Errorf("%d columns", d.X.Cols())
	}
	if d := mustRead(t, inFile(t, "free.svm", "1 1:1\n2 16777216:1\n"), Options{}); d.X.Cols() != 16777216 {
		t.Errorf("%d columns", d.X.Cols())
	}
}

func TestRealData(t *testing.T) {
	for _, c := range []struct {
		path                                 []string
		options                              Options
		rows, cols, nnz, classes, groups     int
		smallest, largest                    int // class sizes, or group sizes of regression
		firstClass, firstFeature, firstGroup string
	}{
		{path: []string{"20newsgroups", "20newsgroups.svmlight.gz"}, rows: 18774, cols: 61188, nnz: 2435219, classes: 20, smallest: 627, largest: 997, firstClass: "1"},
		{path: []string{"digits", "digits.csv.gz"}, rows: 1797, cols: 64, nnz: 1797 * 64, classes: 10, smallest: 174, largest: 183, firstClass: "0"},
		{path: []string{"classics", "school.npz"}, rows: 15362, cols: 28, nnz: 15362 * 28, groups: 139, smallest: 22, largest: 251, firstGroup: "1"},
		{path: []string{"classics", "landmine.npz"}, rows: 14820, cols: 9, nnz: 14820 * 9, classes: 2, groups: 29, smallest: 904, largest: 14820 - 904, firstClass: "0", firstGroup: "1"},
		{path: []string{"classics", "parkinsons.npz"}, rows: 5875, cols: 19, nnz: 5875 * 19, groups: 42, smallest: 101, largest: 168, firstFeature: "age", firstGroup: "1"},
		{path: []string{"classics", "parkinsons.npz"}, options: Options{Target: "total_UPDRS"}, rows: 5875, cols: 19, nnz: 5875 * 19, groups: 42, smallest: 101, largest: 168, firstFeature: "age", firstGroup: "1"},
		{path: []string{"caltech101", "caltech101_mobilenetv2_logits.npz"}, rows: 8677, cols: 1000, nnz: 8677000, classes: 101, smallest: 31, largest: 800, firstClass: "accordion"},
		{path: []string{"caltech101", "caltech101_mobilenetv2_pool.npz"}, rows: 8677, cols: 1280, nnz: 8677 * 1280, classes: 101, smallest: 31, largest: 800, firstClass: "accordion"},
	} {
		t.Run(strings.Join(c.path, "/")+c.options.Target, func(t *testing.T) {
			d := mustRead(t, datatest.Path(t, c.path...), c.options)
			if d.X.Rows() != c.rows || d.X.Cols() != c.cols || d.X.NNZ() != c.nnz || len(d.Classes) != c.classes || len(d.Groups) != c.groups {
				t.Errorf("%d x %d with %d entries, %d classes, %d groups", d.X.Rows(), d.X.Cols(), d.X.NNZ(), len(d.Classes), len(d.Groups))
			}
			sizes := d.ClassSizes()
			if d.Regression() {
				sizes = d.GroupSizes()
			}
			if slices.Min(sizes) != c.smallest || slices.Max(sizes) != c.largest {
				t.Errorf("sizes %d..%d, want %d..%d", slices.Min(sizes), slices.Max(sizes), c.smallest, c.largest)
			}
			for _, name := range []struct{ got, want string }{{first(d.Classes), c.firstClass}, {first(d.Features), c.firstFeature}, {first(d.Groups), c.firstGroup}} {
				if name.got != name.want {
					t.Errorf("first name %q, want %q", name.got, name.want)
				}
			}
		})
	}
}

func first(names []string) string {
	if names == nil {
		return ""
	}
	return names[0]
}

func TestRealNamesAndLayers(t *testing.T) {
	d := mustRead(t, datatest.Path(t, "20newsgroups", "20newsgroups.svmlight.gz"), Options{
		ClassNames:   datatest.Path(t, "20newsgroups", "classes.txt"),
		FeatureNames: datatest.Path(t, "20newsgroups", "vocabulary.txt.gz"),
	})
	if d.Classes[0] != "alt.atheism" || d.Features[0] != "archive" || len(d.Features) != 61188 {
		t.Errorf("classes %q, %d features from %q", d.Classes, len(d.Features), d.Features[0])
	}
	_, err := Read(datatest.Path(t, "caltech101", "mobilenetv2_fc.npz"), Options{})
	if !errors.Is(err, data.ErrFormat) || !strings.Contains(err.Error(), "W (1280 x 1000 float32), b (1000 float32)") {
		t.Errorf("a layer is no dataset, but the error is %v", err)
	}
}

// full writes out a matrix: its product with I.
func full(x data.Matrix) [][]float64 {
	d := x.Cols()
	identity, product := make([]float64, d*d), make([]float64, x.Rows()*d)
	for j := range d {
		identity[j*d+j] = 1
	}
	x.Mul(product, identity, d)
	return slices.Collect(slices.Chunk(product, max(d, 1)))
}
