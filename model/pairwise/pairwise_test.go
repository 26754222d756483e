package pairwise_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/view"
	"l2mt/model"
	"l2mt/model/modeltest"
	_ "l2mt/model/pairwise"
)

func TestPairwiseIsProvedLikeAnyOther(t *testing.T) {
	modeltest.Check(t, "pairwise", "pairs", "identity")
}

// pairwise is a network with that body, random if a seed is given.
func pairwise(t *testing.T, seed uint64) *model.Network {
	t.Helper()
	c := datatest.Must(model.Preset("pairwise", 0))(t)
	n := datatest.Must(model.NewNetwork(c, seed))(t)
	if seed > 0 {
		modeltest.Perturb(data.Stream(seed, "pairwise"), c, n.Params, false)
	}
	return n
}

func embedded(t *testing.T, n *model.Network, p *data.ProblemData) []float64 {
	t.Helper()
	payload := datatest.Must(model.Prepare(n.Config, p))(t)
	forward := model.NewForward(n)
	return datatest.Must(forward.Estimate(payload))(t).E
}

// near fails unless got is within tol of want, relative to the largest entry.
func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	inf := math.Inf(1)
	datatest.Holds(t, len(got) == len(want) && floats.Distance(got, want, inf) <= tol*floats.Norm(want, inf),
		"%s: %v, want %v", what, got, want)
}

// Tasks of two classes are embedded alike whether these are the only ones, or two
// of three, whichever comes first.
func TestPairwiseOfSeveralClasses(t *testing.T) {
	for seed := range uint64(3) {
		r := data.Stream(seed, "several")
		const d = 6
		two := modeltest.Problem(r, d, 4+8*int(seed), 7, 5)
		three := changed(t, two, same, func(_ int, y float64) float64 { return 1 - y })
		three.Problem = &data.Problem{Classes: []string{"a", "b", "c"}}
		n := pairwise(t, seed+1)
		near(t, fmt.Sprint("E of two classes of three, seed ", seed), embedded(t, n, three), embedded(t, n, two), 1e-9)
	}
}

// changed is a problem with other rows and targets.
func changed(t *testing.T, p *data.ProblemData, row func(x []float64) []float64, target func(task int, y float64) float64) *data.ProblemData {
	t.Helper()
	q := &data.ProblemData{Problem: p.Problem, Tasks: slices.Clone(p.Tasks)}
	for j := range q.Tasks {
		set := p.Tasks[j].TrainSet
		var value []float32
		y := make([]float64, len(set.Y))
		for i := range y {
			var x []float64
			for _, v := range set.X.Row(i).Value {
				x = append(x, float64(v))
			}
			for _, v := range row(x) {
				value = append(value, float32(v))
			}
			y[i] = target(j, set.Y[i])
		}
		x := datatest.Must(data.NewDense(len(y), len(value)/len(y), value))(t)
		q.Tasks[j].TrainSet = data.Samples{X: x, Y: y}
	}
	return q
}

func same(x []float64) []float64    { return x }
func kept(_ int, y float64) float64 { return y }
func regression(p *data.ProblemData, r *rand.Rand) {
	for j, t := range p.Tasks {
		task := *t.Task
		task.Kind = data.Regression
		p.Tasks[j].Task = &task
		for i := range t.TrainSet.Y {
			t.TrainSet.Y[i] = r.NormFloat64()
		}
	}
}

// Features are numbers in single precision, of which a rotation keeps seven digits.
func TestPairwiseKnowsNoBasisNoScaleAndNoSign(t *testing.T) {
	for seed := range uint64(6) {
		r := data.Stream(seed, "invariances")
		const d = 12
		p := modeltest.Problem(r, d, 4+r.IntN(8), 5, 3, 6) // fewer and more rows than features
		if seed%2 == 1 {
			regression(p, r)
		}
		n := pairwise(t, seed+1)
		e := embedded(t, n, p)
		var qr mat.QR
		qr.Factorize(mat.NewDense(d, d, datatest.Normals[float64](r, d*d)))
		var rotation mat.Dense
		qr.QTo(&rotation)
		for what, q := range map[string]*data.ProblemData{
			"rotated": changed(t, p, func(x []float64) []float64 {
				var y mat.VecDense
				y.MulVec(&rotation, mat.NewVecDense(d, x))
				return y.RawVector().Data
			}, kept),
			"scaled": changed(t, p, func(x []float64) (y []float64) {
				for _, v := range x {
					y = append(y, 1024*v)
				}
				return y
			}, kept),
			"moved": changed(t, p, func(x []float64) (y []float64) {
				for j, v := range x {
					y = append(y, v+float64(j))
				}
				return y
			}, kept),
			"with many columns of zeros": changed(t, p, func(x []float64) []float64 { return append(x, make([]float64, 30)...) }, kept),
		} {
			near(t, fmt.Sprintf("%s, seed %d", what, seed), embedded(t, n, q), e, 2e-4)
		}
		flipped := slices.Clone(e)
		for i := range 4 {
			if i != 1 {
				flipped[1*4+i], flipped[i*4+1] = -e[1*4+i], -e[i*4+1]
			}
		}
		near(t, fmt.Sprintf("labels of a task flipped, seed %d", seed), embedded(t, n, changed(t, p, same, func(task int, y float64) float64 {
			if task == 1 {
				return -y
			}
			return y
		})), flipped, 1e-9)
	}
}

// The formulas of debiased and whitened cosines, by loops over entries: class means,
// class covariances, and the inverse of the pooled one.
func TestUntrainedPairwiseIsTheCosinesMadeByHand(t *testing.T) {
	for seed, rows := range [][]int{{9, 7, 12}, {4, 5, 4}} { // more rows than features, and fewer
		r := data.Stream(uint64(seed), "by hand")
		const d, m = 14, 3
		p := modeltest.Problem(r, d, rows...)
		for _, k := range p.Tasks { // two rows a class at least
			k.TrainSet.Y[2], k.TrainSet.Y[3] = 1, -1
		}
		made := embedded(t, pairwise(t, 0), p)
		p = view.InMetric(p)
		means, noise, squares := make([][]float64, m), make([]float64, m), make([]float64, m)
		pooled, n, classes := mat.NewSymDense(d, nil), 0.0, 0.0
		for i, k := range p.Tasks {
			means[i] = make([]float64, d)
			for _, class := range []float64{-1, 1} {
				var x []float64
				for a, y := range k.TrainSet.Y {
					for _, v := range k.TrainSet.X.Row(a).Value {
						if y == class {
							x = append(x, float64(v))
						}
					}
				}
				rows := mat.NewDense(len(x)/d, d, x)
				count := float64(len(x) / d)
				n, classes, squares[i] = n+count, classes+1, squares[i]+1/count
				for j := range d {
					means[i][j] += class * stat.Mean(mat.Col(nil, j, rows), nil)
				}
				var covariance mat.SymDense
				stat.CovarianceMatrix(&covariance, rows, nil)
				noise[i] += mat.Trace(&covariance) / count
				covariance.ScaleSym(count-1, &covariance)
				pooled.AddSym(pooled, &covariance)
			}
		}
		var product mat.Dense
		product.Mul(pooled, pooled)
		tau := mat.Trace(&product) / mat.Trace(pooled) / n
		pooled.ScaleSym(1/n, pooled)
		whole := mat.DenseCopyOf(pooled)
		for j := range d {
			whole.Set(j, j, whole.At(j, j)+tau)
		}
		var inverse, dof mat.Dense
		datatest.Check(t, inverse.Inverse(whole))
		dof.Mul(&inverse, pooled)
		want := make([]float64, m*m)
		inner := func(a, b []float64, metric mat.Matrix) float64 {
			if metric == nil {
				return mat.Dot(mat.NewVecDense(d, a), mat.NewVecDense(d, b))
			}
			return mat.Inner(mat.NewVecDense(d, a), metric, mat.NewVecDense(d, b))
		}
		for i := range m {
			want[i*m+i] = 1.3 / m
			for j := range m {
				if i == j {
					continue
				}
				cosine := func(metric mat.Matrix, s func(i int) float64) float64 {
					signal := func(i int) float64 {
						length := inner(means[i], means[i], metric)
						return max(length-s(i), 0.1*length)
					}
					return max(-1, min(1, inner(means[i], means[j], metric)/math.Sqrt(signal(i)*signal(j))))
				}
				want[i*m+j] = (cosine(nil, func(i int) float64 { return noise[i] }) +
					cosine(&inverse, func(i int) float64 { return squares[i] * mat.Trace(&dof) * n / (n - classes) })) / 2 / m
			}
		}
		near(t, fmt.Sprint("E, rows ", rows), made, want, 1e-9)
	}
}

// Sparse rows are never centred; dense ones are, and the test above has these by
// hand. One column is large and the same throughout a task, which leaves a centred
// row few digits unless it is made. The last problem has many rows. So few entries leave
// all of them without a metric.
func TestPairwiseOfSparseRowsIsThatOfDenseOnes(t *testing.T) {
	for seed := range uint64(9) {
		r := data.Stream(seed, "sparse")
		rows := []int{4 + r.IntN(30), 6, 5} // fewer and more than features
		if seed == 8 {
			rows = slices.Repeat([]int{900}, 50)
		}
		p := modeltest.Problem(r, 30, rows...)
		if seed%2 == 1 {
			regression(p, r)
		}
		offset := 0.0
		if seed == 6 || seed == 7 {
			offset = 1e7
		}
		sparse := &data.ProblemData{Problem: p.Problem, Tasks: slices.Clone(p.Tasks)}
		for j := range p.Tasks {
			set := &p.Tasks[j].TrainSet
			ptr, index, value, dense := []int{0}, []int32{}, []float32{}, []float32{}
			for range set.Y {
				for k := range int32(30) {
					v := float32(0)
					if k == 29 {
						v = float32(offset)
					} else if r.Float64() < 0.05 {
						v = float32(r.NormFloat64())
					}
					if dense = append(dense, v); v != 0 {
						index, value = append(index, k), append(value, v)
					}
				}
				ptr = append(ptr, len(index))
			}
			x := datatest.Must(data.NewCSR(30, ptr, index, value))(t)
			sparse.Tasks[j].TrainSet = data.Samples{X: x, Y: set.Y}
			set.X = datatest.Must(data.NewDense(len(set.Y), 30, dense))(t)
		}
		datatest.Need(t, !view.HasMetric(sparse), "rows that are brought into a metric are not sparse any more")
		n := pairwise(t, seed+1)
		near(t, fmt.Sprint("E of sparse rows, seed ", seed), embedded(t, n, sparse), embedded(t, n, p), 1e-9)
		if seed%2 == 1 {
			continue
		}
		for _, q := range []*data.ProblemData{p, sparse} {
			q.Problem = &data.Problem{Classes: []string{"a", "b", "c"}}
			for j, task := range q.Tasks {
				q.Tasks[j].TrainSet.Y = make([]float64, len(task.TrainSet.Y))
				for a := range task.TrainSet.Y {
					q.Tasks[j].TrainSet.Y[a] = float64(a % 3)
				}
			}
		}
		near(t, fmt.Sprint("E of sparse rows of three classes, seed ", seed), embedded(t, n, sparse), embedded(t, n, p), 1e-9)
	}
}

func TestPairwiseIsFiniteOnWhatPeopleBring(t *testing.T) {
	r := data.Stream(1, "battery")
	base := func(rows ...int) *data.ProblemData { return modeltest.Problem(r, 5, rows...) }
	zeros := func(x []float64) []float64 { return make([]float64, len(x)) }
	targets := base(6, 7)
	regression(targets, r)
	for what, p := range map[string]*data.ProblemData{
		"one task":             base(8),
		"one row a class":      base(2, 2, 2),
		"one row a class once": base(2, 9),
		"three rows":           base(3, 3, 3, 3),
		"all-zero rows":        changed(t, base(6, 7), zeros, kept),
		"constant features":    changed(t, base(6, 7), func(x []float64) []float64 { return append([]float64{7, 1e6}, x...) }, kept),
		"only constant ones":   changed(t, base(6, 7), func(x []float64) []float64 { return []float64{3, 1e6} }, kept),
		"a large scale":        changed(t, base(6, 7), func(x []float64) []float64 { x[0] *= 1e6; return x }, kept),
		"a tiny scale": changed(t, base(6, 7), func(x []float64) []float64 {
			for j := range x {
				x[j] *= 1e-18
			}
			return x
		}, kept),
		"one feature":       changed(t, base(6, 7), func(x []float64) []float64 { return x[:1] }, kept),
		"one label":         changed(t, base(6, 7), same, func(task int, y float64) float64 { return max(y, float64(1-2*task)) }),
		"equal targets":     changed(t, targets, same, func(task int, y float64) float64 { return y * float64(task) }),
		"regression":        targets,
		"many features":     changed(t, base(5, 5), func(x []float64) []float64 { return append(x, make([]float64, 5000)...) }, kept),
		"duplicates":        changed(t, base(6, 7), func(x []float64) []float64 { return []float64{1, -1, 2} }, kept),
		"rows of one class": changed(t, base(6, 7), same, func(int, float64) float64 { return 1 }),
	} {
		m := len(p.Tasks)
		for _, seed := range []uint64{0, 1} {
			e := embedded(t, pairwise(t, seed), p)
			for k, v := range e {
				if math.IsNaN(v) || math.IsInf(v, 0) || (k%(m+1) == 0 && v <= 0) {
					t.Errorf("%s: E is %v", what, e)
					break
				}
			}
		}
	}
}
