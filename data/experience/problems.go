package experience

import (
	"fmt"
	"path/filepath"
	"slices"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/data/table"
	"l2mt/data/view"
)

// Problems is a problem file with its data. One problem at a time is brought to
// memory.
type Problems struct {
	// File is the problem file.
	File *data.ProblemFile

	path        string // of the problem file
	datasetPath string
	dataset     *data.Dataset
}

// OpenProblems opens a problem file and reads its dataset: the given one, by its path or as an
// embedded one by its name, or the dataset that the file names. That one may lie outside of the
// file's directory if anywhere.
func OpenProblems(path, dataset string, anywhere bool) (*Problems, error) {
	file, err := data.LoadProblems(path)
	if err != nil {
		return nil, err
	}
	if dataset == "" {
		dataset = file.Dataset.Path
		if dataset != digits.Name {
			dataset, err = file.DatasetFile(filepath.Dir(path), anywhere)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := &Problems{
		path:        path,
		File:        file,
		datasetPath: dataset,
	}
	kind := file.Problems[0].Tasks[0].Kind
	p.dataset, err = digits.Open(dataset, table.Options{Kind: kind})
	if err != nil {
		return nil, err
	}
	_, err = p.bind(nil) // checks that it is the problems' dataset
	return p, err
}

// Len is the number of problems.
func (p *Problems) Len() int {
	return len(p.File.Problems)
}

// Problem brings the data to problem i.
func (p *Problems) Problem(i int) (*data.ProblemData, error) {
	bound, err := p.bind(p.File.Problems[i : i+1])
	if err != nil {
		return nil, err
	}
	return bound[0], nil
}

// All brings the data to all problems. The error names all of their faults.
func (p *Problems) All() ([]*data.ProblemData, error) {
	return p.bind(p.File.Problems)
}

func (p *Problems) bind(problems []*data.Problem) ([]*data.ProblemData, error) {
	file := *p.File
	file.Problems = problems
	bound, err := file.Bind(p.dataset)
	for i, q := range bound {
		bound[i], err = view.Prepared(q)
		if err != nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	return bound, nil
}

// Reference names the dataset for people, and by its fingerprint.
func (p *Problems) Reference() data.DatasetRef {
	return data.DatasetRef{
		Path:   filepath.Base(p.datasetPath),
		SHA256: p.dataset.Fingerprint(),
	}
}

// An experience directory keeps, beside the tuples, the problem file that they
// were made on. With the data that it refers to, relative to the directory,
// they are all that training needs.
const problemsPattern = "problems-*.json"

// Keep writes the problem file into the directory of a store, which must have no
// other problems. The same problems have the same name in every one.
func (p *Problems) Keep(dir string) error {
	name, _ := contentID(p.dataset.Fingerprint(), p.File.Problems) // texts and whole numbers
	path := filepath.Join(dir, "problems-"+name[:12]+".json")
	present, err := list(dir, problemsPattern)
	if err != nil {
		return err
	}
	if len(present) > 0 && !slices.Contains(present, path) {
		return data.Mismatch("%s has tuples on other problems than %s; give another directory (train takes several)", dir, p.path)
	}
	kept := *p.File
	reference := p.Reference()
	reference.Path, err = ReferTo(p.datasetPath, dir)
	kept.Dataset = &reference
	if err != nil {
		return err
	}
	return kept.Save(path)
}

// ReferTo is how a problem file in dir refers to a dataset: by its path from
// there, or by its name if it is embedded.
func ReferTo(dataset, dir string) (string, error) {
	if dataset == digits.Name {
		return dataset, nil
	}
	path, err := filepath.Abs(dataset)
	dir, _ = filepath.Abs(dir)
	relative, drive := filepath.Rel(dir, path)
	if drive == nil {
		path = relative // unless it is on another drive
	}
	return filepath.ToSlash(path), err
}

// Problems opens the problem file that the store keeps, with the dataset, if
// not empty, instead of the one that it names. The tuples must have been made
// on these problems.
func (s *Store) Problems(dataset string) (*Problems, error) {
	path, err := s.problemFile()
	if err != nil {
		return nil, err
	}
	// It may refer to data anywhere, whose content it pins.
	return OpenProblems(path, dataset, true)
}

// problemFile is the path of the problem file that the store keeps.
func (s *Store) problemFile() (string, error) {
	paths, err := list(s.dir, problemsPattern)
	if err == nil && len(paths) != 1 {
		err = data.Invalid("%s: there are %d files %s beside the tuples; there must be one, which collect writes",
			s.dir, len(paths), problemsPattern)
	}
	if err != nil {
		return "", err
	}
	return paths[0], nil
}

// Shard names one of the shards of a collection, counted from 0.
func Shard(shard, shards int) string {
	return fmt.Sprintf("shard-%d-of-%d", shard, shards)
}

// Complete is Load of a store that lacks no shard of the collection, no problem file, and in this
// file no problem that has tuples.
func (s *Store) Complete() ([]*Record, error) {
	paths, err := list(s.dir, shardsPattern)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		var shard, shards int
		fmt.Sscanf(filepath.Base(path), "shard-%d-of-%d", &shard, &shards)
		next := (shard + 1) % max(1, shards) // complete if each shard has its next
		name := Shard(next, shards)
		if shards > 0 &&
			!slices.Contains(paths, filepath.Join(s.dir, name+shardSuffix)) {
			return nil, data.Mismatch("%s: %s is missing; copy it there, or collect it with --shard %d/%d",
				s.dir, name, next, shards)
		}
	}
	path, err := s.problemFile()
	if err != nil {
		return nil, err
	}
	file, err := data.LoadProblems(path)
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for _, p := range file.Problems {
		kept[ProblemID(p, s.Manifest.Dataset.SHA256)] = true
	}
	records, err := s.Load()
	for _, r := range records {
		if !kept[r.ProblemID] {
			return nil, data.Mismatch("%s: there are tuples on problem %q (%s), which is not among the %d problems kept",
				s.dir, r.Problem, r.ProblemID, len(kept))
		}
	}
	return records, err
}
