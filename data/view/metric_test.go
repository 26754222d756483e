package view

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// scattered has tasks of n rows of d features each, with classes or targets, two
// of them with validation and test rows.
func scattered(seed uint64, kind data.Kind, m, n, d int) *data.ProblemData {
	r := rand.New(rand.NewPCG(seed, 0))
	set := func(n int) data.Samples {
		values, y := make([]float32, n*d), make([]float64, n)
		for i := range values {
			values[i] = float32(r.NormFloat64() * (1 + float64(i%d)))
		}
		for j := range y {
			if y[j] = r.NormFloat64(); kind == data.Classification {
				y[j] = float64(j%2*2 - 1)
				values[j*d] += 3 * float32(y[j])
			}
		}
		x, err := data.NewDense(n, d, values)
		if err != nil {
			panic(err)
		}
		return data.Samples{X: x, Y: y}
	}
	p := &data.ProblemData{Problem: &data.Problem{Name: "p"}}
	for i := range m {
		t := data.TaskData{Task: &data.Task{Kind: kind}, TrainSet: set(n + i)}
		if i < 2 {
			t.ValidationSet, t.TestSet = set(3), set(4)
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

func denseOf(x data.Matrix) *mat.Dense {
	every := mat.NewDense(x.Cols(), x.Cols(), nil)
	for j := range x.Cols() {
		every.Set(j, j, 1)
	}
	m := mat.NewDense(x.Rows(), x.Cols(), nil)
	x.Mul(m.RawMatrix().Data, every.RawMatrix().Data, x.Cols())
	return m
}

// Inner products in the metric are those with the inverse of S + tau I, by its
// definition, up to one factor; W of V predicts of the rows what V does of theirs.
func TestMetricIsItsFormula(t *testing.T) {
	for seed, c := range []struct {
		kind    data.Kind
		m, n, d int
		ridge   float64
	}{
		{data.Classification, 3, 10, 4, 1}, {data.Classification, 3, 4, 40, 1}, {data.Regression, 2, 12, 5, 1}, {data.Regression, 2, 3, 20, 1},
		{data.Classification, 3, 10, 4, 0.03}, {data.Classification, 3, 4, 40, 10},
	} {
		p := scattered(uint64(seed), c.kind, c.m, c.n, c.d)
		s, n := mat.NewDense(c.d, c.d, nil), 0.0
		for _, task := range p.Tasks {
			x := denseOf(task.TrainSet.X)
			for _, class := range []float64{-1, 1} {
				var of []int
				for j, y := range task.TrainSet.Y {
					if y == class || c.kind == data.Regression && class > 0 {
						of = append(of, j)
					}
				}
				for _, j := range of {
					var row mat.VecDense
					row.CloneFromVec(x.RowView(j))
					for _, k := range of {
						row.AddScaledVec(&row, -1/float64(len(of)), x.RowView(k))
					}
					s.RankOne(s, 1, &row, &row)
					n++
				}
			}
		}
		s.Scale(1/n, s)
		tau := c.ridge * mat.Trace(s) / min(n, float64(c.d))
		for j := range c.d {
			s.Set(j, j, s.At(j, j)+tau)
		}
		var inverse mat.Dense
		datatest.Check(t, inverse.Inverse(s))
		metric := NewScatter(p).Metric(c.ridge)
		q := metric.Problem(p)
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		v := mat.NewDense(2*c.d, c.m, nil) // of two classes
		for i := range 2 * c.d {
			for j := range c.m {
				v.Set(i, j, r.NormFloat64())
			}
		}
		w := metric.Pull(v)
		factor, before, after := 0.0, 0.0, 0.0
		for i := range p.Tasks {
			for k, sets := range [][2]data.Samples{
				{p.Tasks[i].TrainSet, q.Tasks[i].TrainSet}, {p.Tasks[i].ValidationSet, q.Tasks[i].ValidationSet}, {p.Tasks[i].TestSet, q.Tasks[i].TestSet},
			} {
				if sets[0].X == nil {
					continue
				}
				x, z := denseOf(sets[0].X), denseOf(sets[1].X)
				var want, got mat.Dense
				want.Product(x, &inverse, x.T())
				got.Mul(z, z.T())
				if factor == 0 {
					factor = got.At(0, 0) / want.At(0, 0)
				}
				want.Scale(factor, &want)
				if !mat.EqualApprox(&got, &want, 1e-4*mat.Norm(&want, 2)) {
					t.Errorf("case %d, task %d, set %d: inner products\n%v\nwant\n%v", seed, i, k, mat.Formatted(&got), mat.Formatted(&want))
				}
				if k == 0 {
					before, after = before+mat.Norm(x, 2)*mat.Norm(x, 2), after+mat.Norm(z, 2)*mat.Norm(z, 2)
				}
				for b := range 2 {
					var of, as mat.Dense
					of.Mul(x, w.Slice(b*c.d, (b+1)*c.d, 0, c.m))
					as.Mul(z, v.Slice(b*c.d, (b+1)*c.d, 0, c.m))
					datatest.Holds(t, mat.EqualApprox(&of, &as, 1e-4*mat.Norm(&as, 2)),
						"case %d, task %d, set %d: W predicts\n%v\nV\n%v", seed, i, k, mat.Formatted(&of), mat.Formatted(&as))
				}
			}
		}
		datatest.Holds(t, math.Abs(after/before-1) <= 1e-5,
			"case %d: squares of %v are %v in the metric", seed, before, after)
	}
}

// One task, sparse rows and rows that are all alike leave everything as it is.
func TestNoMetric(t *testing.T) {
	sparse := scattered(1, data.Classification, 2, 9, 20)
	for i := range sparse.Tasks {
		values := make([]float32, 20*len(sparse.Tasks[i].TrainSet.Y))
		for j := 0; j < len(values); j += 21 {
			values[j] = 1
		}
		sparse.Tasks[i].TrainSet.X = sparseCopy(t, datatest.Must(data.NewDense(len(values)/20, 20, values))(t))
	}
	alike := scattered(1, data.Classification, 2, 9, 3)
	for i := range alike.Tasks {
		x := alike.Tasks[i].TrainSet.X
		alike.Tasks[i].TrainSet.X = x.Take(make([]int, x.Rows()))
	}
	for name, p := range map[string]*data.ProblemData{"one task": scattered(1, data.Classification, 1, 9, 3), "sparse": sparse, "alike": alike} {
		metric := NewScatter(p).Metric(1)
		datatest.Holds(t, metric == nil && metric.Problem(p) == p, "%s: there is a metric", name)
		w := mat.NewDense(3, 1, nil)
		datatest.Holds(t, metric.Pull(w) == w, "%s: W changes", name)
	}
}

// Of many rows some are asked; W of V predicts what V does of all of them.
func TestMetricOfManyRows(t *testing.T) {
	const d = 3
	p := scattered(1, data.Classification, 2, 2101, d)
	metric := NewScatter(p).Metric(1)
	v := mat.NewDense(d, 2, []float64{1, -1, 2, 0.5, -3, 1})
	w, q := metric.Pull(v), metric.Problem(p)
	for i := range p.Tasks {
		var want, got mat.Dense
		want.Mul(denseOf(q.Tasks[i].TrainSet.X), v)
		got.Mul(denseOf(p.Tasks[i].TrainSet.X), w)
		datatest.Holds(t, mat.EqualApprox(&got, &want, 1e-4*mat.Norm(&want, 2)),
			"task %d: W and V predict other values", i)
	}
}
