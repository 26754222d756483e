package train

import (
	"crypto/rand"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	op "gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/digits"
	"l2mt/data/experience"
	"l2mt/data/files"
	"l2mt/layers"
	"l2mt/model"
)

// collected makes an experience directory of three problems on the digits, as
// collecting leaves it, and returns their problem file.
func collected(t *testing.T, dir string) *experience.Problems {
	t.Helper()
	d := datatest.Must(digits.Load())(t)
	file, _, err := data.SampleProblems(d, data.SampleConfig{Seed: 1, Train: 3, Test: 1, MinTasks: 2, MaxTasks: 2, TrainFraction: 0.04, ValidationFraction: 0.3})
	datatest.Check(t, err)
	path := filepath.Join(t.TempDir(), "problems.json")
	datatest.Check(t, file.Save(path))
	problems := datatest.Must(experience.OpenProblems(path, "", false))(t)
	ref := problems.Reference()
	w := datatest.Must(experience.OpenWriter(dir, "shard", experience.Manifest{Dataset: ref}))(t)
	datatest.Check(t, problems.Keep(dir))
	record := func(problem int, source string, o float64, status experience.Status) {
		p := file.Problems[problem]
		id := experience.ProblemID(p, ref.SHA256)
		r := &experience.Record{Problem: p.Name, ProblemID: id, Source: source, Status: status}
		r.ID = datatest.Must(experience.TupleID(id, source, 0, nil))(t)
		if r.Reason = "it had to"; status == experience.OK {
			r.Reason = ""
			r.Omega = [][]float64{{0.5, 0.1}, {0.1, 0.5}}
			r.Result = &experience.Result{Lambda1: 1, Test: []float64{o / 2, o / 2}, O: o}
		}
		datatest.Check(t, w.Append(r))
	}
	record(2, "explore/b", 0.9, experience.OK)
	record(0, "explore/a", 1.1, experience.OK)
	record(0, "explore/b", 1.2, experience.OK)
	record(2, "explore/a", 0.8, experience.OK)
	record(1, "explore/a", 0, experience.Failed)
	datatest.Check(t, w.Close())
	return problems
}

func TestOpenJoinsRecordsWithTheirProblems(t *testing.T) {
	datatest.Long(t)
	dir := filepath.Join(t.TempDir(), "experience")
	problems := collected(t, dir)
	e := datatest.Must(Open(dir, ""))(t)
	datatest.Need(t, len(e) == 3, "there are %d examples", len(e))
	for i, want := range [][]float64{{1.1, 1.2}, nil, {0.8, 0.9}} { // in canonical order
		x := e[i]
		var o []float64
		for _, tuple := range x.Tuples {
			o = append(o, tuple.O)
			datatest.Equal(t, tuple.Omega, []float64{0.5, 0.1, 0.1, 0.5}, "problem %d: Omega", i)
		}
		datatest.Holds(t, slices.Equal(o, want) && x.Problem.Name == problems.File.Problems[i].Name && x.Problem.Cols() == 64,
			"problem %d is %s with %d features and the outcomes %v, want %v", i, x.Problem.Name, x.Problem.Cols(), o, want)
	}
	config := datatest.Must(Preset("default", 64))(t).Defaults()
	config.Model.Hidden, config.Epochs, config.Start = 4, 1, FromPreset
	datatest.Equal(t, len(datatest.Must(Run(t.Context(), config, e, Options{Out: t.TempDir()}))(t).Metrics), 2, "a run on it")
}

// Tuples belong to the problems that are kept beside them.
func TestOpenChecksWhatTuplesWereMadeOn(t *testing.T) {
	datatest.Long(t)
	dir := filepath.Join(t.TempDir(), "experience")
	collected(t, dir)
	datatest.Refused(Open(dir, filepath.Join(t.TempDir(), "gone.csv")))(t, os.ErrNotExist)
	kept, err := filepath.Glob(filepath.Join(dir, "problems-*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	file := datatest.Must(data.LoadProblems(kept[0]))(t)
	file.Problems = file.Problems[:2]
	datatest.Check(t, file.Save(kept[0]))
	datatest.Refused(Open(dir, ""))(t, data.ErrMismatch, "train-0003")
	datatest.Check(t, os.Remove(kept[0]))
	datatest.Refused(Open(dir, ""))(t, data.ErrInvalid, "problems-*.json")
}

// Two runs in one directory would take each other's states.
func TestADirectoryTakesOneRunAtATime(t *testing.T) {
	examples := small(1)
	c := config(t, "default", examples)
	dir := t.TempDir()
	orphan := filepath.Join(dir, "."+StateFile+rand.Text())
	datatest.Check(t, os.WriteFile(orphan, []byte("half a st"), 0o644))
	folder := datatest.Must(files.Claim(dir))(t)
	datatest.Refused(os.Stat(orphan))(t, os.ErrNotExist)
	datatest.Refused(Run(t.Context(), c, examples, Options{Out: dir}))(t, files.ErrLocked)
	datatest.Check(t, folder.Close())
	run(t, c, examples, Options{Out: dir})
	run(t, c, examples, Options{Out: dir})
}

// With learning rates this large nothing stays finite; the files of the epoch
// before must.
func TestTrainingStopsAtNumbersThatAreNotFinite(t *testing.T) {
	examples := small(1)
	dir := t.TempDir()
	c := config(t, "paper", examples)
	c.Model.DType, c.Rate, c.EmbeddingRate = layers.Float32, 1e30, 1e30
	s := &spy{}
	_, err := Run(t.Context(), c, examples, Options{Out: dir, Progress: s})
	datatest.Says(t, err, ErrDiverged)
	for _, part := range []string{"epoch 1", fmt.Sprintf("step %d", s.steps+1), "the loss", `problem "made `, dir, "lower the rates"} {
		datatest.Says(t, err, nil, part)
	}
	datatest.Holds(t, s.finished == s.stages, "%d of %d stages are finished", s.finished, s.stages)
	kept := datatest.Must(model.Load(dir))(t)
	start := datatest.Must(model.NewNetwork(c.Model, c.Seed))(t)
	for i, p := range kept.Params {
		for j, v := range p.Value {
			datatest.Need(t, v == float64(float32(start.Params[i].Value[j])),
				"%s[%d] of the network kept is %v, want that of the start, %v", p.Name, j, v, start.Params[i].Value[j])
		}
	}
}

func TestDataThatIsNotFiniteIsFoundBeforeTraining(t *testing.T) {
	examples := small(1)
	training, _, err := divide(ready(t, examples), 6, 1)
	datatest.Check(t, err)
	bad := named(examples, training[2].Problem.Name).Problem // the steps before it take six tuples each
	bad.Tasks[1].TrainSet.X.Row(4).Value[2] = float32(math.NaN())
	c := config(t, "paper", examples)
	_, err = Run(t.Context(), c, examples, Options{Out: t.TempDir()})
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
	datatest.Refused(Run(t.Context(), c, examples, Options{Out: t.TempDir()}))(t, ErrDiverged, "the gradient of cusp is not finite; the first such numbers come from operation ÷")
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
		r := run(t, c, examples, Options{Out: t.TempDir()})
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
	datatest.Long(t)
	measured, others := tested(t, 5, 5, 5), small(1)
	still := pairwise(t)
	still.Rate, still.EmbeddingRate = 1e-300, 1e-300
	for _, c := range []struct {
		examples []Example
		Config
		best int
		says string
	}{
		{measured, still, 0, "kept the start: no epoch was better; its covariances have "},
		{others, config(t, "default", others), 4, "kept the last epoch: no held-out problem can be measured"},
	} {
		r := run(t, c.Config, c.examples, Options{Out: t.TempDir()})
		datatest.Holds(t, r.Best == c.best && len(r.Warnings) == 1 && strings.HasPrefix(r.Warnings[0], c.says),
			"epoch %d, with the warnings %q; want %d, %q", r.Best, r.Warnings, c.best, c.says)
	}
}
