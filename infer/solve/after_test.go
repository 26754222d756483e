package solve

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/table"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// older is a saved model of tasks of 12 rows each.
func older(t *testing.T, kind data.Kind) *saved.Fit {
	t.Helper()
	p := levelled(t, 3, kind, 1, slices.Repeat([]int{12}, 8)...)
	f := fit(t, bench(t, nil, p, Options{}), Candidate{Structure: Structure{View: Straight}})
	recipe := table.Numbers([]string{"x"}, 1)
	recipe.Task = "task"
	recipe.Targets = []string{"y"}
	return datatest.Must(f.Saved(recipe))(t)
}

// dense holds the mean and the covariance of a new task's scores of rows by definition: the
// weights of the older tasks vary about their mean, what their rows left open, and the doubt.
func dense(t *testing.T, s *saved.Fit, x data.Matrix) (mean []float64, cov *mat.Dense) {
	t.Helper()
	made, _, err := s.Prepare(x)
	datatest.Check(t, err)
	n, d := made.Rows(), made.Cols()+1
	phi := mat.NewDense(n, d, nil)
	for i := range n {
		phi.Set(i, 0, 1)
		for j, v := range made.Row(i).Value {
			phi.Set(i, j+1, float64(v))
		}
	}
	m := len(s.Tasks)
	scale := s.Doubt.Tasks[m].Scale
	var sigma mat.Dense
	var part mat.Dense
	common := mat.NewDense(len(s.Doubt.Common)/d, d, s.Doubt.Common)
	own := mat.NewDense(len(s.Doubt.Own)/d, d, s.Doubt.Own)
	left := 0.0
	for _, task := range s.Doubt.Tasks[:m] {
		left += task.Left / float64(m)
	}
	sigma.Mul(own.T(), own)
	sigma.Scale(left, &sigma)
	part.Mul(common.T(), common)
	sigma.Add(&sigma, &part)
	sigma.Scale(scale*scale, &sigma)
	shared := append(slices.Clone(s.Shared.B), s.Shared.W...)
	for i := range m {
		w := append([]float64{s.B[i]}, mat.Col(nil, i, s.W)...)
		floats.Sub(w, shared)
		w1 := mat.NewVecDense(d, w)
		part.Outer(1/float64(m), w1, w1)
		sigma.Add(&sigma, &part)
	}
	cov = new(mat.Dense)
	cov.Product(phi, &sigma, phi.T())
	var means mat.VecDense
	means.MulVec(phi, mat.NewVecDense(d, shared))
	return means.RawVector().Data, cov
}

// process is the posterior mean of a Gaussian process at all rows, of which the first are
// labelled. For classes it is the normal posterior for which probabilities are means over what the
// scores may be, after many plain steps with a dense inverse.
func process(kind data.Kind, mean []float64, cov *mat.Dense, y []float64, noise float64) []float64 {
	n := len(y)
	all := len(mean)
	f := slices.Clone(mean)
	prior := cov.Slice(0, n, 0, n)
	doubts := make([]float64, n)
	for range 200 {
		target := slices.Clone(y)
		variance := slices.Repeat([]float64{noise}, n)
		for i := range n {
			if kind == data.Classification {
				p, curvature := 0.0, 0.0
				for z := -6.0; z <= 6; z += 0.25 {
					share := 0.25 * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
					each := 1 / (1 + math.Exp(-f[i]-math.Sqrt(doubts[i])*z))
					p += share * each
					curvature += share * each * (1 - each)
				}
				variance[i] = 1 / curvature
				target[i] = f[i] + ((y[i]+1)/2-p)*variance[i]
			}
			target[i] -= mean[i]
		}
		var k, inverse mat.Dense
		k.Add(prior, mat.NewDiagDense(n, variance))
		if err := inverse.Inverse(&k); err != nil {
			panic(err)
		}
		var rest, scores mat.VecDense
		rest.MulVec(&inverse, mat.NewVecDense(n, target))
		scores.MulVec(cov.Slice(0, all, 0, n), &rest)
		floats.AddTo(f, mean, scores.RawVector().Data)
		var left mat.Dense
		left.Product(prior, &inverse, prior)
		for i := range doubts {
			doubts[i] = cov.At(i, i) - left.At(i, i)
		}
	}
	return f
}

// New tasks of a few rows have the posterior of a Gaussian process, whether a fit begins after the
// older model or the model is adapted.
func TestNewTasksAfterAnOlderModelAreGaussianProcesses(t *testing.T) {
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		s := older(t, kind)
		p := levelled(t, 5, kind, 1, 2, 4, 7)
		p.Features = []string{"x"}
		prior := datatest.Must(s.Prior())(t)
		b := bench(t, nil, p, Options{After: prior})
		fitted := fit(t, b, Candidate{Structure: Structure{View: After}})
		adapted := datatest.Must(s.Adapt(t.Context(), written(t, s, p), saved.RowOptions{}))(t)
		scale := s.Doubt.Tasks[len(s.Tasks)].Scale
		for i, task := range p.Tasks {
			x := append(slices.Clone(values(task.TrainSet.X)), values(task.TestSet.X)...)
			rows := datatest.Must(data.NewDense(len(x), 1, x))(t)
			mean, cov := dense(t, s, rows)
			want := process(kind, mean, cov, task.TrainSet.Y, s.Doubt.Noise*scale*scale)
			got := datatest.Must(fitted.Scores(i, rows))(t)
			made, _, err := s.Prepare(rows)
			datatest.Check(t, err)
			also := multitask.LinearOf(adapted.W, adapted.B, len(s.Tasks)+i).Scores(made)
			for r := range want {
				datatest.Need(t, math.Abs(got[r]-want[r]) <= 2e-4 && math.Abs(also[r]-want[r]) <= 2e-4,
					"%s, task %d, row %d: fitted %v, adapted %v, by hand %v", kind, i, r, got[r], also[r], want[r])
			}
		}
	}
}

func values(x data.Matrix) (column []float32) {
	for i := range x.Rows() {
		column = append(column, x.Row(i).Value...)
	}
	return column
}

// written is a table of the training rows of a problem.
func written(t *testing.T, s *saved.Fit, p *data.ProblemData) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintln(&text, "y,task,x")
	for _, task := range p.Tasks {
		for r, y := range task.TrainSet.Y {
			label := fmt.Sprint(y)
			if s.Kind == data.Classification {
				label = s.ClassesOf(0)[(int(y)+1)/2]
			}
			fmt.Fprintf(&text, "%s,%s new,%v\n", label, task.Name, task.TrainSet.X.Row(r).Value[0])
		}
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	datatest.Check(t, os.WriteFile(path, []byte(text.String()), 0o644))
	return path
}

// An older model of other tasks, or one without variances, is refused in a sentence.
func TestOlderModelsThatTellNothing(t *testing.T) {
	s := older(t, data.Regression)
	prior := datatest.Must(s.Prior())(t)
	_, err := NewBench(nil, levelled(t, 5, data.Classification, 1, 4, 7), Options{After: prior})
	datatest.Says(t, err, nil, `task "t0" is a classification ["no" "yes"], but the older model's tasks are a regression []`)
	several := levelled(t, 5, data.Regression, 1, 4, 7)
	several.OwnUnits = true
	if _, err = NewBench(nil, several, Options{After: prior}); err == nil || !strings.Contains(err.Error(), "there are several targets") {
		t.Errorf("several targets: %v", err)
	}
	for want, change := range map[string]func(f *saved.Fit){
		"has no variances": func(f *saved.Fit) { f.Doubt = nil },
		"no variances of":  func(f *saved.Fit) { f.Recipe.Steps = f.Recipe.Steps[:1] },
		"of weights":       func(f *saved.Fit) { f.Recipe.Steps[1].Parts = nil },
		"are 2 targets":    func(f *saved.Fit) { f.Recipe.Targets = []string{"y", "z"} },
	} {
		f := *s
		f.Recipe.Steps = slices.Clone(s.Recipe.Steps)
		change(&f)
		datatest.Refused(f.Prior())(t, nil, want)
	}
}
