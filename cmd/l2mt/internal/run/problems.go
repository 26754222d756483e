package run

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/data/experience"
	"l2mt/data/format"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/train"
)

// Data says where the data of a problem file is.
type Data struct {
	// Dataset is used instead of the one that the file names.
	Dataset string
	// AllowOutside lets the file name any data outside of its directory.
	AllowOutside bool
}

// OpenDataset reads a dataset by path, or the embedded one by its name.
func OpenDataset(path string) (*data.Dataset, error) {
	if path == digits.Name {
		return digits.Load()
	}
	return format.Read(path, format.Options{})
}

// Load reads a problem file.
func (f Data) Load(path string) (*data.ProblemFile, error) {
	file, err := data.LoadProblems(path)
	if err != nil {
		return nil, err
	}
	file.Outside = f.AllowOutside
	return file, nil
}

// Open reads a problem file with its data.
func (f Data) Open(path string) ([]*data.ProblemData, error) {
	file, err := f.Load(path)
	if err != nil {
		return nil, err
	}
	return f.Bind(file, path)
}

// Bind brings the data to a problem file that was read from path.
func (f Data) Bind(file *data.ProblemFile, path string) (_ []*data.ProblemData, err error) {
	var d *data.Dataset
	if file.Dataset != nil {
		if d, err = f.OpenDataset(file, path); err != nil {
			return nil, err
		}
	}
	problems, err := file.Bind(d, filepath.Dir(path), format.Open)
	if err != nil {
		return nil, Blame(path, err)
	}
	return problems, nil
}

// OpenDataset reads the dataset of a problem file that was read from path.
func (f Data) OpenDataset(file *data.ProblemFile, path string) (*data.Dataset, error) {
	where, err := f.datasetFile(file, path)
	if err != nil {
		return nil, err
	}
	return OpenDataset(where)
}

// datasetFile is where the dataset of a problem file is: where the user says,
// else where the file says, relative to the file.
func (f Data) datasetFile(file *data.ProblemFile, path string) (string, error) {
	switch {
	case f.Dataset != "":
		return f.Dataset, nil
	case file.Dataset.Path == digits.Name:
		return digits.Name, nil
	}
	where, err := file.DatasetFile(filepath.Dir(path))
	if err != nil {
		return "", Blame(path, err)
	}
	return where, nil
}

// Blame names the problem file in an error, and the flags that help.
func Blame(path string, err error) error {
	if errors.Is(err, data.ErrOutside) {
		err = fmt.Errorf("%w (--dataset names another, --allow-outside allows it if you trust the file)", err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// An experience directory keeps, beside the tuples, the problem files that they
// were made on. With the data that these refer to, relative to the directory,
// they are all that training needs.
const problemsPattern = "problems-*.json"

// Problems is a problem file with its dataset. Its problems are brought to
// memory one at a time.
type Problems struct {
	path        string // of the problem file
	file        *data.ProblemFile
	datasetPath string
	dataset     *data.Dataset // nil if every task has files of its own
	// fingerprint is that of the dataset and, where tasks have files of their
	// own, of the content of these, and with a head of its weights.
	fingerprint string
	head        layers.Head // what the features go through
	headName    string
}

// Through lets the features of all problems go through a head.
func (s *Problems) Through(name string) error {
	if name == "" {
		return nil
	}
	p, err := s.Problem(0)
	if err != nil {
		return err
	}
	if s.head, err = OpenHead(name, p.Cols()); err != nil {
		return err
	}
	s.headName, s.fingerprint = HeadName(name), throughHead(s.fingerprint, s.head)
	return nil
}

// throughHead is the fingerprint of data whose features go through a head.
func throughHead(fingerprint string, head layers.Head) string {
	sum := sha256.Sum256([]byte(fingerprint + " " + head.String() + " " + head.Sum()))
	return hex.EncodeToString(sum[:])
}

// OpenProblems opens a problem file.
func OpenProblems(path string, from Data) (*Problems, error) {
	file, err := from.Load(path)
	if err != nil {
		return nil, err
	}
	s := &Problems{path: path, file: file}
	if file.Dataset != nil {
		if s.datasetPath, err = from.datasetFile(file, path); err != nil {
			return nil, err
		}
		if s.dataset, err = OpenDataset(s.datasetPath); err != nil {
			return nil, err
		}
		s.fingerprint = s.dataset.Fingerprint()
		if _, err := s.Problem(0); err != nil { // if only because they are of another dataset
			return nil, err
		}
	}
	if files := TaskFiles(file); len(files) > 0 {
		s.fingerprint, err = s.sumWith(files)
	}
	return s, err
}

// sumWith is the SHA-256 of the dataset's fingerprint and those of the files.
func (s *Problems) sumWith(files []*string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, s.fingerprint)
	for _, file := range files {
		if *file == "" {
			fmt.Fprintln(h, "none")
			continue
		}
		path, err := s.file.File(filepath.Dir(s.path), *file)
		if err != nil {
			return "", Blame(s.path, err)
		}
		sum, err := FileSum(path)
		if err != nil {
			return "", fmt.Errorf("%s: a task's own file: %w", s.path, err)
		}
		fmt.Fprintln(h, sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// TaskFiles lists the fields of a problem file that name tasks' own files.
func TaskFiles(f *data.ProblemFile) (files []*string) {
	for _, p := range f.Problems {
		for _, t := range p.Tasks {
			if t.Files != nil {
				files = append(files, &t.Files.Train, &t.Files.Validation, &t.Files.Test)
			}
		}
	}
	return files
}

// Len is the number of problems.
func (s *Problems) Len() int { return len(s.file.Problems) }

// Problem brings the data to problem i.
func (s *Problems) Problem(i int) (*data.ProblemData, error) {
	one := *s.file
	one.Problems = one.Problems[i:][:1]
	bound, err := one.Bind(s.dataset, filepath.Dir(s.path), format.Open)
	if err != nil {
		return nil, Blame(s.path, err)
	}
	return model.Through(s.head, len(s.head), bound[0])
}

// Reference names the data for people, and by its fingerprint.
func (s *Problems) Reference() data.DatasetRef {
	name := "the tasks' own files"
	if s.dataset != nil {
		name = filepath.Base(s.datasetPath)
	}
	if s.head != nil {
		name += " through " + s.headName
	}
	return data.DatasetRef{Path: name, SHA256: s.fingerprint}
}

// Keep writes the problem file into an experience directory. The same problems
// have the same name in every one.
func (s *Problems) Keep(dir string) error {
	h := sha256.New()
	for _, p := range s.file.Problems {
		id, err := experience.ProblemID(p, s.fingerprint)
		if err != nil {
			return err
		}
		fmt.Fprintln(h, id)
	}
	kept, err := data.LoadProblems(s.path) // a copy to change
	if err != nil {
		return err
	}
	if s.dataset != nil {
		kept.Dataset.SHA256 = s.dataset.Fingerprint()
		if kept.Dataset.Path, err = ReferTo(s.datasetPath, filepath.Dir(s.path)); err != nil {
			return err
		}
	}
	if err := rebase(kept, filepath.Dir(s.path), dir); err != nil {
		return err
	}
	name := "problems-" + hex.EncodeToString(h.Sum(nil)[:6]) + ".json"
	return kept.Save(filepath.Join(dir, name))
}

// rebase lets a problem file that was in one directory refer to its data from
// another.
func rebase(f *data.ProblemFile, from, to string) (err error) {
	paths := TaskFiles(f)
	if f.Dataset != nil && f.Dataset.Path != digits.Name {
		paths = append(paths, &f.Dataset.Path)
	}
	for _, path := range paths {
		if *path == "" || filepath.IsAbs(*path) {
			continue
		}
		if *path, err = ReferTo(filepath.Join(from, *path), to); err != nil {
			return err
		}
	}
	return nil
}

// ReferTo is how a file in dir refers to a path.
func ReferTo(path, dir string) (string, error) {
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

// FileSum is the SHA-256 of a file.
func FileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// keptProblems lists the problem files of an experience directory.
func keptProblems(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, problemsPattern))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no %s beside the tuples; l2mt collect keeps the problems there", dir, problemsPattern)
	}
	slices.Sort(files)
	return files, nil
}

// Rebased reads the problem files of experience directories, as a store in out
// is to keep them, by name.
func Rebased(out string, dirs ...string) (map[string]*data.ProblemFile, error) {
	kept := map[string]*data.ProblemFile{}
	for _, dir := range dirs {
		paths, err := keptProblems(dir)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			f, err := data.LoadProblems(path)
			if err != nil {
				return nil, err
			}
			if err := rebase(f, dir, out); err != nil {
				return nil, err
			}
			kept[filepath.Base(path)] = f
		}
	}
	return kept, nil
}

// OpenExperience opens experience with the problems that it was made on. With a
// head, whose input these are, the tuples may have been made on what it makes of
// them, or on the problems as they are.
func OpenExperience(dir, dataset, head string, remark Remark) (train.Source, error) {
	store, err := experience.Open(dir)
	if err != nil {
		return nil, err
	}
	files, err := keptProblems(dir)
	if err != nil {
		return nil, err
	}
	made, through := store.Manifest().Dataset, false
	var problems []*data.Problem
	var bind []func() (*data.ProblemData, error) // the problems
	for _, file := range files {
		// The problem files that collect keeps may refer to data anywhere: the
		// manifest pins its content.
		set, err := OpenProblems(file, Data{Dataset: dataset, AllowOutside: true})
		if err != nil {
			return nil, err
		}
		if through, err = set.madeOn(made, head); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		for i, p := range set.file.Problems {
			problems = append(problems, p)
			bind = append(bind, func() (*data.ProblemData, error) { return set.Problem(i) })
		}
	}
	if head != "" && !through {
		remark("warning: the tuples of %s were made on the features as they are in the dataset, not on those of the head: l2mt collect --head makes such", dir)
	}
	return train.Stored(store, problems, func(i int) (*data.ProblemData, error) { return bind[i]() }, made.SHA256)
}

// madeOn checks that experience was made on the problems, and tells whether they
// went through a head then.
func (s *Problems) madeOn(made data.DatasetRef, head string) (through bool, err error) {
	if s.fingerprint == made.SHA256 {
		return false, nil
	}
	if head != "" {
		other := *s
		if err := other.Through(head); err != nil {
			return false, err
		}
		if other.fingerprint == made.SHA256 {
			return true, nil
		}
	}
	return false, fmt.Errorf("%w: the tuples were made on %s, with SHA-256 %s, but %s has %s", data.ErrMismatch, made.Path, made.SHA256, s.Reference().Path, s.fingerprint)
}
