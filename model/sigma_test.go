package model_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/safetensors"
	"l2mt/model"
)

// sampled has rows of 9 columns about the mean of their class, which scatter widely in the last
// columns, and other rows of the same classes.
func sampled(seed uint64, classes, rows int) (known *data.ProblemData, fresh []data.Matrix) {
	r := data.Stream(seed, "classes")
	known = &data.ProblemData{Problem: &data.Problem{}, Features: strings.Split("a b c d e f g h i", " ")}
	for c := range classes {
		mean := make([]float64, 9)
		for j := range 4 {
			mean[j] = 3 * r.NormFloat64()
		}
		draw := func() data.Matrix {
			var values []float32
			for range rows {
				for j, m := range mean {
					values = append(values, float32(m+float64(1+j)*0.3*r.NormFloat64()))
				}
			}
			x, _ := data.NewDense(rows, 9, values) // it has the size
			return x
		}
		known.Tasks = append(known.Tasks, model.ClassOf(fmt.Sprint(c), draw()))
		fresh = append(fresh, draw())
	}
	return known, fresh
}

// What rows have taught comes back, of many rows or few, and damage to it is named.
func TestASavedSigmaComesBack(t *testing.T) {
	for _, rows := range []int{12, 2} { // more than columns in all, and fewer
		known, fresh := sampled(1, 3, rows)
		n := network(t, config(t, "paper", 9), 1)
		n.Sigma = model.NewSigma(known.Tasks, model.Taught{Ridge: 0.5, Far: 2, Few: 3, Columns: model.NamesOf(known)})
		dir := t.TempDir()
		datatest.Check(t, n.Save(dir))
		got := datatest.Must(model.Load(dir))(t).Sigma
		datatest.Need(t, got != nil && got.Fits(known) && got.Taught == n.Sigma.Taught,
			"%d rows: what comes back is %v", rows, got)
		for c, x := range fresh {
			class, far := got.Nearest(x)
			if want, d := n.Sigma.Nearest(x); class != want || far != d {
				t.Errorf("%d rows: class %d is %d at %v, and %d at %v before", rows, c, class, far, want, d)
			}
		}
		known.Features[5] = "z"
		datatest.Holds(t, !got.Fits(known), "it is for other columns, and fits")
		path := filepath.Join(dir, model.WeightsFile)
		tensors, metadata, err := safetensors.Read(path)
		datatest.Check(t, err)
		whole := metadata["experience"]
		last := len(tensors) - 1
		short := slices.Clone(tensors)
		short[last].Shape = []int{1, 2}
		short[last].Value = []float64{1, 2}
		for text, tensors := range map[string][]safetensors.Tensor{"": tensors, "{": tensors, whole: short, "{}": tensors[:last-2]} {
			metadata["experience"] = text
			datatest.Check(t, safetensors.Write(path, tensors, metadata))
			if n, err := model.Load(dir); err == nil || !strings.Contains(err.Error(), "experience") {
				t.Errorf("%d rows with the text %q: %v, %v", rows, text, n, err)
			}
		}
	}
}

// Rows of a class lie where chance puts them, and those of another far from there.
func TestNearestClass(t *testing.T) {
	const seed = 2
	t.Log("seed", seed)
	known, fresh := sampled(seed, 30, 20)
	s := model.NewSigma(known.Tasks, model.Taught{Ridge: 0.01, Few: 5})
	mean := 0.0
	for c, x := range fresh {
		class, far := s.Nearest(x)
		datatest.Holds(t, class == c, "rows of class %d are taken for %s", c, s.Classes[class].Name)
		mean += far / 30
	}
	datatest.Holds(t, mean >= 0.8 && mean <= 1.25,
		"distances from a class of the same rows are %.2f in the mean", mean)
	_, strangers := sampled(seed+1, 30, 20)
	for _, x := range strangers {
		_, far := s.Nearest(x)
		datatest.Holds(t, far >= 2, "rows of a class that is not there are at %.2f", far)
	}
}

// The discriminant is that of textbooks, of the scatter of both classes and a tenth of their mean
// eigenvalue, in the metric of all classes.
func TestBetweenIsALinearDiscriminant(t *testing.T) {
	known, fresh := sampled(3, 5, 15)
	s := model.NewSigma(known.Tasks, model.Taught{Ridge: 0.2})
	w, intercept := s.Between([2]int{4, 1}, [2]data.Matrix{fresh[4], fresh[1]})
	total := mat.NewSymDense(9, nil)
	gap := mat.NewVecDense(9, nil)
	middle := mat.NewVecDense(9, nil)
	for side, c := range []int{4, 1} {
		z := s.Apply(data.Stack([]data.Matrix{known.Tasks[c].TrainSet.X, fresh[c]}))
		mean := mat.NewVecDense(9, nil)
		for i := range z.Rows() {
			for j, v := range z.Row(i).Value {
				mean.SetVec(j, mean.AtVec(j)+float64(v)/30)
			}
		}
		for i := range z.Rows() {
			gone := mat.NewVecDense(9, nil)
			for j, v := range z.Row(i).Value {
				gone.SetVec(j, float64(v)-mean.AtVec(j))
			}
			total.SymRankOne(total, 1, gone)
		}
		gap.AddScaledVec(gap, float64(1-2*side), mean)
		middle.AddScaledVec(middle, 0.5, mean)
	}
	tau := 0.1 * mat.Trace(total) / 9
	for j := range 9 {
		total.SetSym(j, j, total.At(j, j)+tau)
	}
	var want mat.VecDense
	datatest.Check(t, want.SolveVec(total, gap))
	ratio := 0.0
	for _, x := range fresh {
		for i := range x.Rows() {
			z := s.Apply(x.Take([]int{i})).Row(0).Value
			by := -mat.Dot(&want, middle)
			score := intercept
			for j, v := range x.Row(i).Value {
				by += want.AtVec(j) * float64(z[j])
				score += w.At(j, 0) * float64(v)
			}
			if ratio == 0 {
				ratio = score / by
			}
			datatest.Holds(t, (math.Abs(score/(ratio*by)-1) <= 1e-3 || math.Abs(by) <= 1e-3*mat.Norm(&want, 2)) && ratio >= 0,
				"a row has the score %v, and %v by hand", score, ratio*by)
		}
	}
}
