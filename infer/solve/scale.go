package solve

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model/evidence"
	"l2mt/model/saved"
)

// Scales of targets that a user may ask for.
const (
	Identity = "identity" // as they are
	Log      = "log"      // their logarithms
	Count    = "count"    // the logarithm of the counts that are expected
	Huber    = "huber"    // as they are, by Huber's loss
)

const (
	// skewed is the skewness of targets from which on other scales are tried.
	skewed = 1.0
	// tails is the size of the largest 2 % of residuals, over their median size, from which on
	// Huber's loss is tried. Normal ones have 3.4, residuals of Student with 3 degrees 5.9.
	tails = 4.3
	// unitOfMedian makes a median size the unit of Huber's loss. Of normal noise the deviation is
	// 1.48 median sizes, but residuals have the error of the fit too.
	unitOfMedian = 1.2
)

// Chooser chooses among the candidates of a bench.
type Chooser func(*Bench) (*Choice, error)

// Scaled chooses on the scale of the targets, of their logarithms, or of the logarithm of expected
// counts, or by Huber's loss, and returns the bench whose scale it is. Without a scale the rows held
// out decide: where targets are skewed by their likelihood, and where residuals have heavy tails by
// Huber's loss.
func (b *Bench) Scaled(
	ctx context.Context, scale string, choose Chooser,
) (*Bench, *Choice, error) {
	if scale == Log {
		return chosen(b.logarithms, choose)
	}
	best, err := choose(b)
	if err != nil || scale == Identity || scale == "" && !b.scales() {
		return b, best, err
	}
	asTheyAre := residuals(best.HeldOut)
	sizes := sizesOf(asTheyAre)
	robust := func() (*Bench, error) {
		return b.robust(sizes)
	}
	if scale == Huber {
		return chosen(robust, choose)
	}
	_, unscaled := best.ScoresOf(b.rows)
	counts := func() (*Bench, error) {
		return b.expectations(float64(unscaled.Error))
	}
	if scale == Count {
		return chosen(counts, choose)
	}
	var rivals []func() (*Bench, error)
	y := slices.Concat(labels(b.rows)...)
	skewed := stat.Skew(y, nil) > skewed
	if skewed && b.counted() == nil && !b.wide() {
		rivals = append(rivals, counts)
	}
	if skewed && slices.Min(y) > 0 {
		rivals = append(rivals, b.logarithms)
	}
	pays, err := b.robustPays(ctx, best, sizes)
	if err != nil {
		return nil, nil, err
	}
	if pays {
		rivals = append(rivals, robust)
	}
	bench := b
	for k, rival := range rivals {
		if b.Late() {
			best.LeftOut += len(rivals) - k
			break
		}
		scaled, c, err := chosen(rival, choose)
		if err != nil {
			return nil, nil, err
		}
		original, err := scaled.Told(c.HeldOut)
		if err != nil {
			return nil, nil, err
		}
		_, closer := original.ScoresOf(b.rows)
		better := closer.Error < unscaled.Error &&
			scaled.surprise(c) < bench.surprise(best)
		if scaled.unit > 0 {
			better = bench == b &&
				scaled.saves(residuals(c.HeldOut), asTheyAre)
		}
		if better {
			bench = scaled
			best = c
		}
	}
	return bench, best, nil
}

// surprise falls with the likelihood of the targets held out: minus twice the mean of the
// logarithms of their normal densities, but for a constant, at the best factor of the variances
// that the model expects. A logarithm's density has the Jacobian 1/y (Box and Cox 1964).
func (b *Bench) surprise(c *Choice) float64 {
	var logs, squares []float64
	for i, task := range c.Y {
		for j, y := range task {
			variance := 1.0
			if c.Variance != nil {
				variance = c.Variance[i][j]
			}
			miss := y - c.Scores[i][j]
			squares = append(squares, miss*miss/variance)
			if b.target != nil {
				variance *= math.Exp(2 * y)
			}
			logs = append(logs, math.Log(variance))
		}
	}
	weights := slices.Concat(c.Weight...)
	return stat.Mean(logs, weights) + math.Log(stat.Mean(squares, weights))
}

// chosen is a choice on another bench.
func chosen(
	rescale func() (*Bench, error), choose Chooser,
) (*Bench, *Choice, error) {
	scaled, err := rescale()
	if err != nil {
		return nil, nil, err
	}
	c, err := choose(scaled)
	return scaled, c, err
}

// scales says that the targets may have a simpler model on another scale.
func (b *Bench) scales() bool {
	return b.options.After == nil && !b.rows.OwnUnits &&
		len(b.folds) > 0 && b.regression()
}

// residuals are the targets of rows held out less their predictions.
func residuals(h *evidence.HeldOut) []float64 {
	missed := slices.Concat(h.Y...)
	floats.Sub(missed, slices.Concat(h.Scores...))
	return missed
}

// sizesOf are the sizes of residuals, in order.
func sizesOf(residuals []float64) (sizes []float64) {
	for _, r := range residuals {
		sizes = append(sizes, math.Abs(r))
	}
	slices.Sort(sizes)
	return sizes
}

// robust is the bench of Huber's loss, in a unit of residuals' sizes.
func (b *Bench) robust(sizes []float64) (*Bench, error) {
	if !b.scales() {
		return nil, b.fault("--target-scale huber: it needs a target of numbers and rows to hold out, and takes no older model; leave it out")
	}
	unit := unitOfMedian * sizes[len(sizes)/2]
	return newBench(b.finder, b.problem, b.options, scale{
		name: Huber,
		unit: unit,
	})
}

// robustPays tries Huber's loss where residuals have heavy tails, on the structure of the largest
// weight.
func (b *Bench) robustPays(
	ctx context.Context, best *Choice, sizes []float64,
) (bool, error) {
	first := best.surest()
	if first == nil || b.Late() {
		return false, nil
	}
	n := len(sizes)
	if !(sizes[n*49/50] > tails*sizes[n/2]) {
		return false, nil
	}
	robust, err := b.robust(sizes)
	if err != nil {
		return false, err
	}
	held, err := robust.Held(ctx, first.Candidate)
	if robust.CutOff(err) {
		best.LeftOut++
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return robust.saves(residuals(held), residuals(first.HeldOut)), nil
}

// saves says that residuals have less of Huber's loss than others of the same rows, beyond chance, and
// lean to no side: else the mean of the targets is another than their middle.
func (b *Bench) saves(residuals, rivals []float64) bool {
	loss := b.loss()
	var gains []float64
	for k, r := range residuals {
		ours, _, _ := loss.At(r/b.unit, 0)
		theirs, _, _ := loss.At(rivals[k]/b.unit, 0)
		gains = append(gains, theirs-ours)
	}
	leans := math.Abs(floats.Sum(residuals)) > 2*floats.Norm(residuals, 2)
	return !leans && floats.Sum(gains) > 2*floats.Norm(gains, 2)
}

// counted is an error that tells why targets are not counts, or nil.
func (b *Bench) counted() error {
	for _, y := range slices.Concat(labels(b.rows)...) {
		if !b.regression() || y < 0 || y != math.Trunc(y) {
			return b.fault("--target-scale count: counts are whole numbers of 0 or more; leave it out")
		}
	}
	return nil
}

// expectations is the bench of the logarithms of expected counts. The error of the counts as they
// are tells how much more than their expectation their variance is.
func (b *Bench) expectations(rmse float64) (*Bench, error) {
	err := b.counted()
	if err != nil || b.options.After != nil {
		return nil, cmp.Or(err,
			b.fault("--target-scale count: an older model has no counts; leave out --target-scale or --after"))
	}
	y := slices.Concat(labels(b.rows)...)
	counts := scale{
		name:   Count,
		counts: max(1, rmse*rmse/stat.Mean(y, nil)),
	}
	for i, v := range y {
		y[i] = math.Log(max(1, v))
	}
	counts.largest = saved.LargestOf(y)
	return newBench(b.finder, b.problem, b.options, counts)
}

// logarithms is the bench of the targets' logarithms, with the same folds.
func (b *Bench) logarithms() (*Bench, error) {
	p := *b.problem
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		y := slices.Clone(t.TrainSet.Y)
		for j, v := range y {
			if v <= 0 || t.Kind == data.Classification {
				return nil, b.fault("--target-scale log: logarithms are of positive numbers; leave it out, or add a constant to the target")
			}
			y[j] = math.Log(v)
		}
		t.TrainSet.Y = y
	}
	largest := saved.LargestOf(slices.Concat(labels(&p)...))
	return newBench(b.finder, &p, b.options, scale{
		name:    Log,
		target:  b,
		largest: largest,
	})
}

// Told is the evidence on the scale of the target.
func (b *Bench) Told(h *evidence.HeldOut) (*evidence.HeldOut, error) {
	if b.target == nil {
		return h, nil
	}
	var scores [][]float64
	for _, logs := range h.Scores {
		task := slices.Clone(logs)
		saved.Expect(task, b.largest)
		scores = append(scores, task)
	}
	return b.target.predicted(scores)
}
