package format

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"l2mt/data"
	"l2mt/data/datatest"
)

const formats = "../../testdata/formats/"

func TestAllFormatsGiveTheSameDataset(t *testing.T) {
	want := tableDataset(t).Fingerprint()
	paths, err := filepath.Glob(formats + "table*")
	paths = slices.DeleteFunc(paths, func(path string) bool { return !strings.Contains(path, "npz") && !strings.Contains(path, "svmlight") })
	datatest.Need(t, err == nil && len(paths) == 6, "%d files (%v), want 6", len(paths), err)
	for _, path := range paths {
		d := mustRead(t, path, Options{})
		datatest.Holds(t, d.Fingerprint() == want,
			"%s: a different dataset: %d x %d, classes %q", path, d.X.Rows(), d.X.Cols(), d.Classes)
		datatest.Equal(t, d.Name, path, "the name")
	}
}

func TestFormatAskedForBeatsTheName(t *testing.T) {
	text := datatest.Must(os.ReadFile(formats + "table.svmlight"))(t)
	for _, name := range []string{"a.csv", "b", "c.npz"} {
		for _, content := range []string{string(text), packed(t, string(text))} {
			d := mustRead(t, inFile(t, name, content), Options{Format: SVMLight})
			datatest.Holds(t, d.Fingerprint() == tableDataset(t).Fingerprint(), "%s is a different dataset", name)
		}
	}
}

func TestNPZKeepsEverything(t *testing.T) {
	datatest.Long(t)
	for seed := range uint64(150) {
		d := randomDataset(data.Stream(seed, "test npz"))
		var first, second bytes.Buffer
		err := WriteNPZ(&first, d)
		datatest.Need(t, err == nil, "seed %d: %v", seed, err)
		again := mustReadBytes(t, "a.npz", first.Bytes())
		datatest.Need(t, again.Fingerprint() == d.Fingerprint() && again.X.NNZ() == d.X.NNZ(),
			"seed %d: the dataset changed", seed)
		diff := cmp.Diff(d.Features, again.Features) + cmp.Diff(d.Steps, again.Steps)
		datatest.Need(t, diff == "", "seed %d: features or steps changed: %s", seed, diff)
		if err := WriteNPZ(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("seed %d: written again the file differs (%v)", seed, err)
		}
	}
}

func TestWriteIsAllOrNothing(t *testing.T) {
	path := inFile(t, "a.npz", "as it was")
	bad := &data.Dataset{X: tableDataset(t).X}
	datatest.Says(t, Write(path, bad), data.ErrInvalid)
	datatest.Equal(t, string(datatest.Must(os.ReadFile(path))(t)), "as it was", "the file became")
	datatest.Equal(t, len(datatest.Must(os.ReadDir(filepath.Dir(path)))(t)), 1, "files left behind")
	for _, name := range []string{"a.csv", "a.svmlight", "a"} {
		err := Write(name, tableDataset(t))
		datatest.Holds(t, errors.Is(err, data.ErrFormat), "%s: error %v, want ErrFormat", name, err)
	}
}

func TestRealLayers(t *testing.T) {
	t.Parallel()
	datatest.Refused(Read(datatest.Path(t, "caltech101", "mobilenetv2_fc.npz"), Options{}))(t, data.ErrFormat, "W (1280 x 1000 float32), b (1000 float32)")
}

func TestReadRefusesWhatItCannotFindOrName(t *testing.T) {
	table, matlab := formats+"table.npz", inFile(t, "a.mat", "MATLAB 5.0")
	for _, c := range []struct {
		path    string
		options Options
		is      error
		want    string
	}{
		{"nowhere.csv", Options{}, fs.ErrNotExist, "nowhere.csv"},
		{formats + "make.py", Options{}, data.ErrFormat, "does not say what it is"},
		{formats + "array.npy", Options{}, data.ErrFormat, `array.npy: single arrays are not read; NumPy makes an .npz of one`},
		{matlab, Options{}, data.ErrFormat, `a.mat: MATLAB files are not read; SciPy makes an .npz of it: m = scipy.io.loadmat("a.mat")`},
		{table, Options{Format: "xls"}, data.ErrInvalid, "there is no format xls"},
		{formats + "table.csv", Options{Decimal: ":"}, data.ErrInvalid, `decimal ":": it must be a point or a comma`},
		{formats + "table.csv", Options{Separator: "::"}, data.ErrInvalid, `separator "::": it must be a character, or tab`},
	} {
		_, err := Read(c.path, c.options)
		if c.path == formats+"table.csv" {
			_, _, err = columnsOf(c.path, c.options, false)
		}
		datatest.Says(t, err, c.is, c.want)
	}
}

func TestDamagedGzipIsRefused(t *testing.T) {
	whole := packed(t, strings.Repeat("1 1:2 2:3\n", 100))
	flipped := []byte(whole)
	flipped[len(flipped)/2] ^= 0x10
	checkRefusals(t, ".svmlight.gz", []refusal{
		{name: "text instead", content: "1 1:2\n", is: data.ErrFormat, want: "not a gzip file, or damaged"},
		{name: "empty", content: "", is: data.ErrFormat, want: "not a gzip file, or damaged"},
		{name: "cut short", content: whole[:len(whole)-9], is: data.ErrFormat, want: "damaged or cut short"},
		{name: "without its end", content: whole[:len(whole)-1], is: data.ErrFormat, want: "damaged or cut short"},
		{name: "flipped bit", content: string(flipped), is: data.ErrFormat, want: "damaged or cut short"},
	})
}

// Every cut of a binary file must be noticed; no flipped bit may do more than
// give an error or other data.
func TestDamagedFilesNeverPanic(t *testing.T) {
	datatest.Long(t)
	for _, name := range []string{"table.npz", "table-sparse.npz", "tasks.npz"} {
		content := datatest.Must(os.ReadFile(formats + name))(t)
		for cut := range content {
			_, err := fromBytes(name, content[:cut], Options{})
			datatest.Holds(t, err != nil, "%s cut to %d of %d bytes was read", name, cut, len(content))
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

// An entry whose header lies before the archive is named, not the offset at which it was read.
func TestAnEntryOutsideOfTheArchiveIsNamed(t *testing.T) {
	before := binary.LittleEndian.AppendUint64([]byte{1, 0, 8, 0}, 1<<64-256) // the header of ZIP64, APPNOTE 4.5.3
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	datatest.Must(z.CreateHeader(&zip.FileHeader{Name: "X.npy", Extra: before}))(t)
	datatest.Check(t, z.Close())
	content := archive.Bytes()
	entry := bytes.Index(content, []byte("PK\x01\x02"))
	copy(content[entry+42:], "\xff\xff\xff\xff") // the offset, which ZIP64 has instead
	_, err := fromBytes("a.npz", content, Options{})
	if want := "array X: the archive is damaged"; err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "offset") {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestChecksumsOfArraysAreChecked(t *testing.T) {
	content := datatest.Must(os.ReadFile(formats + "table-plain.npz"))(t) // whose arrays are not packed
	z := datatest.Must(zip.NewReader(bytes.NewReader(content), int64(len(content))))(t)
	for _, f := range z.File {
		start := datatest.Must(f.DataOffset())(t)
		flipped := slices.Clone(content)
		flipped[start+int64(f.UncompressedSize64)-1] ^= 1
		_, err := fromBytes("a.npz", flipped, Options{})
		want := "array " + strings.TrimSuffix(f.Name, ".npy") + ": the array is damaged"
		datatest.Holds(t, err != nil && strings.Contains(err.Error(), want), "error %v, want %q", err, want)
	}
}

func TestLyingFilesDoNotFillTheMemory(t *testing.T) {
	datatest.Long(t)
	header := func(numpyType, shape string) string {
		return headerOf(fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", numpyType, shape))
	}
	array := func(numpyType, shape string) string {
		return packedArrays(t, "X", header(numpyType, shape))
	}
	zipped := func(claim uint64, content string) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w := datatest.Must(z.CreateRaw(&zip.FileHeader{Name: "X.npy", CompressedSize64: uint64(len(content)), UncompressedSize64: claim}))(t)
		w.Write([]byte(content))
		datatest.Check(t, z.Close())
		return b.String()
	}
	texts := packedArrays(t, "X", header("<f4", "(1, 2)")+strings.Repeat("\x00", 8), "y", header("|S1", "(15728640,)")+strings.Repeat("a", 15728640))
	comments := strings.Repeat(packed(t, strings.Repeat("#"+strings.Repeat("-", 1<<12)+"\n", 256)), 100)
	endless := strings.Repeat(packed(t, strings.Repeat("1", 1<<20)), 100)
	for _, c := range []struct {
		file, content, want string
		limit               uint64
	}{
		{"rows.npz", array("<f4", "(1000000000000, 3)"), "promises", 1 << 20},
		{"overflow.npz", array("<f8", "(4611686018427387904, 4611686018427387904)"), "too large for any memory", 1 << 20},
		{"columns.npz", array("<f8", "(0, 4611686018427387904)"), "features are n x d", 1 << 20},
		{"nothing.npz", array("<f8", "(1000000000000, 0)"), "features are n x d", 1 << 20},
		{"wide.npz", array("<U0", "(1000000000000, 2)"), "U0", 1 << 20},
		{"header.npz", packedArrays(t, "X", "\x93NUMPY\x01\x00\xff\xff"), "cut short", 1 << 20},
		{"claimed.npz", zipped(uint64(len(header("<f4", "(274877906, 1000)")))+1099511624000, header("<f4", "(274877906, 1000)")), "more than a file of", 1 << 20},
		{"claim.npz", zipped(uint64(len(header("<f4", "(4000, 1000)")))+16e6, header("<f4", "(4000, 1000)")), "cut short after 0 of 4000000", 1 << 20},
		{"texts.npz", texts, "15728640 cells", 4 << 20},
		{"comments.svm.gz", comments, "unpacks to more", 4 << 20},
		{"endless.svm.gz", endless, "line 1: the row is longer than 16777216 bytes", 8 * minInflated},
		{"endless.csv.gz", endless, "unpacks to more", 8 * minInflated},
		{"commas.csv.gz", packed(t, strings.Repeat(",", 15<<20)), "line 1: it has 47185923 cells", 8 * minInflated},
		{"ones.csv.gz", packed(t, strings.Repeat("1,", 7<<20)), "more than", 8 * minInflated},
		{"commas.csv", strings.Repeat(",", 1<<20), "in 1 rows and 1048577 columns", 16 * minInflated},
		{"tabs.tsv.gz", packed(t, strings.Repeat("\t", 15<<20)), "more than", 8 * minInflated},
		{"rows.csv.gz", packed(t, "a,y\n"+strings.Repeat("1,2\n", 3<<20)), "2 columns, more than", 8 * minInflated},
		{"rows.svm.gz", packed(t, strings.Repeat("1\n", 5<<20)), "line 524288: ", 8 * minInflated},
		{"bytes.npz", packedArrays(t, "X", header("|u1", "(15728640, 1)")+strings.Repeat("a", 15728640)), "array X: it has 15728640 cells", 1 << 20},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := inFile(t, c.file, c.content)
			var err error
			read := func() { _, err = Read(path, Options{}) }
			if !strings.Contains(c.file, ".np") && !strings.Contains(c.file, ".svm") {
				read = func() { _, _, err = columnsOf(path, Options{}, false) }
			}
			got := datatest.Allocated(read)
			datatest.Holds(t, got <= c.limit, "%d bytes allocated, more than %d", got, c.limit)
			datatest.Holds(t, (errors.Is(err, data.ErrFormat) || errors.Is(err, data.ErrInvalid)) && strings.Contains(err.Error(), c.want),
				"error %v, want %q", err, c.want)
		})
	}
}
