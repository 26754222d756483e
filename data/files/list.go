package files

import (
	"os"
	"path/filepath"
	"strings"
)

// List returns what a folder has, by name, following links. Names that begin with a
// dot are passed over.
func List(dir string) (folders []string, files []os.FileInfo, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		switch {
		case err != nil:
			return nil, nil, err
		case info.IsDir():
			folders = append(folders, e.Name())
		default:
			files = append(files, info)
		}
	}
	return folders, files, nil
}
