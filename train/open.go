package train

import (
	"slices"

	"l2mt/data/experience"
	"l2mt/model"
)

// Experience is a Source of the examples in an experience directory.
type Experience struct {
	records  map[string][]*experience.Record // of the problems
	ids      []string                        // of the problems
	problems *experience.Problems
	like     Example // common to all examples
}

// Open joins the tuples in an experience directory with the problem files there. Tuples that failed
// are left out; tuples on a missing problem are an error. The dataset, if not empty, replaces the
// dataset that the problem files name.
func Open(dir, dataset string) (*Experience, error) {
	e := &Experience{records: map[string][]*experience.Record{}}
	store, err := experience.Open(dir)
	if err != nil {
		return nil, err
	}
	manifest := store.Manifest
	e.problems, err = store.Problems(dataset)
	if err != nil {
		return nil, err
	}
	records, err := store.Complete()
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		e.records[r.ProblemID] = append(e.records[r.ProblemID], r)
	}
	for _, p := range e.problems.File.Problems {
		e.ids = append(e.ids, experience.ProblemID(p, manifest.Dataset.SHA256))
	}
	e.like = Example{
		Dataset:  manifest.Dataset.Name(),
		InMetric: manifest.Config["o"] == experience.Labelled,
	}
	return e, nil
}

// Len is the number of problems.
func (e *Experience) Len() int {
	return len(e.ids)
}

// Example brings a problem with its tuples in canonical order.
func (e *Experience) Example(i int) (x Example, err error) {
	x = e.like
	x.Tuples = Tuples(e.records[e.ids[i]])
	x.Problem, err = e.problems.Problem(i)
	if err == nil && x.InMetric { // validation rows are trained on, as when the tuples were made
		x.Problem = x.Problem.Labelled()
	}
	return x, err
}

// Tuples are the tuples that have not failed, as networks take them.
func Tuples(records []*experience.Record) (tuples []model.Tuple) {
	for _, r := range records {
		if r.Status == experience.OK {
			tuples = append(tuples,
				model.Tuple{Omega: slices.Concat(r.Omega...),
					O: r.Result.O, Lambda1: r.Result.Lambda1})
		}
	}
	return tuples
}
