package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/data/experience"
	"l2mt/train"
)

// An experience directory keeps, beside the tuples, the problem files that they
// were made on, named by their content: with the dataset they are all that
// training needs.
const problemsPattern = "problems-*.json"

// keepProblems copies a problem file into an experience directory.
func keepProblems(dir, path, dataset string) error {
	f, err := data.LoadProblems(path)
	if err != nil {
		return err
	}
	if f.Dataset != nil {
		if f.Dataset.Path, err = referTo(datasetPath(path, dataset, f), dir); err != nil {
			return err
		}
	}
	for _, p := range f.Problems {
		for _, t := range p.Tasks {
			if t.Files == nil {
				continue
			}
			for _, file := range []*string{&t.Files.Train, &t.Files.Validation, &t.Files.Test} {
				if *file == "" || filepath.IsAbs(*file) {
					continue
				}
				if *file, err = referTo(filepath.Join(filepath.Dir(path), *file), dir); err != nil {
					return err
				}
			}
		}
	}
	sum, err := fileSum(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return f.Save(filepath.Join(dir, "problems-"+sum[:12]+".json"))
}

// referTo is how a file in dir refers to a path.
func referTo(path, dir string) (string, error) {
	if path == digits.Name {
		return path, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	return filepath.Rel(dir, path)
}

func fileSum(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// openExperience reads experience with the problems that it was made on.
func openExperience(dir, dataset string) ([]train.Example, error) {
	store, err := experience.Open(dir)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, problemsPattern))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no %s beside the tuples; l2mt collect keeps the problems there", dir, problemsPattern)
	}
	slices.Sort(files)
	var problems []*data.ProblemData
	for _, file := range files {
		some, err := openProblems(file, dataset)
		if err != nil {
			return nil, err
		}
		problems = append(problems, some...)
	}
	return train.Examples(store, problems, store.Manifest().Dataset.SHA256)
}

// mergeProblems copies the problem files of several experience directories.
func mergeProblems(out string, dirs ...string) error {
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, problemsPattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := keepProblems(out, file, ""); err != nil {
				return err
			}
		}
	}
	return nil
}
