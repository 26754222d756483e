package evidence

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// softly is the soft error of the rows of every task: nMSE, or the mean of logistic curves
// instead of steps. These are a tenth as wide as rows are from the boundary in the mean, and
// what they see of several classes is half of the lead of the right one over the best other.
// A row whose class the task lacks is an error.
func softly(s size, scores, y [][]float64) float64 {
	total := 0.0
	for i := range y {
		var lead []float64
		lost, n := 0.0, float64(len(y[i]))
		for j, v := range y[i] {
			switch {
			case s.kind == data.Regression:
				total += math.Pow((scores[i][j]-v)/deviation(y[i]), 2) / n / float64(len(y))
			case s.classes == 0:
				lead = append(lead, v*scores[i][j])
			case math.IsInf(scores[i][j*s.classes+int(v)], -1):
				lost++
			default:
				row := append([]float64(nil), scores[i][j*s.classes:][:s.classes]...)
				own := row[int(v)]
				row[int(v)] = math.Inf(-1)
				lead = append(lead, (own-floats.Max(row))/2)
			}
		}
		width := 0.1 * floats.Norm(lead, 1) / float64(len(lead))
		for _, v := range lead {
			lost += 1 / (1 + math.Exp(v/width))
		}
		total += lost / n / float64(len(y))
	}
	return total
}

// Differences of the soft error between fits for neighbouring covariances agree with the
// slope, of validation rows that have a class which their task lacks too.
func TestSlopeIsThatOfTheSoftError(t *testing.T) {
	for seed, s := range append(sizes, size{data.Classification, 5, 3, 30, 0}, size{data.Regression, 4, 10, 8, 0}) {
		p := made(s, uint64(seed))
		if s.classes > 0 {
			p.Tasks[1].ValidationSet.Y[0] = 3
		}
		e := must(NewSplit(p))(t)
		omega, direction := covariance(s.m, s.m, uint64(seed)), covariance(s.m, s.m, 100)
		for i := range s.m {
			omega.SetSym(i, i, omega.At(i, i)+0.1)
		}
		at := func(h float64) *HeldOut {
			o := mat.NewSymDense(s.m, nil)
			o.ScaleSym(h, direction)
			o.AddSym(o, omega)
			// Given divides by the trace; a Lambda1 that is as much smaller makes up for that.
			return hold(t, e, given(t, o), 0.3/mat.Trace(o))
		}
		h := at(0)
		soft, slope, err := e.Soft(h)
		if want := softly(s, h.Scores, h.Y); err != nil || math.Abs(soft-want) > 1e-12 {
			t.Errorf("%v: the soft error is %v, want %v (%v)", s, soft, want, err)
		}
		got := mat.Trace(product(slope, direction)) / mat.Trace(omega)
		const step = 3e-4
		want := (softly(s, at(step).Scores, h.Y) - softly(s, at(-step).Scores, h.Y)) / (2 * step)
		if !(math.Abs(got-want) <= 1e-3*math.Max(math.Abs(want), 0.01)) {
			t.Errorf("%v: slope %v, differences say %v", s, got, want)
		}
	}
}

func product(a, b mat.Matrix) *mat.Dense {
	var c mat.Dense
	c.Mul(a, b)
	return &c
}

// Where every row is on the boundary no direction is better.
func TestSlopeOnTheBoundary(t *testing.T) {
	soft, slopes := softError(make([]float64, 3), []float64{1, -1, 1}, data.Classification)
	if soft != 0.5 || floats.Norm(slopes, 1) != 0 {
		t.Errorf("the soft error is %v, the slopes are %v", soft, slopes)
	}
}
