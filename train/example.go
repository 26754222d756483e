package train

import (
	"fmt"
	"slices"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/model"
)

// Example is a problem with the experience on it.
type Example struct {
	Problem *data.ProblemData
	Tuples  []model.Tuple
}

// prepared is an example whose problem is ready for the graphs.
type prepared struct {
	payload *model.Payload
	tuples  []model.Tuple
}

// prepare drops problems without tuples and makes payloads of the others.
func prepare(c model.Config, examples []Example) ([]prepared, error) {
	var ready []prepared
	for _, e := range examples {
		if len(e.Tuples) == 0 {
			continue
		}
		p, err := model.Prepare(c, e.Problem, nil)
		if err != nil {
			return nil, err
		}
		ready = append(ready, prepared{p, e.Tuples})
	}
	return ready, nil
}

// divide keeps one problem in n, at least one, out of training.
func divide(examples []prepared, n int, seed uint64) (training, heldOut []prepared, err error) {
	if len(examples) < 2 {
		return nil, nil, fmt.Errorf("train: %w: experience on %d problems; training and held-out problems need at least 2", ErrConfig, len(examples))
	}
	order := data.Stream(seed, "held out").Perm(len(examples))
	out := max(1, len(examples)/n)
	held := map[int]bool{}
	for _, i := range order[:out] {
		held[i] = true
	}
	for i, e := range examples {
		if held[i] {
			heldOut = append(heldOut, e)
		} else {
			training = append(training, e)
		}
	}
	return training, heldOut, nil
}

// capacity is the size of the largest step.
func capacity(examples []prepared, batch Batch) model.Capacity {
	size := model.Capacity{Tuples: 1}
	for _, e := range examples {
		size.Rows, size.Tasks = max(size.Rows, e.payload.Rows()), max(size.Tasks, e.payload.Tasks())
		if batch == ByProblem {
			size.Tuples = max(size.Tuples, len(e.tuples))
		}
	}
	return size
}

func outcomes(examples []prepared) (o []float64) {
	for _, e := range examples {
		for _, t := range e.tuples {
			o = append(o, t.O)
		}
	}
	return o
}

// Examples brings experience together with the problems that it was made on.
// Tuples that failed are left out; tuples of a problem that is not given are
// an error. Fingerprint is that of the problems' dataset.
func Examples(store *experience.Store, problems []*data.ProblemData, fingerprint string) ([]Example, error) {
	examples := make([]Example, len(problems))
	place := map[string]int{}
	for i, p := range problems {
		id, err := experience.ProblemID(p.Problem, fingerprint)
		if err != nil {
			return nil, fmt.Errorf("train: %w", err)
		}
		examples[i].Problem, place[id] = p, i
	}
	records, _, err := store.Load() // in canonical order; torn lines are being written
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	for _, r := range records {
		i, ok := place[r.ProblemID]
		switch {
		case !ok:
			return nil, fmt.Errorf("train: %w: there is experience on problem %q (%s), which is not among the %d problems given", data.ErrMismatch, r.Problem, r.ProblemID, len(problems))
		case r.Status == experience.OK:
			examples[i].Tuples = append(examples[i].Tuples, model.Tuple{Omega: slices.Concat(r.Omega...), O: r.Result.O})
		}
	}
	return examples, nil
}
