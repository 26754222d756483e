package train

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/progress"
	"l2mt/model"
)

// Example is a problem with the experience on it.
type Example struct {
	Problem *data.ProblemData
	Tuples  []model.Tuple
}

// prepared is an example, or one tuple of it, ready for the graphs.
type prepared struct {
	Example
	payload *model.Payload
}

// prepare drops problems without tuples and makes payloads of the others, with
// the features that the first layers of a head make, as many as are frozen.
func prepare(ctx context.Context, c model.Config, examples []Example, head model.Head, frozen int, report progress.Reporter) ([]prepared, error) {
	if frozen > 0 {
		report.Start("features", len(examples))
		defer report.Finish()
	}
	var ready []prepared
	for _, e := range examples {
		if len(e.Tuples) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if head != nil && e.Problem.Cols() != head.In() {
			return nil, fmt.Errorf("train: problem %q: %w: it has %d features, but the head takes %d", e.Problem.Name, data.ErrMismatch, e.Problem.Cols(), head.In())
		}
		p, err := model.Through(head, frozen, model.TrainingRows(e.Problem))
		if err != nil {
			return nil, err
		}
		payload, err := model.Prepare(c, p, nil, head[frozen:]...)
		if err != nil {
			return nil, err
		}
		ready = append(ready, prepared{e, payload})
		if frozen > 0 {
			report.Advance(1, e.Problem.Name)
		}
	}
	return ready, nil
}

// divide keeps one problem in n, at least one, out of training.
func divide(examples []prepared, n int, seed uint64) (training, heldOut []prepared, err error) {
	if len(examples) < 2 {
		return nil, nil, fmt.Errorf("train: %w: experience on %d problems; training and held-out problems need at least 2", ErrConfig, len(examples))
	}
	order := data.Stream(seed, "held out").Perm(len(examples))
	out := order[:max(1, len(examples)/n)]
	for i, e := range examples {
		if slices.Contains(out, i) {
			heldOut = append(heldOut, e)
		} else {
			training = append(training, e)
		}
	}
	return training, heldOut, nil
}

// steps are what the steps of an epoch learn from, before they are shuffled.
func steps(examples []prepared, batch Batch) []prepared {
	if batch == ByProblem {
		return examples
	}
	var single []prepared
	for _, e := range examples {
		for i := range e.Tuples {
			s := e
			s.Tuples = e.Tuples[i : i+1]
			single = append(single, s)
		}
	}
	return single
}

// capacity is the size of the largest step.
func capacity(steps []prepared) (size model.Capacity) {
	for _, s := range steps {
		size.Rows = max(size.Rows, s.payload.Rows())
		size.Tasks = max(size.Tasks, s.payload.Tasks())
		size.Tuples = max(size.Tuples, len(s.Tuples))
	}
	return size
}

func outcomes(examples ...prepared) (o []float64) {
	for _, e := range examples {
		for _, t := range e.Tuples {
			o = append(o, t.O)
		}
	}
	return o
}

// digest identifies what a run learns from: training rows and tuples.
func digest(examples []prepared) string {
	h := sha256.New()
	var b []byte
	add := func(parts ...any) {
		for _, p := range parts {
			b, _ = binary.Append(b[:0], binary.LittleEndian, p) // it fails for types without a size only
			h.Write(b)
		}
	}
	for _, e := range examples {
		add(int64(len(e.Problem.Tasks)), int64(len(e.Tuples)))
		for _, t := range e.Problem.Tasks {
			add([]byte(t.Kind), int64(t.TrainSet.X.Rows()), t.TrainSet.Y)
			for i := range t.TrainSet.X.Rows() {
				r := t.TrainSet.X.Row(i)
				add(int64(len(r.Value)), r.Index, r.Value)
			}
		}
		for _, t := range e.Tuples {
			add(t.Omega, t.O)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
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
