package train

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"slices"

	"l2mt/data"
	"l2mt/model"
)

// Example is a problem with the experience on it.
type Example struct {
	Problem *data.ProblemData
	Tuples  []model.Tuple
	// Dataset is the name of the problem's dataset, if it has one.
	Dataset string
	// InMetric says that the tuples were measured in the problem's view.Metric.
	InMetric bool
	// Weight is the weight of the problem in training; 0 means 1.
	Weight float64
}

// best is the tuple of the least o above a bound, of the tuples that state their Lambda1. It
// has no Lambda1 where there is none.
func (e Example) best(bound float64) (best model.Tuple) {
	best.O = math.Inf(1)
	for _, t := range e.Tuples {
		if t.Lambda1 > 0 && t.O > bound && t.O < best.O {
			best = t
		}
	}
	return best
}

// Join has the examples of several sources one after the other. Every source has the same
// weight, however many examples it has. Where their problems differ in their features, the
// network's body may not depend on features.
func Join(sources ...[]Example) (examples []Example) {
	total := len(slices.Concat(sources...))
	for _, s := range sources {
		for _, e := range s {
			e.Weight = float64(total) / float64(len(sources)*len(s))
			examples = append(examples, e)
		}
	}
	return examples
}

// prepared is an example, or one of its tuples, in the form that graphs take.
type prepared struct {
	Example
	payload *model.Payload
	index   int     // of the example
	tester  *tester // of covariances, nil where none are measured
}

// prepare makes the examples that have tuples ready, and the digest of all that a run learns
// from. The configuration gets the names of their features, which are the same in all of them.
func prepare(ctx context.Context, c *Config, examples []Example) (
	ready []prepared, sum string, err error) {
	h := sha256.New()
	for i, e := range examples {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		if err := e.Problem.Check(); err != nil {
			return nil, "", err
		}
		if len(e.Tuples) == 0 {
			continue
		}
		digest(h, e)
		if !c.Model.FeatureFree() {
			c.Model.Names = cmp.Or(c.Model.Names, model.NamesOf(e.Problem))
		}
		payload, err := model.Prepare(c.Model, e.Problem.TrainingOnly())
		if err != nil {
			return nil, "", err
		}
		e.Weight = cmp.Or(e.Weight, 1)
		ready = append(ready, prepared{e, payload, i, nil})
	}
	return ready, hex.EncodeToString(h.Sum(nil)), nil
}

// divide keeps one problem in n, at least one, out of training; none if n is negative.
func divide(examples []prepared, n int, seed uint64) (training, heldOut []prepared, err error) {
	if n < 0 {
		return examples, nil, nil
	}
	if len(examples) < 2 {
		return nil, nil, ErrConfig.Errorf("experience on %d problems; training and held-out problems need at least 2",
			len(examples))
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

// steps are the steps of an epoch, before they are shuffled.
func steps(examples []prepared, update Update) []prepared {
	if update == ByProblem {
		return examples
	}
	var single []prepared
	for _, e := range examples {
		for tuple := range slices.Chunk(e.Tuples, 1) {
			e.Tuples = tuple
			single = append(single, e)
		}
	}
	return single
}

func outcomes(examples ...prepared) (o []float64) {
	for _, e := range examples {
		for _, t := range e.Tuples {
			o = append(o, t.O)
		}
	}
	return o
}

// digest adds the parts of an example that a run learns from: training rows and tuples.
func digest(h hash.Hash, e Example) {
	add := func(parts ...any) {
		for _, p := range parts {
			_ = binary.Write(h, binary.LittleEndian, p) // it fails for types without a size only
		}
	}
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
	if e.Weight != 0 {
		add(e.Weight)
	}
}
