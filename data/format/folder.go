package format

import (
	"bytes"
	"fmt"
	"l2mt/data"
	"os"
	"path/filepath"
	"strings"
)

// A folder of texts has one sub-folder for every class, named after it, with a
// file for every document. Classes and documents come in the order of their
// names. Names that begin with a dot are passed over, and so are files beside
// the sub-folders, such as a README.

func readFolder(path string, o Options) (*table, error) {
	if err := o.Text.Validate(); err != nil {
		return nil, err
	}
	classes, err := visible(path, true)
	if err != nil {
		return nil, err
	}
	if len(classes) == 0 {
		return nil, fmt.Errorf("%w: it has no sub-folders; it needs one for every class, with the texts in it", data.ErrFormat)
	}
	t := &table{kind: data.Classification, label: Column{AsText: true}}
	words := data.NewWordCounter(o.Text)
	for _, class := range classes {
		files, err := visible(filepath.Join(path, class), false)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("class %s: %w: the sub-folder has no files; remove it, or put the texts of the class in it", class, data.ErrInvalid)
		}
		for _, file := range files {
			if err := addFile(words, filepath.Join(path, class, file)); err != nil {
				return nil, err
			}
			t.label.Add(class)
		}
	}
	x, step, err := words.Finish()
	if err != nil {
		return nil, err
	}
	t.x, t.features, t.steps = x, step.Words, []data.Step{step}
	return t, nil
}

// visible returns the sub-folders, or the files, of a folder. Sub-folders among
// files are an error.
func visible(path string, folders bool) ([]string, error) {
	entries, err := os.ReadDir(path) // by name
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(path, e.Name())) // follows links
		if err != nil {
			return nil, err
		}
		switch {
		case !folders && !info.IsDir() && !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s: %w: neither a file nor a folder", filepath.Join(path, e.Name()), data.ErrFormat)
		case folders == info.IsDir():
			names = append(names, e.Name())
		case !folders:
			return nil, fmt.Errorf("%s: %w: a folder stands where a text should; classes have no sub-folders", filepath.Join(path, e.Name()), data.ErrFormat)
		}
	}
	return names, nil
}

// addFile counts the words of a file.
func addFile(w *data.WordCounter, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return fmt.Errorf("%s: byte %d: %w: a zero byte; it is no text in UTF-8 or an 8-bit encoding", path, at, data.ErrFormat)
	}
	w.Add(text)
	return nil
}
