package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/model"
)

// ErrDiverged marks a loss or gradient that is not finite.
var ErrDiverged = errors.New("training diverged")

// Options are what a run needs beside its configuration. They do not change
// its result.
type Options struct {
	// Out is the directory for the network and the state. Empty keeps nothing.
	Out string
	// Provenance is stored in the network.
	Provenance map[string]string
	// Progress hears of every step, an epoch being a stage. Nil means nobody.
	Progress progress.Reporter
	// Epoch, if not nil, is called after every epoch with its metrics and
	// seconds.
	Epoch func(m Metrics, seconds float64)
}

// Report is what a run came to.
type Report struct {
	// Network is that of the best epoch by the held-out correlation within
	// problems.
	Network *model.Network
	// Best is its index in Metrics.
	Best int
	// Metrics has the start and every epoch.
	Metrics []Metrics
	// Warnings are remarks on the run as a whole, in plain words.
	Warnings []string
}

// Run trains a network on examples, or goes on with the run that it finds in
// o.Out. After a cancelled context, the state of which is saved, the same call
// goes on to the same bytes.
func Run(ctx context.Context, c Config, examples []Example, o Options) (*Report, error) {
	c = c.Defaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = progress.Silent()
	}
	ready, err := prepare(c.Model, examples)
	if err != nil {
		return nil, err
	}
	t, err := newTrainer(c, ready, o)
	if err != nil {
		return nil, err
	}
	if err := t.resume(); err != nil {
		return nil, err
	}
	for !t.finished() {
		if err := t.epoch(ctx); err != nil {
			return nil, err
		}
	}
	return t.report()
}

// trainer is a run in progress.
type trainer struct {
	config            Config
	options           Options
	training, heldOut []prepared
	steps             []step // of one epoch, before they are shuffled
	embedding         map[string]bool
	digest            string // of the tuples

	network *model.Network // its parameters change
	forward *model.Forward
	graph   *model.TrainingGraph
	adam    *Adam
	state   state
}

// step is what one step learns from: some tuples of one problem.
type step struct {
	payload *model.Payload
	tuples  []model.Tuple
}

func newTrainer(c Config, examples []prepared, o Options) (*trainer, error) {
	t := &trainer{config: c, options: o, embedding: map[string]bool{}, digest: digest(examples)}
	var err error
	if t.training, t.heldOut, err = divide(examples, c.HeldOut, c.Seed); err != nil {
		return nil, err
	}
	for _, e := range t.training {
		if c.Batch == ByProblem {
			t.steps = append(t.steps, step{e.payload, e.tuples})
			continue
		}
		for i := range e.tuples {
			t.steps = append(t.steps, step{e.payload, e.tuples[i : i+1]})
		}
	}
	for _, s := range c.Model.Specs() {
		t.embedding[s.Name] = s.Embedding
	}
	if t.network, err = model.NewNetwork(c.Model, c.Seed); err != nil {
		return nil, err
	}
	t.network.Provenance = o.Provenance
	if t.graph, err = model.NewTrainingGraph(c.Model, capacity(t.training, c.Batch), outcomes(t.training)); err != nil {
		return nil, err
	}
	if t.forward, err = model.NewForward(t.network); err != nil {
		return nil, err
	}
	t.adam = NewAdam(t.network.Params)
	return t, nil
}

// begin sets the start of a new run.
func (t *trainer) begin() error {
	if t.config.Start == FromRegression {
		if err := regress(t.network, t.training); err != nil {
			return err
		}
	}
	first, err := t.graph.Step(t.network.Params, t.steps[0].payload, t.steps[0].tuples)
	if err != nil {
		return err
	}
	m := Metrics{Loss: first.Loss, Residual: first.Residual, Spread: first.Spread}
	if err := t.evaluate(&m); err != nil {
		return err
	}
	t.state.Metrics = []Metrics{m}
	return t.keepBest()
}

func (t *trainer) finished() bool {
	done := len(t.state.Metrics) - 1
	patience := t.config.Patience
	return done == t.config.Epochs || (patience > 0 && done-t.state.Best >= patience)
}

// epoch does one epoch, or what is left of one that was interrupted.
func (t *trainer) epoch(ctx context.Context) error {
	begin := time.Now()
	number := len(t.state.Metrics)
	order := data.Stream(t.config.Seed, "order", uint64(number)).Perm(len(t.steps))
	t.options.Progress.Start(fmt.Sprintf("epoch %d/%d", number, t.config.Epochs), len(order)-t.state.Step)
	spread := 0.0
	for t.state.Step < len(order) {
		if err := ctx.Err(); err != nil {
			t.options.Progress.Finish()
			return errors.Join(err, t.save())
		}
		result, err := t.learn(t.steps[order[t.state.Step]], number)
		if err != nil {
			return err
		}
		t.state.Step++
		t.state.Loss += result.Loss
		t.state.Residual += result.Residual
		spread = result.Spread
		t.options.Progress.Advance(1, fmt.Sprintf("loss %.4g", t.state.Loss/float64(t.state.Step)))
	}
	t.options.Progress.Finish()
	m := Metrics{Epoch: number, Loss: t.state.Loss / float64(len(order)), Residual: t.state.Residual / float64(len(order)), Spread: spread}
	if err := t.evaluate(&m); err != nil {
		return err
	}
	t.state.Metrics = append(t.state.Metrics, m)
	t.state.Step, t.state.Loss, t.state.Residual = 0, 0, 0
	if m.HeldOut.Within > t.state.Metrics[t.state.Best].HeldOut.Within {
		t.state.Best = number
		if err := t.keepBest(); err != nil {
			return err
		}
	}
	if err := t.save(); err != nil {
		return err
	}
	if t.options.Epoch != nil {
		t.options.Epoch(m, time.Since(begin).Seconds())
	}
	return nil
}

// learn does one step of Adam.
func (t *trainer) learn(s step, epoch int) (model.Step, error) {
	result, err := t.graph.Step(t.network.Params, s.payload, s.tuples)
	if err != nil {
		return result, err
	}
	if bad := firstBad(result); bad != "" {
		return result, fmt.Errorf("train: %w: %s is not finite at epoch %d, step %d; the last good state is kept: lower the rates (lr %v, lr_embed %v)",
			ErrDiverged, bad, epoch, t.state.Step+1, t.config.Rate, t.config.EmbeddingRate)
	}
	total := t.config.Epochs * len(t.steps)
	left := 1 - float64(t.adam.Time)/float64(total)
	return result, t.adam.Step(t.network.Params, result.Gradient, func(name string) float64 {
		if t.embedding[name] {
			return left * t.config.EmbeddingRate
		}
		return left * t.config.Rate
	})
}

// firstBad names the first number of a step that is not finite, or is empty.
func firstBad(s model.Step) string {
	bad := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	for _, g := range s.Gradient {
		if slices.ContainsFunc(g.Value, bad) {
			return "the gradient of " + g.Name
		}
	}
	if bad(s.Loss) {
		return "the loss"
	}
	return ""
}

// evaluate fills in what the parameters are worth at the end of an epoch.
func (t *trainer) evaluate(m *Metrics) (err error) {
	if m.Training, err = t.agreement(t.training); err != nil {
		return err
	}
	if m.HeldOut, err = t.agreement(t.heldOut); err != nil {
		return err
	}
	m.Scalars = map[string][]float64{}
	for _, p := range t.network.Params {
		if !t.embedding[p.Name] && len(p.Shape) == 1 && len(p.Value) <= 8 {
			m.Scalars[p.Name] = slices.Clone(p.Value)
		}
	}
	if len(t.state.Metrics) > 0 && m.Spread < 0.05*t.state.Metrics[0].Spread {
		m.Warnings = append(m.Warnings, fmt.Sprintf("collapse: v(o) has lost its spread over the training tuples (standard deviation %.2g, %.2g at the start): "+
			"both sides of |f - v(o)| go to a constant and nothing is learned; the objective %q divides by the spread", m.Spread, t.state.Metrics[0].Spread, model.Scaled))
	}
	return nil
}

func (t *trainer) agreement(examples []prepared) (a Agreement, err error) {
	direction := t.network.Direction()
	var allF, allO []float64
	for _, e := range examples {
		estimate, err := t.forward.Estimate(e.payload, e.tuples...)
		if err != nil {
			return a, err
		}
		o := outcomes([]prepared{e})
		for q := range estimate.F {
			estimate.F[q] *= direction
		}
		a.Within += spearman(estimate.F, o) / float64(len(examples))
		allF, allO = append(allF, estimate.F...), append(allO, o...)
	}
	a.Overall = spearman(allF, allO)
	return a, nil
}

// keepBest remembers the parameters as the best so far.
func (t *trainer) keepBest() error {
	t.state.best = t.network.Params.Clone()
	if t.options.Out == "" {
		return nil
	}
	if err := os.MkdirAll(t.options.Out, 0o755); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return t.network.Save(t.options.Out)
}

func (t *trainer) report() (*Report, error) {
	best := *t.network
	best.Params = t.state.best
	r := &Report{Network: &best, Best: t.state.Best, Metrics: t.state.Metrics}
	last := r.Metrics[len(r.Metrics)-1]
	r.Warnings = append(r.Warnings, last.Warnings...)
	if h := r.Metrics[r.Best].HeldOut.Within; h < 0.1 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the estimate does not order covariances of held-out problems (rank correlation %.2f at best): "+
			"covariances found with this network are noise; more experience, or the default preset, may help", h))
	}
	return r, nil
}
