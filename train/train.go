package train

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/progress"
	"l2mt/model"
)

// ErrDiverged marks a number of training that is not finite.
var ErrDiverged = errors.New("training diverged")

// Options are the settings of a run beside its configuration. They do not change its result.
type Options struct {
	// Out is the directory for the network and the state.
	Out string
	// Begin, if not nil, is called before the first step of a run that is not finished.
	// Its error ends the run.
	Begin func() error
	// Provenance is stored in the network.
	Provenance map[string]string
	// Progress follows every step, an epoch being a stage. Nil means that nothing does.
	Progress progress.Reporter
	// Epoch, if not nil, is called after every epoch with the metrics of the
	// start and of all epochs done. Its error ends the run.
	Epoch func(done []Metrics) error
}

// Report has the results of a run.
type Report struct {
	// Network is the network of the best epoch by Metrics.Found or, where nothing is measured,
	// of the last one.
	Network *model.Network
	// Best is its index in Metrics.
	Best int
	// Metrics has the start and every epoch.
	Metrics []Metrics
	// HeldOut is a checksum of the held-out problems and all experience.
	HeldOut string
	// Warnings are remarks on the run as a whole, in plain words.
	Warnings []string
}

// Run trains a network on examples, or resumes the run in o.Out, where no other process may be
// training (files.ErrLocked). When the context is cancelled Run saves its state, and the same call
// resumes to the same bytes.
func Run(ctx context.Context, c Config, examples []Example, o Options) (*Report, error) {
	c = c.Defaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	o.Progress = cmp.Or(o.Progress, progress.Silent())
	folder, err := files.Claim(o.Out)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	t, err := newTrainer(ctx, c, examples, o)
	if err != nil {
		return nil, err
	}
	if err := t.resume(ctx); err != nil {
		return nil, err
	}
	for !t.finished() {
		err := t.epoch(ctx)
		if err == nil && o.Epoch != nil {
			err = o.Epoch(t.state.Metrics)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := t.learnSigma(ctx, examples); err != nil {
		return nil, err
	}
	r := t.report()
	return r, r.Network.Save(o.Out) // it has been saved, but the files may have suffered since
}

// trainer is a run in progress.
type trainer struct {
	config            Config
	options           Options
	training, heldOut []prepared
	steps             []prepared // of one epoch, before they are shuffled
	rates             []float64  // of the parameters
	digest            string     // of the examples

	network   *model.Network // its parameters change
	forward   *model.Forward
	graph     *model.TrainingGraph
	optimiser *Optimiser
	state     state
}

func newTrainer(ctx context.Context, c Config, examples []Example, o Options) (*trainer, error) {
	ready, digest, err := prepare(ctx, &c, examples)
	if err != nil {
		return nil, err
	}
	t := &trainer{
		config:  c,
		options: o,
		digest:  digest,
	}
	t.training, t.heldOut, err = divide(ready, c.HeldOut, c.Seed)
	if err != nil {
		return nil, err
	}
	for _, s := range c.Model.Specs() {
		rate := c.Rate
		if s.Embedding {
			rate = c.EmbeddingRate
		}
		t.rates = append(t.rates, rate)
	}
	t.network, err = model.NewNetwork(c.Model, c.Seed)
	if err != nil {
		return nil, err
	}
	t.network.Provenance = o.Provenance
	if err := t.prepareTesters(ctx); err != nil {
		return nil, err
	}
	t.steps = steps(t.training, c.Update) // with their testers
	t.graph, err = model.NewTrainingGraph(c.Model, outcomes(t.training...))
	if err != nil {
		return nil, err
	}
	t.forward = model.NewForward(t.network)
	t.optimiser = NewOptimiser(c.Optimiser, t.network.Params)
	return t, nil
}

// begin sets and saves the start of a new run.
func (t *trainer) begin(ctx context.Context) error {
	var err error
	if t.config.Start == FromExperience {
		err = t.startFeatureMap(ctx)
	}
	if err == nil && t.config.Start != FromPreset {
		err = regress(t.network, t.training)
	}
	if err == nil {
		err = t.network.Save(filepath.Join(t.options.Out, StartFolder))
	}
	if err != nil {
		return err
	}
	m := Metrics{}
	count := float64(len(t.steps))
	for i, s := range t.steps {
		result, err := t.compute(ctx, s, i)
		if err != nil {
			return err
		}
		m.Loss += result.Loss / count
		m.Residual += result.Residual / count
		m.Deviation = result.Deviation
	}
	return t.end(ctx, &m)
}

func (t *trainer) finished() bool {
	done := len(t.state.Metrics) - 1
	return done == t.config.Epochs ||
		(t.config.Patience > 0 &&
			done-Best(t.state.Metrics) >= t.config.Patience)
}

// epoch does one epoch, or the rest of an interrupted epoch.
func (t *trainer) epoch(ctx context.Context) error {
	s := &t.state
	report := t.options.Progress
	number := len(s.Metrics)
	order := shuffle(t.config.Seed, number, len(t.steps))
	report.Start(
		fmt.Sprintf("epoch %d/%d", number, t.config.Epochs),
		len(order)-s.Step)
	defer report.Finish()
	deviation := 0.0
	begin := time.Now()
	for s.Step < len(order) {
		if err := ctx.Err(); err != nil {
			return errors.Join(err, t.save())
		}
		result, err := t.learn(ctx, t.steps[order[s.Step]])
		if err != nil {
			return err
		}
		s.Step++
		s.Loss += result.Loss
		s.Residual += result.Residual
		deviation = result.Deviation
		report.Advance(1,
			fmt.Sprintf("loss %.4f", s.Loss/float64(s.Step)))
	}
	count := float64(len(order))
	m := Metrics{Epoch: number, Loss: s.Loss / count,
		Residual: s.Residual / count, Deviation: deviation}
	err := t.end(ctx, &m)
	if err != nil {
		return err
	}
	status := m.String()
	rest := t.config.Epochs - number
	if rest > 0 {
		left := time.Since(begin) * time.Duration(rest)
		status += fmt.Sprintf(", %v to go", left.Round(time.Second))
	}
	report.Advance(0, status)
	return nil
}

// shuffle is the order of the steps of an epoch. It depends on nothing that
// happened before, so an epoch that was interrupted goes on in the same order.
func shuffle(seed uint64, epoch, steps int) []int {
	return data.Stream(seed, "order", uint64(epoch)).Perm(steps)
}

// learn does one step of the optimiser.
func (t *trainer) learn(ctx context.Context, s prepared) (model.Step, error) {
	result, err := t.compute(ctx, s, t.state.Step)
	if err != nil {
		return result, err
	}
	steps := len(t.steps)
	warm := t.config.WarmUp * steps
	part := share(t.config.Schedule, t.optimiser.Time,
		warm, t.config.Epochs*steps)
	for _, g := range result.Gradient {
		floats.Scale(s.Weight, g.Value)
	}
	rates := slices.Clone(t.rates)
	floats.Scale(part, rates)
	t.optimiser.Step(t.network.Params, result.Gradient, rates)
	return result, nil
}

// compute is the loss of a step and its gradient.
func (t *trainer) compute(ctx context.Context, s prepared, step int) (model.Step, error) {
	t.graph.Measure = func(omega *mat.SymDense) (float64, *mat.SymDense, error) {
		if s.tester == nil {
			return 0, nil, nil
		}
		return s.tester.soft(ctx, omega)
	}
	result, err := t.graph.Step(t.network.Params, s.payload, s.Tuples)
	if errors.Is(err, model.ErrNotFinite) {
		err = t.diverged(
			fmt.Sprintf("step %d, on problem %q: %v", step+1, s.Problem.Name, err))
	}
	return result, err
}

// diverged is the error of a number that is not finite.
func (t *trainer) diverged(what string) error {
	epoch := len(t.state.Metrics)
	c := t.config
	advice := fmt.Sprintf("lower the rates (train.rate %v, train.embedding_rate %v)",
		c.Rate, c.EmbeddingRate)
	if epoch == 0 {
		advice = "nothing has been learned yet: look for wrong features, and for wrong tuples of the problem"
	} else {
		advice = t.options.Out + " keeps the state before this epoch and the best network; " + advice
	}
	return fmt.Errorf("%w: epoch %d: %s: %s", ErrDiverged, epoch, what, advice)
}

// evaluate fills in how good the parameters are at the end of an epoch.
func (t *trainer) evaluate(ctx context.Context, m *Metrics) error {
	m.Scalars = map[string][]float64{}
	for i, s := range t.config.Model.Specs() {
		p := t.network.Params[i]
		largest := floats.Norm(p.Value, math.Inf(1))
		if !(largest < math.Inf(1)) { // or NaN
			return t.diverged(
				fmt.Sprintf("the parameter %s is not finite after the last step", p.Name))
		}
		if !s.Embedding && len(p.Shape) == 1 && len(p.Value) <= 8 {
			m.Scalars[p.Name] = slices.Clone(p.Value)
		}
	}
	return t.measureFound(ctx, m)
}

// end saves the parameters after the start, or an epoch, and remembers the best so far.
func (t *trainer) end(ctx context.Context, m *Metrics) error {
	err := t.evaluate(ctx, m)
	if err != nil {
		return err
	}
	t.state = state{
		Metrics: append(t.state.Metrics, *m),
		best:    t.state.best,
	}
	if Best(t.state.Metrics) == m.Epoch {
		t.state.best = t.network.Params.Clone()
		err = t.network.Save(t.options.Out)
	}
	if err == nil {
		err = t.save()
	}
	return err
}

func (t *trainer) report() *Report {
	network := *t.network
	network.Params = t.state.best
	held := sha256.New()
	fmt.Fprint(held, t.digest)
	for _, e := range t.heldOut {
		fmt.Fprint(held, " ", e.index)
	}
	r := &Report{Network: &network, Best: Best(t.state.Metrics),
		Metrics: t.state.Metrics, HeldOut: fmt.Sprintf("%x", held.Sum(nil))}
	warn := func(format string, args ...any) {
		r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
	}
	best := r.Metrics[r.Best]
	start := r.Metrics[0]
	last := r.Metrics[len(r.Metrics)-1]
	if last.Deviation < 0.1*start.Deviation { // next to nothing of the variation is left
		warn("collapse: v(o) has lost its variation over the training tuples (standard deviation %.2g at the end, %.2g at the start): "+
			"f and v(o) both went to a constant, so that a small residual means nothing; the objective %q, which divides by the deviation, prevents this", last.Deviation, start.Deviation, model.Scaled)
	}
	switch {
	case t.config.HeldOut < 0: // nothing was to be measured
	case math.IsNaN(float64(best.Found)):
		warn("kept the last epoch: no held-out problem can be measured, as none has test rows and tuples that state their Lambda1")
	case r.Best == 0:
		warn("kept the start: no epoch was better; its covariances have %.3f times the error of single-task learning on held-out problems", start.Found)
	}
	return r
}
