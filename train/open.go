package train

import (
	"fmt"
	"slices"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/model"
)

// OpenOptions say how Open finds the problems of experience. All may be left out.
type OpenOptions struct {
	// Dataset is used instead of the one that the problem files name.
	Dataset string
	// Head is what the features go through in training. The tuples may have been
	// made on the features that it makes, or on those of the problems.
	Head model.Head
}

// Experience is a Source of the examples in an experience directory. They stay
// there until they are asked for.
type Experience struct {
	// ThroughHead tells that the tuples were made on the features that the head
	// makes.
	ThroughHead bool

	index    map[string]experience.Lines // of the problems
	ids      []string                    // of the problems
	problems *experience.Problems
	labelled bool // validation rows are trained on, as when the tuples were made
	dataset  string
}

// Open brings the tuples in an experience directory together with the problem
// files that are kept there. Tuples that failed are left out; tuples on a problem
// that is not kept are an error.
func Open(dir string, o OpenOptions) (*Experience, error) {
	store, err := experience.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	var through *experience.Transform
	if o.Head != nil {
		t := Through(o.Head, "")
		through = &t
	}
	made := store.Manifest
	e := &Experience{labelled: made.Config["o"] == experience.Labelled, dataset: made.Dataset.Name()}
	if e.problems, e.ThroughHead, err = store.Problems(o.Dataset, through); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if e.index, err = store.Index(); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return e, e.identify(made.Dataset.SHA256)
}

// Through is the transform of problems by a head.
func Through(head model.Head, name string) experience.Transform {
	return experience.Transform{Name: name, Identity: head.String() + " " + head.Sum(), Apply: func(p *data.ProblemData) (*data.ProblemData, error) {
		return model.Through(head, len(head), p)
	}}
}

// identify finds out which problems the tuples are on.
func (e *Experience) identify(fingerprint string) error {
	kept := map[string]bool{}
	for _, p := range e.problems.File().Problems {
		id := experience.ProblemID(p, fingerprint)
		e.ids, kept[id] = append(e.ids, id), true
	}
	for id, lines := range e.index {
		if kept[id] {
			continue
		}
		records, err := lines.Records()
		if err != nil {
			return fmt.Errorf("train: %w", err)
		}
		return fmt.Errorf("train: %w: there is experience on problem %q (%s), which is not among the %d problems kept", data.ErrMismatch, records[0].Problem, id, len(e.ids))
	}
	return nil
}

// Len is the number of problems.
func (e *Experience) Len() int { return len(e.ids) }

// Example brings a problem with its tuples in canonical order.
func (e *Experience) Example(i int) (x Example, err error) {
	x.Dataset, x.ThroughHead = e.dataset, e.ThroughHead
	records, err := e.index[e.ids[i]].Records()
	if err != nil {
		return x, fmt.Errorf("train: %w", err)
	}
	for _, r := range records {
		if r.Status == experience.OK {
			x.Tuples = append(x.Tuples, model.Tuple{Omega: slices.Concat(r.Omega...), O: r.Result.O, Lambda1: r.Result.Lambda1})
		}
	}
	x.Problem, err = e.problems.Problem(i)
	if err == nil && e.labelled {
		x.InMetric = true
		x.Problem = x.Problem.Labelled()
	}
	return x, err
}
