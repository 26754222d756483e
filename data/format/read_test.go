package format

import (
	"bytes"
	"errors"
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

func TestNamesFromFiles(t *testing.T) {
	classes := inFile(t, "classes.txt", "one\r\ntwo\nthree\nfour\nfive")
	features := inFile(t, "features.txt.gz", packed(t, "a\nb\nc\nd\ne\nf\n"))
	d := mustRead(t, formats+"table.svmlight", Options{ClassNames: classes, FeatureNames: features})
	datatest.Equal(t, d.Classes, []string{"one", "two", "three", "four", "five"}, "classes")
	datatest.Equal(t, d.Label, []int32{1, 0, 4, 0, 1, 4, 0, 1}, "labels")
	datatest.Holds(t, d.X.Cols() == 6 && len(d.Features) == 6,
		"%d columns, %d names; the names say 6", d.X.Cols(), len(d.Features))
	for content, want := range map[string]string{
		"":           "it holds no names",
		"a\n\nb":     "line 2: the name \"\" is empty",
		"a\nb\na\nc": "line 3: the name \"a\" is empty or on line 1 too",
		"a\nb":       "5 columns but 2 feature names",
	} {
		datatest.Refused(Read(formats+"table.npz", Options{FeatureNames: inFile(t, "names", content)}))(t, nil, want)
	}
}

func TestNPZKeepsEverything(t *testing.T) {
	datatest.Long(t)
	for seed := range uint64(150) {
		d := randomDataset(data.Stream(seed, "test npz"))
		var first, second bytes.Buffer
		err := WriteNPZ(&first, d)
		datatest.Need(t, err == nil, "seed %d: %v", seed, err)
		again := mustReadBytes(t, "a.npz", first.Bytes(), Options{})
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

func TestRealData(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path                             []string
		rows, cols, nnz, classes, groups int
		smallest, largest                int // class sizes, or group sizes of regression
	}{
		{[]string{"20newsgroups", "20newsgroups.svmlight.gz"}, 18774, 61188, 2435219, 20, 0, 627, 997},
		{[]string{"classics", "school.npz"}, 15362, 28, 15362 * 28, 0, 139, 22, 251},
		{[]string{"classics", "landmine.npz"}, 14820, 9, 14820 * 9, 2, 29, 904, 14820 - 904},
		{[]string{"classics", "parkinsons.npz"}, 5875, 19, 5875 * 19, 0, 42, 101, 168},
		{[]string{"caltech101", "caltech101_mobilenetv2_logits.npz"}, 8677, 1000, 8677000, 101, 0, 31, 800},
	} {
		t.Run(strings.Join(c.path, "/"), func(t *testing.T) {
			d := mustRead(t, datatest.Path(t, c.path...), Options{})
			if d.X.Rows() != c.rows || d.X.Cols() != c.cols || d.X.NNZ() != c.nnz || len(d.Classes) != c.classes || len(d.Groups) != c.groups {
				t.Errorf("%d x %d with %d entries, %d classes, %d groups", d.X.Rows(), d.X.Cols(), d.X.NNZ(), len(d.Classes), len(d.Groups))
			}
			sizes := d.ClassSizes()
			if d.Regression() {
				sizes = d.GroupSizes()
			}
			datatest.Holds(t, slices.Min(sizes) == c.smallest && slices.Max(sizes) == c.largest,
				"sizes %d..%d, want %d..%d", slices.Min(sizes), slices.Max(sizes), c.smallest, c.largest)
		})
	}
}

func TestRealNamesAndLayers(t *testing.T) {
	t.Parallel()
	d := mustRead(t, datatest.Path(t, "20newsgroups", "20newsgroups.svmlight.gz"), Options{
		ClassNames:   datatest.Path(t, "20newsgroups", "classes.txt"),
		FeatureNames: datatest.Path(t, "20newsgroups", "vocabulary.txt.gz"),
	})
	datatest.Holds(t, d.Classes[0] == "alt.atheism" && d.Features[0] == "archive" && len(d.Features) == 61188,
		"classes %q, %d features from %q", d.Classes, len(d.Features), d.Features[0])
	datatest.Refused(Read(datatest.Path(t, "caltech101", "mobilenetv2_fc.npz"), Options{}))(t, data.ErrFormat, "W (1280 x 1000 float32), b (1000 float32)")
}

// Whatever a file of names holds, packed or not, it is refused or gives one name
// a line.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "a\nb\n", "a\n\nb", " a \r\nb", "a\na\n", strings.Repeat("x", 70_000), "\x1f\x8b", "\xff\x00\n"} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, pack bool) {
		content := string(text)
		if pack {
			content = packed(t, content)
		}
		names, err := readNames(inFile(t, "names", content))
		if err != nil {
			datatest.Says(t, err, data.ErrFormat)
			return
		}
		n := strings.Count(strings.TrimSuffix(string(text), "\n"), "\n") + 1
		datatest.Holds(t, !pack || len(names) == n, "%d names in %d lines", len(names), n)
		datatest.Holds(t, !slices.Contains(names, ""), "an empty name among %q", names)
	})
}
