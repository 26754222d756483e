package multitask

import (
	"math"
	"testing"

	"l2mt/data"
)

// missed makes two models that miss every target by so much.
func missed(a, b [][]float64) (x, y *CrossValidated, p *data.ProblemData) {
	x, y, p = &CrossValidated{}, &CrossValidated{}, &data.ProblemData{Problem: &data.Problem{}}
	for i := range a {
		target := make([]float64, len(a[i]))
		for j := range target {
			target[j] = float64(j % 2) // of variance 1/4, where they are an even number
		}
		held := func(miss []float64) []float64 {
			f := make([]float64, len(miss))
			for j, v := range miss {
				f[j] = target[j] + v
			}
			return f
		}
		x.Held, y.Held = append(x.Held, held(a[i])), append(y.Held, held(b[i]))
		p.Tasks = append(p.Tasks, data.TaskData{Task: &data.Task{Kind: data.Regression}, TrainSet: data.Samples{Y: target}})
	}
	return x, y, p
}

// The numbers are those of the formula, by hand: squares over a variance of 1/4.
func TestPairedLoss(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name     string
		a, b     [][]float64
		loss, se float64
		sign     int
	}{
		// Differences 4 (1, 0, 1, 0) and 4 (1, 1): means 2 and 4, variances 16/3 and 0.
		{"worse", [][]float64{{1, 0, 1, 0}, {1, 1}}, [][]float64{{0, 0, 0, 0}, {0, 0}}, 3, math.Sqrt(16./3/4) / 2, 1},
		{"better", [][]float64{{0, 0, 0, 0}, {0, 0}}, [][]float64{{1, 0, 1, 0}, {1, 1}}, -3, math.Sqrt(16./3/4) / 2, -1},
		// 4 (1, -1, 1, -0.5): the mean is 4/8.
		{"noise", [][]float64{{1, 0, 1, 0}}, [][]float64{{0, 1, 0, math.Sqrt(0.5)}}, 0.5, math.Sqrt(16 * (2*0.875*0.875 + 1.125*1.125 + 0.625*0.625) / 3 / 4), 0},
		{"the same", [][]float64{{1, 2}}, [][]float64{{1, 2}}, 0, 0, 0},
		// The second task has one such row, with the variance of the first.
		{"a single row", [][]float64{{1, 0, 1, 0}, {1, nan}}, [][]float64{{0, 0, 0, 0}, {0, nan}}, 3, math.Sqrt(16./3/4+16./3) / 2, 0},
		{"single rows", [][]float64{{1, nan}}, [][]float64{{0, nan}}, 4, nan, 0},
		{"none", [][]float64{{nan, nan}}, [][]float64{{nan, nan}}, nan, nan, 0},
	} {
		p := PairedLoss(missed(c.a, c.b))
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 || math.IsNaN(a) && math.IsNaN(b) }
		if !near(p.Loss, c.loss) || !near(p.StandardError, c.se) || p.Sign() != c.sign {
			t.Errorf("%s: %+v of sign %d, want %v, %v and %d", c.name, p, p.Sign(), c.loss, c.se, c.sign)
		}
	}
}

// The loss is the difference of the soft errors, of all kinds of evidence, and the
// standard error that of the rows' parts in it.
func TestPairedSoft(t *testing.T) {
	for seed, loss := range []Loss{Logistic, Square} {
		p := problemData(shape{3, 4, 12, loss, false}, uint64(seed))
		for name, e := range evidences(t, p) {
			a, b := mustMeasure(t, e, Uniform(3), 0.1), mustMeasure(t, e, Uniform(3), 1)
			got, variance := PairedSoft(a, b), 0.0
			for i := range a.soft {
				n, mean, squares := float64(len(a.soft[i])), 0.0, 0.0
				for j := range a.soft[i] {
					d := a.soft[i][j] - b.soft[i][j]
					mean, squares = mean+d/n, squares+d*d
				}
				variance += (squares - n*mean*mean) / (n - 1) / n / 9
			}
			near(t, name+", "+string(loss)+": loss", got.Loss, a.Soft-b.Soft, 1e-12)
			near(t, name+", "+string(loss)+": standard error", got.StandardError, math.Sqrt(variance), 1e-12)
		}
	}
}
