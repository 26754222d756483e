package model_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// Every two of the built-in pieces are in a network together.
func TestBuiltInPieces(t *testing.T) {
	datatest.Long(t)
	readouts, links := []string{"mean", "signed"}, []string{"tanh", "log"}
	for i, estimator := range []string{"kernel", "odd-kernel", "relu"} {
		for j, readout := range readouts {
			modeltest.Check(t, readout, estimator, links[(i+j)%2])
		}
	}
}

// config is a small configuration in double precision.
func config(t testing.TB, preset string, features int) model.Config {
	t.Helper()
	c := datatest.Must(model.Preset(preset, features))(t)
	c.Hidden, c.Neighbours, c.DType = 4, 2, layers.Float64
	return c
}

func estimate(t testing.TB, n *model.Network, p *data.ProblemData, tuples ...model.Tuple) *model.Estimate {
	t.Helper()
	payload := datatest.Must(model.Prepare(n.Config, p))(t)
	forward := model.NewForward(n)
	return datatest.Must(forward.Estimate(payload, tuples...))(t)
}

func network(t testing.TB, c model.Config, seed uint64) *model.Network {
	t.Helper()
	return datatest.Must(model.NewNetwork(c, seed))(t)
}

// flip negates the labels of one task.
func flip(p *data.ProblemData, task int) *data.ProblemData {
	flipped := &data.ProblemData{Problem: p.Problem, Tasks: slices.Clone(p.Tasks)}
	y := slices.Clone(p.Tasks[task].TrainSet.Y)
	for i := range y {
		y[i] = -y[i]
	}
	flipped.Tasks[task].TrainSet.Y = y
	return flipped
}

// The right covariance between two tasks changes its sign when the labels of
// one are flipped. G depends on whether labels agree and the mean on none, so
// with the paper's readout the network cannot see that; with the signed
// readout the embedding changes its sign, and with an odd kernel Phi's row too.
func TestFlippingLabelsIsInvisibleToTheMeanReadoutAndNegatesTheSignedOne(t *testing.T) {
	for seed := range uint64(5) {
		p := modeltest.Problem(data.Stream(seed, "flip"), 3, 8, 6, 9)
		const task = 1
		for _, preset := range []string{"paper", "default"} {
			n := network(t, config(t, preset, 3), seed)
			h := n.Config.Hidden
			before, after := estimate(t, n, p), estimate(t, n, flip(p, task))
			sign := map[string]float64{"mean": 1, "signed": -1}[n.Config.Readout]
			for j := range before.Tasks {
				for k := range h {
					want := before.E[j*h+k]
					if j == task {
						want *= sign
					}
					datatest.Near(t, after.E[j*h+k], want, 1e-12, "seed %d, readout %s: e_%d[%d]", seed, n.Config.Readout, j, k)
				}
				want := before.Phi[task*before.Tasks+j]
				if j != task {
					want *= sign
				}
				datatest.Near(t, after.Phi[task*before.Tasks+j], want, 1e-12, "seed %d, estimator %s: Phi[%d][%d]", seed, n.Config.Estimator, task, j)
			}
		}
	}
}

// poisoned panics when anybody looks at it.
type poisoned struct{ data.Matrix }

func TestTestAndValidationRowsAreNeverTouched(t *testing.T) {
	p := modeltest.Problem(data.Stream(1, "poison"), 3, 8, 6)
	n := network(t, config(t, "default", 3), 1)
	clean := estimate(t, n, p)
	for j := range p.Tasks {
		poison := data.Samples{X: poisoned{}, Y: []float64{math.NaN()}}
		p.Tasks[j].ValidationSet, p.Tasks[j].TestSet = poison, poison
	}
	if dirty := estimate(t, n, p); !slices.Equal(clean.E, dirty.E) || !slices.Equal(clean.Phi, dirty.Phi) {
		t.Error("validation or test rows change the embeddings")
	}
	p.Tasks[0].TrainSet.Y[0] *= -1 // the same test can fail
	dirty := estimate(t, n, p)
	datatest.Holds(t, !slices.Equal(clean.E, dirty.E), "training labels do not change the embeddings")
}

func TestTheSignedReadoutOfARegressionTaskWeighsByStandardisedTargets(t *testing.T) {
	y := []float64{3, 1, 4, 1, 5, 9}
	got := datatest.Must(model.ReadoutWeights("signed", data.Regression, y))(t)
	shifted := make([]float64, len(y))
	for i, v := range y {
		shifted[i] = 7 - 2*v
	}
	opposite := datatest.Must(model.ReadoutWeights("signed", data.Regression, shifted))(t)
	sum, correlation := 0.0, 0.0
	for i, w := range got {
		sum += w
		correlation += w * y[i]
		datatest.Holds(t, math.Abs(w+opposite[i]) <= 1e-15,
			"weight %d is %v, and %v for 7 - 2y; they must be opposite", i, w, opposite[i])
	}
	mean := 23.0 / 6
	variance := (9+1+16+1+25+81)/6.0 - mean*mean
	datatest.Holds(t, math.Abs(sum) <= 1e-15 && math.Abs(correlation-math.Sqrt(variance)) <= 1e-14,
		"the weights sum to %v and give %v for the targets themselves; want 0 and their deviation %v", sum, correlation, math.Sqrt(variance))
	for name, y := range map[string][]float64{"regression": {2, 2}, "classification": {1, 1}} {
		_, err := model.ReadoutWeights("signed", data.Kind(name), y)
		datatest.Holds(t, errors.Is(err, data.ErrInvalid), "%s with equal targets: the error is %v", name, err)
	}
}

// In single precision the forward graph meets problems of several sizes, and
// must give what a fresh graph gives.
func TestForwardServesProblemsOfAnySize(t *testing.T) {
	c := config(t, "default", 3)
	c.DType = layers.Float32
	n := network(t, c, 1)
	grown := model.NewForward(n)
	r := data.Stream(3, "sizes")
	for _, rows := range [][]int{{4}, {5, 3}, {9, 9, 9, 9, 9}, {3, 4}, {40, 2}} {
		p := modeltest.Problem(r, 3, rows...)
		tuple := model.Tuple{Omega: modeltest.Covariance(r, len(rows)), O: 0.9}
		payload := datatest.Must(model.Prepare(c, p))(t)
		got := datatest.Must(grown.Estimate(payload, tuple, tuple, tuple))(t)
		want := estimate(t, n, p, tuple)
		datatest.Holds(t, slices.Equal(got.E, want.E) && slices.Equal(got.Phi, want.Phi) && got.C == want.C && got.F[2] == want.F[0] && got.V[1] == want.V[0],
			"rows %v: used graph %+v, fresh graph %+v", rows, got, want)
	}
}

func TestThePaperPresetIsThePaper(t *testing.T) {
	c := datatest.Must(model.Preset("paper", 9))(t)
	p := model.NewParams(c, 1)
	datatest.Holds(t, c.Layers == 2 && c.Hidden == 50 && c.Neighbours == 6 && c.Lambda == 0.1 && !c.Free && !c.Unit && slices.Equal(p.Get("alpha"), []float64{1, 1, 1, 0.1}) && slices.Equal(p.Get("gamma"), []float64{1, 0}),
		"the preset is %+v, alpha %v, gamma %v", c, p.Get("alpha"), p.Get("gamma"))
	mean, square := 0.0, 0.0
	for _, v := range p.Get("L1") {
		mean += v
		square += v * v
	}
	// 450 draws of N(0, 1/100): the mean is within 4 of its deviations, 0.1/sqrt(450),
	// and so is the variance, 0.01 sqrt(2/450).
	if mean /= 450; math.Abs(mean) > 0.019 || math.Abs(square/450-0.01) > 0.0027 {
		t.Errorf("the entries of L1 have mean %v and mean square %v", mean, square/450)
	}
}

func TestValidateReportsEveryFaultWithTheValidNames(t *testing.T) {
	err := model.Config{Readout: "median", Lambda: math.NaN(), DType: "float16"}.Validate()
	datatest.Says(t, err, model.ErrConfig)
	for _, part := range []string{
		`readout is "median"; it must be one of mean, signed`, `estimator is ""`, "odd-kernel", `dtype is "float16"; it must be one of float32, float64`,
		"features is 0", "layers is 0", "hidden is 0", "k is 0", "lambda is NaN", "none, size",
	} {
		datatest.Says(t, err, nil, part)
	}
	for _, name := range []string{"default", "paper"} {
		c, err := model.Preset(name, 3)
		err = errors.Join(err, c.Validate())
		datatest.Holds(t, err == nil, "preset %s: %v", name, err)
	}
	datatest.Refused(model.Preset("papre", 3))(t, nil, "default, pairwise, paper")
	datatest.Refused(model.Preset("pairwise", 3))(t, model.ErrConfig, `model.body is "pairwise"; it must be one of lgnn`, "l2mt/model/pairwise")
}

func TestMisfitsAreNamed(t *testing.T) {
	c := config(t, "default", 3)
	r := data.Stream(5, "misfits")
	payload := datatest.Must(model.Prepare(c, modeltest.Problem(r, 3, 6, 7)))(t)
	graph := datatest.Must(model.NewTrainingGraph(c, []float64{0.9, 1.1}))(t)
	params := model.NewParams(c, 1)
	named := func(names ...string) error {
		c, p := c, modeltest.Problem(r, 3, 6)
		p.Features = []string{"a", "b", "c"}
		c.Names = model.NamesOf(p)
		p.Features = names
		_, err := model.Prepare(c, p)
		return err
	}
	datatest.Check(t, named("a", "b", "c"))
	datatest.Says(t, named("a", "c", "b"), nil, `its features are "a", "c", "b", ... (`)
	datatest.Says(t, named(), nil, "its features are without names")
	datatest.Refused(model.Prepare(c, modeltest.Problem(r, 4, 6)))(t, nil, "4 features, but the network 3")
	datatest.Refused(graph.Step(params, payload, []model.Tuple{{Omega: make([]float64, 9)}}))(t, nil, "Omega has 9 entries")
	datatest.Refused(model.NewTrainingGraph(c, []float64{1, 1}))(t, nil, "all equal")
	q := modeltest.Problem(r, 3, 6, 7)
	q.Tasks[1] = modeltest.Problem(r, 4, 6, 7).Tasks[1]
	datatest.Refused(model.Prepare(c, q))(t, nil, "task 1\": it has 4 features, but the first task has 3")
	q = modeltest.Problem(r, 3, 6, 7)
	for i := range q.Tasks[1].TrainSet.Y {
		q.Tasks[1].TrainSet.Y[i] = 1
	}
	datatest.Refused(model.Prepare(c, q))(t, nil, "task 1")
}

// Gorgonia takes vectors and matrices of one element for scalars now and then.
func TestTheSmallestNetworksHaveTheGradientOfTheirLoss(t *testing.T) {
	for _, estimator := range []string{"kernel", "odd-kernel", "relu"} {
		c := config(t, "default", 1)
		c.Hidden, c.Layers, c.Estimator, c.Unit, c.Objective = 1, 1, estimator, false, model.Scaled
		payload := datatest.Must(model.Prepare(c, modeltest.Problem(data.Stream(6, "smallest"), 1, 4)))(t)
		graph := datatest.Must(model.NewTrainingGraph(c, []float64{0.9, 1.1}))(t)
		p := model.NewParams(c, 1)
		for i := range p {
			for j := range p[i].Value {
				p[i].Value[j] += 0.5
			}
		}
		loss := func() model.Step {
			return datatest.Must(graph.Step(p, payload, []model.Tuple{{Omega: []float64{1}, O: 0.9}}))(t)
		}
		gradient := loss().Gradient.Clone()
		for i := range p {
			start := slices.Clone(p[i].Value)
			differences := fd.Gradient(nil, func(x []float64) float64 {
				copy(p[i].Value, x)
				return loss().Loss
			}, start, &fd.Settings{Formula: fd.Central, Step: 1e-5})
			copy(p[i].Value, start)
			for j, want := range differences {
				datatest.Near(t, gradient[i].Value[j], want, 1e-6*(1+math.Abs(want)), "%s: d loss / d %s[%d]", estimator, p[i].Name, j)
			}
		}
	}
}

// The objective Found is nothing without its Measure, and a step says so. A nil slope says that
// a problem has nothing to measure, and the rest of the objective is learned.
func TestFoundNeedsItsMeasure(t *testing.T) {
	c := config(t, "default", 3)
	c.Objective = model.Found
	r := data.Stream(6, "found")
	payload := datatest.Must(model.Prepare(c, modeltest.Problem(r, 3, 6, 7)))(t)
	outcomes := []float64{0.9, 1.1}
	graph := datatest.Must(model.NewTrainingGraph(c, outcomes))(t)
	params, tuples := model.NewParams(c, 1), []model.Tuple{{Omega: modeltest.Covariance(r, 2), O: 0.9}}
	datatest.Refused(graph.Step(params, payload, tuples))(t, nil, "Measure")
	graph.Measure = func(*mat.SymDense) (float64, *mat.SymDense, error) { return 0, nil, nil }
	step := datatest.Must(graph.Step(params, payload, tuples))(t)
	c.Objective = model.Scaled
	want := datatest.Must(datatest.Must(model.NewTrainingGraph(c, outcomes))(t).Step(params, payload, tuples))(t)
	datatest.Holds(t, math.Abs(step.Residual-want.Residual) <= 1e-6*want.Residual && step.Loss != want.Loss,
		"without anything to measure: loss %v, residual %v; of the objective %q %v, %v", step.Loss, step.Residual, model.Scaled, want.Loss, want.Residual)
}

// The objectives of this module are means over tuples.
func TestAStepOnSeveralTuplesIsTheMeanOfSingleSteps(t *testing.T) {
	for _, objective := range []model.Objective{model.Paper, model.Scaled, model.Found} {
		c := config(t, "default", 3)
		c.Objective = objective
		r := data.Stream(8, "batch")
		payload := datatest.Must(model.Prepare(c, modeltest.Problem(r, 3, 6, 7)))(t)
		params := model.NewParams(c, 1)
		graph := datatest.Must(model.NewTrainingGraph(c, []float64{0.9, 1.1}))(t)
		graph.Measure = func(omega *mat.SymDense) (float64, *mat.SymDense, error) { return mat.Trace(omega), omega, nil }
		numbers := func(tuples ...model.Tuple) (all []float64) {
			step := datatest.Must(graph.Step(params, payload, tuples))(t)
			for _, g := range step.Gradient {
				all = append(all, g.Value...)
			}
			return append(all, step.Loss)
		}
		first, second := model.Tuple{Omega: modeltest.Covariance(r, 2), O: 0.9}, model.Tuple{Omega: modeltest.Covariance(r, 2), O: 1.1}
		mean := numbers(first)
		floats.Add(mean, numbers(second))
		floats.Scale(0.5, mean)
		near(t, string(objective), numbers(first, second), mean, 1e-10)
	}
}

// Problems and tuples that are empty, nil or impossible are refused in a sentence.
func TestNothingIsRefused(t *testing.T) {
	c := config(t, "default", 3)
	r := data.Stream(7, "nothing")
	good := modeltest.Problem(r, 3, 6, 7)
	for what, p := range map[string]*data.ProblemData{
		"nil":            nil,
		"no problem":     {Tasks: good.Tasks},
		"no tasks":       {Problem: good.Problem},
		"a nil task":     {Problem: good.Problem, Tasks: []data.TaskData{good.Tasks[0], {}}},
		"without matrix": {Problem: good.Problem, Tasks: []data.TaskData{{Task: good.Tasks[0].Task}}},
		"fewer labels":   {Problem: good.Problem, Tasks: []data.TaskData{{Task: good.Tasks[0].Task, TrainSet: data.Samples{X: good.Tasks[0].TrainSet.X}}}},
	} {
		_, err := model.Prepare(c, p)
		datatest.Holds(t, errors.Is(err, data.ErrInvalid), "%s: %v", what, err)
	}
	payload := datatest.Must(model.Prepare(c, good))(t)
	c.Objective = model.Scaled
	graph := datatest.Must(model.NewTrainingGraph(c, []float64{0.9, 1.1}))(t)
	datatest.Refused(graph.Step(model.NewParams(c, 1), payload, []model.Tuple{{Omega: modeltest.Covariance(r, 2), O: -1}}))(t, nil, "o is -1")
}
