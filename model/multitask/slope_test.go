package multitask

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

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

// softError is the validation error of a fit, with steps of the given widths,
// one a task, for misclassified rows.
func softError(r *Result, p *data.ProblemData, widths []float64) float64 {
	sum := 0.0
	for i, t := range p.Tasks {
		v := t.ValidationSet
		f := make([]float64, len(v.Y))
		v.X.Mul(f, mat.Col(nil, i, r.W), 1)
		e, distance := 0.0, 0.0
		for j, y := range v.Y {
			g := f[j] + r.B[i]
			distance += math.Abs(g) / float64(len(f))
			if t.Kind == data.Regression {
				e += (g - y) * (g - y) / stat.PopVariance(v.Y, nil) / float64(len(f))
			} else if widths[i] > 0 {
				e += 1 / (1 + math.Exp(y*g/widths[i])) / float64(len(f))
			}
		}
		if widths[i] == 0 {
			widths[i] = 0.1 * distance
		}
		sum += e / float64(len(p.Tasks))
	}
	return sum
}

// Differences of the validation error between fits for neighbouring
// covariances agree with the slope, at regular covariances and at the edge.
func TestSlopeIsThatOfTheValidationError(t *testing.T) {
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
					r, err := FitFixed(t.Context(), o, train, 0.03, Options{Tolerance: 1e-14})
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				const h = 1e-4
				at := fit(0)
				widths := make([]float64, s.m)
				softError(at, p, widths)
				slope, err := Slope(at, p)
				if err != nil {
					t.Fatal(err)
				}
				got := dot(slope, direction)
				// Third order, one-sided: the other side may not be feasible.
				e := func(k float64) float64 { return softError(fit(k*h), p, widths) }
				want := (-11*e(0) + 18*e(1) - 9*e(2) + 2*e(3)) / (6 * h)
				accuracy := 1e-4
				if rank < s.m {
					accuracy = 0.02 // the error bends fast where a direction opens
				}
				if math.Abs(got-want) > accuracy*math.Max(math.Abs(want), 0.01) {
					t.Errorf("seed %d, %v, rank %d: slope %v, differences say %v", seed, s, rank, got, want)
				}
			}
		}
	}
}

func TestSlopeNeedsValidationRows(t *testing.T) {
	p := slopeProblem(shapes[1], 1)
	train, err := Training(p, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := FitFixed(t.Context(), identity(2, 1), train, 1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Tasks[1].ValidationSet = data.Samples{}
	if _, err := Slope(r, p); !errors.Is(err, ErrInvalidData) {
		t.Errorf("%v, want ErrInvalidData", err)
	}
}
