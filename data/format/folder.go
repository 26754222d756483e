package format

import (
	"bytes"
	"fmt"
	"l2mt/data"
	"l2mt/data/files"
	"os"
	"path/filepath"
)

// A folder of texts has one sub-folder for every class, named after it, with a
// file for every document. Classes and documents come in the order of their
// names. Names that begin with a dot are passed over, and so are files beside
// the sub-folders, such as a README.

func readFolder(path string) (*table, error) {
	classes, _, err := files.List(path)
	if err != nil {
		return nil, err
	}
	if len(classes) == 0 {
		return nil, fmt.Errorf("%w: it has no sub-folders; it needs one for every class, with the texts in it", data.ErrFormat)
	}
	t := &table{kind: data.Classification, label: Column{AsText: true}}
	words := data.NewWordCounter()
	for _, class := range classes {
		class := filepath.Join(path, class)
		folders, texts, err := files.List(class)
		switch {
		case err != nil:
			return nil, err
		case len(folders) > 0:
			return nil, fmt.Errorf("%s: %w: a folder stands where a text should; classes have no sub-folders", filepath.Join(class, folders[0]), data.ErrFormat)
		case len(texts) == 0:
			return nil, fmt.Errorf("%s: %w: the sub-folder has no files; remove it, or put the texts of the class in it", class, data.ErrInvalid)
		}
		for _, info := range texts {
			path := filepath.Join(class, info.Name())
			if !info.Mode().IsRegular() {
				return nil, fmt.Errorf("%s: %w: neither a file nor a folder", path, data.ErrFormat)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			if at := bytes.IndexByte(text, 0); at >= 0 {
				return nil, fmt.Errorf("%s: byte %d: %w: a zero byte; it is no text in UTF-8 or an 8-bit encoding", path, at, data.ErrFormat)
			}
			words.Add(text)
			t.label.Add(filepath.Base(class))
		}
	}
	x, step, err := words.Finish()
	if err != nil {
		return nil, err
	}
	t.x, t.features, t.steps = x, step.Words, []data.Step{step}
	return t, nil
}
