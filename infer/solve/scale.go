package solve

import (
	"cmp"
	"math"
	"slices"

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
)

// skewed is the skewness of targets from which on other scales are tried.
const skewed = 1.0

// Chooser chooses among the candidates of a bench.
type Chooser func(*Bench) (*Choice, error)

// Scaled chooses on the scale of the targets, of their logarithms, or of the logarithm of expected
// counts, and returns the bench whose scale it is. Without a scale the rows held out decide, where
// targets are skewed: by their likelihood.
func (b *Bench) Scaled(scale string, choose Chooser) (*Bench, *Choice, error) {
	if scale == Log {
		return b.chosen(b.logarithms, choose)
	}
	best, err := choose(b)
	if err != nil || scale == Identity || scale == "" && !b.skewed() {
		return b, best, err
	}
	_, all := best.ScoresOf(b.rows)
	counts := func() (*Bench, error) { return b.expectations(float64(all.Error)) }
	if scale == Count {
		return b.chosen(counts, choose)
	}
	var others []func() (*Bench, error)
	if b.counted() == nil && !b.wide() {
		others = append(others, counts)
	}
	if slices.Min(slices.Concat(labels(b.rows)...)) > 0 {
		others = append(others, b.logarithms)
	}
	bench := b
	for k, other := range others {
		if b.Late() {
			best.LeftOut += len(others) - k
			break
		}
		scaled, c, err := b.chosen(other, choose)
		if err != nil {
			return nil, nil, err
		}
		told, err := scaled.Told(c.HeldOut)
		if err != nil {
			return nil, nil, err
		}
		_, closer := told.ScoresOf(b.rows)
		if scaled.surprise(c) < bench.surprise(best) && closer.Error < all.Error {
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
func (b *Bench) chosen(
	other func() (*Bench, error), choose Chooser,
) (*Bench, *Choice, error) {
	scaled, err := other()
	if err != nil {
		return nil, nil, err
	}
	c, err := choose(scaled)
	return scaled, c, err
}

// skewed says that the targets may have a simpler model on another scale.
func (b *Bench) skewed() bool {
	y := slices.Concat(labels(b.rows)...)
	if b.options.After != nil || b.rows.OwnUnits || len(b.folds) == 0 {
		return false
	}
	return b.regression() && stat.Skew(y, nil) > skewed
}

// counted says what keeps targets from being counts.
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
	if err := b.counted(); err != nil || b.options.After != nil {
		return nil, cmp.Or(err, b.fault("--target-scale count: an older model knows no counts; leave it or --after out"))
	}
	counts, err := newBench(b.finder, b.rows, b.options)
	if err == nil {
		mean := stat.Mean(slices.Concat(labels(b.rows)...), nil)
		counts.counts = max(1, rmse*rmse/mean)
	}
	return counts, err
}

// logarithms is the bench of the targets' logarithms, with the same folds.
func (b *Bench) logarithms() (*Bench, error) {
	p := *b.rows
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
	logs, err := newBench(b.finder, &p, b.options)
	if err == nil {
		logs.target = b
	}
	return logs, err
}

// largest is the logarithm that a prediction has at most.
func (b *Bench) largest() float64 {
	logs := slices.Concat(labels(b.rows)...)
	for i, y := range logs {
		if b.counts > 0 {
			logs[i] = math.Log(max(1, y))
		}
	}
	return saved.LargestOf(logs)
}

// Told is what rows held out say on the scale of the target.
func (b *Bench) Told(h *evidence.HeldOut) (*evidence.HeldOut, error) {
	if b.target == nil {
		return h, nil
	}
	var scores [][]float64
	for _, logs := range h.Scores {
		task := slices.Clone(logs)
		saved.Expect(task, b.largest())
		scores = append(scores, task)
	}
	return b.target.predicted(scores)
}
