// Package run is what commands and experiments have in common: the stages of
// work, each from configurations of the libraries to a directory that records what
// was used, and how results are printed and kept.
package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/pretrained"
)

// Files that stages write into their directories.
const (
	// UsedFile records what a stage used.
	UsedFile = "run.json"
	// SecondsFile has the times of an evaluation, by method.
	// They are kept separate from the results, so that equal runs give equal files.
	SecondsFile = "seconds.json"
)

// SaveJSON writes a value to a file, whole or not at all.
func SaveJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return files.WriteFile(path, append(raw, '\n'))
}

// LoadJSON reads what SaveJSON wrote.
func LoadJSON(path string, v any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := ParseJSON(raw, v); err != nil {
		return fmt.Errorf("%s: %w: %w; remove it, and the command that wrote it makes it again", path, data.ErrFormat, err)
	}
	return nil
}

// ParseJSON reads what SaveJSON writes. Values that have a check must pass it,
// because the file may be damaged or made up.
func ParseJSON(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return err
	}
	if c, ok := v.(interface{ Check() error }); ok {
		return c.Check()
	}
	return nil
}

// Optional forgives that a file is not there.
func Optional(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// SaveCSV writes rows to a file, whole or not at all.
func SaveCSV(path string, rows [][]string) error {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return err
	}
	return files.WriteFile(path, b.Bytes())
}

// PretrainedNetwork names the network in the program where a directory could stand;
// so does nothing at all.
const PretrainedNetwork = "pretrained"

// NetworkSum is a checksum of a network.
func NetworkSum(dir string) (string, error) {
	if dir == "" || dir == PretrainedNetwork {
		return pretrained.Checksum(), nil
	}
	all := sha256.New()
	for _, name := range []string{model.ConfigFile, model.WeightsFile, model.HeadFile} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && name != model.HeadFile { // which not all have
			return "", err
		}
		all.Write(raw)
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// LoadNetwork reads a network, ready to solve problems with.
func LoadNetwork(dir string) (*solve.Finder, error) {
	load := model.Load
	if dir == "" || dir == PretrainedNetwork {
		load = func(string) (*model.Network, error) { return pretrained.Load() }
	}
	n, err := load(dir)
	if err != nil {
		return nil, err
	}
	return solve.NewFinder(n)
}

// OrNone is a number that users give as the options of the libraries have it, where
// 0 is a default and a negative number none.
func OrNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// FitFile is the report of a fit, beside its model.
const FitFile = "fit.json"
