package solve

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/model/evidence"
)

// Scales of targets that a user may ask for.
const (
	Identity = "identity" // as they are
	Log      = "log"      // their logarithms
)

// skewed is the skewness of targets from which on their logarithms are tried.
const skewed = 1.0

// Chooser chooses among the candidates of a bench.
type Chooser func(*Bench) (*Choice, error)

// Scaled chooses on the scale of the targets, or of their logarithms, and returns the bench whose
// scale it is. Without a scale the rows held out decide, where all targets are positive and skewed:
// by the likelihood of the targets under normal residuals, of which the logarithm's has the
// Jacobian 1/y (Box and Cox 1964).
func (b *Bench) Scaled(scale string, choose Chooser) (*Bench, *Choice, error) {
	var plain *Choice
	if scale != Log {
		var err error
		plain, err = choose(b)
		if err != nil || scale == Identity || !b.skewed() {
			return b, plain, err
		}
	}
	logs, err := b.logarithms()
	if err != nil {
		return nil, nil, err
	}
	c, err := choose(logs)
	if err != nil {
		return nil, nil, err
	}
	if plain == nil {
		return logs, c, nil
	}
	_, ofLogs := c.ScoresOf(logs.rows)
	_, ofPlain := plain.ScoresOf(b.rows)
	jacobian := math.Exp(stat.Mean(slices.Concat(c.Y...), nil))
	if float64(ofLogs.Error)*jacobian < float64(ofPlain.Error) {
		return logs, c, nil
	}
	return b, plain, nil
}

// skewed says that the logarithms of the targets may have a simpler model.
func (b *Bench) skewed() bool {
	y := slices.Concat(labels(b.rows)...)
	if b.options.After != nil || b.rows.OwnUnits || len(b.folds) == 0 {
		return false
	}
	return b.regression() && slices.Min(y) > 0 && stat.Skew(y, nil) > skewed
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

// Told is what rows held out say on the scale of the target.
func (b *Bench) Told(h *evidence.HeldOut) (*evidence.HeldOut, error) {
	if b.target == nil {
		return h, nil
	}
	var scores [][]float64
	for _, logs := range h.Scores {
		var task []float64
		for _, v := range logs {
			task = append(task, math.Exp(v))
		}
		scores = append(scores, task)
	}
	return b.target.predicted(scores)
}
