package train

import (
	"slices"

	"l2mt/data/experience"
	"l2mt/model"
)

// Open has the tuples of an experience directory, in canonical order, beside the problems there.
// Tuples that failed are left out; tuples on a missing problem are an error. The dataset, if not
// empty, replaces the dataset that the problem files name.
func Open(dir, dataset string) (examples []Example, err error) {
	store, err := experience.Open(dir)
	if err != nil {
		return nil, err
	}
	manifest := store.Manifest
	problems, err := store.Problems(dataset)
	if err != nil {
		return nil, err
	}
	bound, err := problems.All()
	if err != nil {
		return nil, err
	}
	complete, err := store.Complete()
	if err != nil {
		return nil, err
	}
	records := map[string][]*experience.Record{} // of the problems
	for _, r := range complete {
		records[r.ProblemID] = append(records[r.ProblemID], r)
	}
	for _, p := range bound {
		id := experience.ProblemID(p.Problem, manifest.Dataset.SHA256)
		e := Example{
			Problem:  p,
			Tuples:   Tuples(records[id]),
			Dataset:  manifest.Dataset.Name(),
			InMetric: manifest.Config["o"] == experience.Labelled,
		}
		if e.InMetric { // validation rows are trained on, as when the tuples were made
			e.Problem = e.Problem.Labelled()
		}
		examples = append(examples, e)
	}
	return examples, nil
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
