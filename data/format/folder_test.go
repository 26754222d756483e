package format

import (
	"errors"
	"io/fs"
	"l2mt/data"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folderOf writes files into a folder; a name that ends in a slash is a folder.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFolderBecomesCountsPerClass(t *testing.T) {
	d := must(Open(formats + "texts"))(t)
	if !slices.Equal(d.Classes, []string{"cooking", "sailing"}) || !slices.Equal(d.Label, []int32{0, 0, 1, 1}) {
		t.Errorf("classes %q of rows %v", d.Classes, d.Label)
	}
	want := map[string][]float64{
		"soup": {3, 0, 0, 0}, "salt": {1, 1, 0, 1}, "water": {0, 1, 0, 2}, "wind": {0, 0, 2, 2}, "header": {0, 0, 0, 1},
		"brûlée": {0, 1, 0, 0}, "boat": {0, 0, 1, 1},
	}
	for word, counts := range want {
		j := slices.Index(d.Features, word)
		if j < 0 {
			t.Errorf("%q is no feature", word)
			continue
		}
		for i, row := range full(d.X) {
			if row[j] != counts[i] {
				t.Errorf("%q is %v times in document %d, want %v", word, row[j], i, counts[i])
			}
		}
	}
	for _, word := range []string{"the", "don"} {
		if slices.Contains(d.Features, word) {
			t.Errorf("%q is a feature", word)
		}
	}
	if len(d.Steps) != 1 || d.Steps[0].Kind != data.StepWords || !slices.Equal(d.Steps[0].Words, d.Features) {
		t.Errorf("steps %+v", d.Steps)
	}
	again, err := d.With(d.Steps[0])
	if err != nil || again.Fingerprint() != d.Fingerprint() {
		t.Errorf("the step changes what it made (%v)", err)
	}
}

func TestFolderPassesOverWhatIsNoText(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"b/10": "boat", "b/9": "reef", "a/1": "soup", "README": "not a text", ".git/x": "hidden", "a/.hidden": "hidden",
	})
	link := filepath.Join(dir, "c")
	if err := os.Symlink(filepath.Join(dir, "a"), link); err != nil {
		t.Skip(err)
	}
	d := must(Open(dir))(t)
	if !slices.Equal(d.Classes, []string{"a", "b", "c"}) || !slices.Equal(d.Features, []string{"boat", "reef", "soup"}) {
		t.Fatalf("classes %q, features %q", d.Classes, d.Features)
	}
	for i, want := range []int{2, 0, 1, 2} { // 10 comes before 9
		if full(d.X)[i][want] != 1 {
			t.Errorf("row %d is %v", i, full(d.X)[i])
		}
	}
}

func TestFolderRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		is    error
		want  string
	}{
		{"no sub-folders", map[string]string{"a.txt": "text"}, data.ErrFormat, "no sub-folders"},
		{"empty class", map[string]string{"a/1": "text", "b/": ""}, data.ErrInvalid, "b: invalid data: the sub-folder has no files"},
		{"sub-folder of a class", map[string]string{"a/1": "text", "b/c/1": "text"}, data.ErrFormat, filepath.Join("b", "c")},
		{"binary file", map[string]string{"a/1": "text", "b/2": "tex\x00t"}, data.ErrFormat, filepath.Join("b", "2") + ": byte 3"},
		{"no words", map[string]string{"a/1": "1 2", "b/2": "the"}, data.ErrInvalid, "not a single word"},
	} {
		dir := folderOf(t, c.files)
		if _, err := Open(dir); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := Read(formats+"table.csv", Options{Format: Folder}); err == nil {
		t.Error("a file was read as a folder")
	}
}
