package run

import (
	"errors"
	"fmt"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/layers"
	"l2mt/train"
)

// OpenProblems opens a problem file and looks at its first problem, so that data
// that does not suit is found before anything is written. Its errors name the
// flags that help.
func OpenProblems(path string, o experience.DataOptions) (*experience.Problems, error) {
	p, err := experience.OpenProblems(path, o)
	if err == nil {
		_, err = p.Problem(0)
	}
	return p, Advise(err)
}

// LoadProblems is OpenProblems with the data of all problems.
func LoadProblems(path string, o experience.DataOptions) ([]*data.ProblemData, error) {
	p, err := experience.OpenProblems(path, o)
	if err != nil {
		return nil, Advise(err)
	}
	all, err := p.All()
	return all, Advise(err)
}

// Advise names the flags that help against an error.
func Advise(err error) error {
	if errors.Is(err, data.ErrOutside) {
		return fmt.Errorf("%w (--dataset names another, --allow-outside allows it if you trust the file)", err)
	}
	return err
}

// Through lets the features of problems go through a head, if one is named.
func Through(p *experience.Problems, head string) (*experience.Problems, error) {
	if head == "" {
		return p, nil
	}
	opened, err := OpenHead(head)
	if err != nil {
		return nil, err
	}
	return p.Through(train.Through(opened, HeadName(head))), nil
}

// OpenExperiences opens experience in several directories, all of which count for
// the same.
func OpenExperiences(dirs []string, dataset string, head layers.Head, remark Remark) (train.Source, error) {
	if len(dirs) == 1 {
		return OpenExperience(dirs[0], dataset, head, remark)
	}
	var all []train.Source
	for _, dir := range dirs {
		e, err := OpenExperience(dir, dataset, head, remark)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return train.Join(all...), nil
}

// OpenExperience opens experience for networks with a head, nil for none.
func OpenExperience(dir, dataset string, head layers.Head, remark Remark) (*train.Experience, error) {
	e, err := train.Open(dir, train.OpenOptions{Dataset: dataset, Head: head})
	if err == nil && head != nil && !e.ThroughHead {
		remark("warning: the tuples of %s were made on the features as they are in the dataset, not on those of the head: l2mt collect --head makes such", dir)
	}
	return e, err
}
