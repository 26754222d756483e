package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/layers"
	"l2mt/model"
)

// The best epoch is that of the least error of what is found, the first of equals.
func TestTheBestEpochIsKept(t *testing.T) {
	datatest.Long(t)
	examples := tested(t, 2, 5, 5)
	c := pairwise(t)
	c.Epochs, c.Rate = 12, 0.05
	dir := t.TempDir()
	r := run(t, c, examples, Options{Out: dir, Provenance: map[string]string{"made": "yes"}})
	datatest.Need(t, len(r.Metrics) == c.Epochs+1,
		"there are metrics of %d epochs and the start, want %d", len(r.Metrics)-1, c.Epochs)
	best := r.Metrics[r.Best]
	for i, m := range r.Metrics {
		datatest.Holds(t, m.Epoch == i && m.Found >= best.Found && (m.Found != best.Found || i >= r.Best),
			"epoch %d (%d) finds %v, the best (%d) %v", i, m.Epoch, m.Found, r.Best, best.Found)
	}
	datatest.Holds(t, r.Best != 0 && r.Best != c.Epochs && r.Best == Best(r.Metrics),
		"epoch %d is the best, by the metrics %d", r.Best, Best(r.Metrics))
	saved := datatest.Must(model.Load(dir))(t)
	datatest.Holds(t, saved.Provenance["made"] == "yes", "the saved network has the provenance %v", saved.Provenance)
	for _, n := range []*model.Network{saved, r.Network} {
		for _, p := range n.Params {
			if want := best.Scalars[p.Name]; want != nil && !slices.Equal(p.Value, want) {
				t.Errorf("the network has %s = %v, the best epoch %v", p.Name, p.Value, want)
			}
		}
	}
	c.Patience = 2
	if short := run(t, c, examples, Options{Out: t.TempDir()}); len(short.Metrics)-1 != min(c.Epochs, short.Best+c.Patience) {
		t.Errorf("with a patience of %d and the best epoch %d there are %d epochs", c.Patience, short.Best, len(short.Metrics)-1)
	}
}

func TestEveryEpochTakesEveryStepOnceInAnOrderOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(3) {
		for epoch := range 5 {
			order := shuffle(seed, epoch, 20)
			datatest.Holds(t, slices.Equal(order, shuffle(seed, epoch, 20)),
				"seed %d, epoch %d: the order changes", seed, epoch)
			seen[fmt.Sprint(order)] = true
			slices.Sort(order)
			for i, step := range order {
				datatest.Need(t, step == i, "seed %d, epoch %d: the steps are %v", seed, epoch, order)
			}
		}
	}
	datatest.Equal(t, len(seen), 15, "orders of 15 epochs")
}

// The metrics of the start are those of a network that has not learned.
func TestTheMetricsOfTheStartAreTheMeansOverAllSteps(t *testing.T) {
	examples := small(1)
	c := config(t, "default", examples)
	c.Update, c.Epochs = ByTuple, 1
	start := run(t, c, examples, Options{Out: t.TempDir()}).Metrics[0]

	training, _, err := divide(ready(t, examples), c.Defaults().HeldOut, c.Seed)
	datatest.Check(t, err)
	n := datatest.Must(model.NewNetwork(c.Model, c.Seed))(t)
	datatest.Check(t, regress(n, training))
	forward := model.NewForward(n)
	var v []float64
	residual, mean, square, penalty := 0.0, 0.0, 0.0, 0.0
	for _, e := range training {
		estimate := datatest.Must(forward.Estimate(e.payload, e.Tuples...))(t)
		for q := range estimate.F {
			residual += math.Abs(estimate.F[q] - estimate.V[q])
		}
		v = append(v, estimate.V...)
	}
	for _, x := range v {
		mean += x / float64(len(v))
		square += x * x / float64(len(v))
	}
	deviation := math.Sqrt(square - mean*mean)
	residual /= float64(len(v))
	for _, name := range []string{"L1", "L2"} { // two layers, so that each counts once
		for _, x := range n.Params.Get(name) {
			penalty += c.Model.Lambda * x * x
		}
	}
	for what, pair := range map[string][2]float64{"residual": {start.Residual, residual}, "deviation": {start.Deviation, deviation}, "loss": {start.Loss, residual/deviation + penalty}} {
		datatest.Near(t, pair[0], pair[1], 1e-10, "the %s at the start", what)
	}
}

// The loop by its definition: Adam at a rate that falls linearly to zero, the
// layers at a rate of their own, and metrics that are means over the steps.
func TestTrainingIsAdamAtAFallingRate(t *testing.T) {
	examples := small(1)
	c := config(t, "default", examples)
	c.Start, c.Epochs = FromPreset, 3
	got := run(t, c, examples, Options{Out: t.TempDir()})

	training, _, err := divide(ready(t, examples), c.Defaults().HeldOut, c.Seed)
	datatest.Check(t, err)
	graph := datatest.Must(model.NewTrainingGraph(c.Model, outcomes(training...)))(t)
	p := model.NewParams(c.Model, c.Seed)
	first, second := map[string]float64{}, map[string]float64{} // by tensor and entry
	time, total := 0.0, float64(c.Epochs*len(training))
	for epoch := 1; epoch <= c.Epochs; epoch++ {
		loss, residual := 0.0, 0.0
		for _, i := range shuffle(c.Seed, epoch, len(training)) {
			s := datatest.Must(graph.Step(p, training[i].payload, training[i].Tuples))(t)
			loss += s.Loss / float64(len(training))
			residual += s.Residual / float64(len(training))
			left := 1 - time/total
			time++
			for k := range p {
				rate := c.Rate
				if strings.ContainsAny(p[k].Name[:1], "Lb") { // L_1, b_1, ...
					rate = c.EmbeddingRate
				}
				for j, g := range s.Gradient[k].Value {
					key := fmt.Sprint(p[k].Name, j)
					first[key] = 0.9*first[key] + 0.1*g
					second[key] = 0.999*second[key] + 0.001*g*g
					m, v := first[key]/(1-math.Pow(0.9, time)), second[key]/(1-math.Pow(0.999, time))
					p[k].Value[j] -= left * rate * m / (math.Sqrt(v) + 1e-8)
				}
			}
		}
		m := got.Metrics[epoch]
		datatest.Holds(t, math.Abs(m.Loss-loss) <= 1e-9 && math.Abs(m.Residual-residual) <= 1e-9,
			"epoch %d has the loss %v and the residual %v, want %v and %v", epoch, m.Loss, m.Residual, loss, residual)
		for _, tensor := range p {
			for j, v := range m.Scalars[tensor.Name] {
				datatest.Near(t, v, tensor.Value[j], 1e-9, "epoch %d ends with %s[%d]", epoch, tensor.Name, j)
			}
		}
	}
}

func TestTestLabelsChangeNothingInTraining(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	train := func(change func(p *data.ProblemData)) string {
		examples := small(1)
		for _, e := range examples {
			change(e.Problem)
		}
		dir := t.TempDir()
		run(t, config(t, "default", examples), examples, Options{Out: dir})
		return dir
	}
	clean := train(func(*data.ProblemData) {})
	compareFiles(t, "poisoned validation and test splits", train(func(p *data.ProblemData) {
		for j := range p.Tasks {
			poison := data.Samples{X: poisoned{}, Y: []float64{math.NaN(), 1, -1}}
			p.Tasks[j].ValidationSet, p.Tasks[j].TestSet = poison, poison
			p.Tasks[j].Task.Test = []int{3, 1, 2}
		}
	}), clean)
	other := train(func(p *data.ProblemData) { p.Tasks[0].TrainSet.Y[0] *= -1 }) // the same test can fail
	datatest.Holds(t, contents(t, other)[model.WeightsFile] != contents(t, clean)[model.WeightsFile],
		"training labels change nothing")
}

func TestTwoTrainersSideBySideDoNotMeet(t *testing.T) {
	t.Parallel()
	examples := small(1)
	c := config(t, "default", examples)
	alone := t.TempDir()
	run(t, c, examples, Options{Out: alone})
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	var wg sync.WaitGroup
	for i, dir := range dirs {
		wg.Go(func() {
			mine := c
			if i == 2 {
				mine.Model.DType, mine.Update = layers.Float32, ByTuple // another one at the same time
			}
			if _, err := Run(t.Context(), mine, examples, Options{Out: dir}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	compareFiles(t, "side by side", dirs[0], alone)
	compareFiles(t, "side by side", dirs[1], alone)
}

// The paper trains on every tuple of every problem and keeps the last epoch, though an earlier one
// may be better, and though there is but one problem.
func TestThePaperHoldsOutNothing(t *testing.T) {
	datatest.Long(t)
	for _, examples := range [][]Example{small(1), small(1)[:1]} {
		c := config(t, "paper", examples)
		tuples := 0
		for _, e := range examples {
			tuples += len(e.Tuples)
		}
		s := &spy{}
		r := run(t, c, examples, Options{Out: t.TempDir(), Progress: s})
		datatest.Holds(t, s.steps >= c.Epochs*tuples && r.Best == c.Epochs,
			"%d steps on %d tuples in %d epochs, and epoch %d is kept", s.steps, tuples, c.Epochs, r.Best)
		for _, warning := range r.Warnings {
			if strings.HasPrefix(warning, "kept") {
				t.Error(warning)
			}
		}
	}
}

func TestAnEpochIsAStageAndEndsWithItsMetrics(t *testing.T) {
	examples := small(1)
	c := config(t, "default", examples)
	s := &spy{}
	var seen []int
	run(t, c, examples, Options{Out: t.TempDir(), Progress: s, Epoch: func(done []Metrics) error {
		seen = append(seen, len(done))
		if last := s.status[len(s.status)-1]; !strings.HasPrefix(last, done[len(done)-1].String()) {
			t.Errorf("the last status of the epoch is %q, want %q", last, done[len(done)-1])
		}
		return nil
	}})
	steps := c.Epochs * 7 // 8 problems, 1 held out
	datatest.Holds(t, s.stages == c.Epochs && s.finished == c.Epochs && s.steps == steps && s.total == steps,
		"%d stages, %d finished, %d steps of %d; want %d and %d", s.stages, s.finished, s.steps, s.total, c.Epochs, steps)
	datatest.Equal(t, seen, []int{2, 3, 4, 5}, "after the epochs there were the metrics")
	stop := errors.New("enough")
	datatest.Refused(Run(t.Context(), c, examples, Options{Out: t.TempDir(), Epoch: func([]Metrics) error { return stop }}))(t, stop)
}

// Networks know which features they were trained on; all examples must have them. A
// network that is free of the features takes any.
func TestNetworksKnowTheirFeatures(t *testing.T) {
	names := func(of string, e []Example) []Example {
		for i := range e {
			e[i].Problem.Features = nil
			for j := range e[i].Problem.Cols() {
				e[i].Problem.Features = append(e[i].Problem.Features, fmt.Sprint(of, j))
			}
		}
		return e
	}
	examples := names("f", small(1))
	c := config(t, "default", examples)
	c.Epochs = 1
	n := run(t, c, examples, Options{Out: t.TempDir()}).Network
	if want := model.NamesOf(examples[0].Problem); n.Config.Names != want || !strings.HasPrefix(want, `"f0", "f1", `) {
		t.Errorf("its features are %s, want %s", n.Config.Names, want)
	}
	names("g", examples[1:2])
	datatest.Refused(Run(t.Context(), c, examples, Options{Out: t.TempDir()}))(t, nil, `its features are "g0"`)
	free := config(t, "pairwise", examples)
	free.Epochs, free.Model.Objective = 1, model.Scaled
	if n := run(t, free, examples, Options{Out: t.TempDir()}).Network; n.Config.Names != "" {
		t.Errorf("a network that is free of the features has %s", n.Config.Names)
	}
}

// Experience that is empty, nil or impossible is refused in a sentence that names the problem.
func TestRunOfNothing(t *testing.T) {
	examples := small(1)
	c := config(t, "default", examples)
	changed := func(change func(e *Example)) []Example {
		made := small(1)
		change(&made[3])
		return made
	}
	name := examples[3].Problem.Name
	for what, k := range map[string]struct {
		examples []Example
		says     string
	}{
		"no examples":     {nil, "experience on 0 problems"},
		"a nil problem":   {changed(func(e *Example) { e.Problem = nil }), "no problem"},
		"an empty task":   {changed(func(e *Example) { e.Problem.Tasks[1] = data.TaskData{} }), name},
		"no features":     {changed(func(e *Example) { e.Problem.Tasks[1].TrainSet.X = nil }), name},
		"a negative o":    {changed(func(e *Example) { e.Tuples[1].O = -1 }), "o is -1"},
		"Omega of others": {changed(func(e *Example) { e.Tuples[1].Omega = nil }), "Omega has 0 entries"},
	} {
		r, err := Run(t.Context(), c, k.examples, Options{Out: t.TempDir()})
		datatest.Holds(t, r == nil && err != nil && strings.Contains(err.Error(), k.says),
			"%s: %v", what, err)
	}
}
