package format

import (
	"archive/zip"
	"bytes"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

func TestFloat16FollowsItsDefinition(t *testing.T) {
	for h := range 1 << 16 {
		sign, exponent, fraction := 1-2*float64(h>>15), h>>10&31, float64(h&1023)
		want := sign * math.Ldexp(1024+fraction, exponent-25)
		switch {
		case exponent == 0:
			want = sign * math.Ldexp(fraction, -24)
		case exponent == 31 && fraction == 0:
			want = math.Inf(int(sign))
		case exponent == 31:
			want = math.NaN()
		}
		got := float64(float16(uint16(h)))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != (sign < 0) && !math.IsNaN(got) {
			t.Fatalf("%#x is %v, want %v", h, got, want)
		}
	}
}

func TestWholeNumbersOfEverySize(t *testing.T) {
	for numpyType, c := range map[string]struct {
		bytes string
		want  float64
	}{
		"|i1": {"\x80", -128}, "|u1": {"\xff", 255}, "|b1": {"\x01", 1},
		"<f2": {"\x00\x3c", 1}, "<i2": {"\xfe\xff", -2}, "<u2": {"\xfe\xff", 65534},
		"<i4": {"\xff\xff\xff\xff", -1}, "<u4": {"\x00\x01\x00\x80", 1<<31 + 256},
		"<i8": {"\x00\x00\x00\x00\x00\x00\x00\x80", math.MinInt64}, "=i8": {"\x05\x00\x00\x00\x00\x00\x00\x00", 5},
		"<u8": {"\x00\x00\x00\x00\x00\x00\x00\x80", 1 << 63}, "<f4": {"\x00\x00\x20\xc0", -2.5},
		"<f8": {"\x00\x00\x00\x00\x00\x00\x04\xc0", -2.5},
	} {
		datatest.Equal(t, datatest.Must(readArray(arrayBytes(t, numpyType, nil, []byte(c.bytes))))(t)[0], c.want, "%s", numpyType)
	}
}

func one(part any) []any { return []any{part} }

// readArray reads the numbers of an .npy file.
func readArray(content []byte) ([]float64, error) {
	a, err := newArray(bytes.NewReader(content), int64(len(content)), int64(len(content)))
	if err != nil {
		return nil, err
	}
	return numbersOf[float64](a)
}

// arrayBytes is an .npy file.
func arrayBytes(t testing.TB, numpyType string, shape []int, entries any) []byte {
	t.Helper()
	var b bytes.Buffer
	datatest.Check(t, (output{"", numpyType, shape, one(entries)}).write(&b))
	return b.Bytes()
}

// archiveOf is an .npz file.
func archiveOf(t testing.TB, arrays ...output) string {
	t.Helper()
	var parts []string
	for _, a := range arrays {
		var b bytes.Buffer
		datatest.Check(t, a.write(&b))
		parts = append(parts, a.name, b.String())
	}
	return packedArrays(t, parts...)
}

// Arrays are written byte for byte as NumPy wrote them.
func TestArraysAreWrittenAsByNumPy(t *testing.T) {
	table, tasks := mustRead(t, formats+"table.npz", Options{}), mustRead(t, formats+"tasks.npz", Options{})
	for _, c := range []struct {
		file, name string
		of         output
	}{
		{"table.npz", "X", featureArrays(table.X)[0]},
		{"table.npz", "y", output{"y", "<i8", []int{8}, one([]int64{2, 1, 5, 1, 2, 5, 1, 2})}},
		{"tasks.npz", "features", namesArray("features", tasks.Features)},
		{"tasks.npz", "task", namesArray("task", data.Picked(tasks.Groups, tasks.Group))},
	} {
		z := datatest.Must(zip.OpenReader(formats + c.file))(t)
		defer z.Close()
		f := datatest.Must(z.Open(c.name + ".npy"))(t)
		want := datatest.Must(io.ReadAll(f))(t)
		var got bytes.Buffer
		if err := c.of.write(&got); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: %q (%v), NumPy wrote %q", c.name, got.Bytes(), err, want)
		}
	}
}

func TestArrayHeadersStayAligned(t *testing.T) {
	for n := range 70 {
		shape := make([]int, n%5)
		b := arrayBytes(t, "<U"+strings.Repeat("1", 1+n), shape, []byte{})
		datatest.Holds(t, len(b)%64 == 0, "a header of %d bytes", len(b))
	}
}

func TestGroupsAndSeveralTargets(t *testing.T) {
	d := mustRead(t, formats+"tasks.npz", Options{})
	groups := d.Groups
	datatest.Holds(t, d.Regression() && d.Target[3] == 5,
		"targets %v; want the first column, a third of the features' sum", d.Target)
	datatest.Equal(t, d.Groups, []string{"north", "south", "west"}, "groups")
	datatest.Equal(t, d.Group, []int32{0, 0, 1, 2, 2, 1, 0, 2}, "groups")
	datatest.Equal(t, d.Features, []string{"width", "height", "a, quoted", "depth", "mass"}, "features")
	f := datatest.Must(Read(formats+"tasks.npz", Options{}))(t)
	f.Labels = f.Labels[1:]
	second := datatest.Must(datasetOf("tasks", f))(t)
	datatest.Equal(t, second.Label, tableDataset(t).Label, "labels")
	datatest.Equal(t, f.Labels[0].Name, "class", "the second target")
	d = mustRead(t, formats+"tasks.npz", Options{Label: "task", Group: "y"})
	datatest.Holds(t, slices.Equal(d.Classes, groups) && len(d.Groups) == 8,
		"classes %q, groups %q", d.Classes, d.Groups)
}

func TestBadArraysAreRefused(t *testing.T) {
	whole := datatest.Must(os.ReadFile(formats + "array.npy"))(t)
	edit := func(old, new string) string { return strings.Replace(string(whole), old, new, 1) }
	for name, c := range map[string]struct{ content, want string }{
		"nothing":                     {"", "a NumPy array begins with"},
		"wrong magic":                 {"PK\x03\x04" + string(whole), "a NumPy array begins with"},
		"newer version":               {"\x93NUMPY\x04\x00" + strings.Repeat(" ", 100), "a NumPy array begins with \"\\x93NUMPY\\x01\\x00\""},
		"more entries than promised":  {string(whole) + "12345678", "promises"},
		"fewer entries than promised": {edit("(8, 6)", "(9, 6)"), "promises an array of 9 x 6 float64, 432 bytes, but 384 follow"},
		"negative shape":              {edit("(8, 6)", "(-8, 6)"), "fortran_order or shape"},
		"complex":                     {edit("<f8", "<c8"), `"<c8"`},
		"odd size":                    {edit("<f8", "<f3"), `"<f3"`},
		"quarter precision":           {edit("<f8", "|f1"), `"|f1"; they must be numbers (<f4, <f8, <i4, |b1, ...) or text (<U, |S), to which NumPy's astype converts them`},
		"highest byte first":          {edit("<f8", ">f8"), `">f8"`},
		"objects":                     {edit("<f8", "|O"), `"|O"`},
		"records":                     {edit("'<f8'", "[('x', '<f8')]"), "lacks a simple type"},
		"text":                        {edit("<f8", "|S8"), "8 x 6 text; it must hold numbers"},
	} {
		t.Run(name, func(t *testing.T) {
			datatest.Refused(readArray([]byte(c.content)))(t, data.ErrFormat, c.want)
		})
	}
	for cut := range whole {
		_, err := readArray(whole[:cut])
		datatest.Holds(t, err != nil, "cut to %d of %d bytes it was read", cut, len(whole))
		readArray(slices.Concat(whole[:cut], []byte{whole[cut] ^ 1<<(cut%8)}, whole[cut+1:])) // must not panic
	}
}

func TestNPZRefusesBadArchives(t *testing.T) {
	x := output{"X", "<f4", []int{2, 3}, one([]float32{1, 2, 3, 4, 5, 6})}
	y := output{"y", "<i4", []int{2}, one([]int32{1, 2})}
	floats := func(name string, shape []int, entries ...float64) output {
		return output{name, "<f8", shape, one(entries)}
	}
	csr := func(format string, indptr, indices, shape []float64) string {
		return archiveOf(t, y, textArray("format", format), floats("shape", []int{len(shape)}, shape...), floats("indptr", []int{len(indptr)}, indptr...),
			floats("indices", []int{len(indices)}, indices...), floats("data", []int{2}, 1, 2))
	}
	checkRefusals(t, ".npz", []refusal{
		{name: "not a zip file", content: "\x93NUMPY", is: data.ErrFormat, want: "no .npz file"},
		{name: "empty archive", content: archiveOf(t), is: data.ErrFormat, want: "there is no array X of features"},
		{name: "no labels", content: archiveOf(t, x), is: data.ErrFormat, want: "there is no array label, class, y, target of labels, only X (2 x 3 float32)"},
		{name: "other names", content: archiveOf(t, x, y), options: Options{Label: "A"}, is: data.ErrFormat, want: "there is no array A of labels, only X (2 x 3 float32), y (2 int32)"},
		{name: "no groups", content: archiveOf(t, x, y), options: Options{Group: "school"}, is: data.ErrFormat, want: "there is no array school of groups"},
		{name: "features of three dimensions", content: archiveOf(t, y, floats("X", []int{2, 1, 1}, 1, 2)), is: data.ErrInvalid, want: "array X: it is 2 x 1 x 1 float64; features are n x d"},
		{name: "flat features", content: archiveOf(t, y, floats("X", []int{2}, 1, 2)), is: data.ErrInvalid, want: "array X: it is 2 float64; features are n x d"},
		{name: "features of text", content: archiveOf(t, y, output{"X", "<U1", []int{2, 1}, one([]int32{'a', 'b'})}), is: data.ErrFormat, want: "array X: the array is 2 x 1 text; it must hold numbers"},
		{name: "too few labels", content: archiveOf(t, x, floats("y", []int{1}, 1)), is: data.ErrInvalid, want: "2 rows but 1 labels"},
		{name: "too few groups", content: archiveOf(t, x, y, floats("task", []int{1}, 1)), is: data.ErrInvalid, want: "2 rows but 1 groups"},
		{name: "single label", content: archiveOf(t, x, floats("y", nil, 1)), is: data.ErrInvalid, want: "array y: it is float64"},
		{name: "NaN", content: archiveOf(t, y, floats("X", []int{2, 2}, 1, 2, 3, math.NaN())), is: data.ErrInvalid, want: "row 1, column 1: the feature is NaN"},
		{name: "beyond float32", content: archiveOf(t, y, floats("X", []int{2, 2}, 1, 1e300, 3, 4)), is: data.ErrInvalid, want: "row 0, column 1: the feature is +Inf"},
		{name: "too few class names", content: archiveOf(t, x, y, namesArray("classes", []string{"a"})), is: data.ErrInvalid, want: `"2" is neither one of the 1 names`},
		{name: "too few feature names", content: archiveOf(t, x, y, namesArray("features", []string{"a"})), is: data.ErrInvalid, want: "3 columns but 1 feature names"},
		{name: "sparse columns", content: csr("csc", []float64{0, 1, 2}, []float64{0, 1}, []float64{2, 2}), is: data.ErrFormat, want: `stored as ["csc"]`},
		{name: "sparse out of order", content: csr("csr", []float64{0, 2, 2}, []float64{1, 0}, []float64{2, 2}), is: data.ErrFormat, want: "column 0 after column 1"},
		{name: "sparse twice", content: csr("csr", []float64{0, 2, 2}, []float64{1, 1}, []float64{2, 2}), is: data.ErrFormat, want: "column 1 after column 1"},
		{name: "sparse out of range", content: csr("csr", []float64{0, 1, 2}, []float64{0, 2}, []float64{2, 2}), is: data.ErrFormat, want: "within 0..1"},
		{name: "sparse negative", content: csr("csr", []float64{0, 1, 2}, []float64{0, -1}, []float64{2, 2}), is: data.ErrFormat, want: "array indices: entry 1 is -1"},
		{name: "sparse pointers", content: csr("csr", []float64{0, 2, 1}, []float64{0, 1}, []float64{2, 2}), is: data.ErrFormat, want: "row pointers"},
		{name: "sparse rows", content: csr("csr", []float64{0, 1, 2}, []float64{0, 1}, []float64{3, 2}), is: data.ErrFormat, want: "array shape: it is [3 2], but indptr has 3 entries"},
		{name: "sparse shape", content: csr("csr", []float64{0, 1, 2}, []float64{0, 1}, []float64{2}), is: data.ErrFormat, want: "array shape"},
	})
}

func TestNPZPassesOverOtherArrays(t *testing.T) {
	content := archiveOf(t, output{"X", "<f4", []int{2, 1}, one([]float32{1, 2})}, output{"y", "<i4", []int{2}, one([]int32{-1, 1})},
		output{"classes", "<i4", []int{2}, one([]int32{-1, 1})}, output{"files", "|O", []int{2}, one([]byte("pickled"))}, namesArray("features", nil), textArray("kind", "ranking"))
	d := mustRead(t, inFile(t, "a.npz", content), Options{})
	datatest.Equal(t, d.Classes, []string{"-1", "1"}, "classes")
}

func TestNPZRefusesNamesThatNumPyCannotHold(t *testing.T) {
	for _, name := range []string{"a\x00", "\xff"} {
		d := tableDataset(t)
		d.Classes[1] = name
		if err := WriteNPZ(new(bytes.Buffer), d); err == nil || !strings.Contains(err.Error(), "NumPy cannot hold it") {
			t.Errorf("name %q: error %v", name, err)
		}
	}
}

// FuzzNPZ changes the archive, whose checksums keep most changes from the
// arrays; FuzzArrays changes these.
func FuzzNPZ(f *testing.F) {
	addSeeds(f, ".npz")
	f.Fuzz(func(t *testing.T, content []byte) {
		if d, err := fromBytes("fuzz.npz", content, Options{}); err == nil {
			fuzzed(t, d)
		}
	})
}

func FuzzArrays(f *testing.F) {
	names := []string{"X", "shape", "indptr", "indices", "data", "y", "group", "classes", "steps"}
	for seed := range uint64(8) {
		arrays := datatest.Must(arraysOf(randomDataset(data.Stream(seed, "fuzz arrays"))))(f)
		c := make([][]byte, len(names))
		for i, name := range names {
			for _, a := range arrays {
				if a.name == name {
					var b bytes.Buffer
					datatest.Check(f, a.write(&b))
					c[i] = b.Bytes()
				}
			}
		}
		f.Add(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8])
	}
	f.Fuzz(func(t *testing.T, x, shape, indptr, indices, data, y, group, classes, steps []byte) {
		var parts []string
		for i, content := range [][]byte{x, shape, indptr, indices, data, y, group, classes, steps} {
			if len(content) > 0 {
				parts = append(parts, names[i], string(content))
			}
		}
		if len(indptr) > 0 {
			var b bytes.Buffer
			datatest.Check(t, textArray("format", "csr").write(&b))
			parts = append(parts, "format", b.String())
		}
		if d, err := fromBytes("fuzz.npz", []byte(packedArrays(t, parts...)), Options{}); err == nil {
			fuzzed(t, d)
		}
	})
}
