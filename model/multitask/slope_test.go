package multitask

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// slopeProblem splits made samples into training and validation rows.
func slopeProblem(s shape, seed uint64) *data.ProblemData {
	p := &data.ProblemData{Tasks: make([]data.TaskData, s.m)}
	kind := data.Regression
	if s.loss == Logistic {
		kind = data.Classification
	}
	for i, all := range samples(s, seed) {
		var halves [2][]int
		for j := range all.Y {
			halves[j/2%2] = append(halves[j/2%2], j)
		}
		half := func(rows []int) data.Samples {
			taken := data.Samples{X: all.X.Take(rows)}
			for _, j := range rows {
				taken.Y = append(taken.Y, all.Y[j])
			}
			return taken
		}
		p.Tasks[i] = data.TaskData{Task: &data.Task{Kind: kind}, TrainSet: half(halves[0]), ValidationSet: half(halves[1])}
	}
	return p
}

// Differences of the soft error between fits for neighbouring
// covariances agree with the slope, at regular covariances and at the edge.
func TestSlopeIsThatOfTheSoftError(t *testing.T) {
	for seed := range uint64(4) {
		for _, s := range shapes {
			s.n *= 2
			p := slopeProblem(s, seed)
			train, err := Training(p, "")
			if err != nil {
				t.Fatal(err)
			}
			random := data.Stream(seed, "slope")
			for _, rank := range []int{s.m, (s.m + 1) / 2} {
				omega := gramOf(normals(random, s.m*rank), s.m, rank)
				direction := gramOf(normals(random, s.m), s.m, 1)
				direction.ScaleSym(mat.Trace(omega)/mat.Trace(direction), direction)
				fit := func(h float64) *Result {
					o := mat.NewSymDense(s.m, nil)
					o.ScaleSym(h, direction)
					o.AddSym(o, omega)
					r, err := FitFixed(t.Context(), o, train, 0.03, Options{Tolerance: 1e-16})
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				h, accuracy := 1e-4, 1e-4
				if rank < s.m { // the error bends fast where a direction opens
					h, accuracy = 2e-5, 0.02
				}
				at := fit(0)
				slope, err := measured(t, at, p).Slope()
				if err != nil {
					t.Fatal(err)
				}
				got := dot(slope, direction)
				// Third order, one-sided: the other side may not be feasible.
				e := func(k float64) float64 { return measured(t, fit(k*h), p).Soft }
				want := (-11*e(0) + 18*e(1) - 9*e(2) + 2*e(3)) / (6 * h)
				if math.Abs(got-want) > accuracy*math.Max(math.Abs(want), 0.01) {
					t.Errorf("seed %d, %v, rank %d: slope %v, differences say %v", seed, s, rank, got, want)
				}
			}
		}
	}
}

// The soft error counts the rows on the wrong side of a boundary that is far
// from all of them, does not depend on the scale of the predictions, and is the
// validation error of regression.
func TestSoftError(t *testing.T) {
	p := slopeProblem(shape{3, 4, 40, Logistic, false}, 1)
	train, err := Training(p, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := FitFixed(t.Context(), identity(3, 1), train, 0.1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	soft := func(r *Result) float64 { return measured(t, r, p).Soft }
	scaled := *r
	scaled.W, scaled.B = mat.NewDense(4, 3, nil), make([]float64, 3)
	scaled.W.Scale(50, r.W)
	for i, b := range r.B {
		scaled.B[i] = 50 * b
	}
	near(t, "of predictions 50 times as large", soft(&scaled), soft(r), 1e-12)
	var hard []data.Samples
	for i := range p.Tasks { // all rows the same but for a sign: all at one distance
		v := &p.Tasks[i].ValidationSet
		v.X = v.X.Take(make([]int, len(v.Y)))
		hard = append(hard, *v)
	}
	want, err := Evaluate(r, data.Classification, hard)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "of rows at one distance", soft(r), want.Mean, 1e-4)

	p = slopeProblem(shape{3, 4, 40, Square, false}, 1)
	var rows []data.Samples
	for _, task := range p.Tasks {
		rows = append(rows, task.ValidationSet)
	}
	if want, err = Evaluate(r, data.Regression, rows); err != nil {
		t.Fatal(err)
	}
	near(t, "of regression", soft(r), want.Mean, 1e-12)
}

func TestSplitNeedsValidationRows(t *testing.T) {
	p := slopeProblem(shapes[1], 1)
	p.Tasks[1].ValidationSet = data.Samples{}
	if _, err := Split(p, EvidenceOptions{}); !errors.Is(err, ErrInvalidData) {
		t.Errorf("%v, want ErrInvalidData", err)
	}
}

// measured is what the validation rows say of a fit.
func measured(t *testing.T, r *Result, p *data.ProblemData) *HeldOut {
	t.Helper()
	e, err := Split(p, EvidenceOptions{Softness: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	h, err := e.Measure(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
