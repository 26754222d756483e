package multitask

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"l2mt/data"
)

// Paired is how much more one model loses than another on the rows that both have
// predicted without having seen them.
type Paired struct {
	// Loss is the mean over the tasks of the difference of the losses, and
	// StandardError that of it, as far as it comes from the choice of the rows; NaN
	// where no task has two such rows.
	Loss, StandardError float64
	// freedom are the degrees of freedom behind StandardError.
	freedom int
}

// certain is the confidence from which a difference is told from noise.
const certain = 0.95

// Sign is -1 where the first model is better by more than noise explains, 1 where it
// is worse, and 0 where held-out rows cannot tell the two apart.
func (p Paired) Sign() int {
	if p.freedom == 0 || p.Loss == 0 {
		return 0
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(p.freedom)}.Quantile((1 + certain) / 2)
	switch {
	case p.Loss < -t*p.StandardError:
		return -1
	case p.Loss > t*p.StandardError:
		return 1
	}
	return 0
}

// PairedLoss compares a with b, of the same problem and folds.
func PairedLoss(a, b *CrossValidated, problem *data.ProblemData) Paired {
	less := make([][]float64, len(problem.Tasks))
	for i, t := range problem.Tasks {
		less[i] = rowLosses(a.Held[i], t)
		floats.Sub(less[i], rowLosses(b.Held[i], t))
	}
	return paired(less)
}

// PairedSoft compares the soft errors of a with those of b, by the same evidence.
func PairedSoft(a, b *HeldOut) Paired {
	less := make([][]float64, len(a.soft))
	for i := range less {
		less[i] = slices.Clone(a.soft[i])
		floats.Sub(less[i], b.soft[i])
	}
	return paired(less)
}

// paired is of the differences of the rows of every task. Rows vary about the mean of
// their task, with the same variance in all tasks where one has a single row.
func paired(differences [][]float64) Paired {
	var means, variances, rows []float64 // of the tasks
	p, common := Paired{StandardError: math.NaN()}, 0.0
	for _, d := range differences {
		if len(d) == 0 {
			continue
		}
		mean, variance := stat.MeanVariance(d, nil) // NaN of a single row
		means, variances, rows = append(means, mean), append(variances, variance), append(rows, float64(len(d)))
		if len(d) > 1 {
			p.freedom += len(d) - 1
			common += variance * float64(len(d)-1)
		}
	}
	p.Loss = stat.Mean(means, nil)
	if p.freedom == 0 {
		return p
	}
	sum := 0.0
	for i, v := range variances {
		if rows[i] == 1 {
			v = common / float64(p.freedom)
		}
		sum += v / rows[i]
	}
	p.StandardError = math.Sqrt(sum) / float64(len(means))
	return p
}

// rowLosses are those of the rows of a task that were held out, in the unit of
// CrossValidated.Loss.
func rowLosses(held []float64, t data.TaskData) []float64 {
	f, y := known(held, t.TrainSet.Y)
	losses, k := make([]float64, len(y)), perRow(f, y)
	variance := 1.0
	if t.Kind == data.Regression {
		variance = stat.PopVariance(t.TrainSet.Y, nil)
	}
	for j := range y {
		row, of := f[j*k:][:k], y[j:j+1]
		if t.Kind == data.Regression {
			losses[j] = meanSquare(row, of) / variance
		} else {
			losses[j] = surprise(row, of)
		}
	}
	return losses
}
