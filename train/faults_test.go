package train

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	op "gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/layers"
	"l2mt/model"
)

// With learning rates this large nothing stays finite; the files of the epoch
// before must.
func TestTrainingStopsAtNumbersThatAreNotFinite(t *testing.T) {
	examples := small(1)
	dir := t.TempDir()
	c := config(t, "paper", examples)
	c.Model.DType, c.Rate, c.EmbeddingRate = layers.Float32, 1e30, 1e30
	s := &spy{}
	_, err := Run(t.Context(), c, InMemory(examples), Options{Out: dir, Progress: s})
	datatest.Says(t, err, ErrDiverged)
	for _, part := range []string{"epoch 1", fmt.Sprintf("step %d", s.steps+1), "the estimate f", `problem "made `, dir, "lower the rates"} {
		datatest.Says(t, err, nil, part)
	}
	if s.finished != s.stages {
		t.Errorf("%d of %d stages are finished", s.finished, s.stages)
	}
	kept := datatest.Must(model.Load(dir))(t)
	start := datatest.Must(model.NewNetwork(c.Model, c.Seed))(t)
	for i, p := range kept.Params {
		for j, v := range p.Value {
			if v != float64(float32(start.Params[i].Value[j])) {
				t.Fatalf("%s[%d] of the network kept is %v, want that of the start, %v", p.Name, j, v, start.Params[i].Value[j])
			}
		}
	}
}

func TestDataThatIsNotFiniteIsFoundBeforeTraining(t *testing.T) {
	examples := small(1)
	training, _, err := divide(ready(t, examples), 6, 1)
	datatest.Check(t, err)
	bad := named(examples, training[2].name).Problem // the steps before it take six tuples each
	bad.Tasks[1].TrainSet.X.Row(4).Value[2] = float32(math.NaN())
	c := config(t, "paper", examples)
	_, err = Run(t.Context(), c, InMemory(examples), Options{})
	datatest.Says(t, err, data.ErrInvalid, fmt.Sprintf("problem %q, task %q: ", bad.Name, bad.Tasks[1].Name), "row 4: ")
}

func init() {
	// f is finite and its gradient is not: the square root at 0.
	model.RegisterEstimator("cusp", model.Estimator{
		Params: func(model.Config) []model.Spec { return []model.Spec{{Name: "cusp", Shape: []int{2}}} },
		Build: func(p model.Inputs, e *layers.Node) (phi, c *layers.Node) {
			return op.Must(op.Mul(e, op.Must(op.Transpose(e)))), op.Must(op.Sqrt(p.Number("cusp", 0)))
		},
	})
}

func TestTheFirstTensorThatIsNotFiniteIsNamed(t *testing.T) {
	examples := small(1)
	c := config(t, "default", examples)
	c.Model.Estimator = "cusp"
	datatest.Refused(Run(t.Context(), c, InMemory(examples), Options{}))(t, ErrDiverged, "the gradient of cusp is not finite; the first such numbers come of operation ÷")
}

// The paper's objective is least when f and v are constant, and training gets
// there; divided by the deviation of v it does not (SCIENCE.md, 1).
func TestThePaperPresetCollapsesAndTheScaledObjectiveDoesNot(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	examples := made(1, 20, 12, 4, 10, 6)
	for objective, collapses := range map[model.Objective]bool{model.Paper: true, model.Scaled: false} {
		c := config(t, "paper", examples)
		c.Model.Objective, c.Epochs = objective, 10
		r := run(t, c, examples, Options{})
		first, last := r.Metrics[0], r.Metrics[len(r.Metrics)-1]
		t.Logf("objective %s: deviation %.3g to %.3g, residual %.3g to %.3g, gamma %.3g, alpha %.3g", objective,
			first.Deviation, last.Deviation, first.Residual, last.Residual, last.Scalars["gamma"], last.Scalars["alpha"])
		words := strings.Join(r.Warnings, "\n")
		if got := strings.Contains(words, "v(o) has lost its variation"); got != collapses {
			t.Errorf("objective %s: warned of collapse: %v, want %v (%q)", objective, got, collapses, words)
		}
	}
}

func TestARunSaysWhatChoseItsEpoch(t *testing.T) {
	measured, others := tested(t, 5, 5, 5), small(1)
	still := pairwise(t)
	still.Rate, still.EmbeddingRate = 1e-300, 1e-300
	for _, c := range []struct {
		examples []Example
		Config
		best int
		says string
	}{
		{measured, still, 0, "kept the start: nothing learned beyond it; the covariances that it finds make "},
		{others, config(t, "default", others), 4, "kept the last epoch: no held-out problem can be measured"},
	} {
		r := run(t, c.Config, c.examples, Options{})
		if r.Best != c.best || len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], c.says) {
			t.Errorf("epoch %d, with the warnings %q; want %d, %q", r.Best, r.Warnings, c.best, c.says)
		}
	}
}

func TestACancelledRunSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	examples := small(1)
	datatest.Refused(Run(ctx, config(t, "default", examples), InMemory(examples), Options{}))(t, context.Canceled)
}
