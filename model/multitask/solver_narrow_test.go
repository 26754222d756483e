package multitask

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
)

// TestNarrowFitsAreWideFits compares fits in the span of the rows, of which some are
// repeated in other tasks, one is the sum of others and one is zero, with fits in
// all features. The objective at the end is computed in all features.
func TestNarrowFitsAreWideFits(t *testing.T) {
	s := shape{3, 90, 6, Logistic, false}
	tasks := samples(s, 3)
	rows := [][]float32{}
	for j := range s.n {
		rows = append(rows, tasks[1].X.Row(j).Value)
	}
	copy(rows[1], tasks[0].X.Row(2).Value)
	for c := range rows[2] {
		rows[2][c] = tasks[0].X.Row(0).Value[c] + rows[0][c]
	}
	clear(rows[3])
	problem := mustProblem(t, s.loss, tasks)
	n := problem.narrowed()
	if n == nil || n.cols != 3*s.n-3 {
		t.Fatalf("the span of %d rows, 3 of them dependent, is %+v", 3*s.n, n)
	}
	w := mat.NewDense(n.cols, 3, normals(data.Stream(3, "narrow"), n.cols*3))
	nearMatrix(t, "there and back", n.enter(n.leave(w)), w, 1e-12)
	for _, name := range Names() {
		model := registry[name]
		p, err := Complete(model, batteryParams(model))
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{Tolerance: 1e-10, MaxIterations: 500}
		narrow := mustFit(t, model, problem, p, opt)
		wide, err := newSolver(problem, model, p, 1).run(context.Background(), opt)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name+": objective", narrow.Objective, wide.Objective, 1e-8)
		at := objective(t, model, problem, narrow.W, narrow.B, narrow.cov, p).total
		near(t, name+": objective of W in all features", at, narrow.Objective, 1e-8)
		again := mustFit(t, model, problem, p, Options{Tolerance: 1e-6, MaxIterations: 500, Start: wide})
		near(t, name+": objective from the wide fit", again.Objective, wide.Objective, 1e-6)
	}
}

// Rows that nearly depend on those before them, as those of pictures do, are fitted as
// they are: what their coordinates have beyond the others' would be rounding errors. Here
// pairs of rows differ by 3e-6 of their length, and in their labels.
func TestRowsThatNearlyDepend(t *testing.T) {
	const m, pairs, d = 3, 4, 200
	random := data.Stream(7, "nearly")
	var tasks []data.Samples
	for range m {
		var values []float32
		var y []float64
		for range pairs {
			row, away := normals(random, d), normals(random, d)
			for side, label := range []float64{-1, 1} {
				for j, v := range row {
					values = append(values, float32(v+3e-6*float64(side)*away[j]))
				}
				y = append(y, label)
			}
		}
		tasks = append(tasks, data.Samples{X: matrixOf(values, 2*pairs, d, false), Y: y})
	}
	problem := mustProblem(t, Logistic, tasks)
	p, err := Complete(registry["stl"], Params{Lambda1: 1e-13})
	if err != nil {
		t.Fatal(err)
	}
	got := mustFit(t, registry["stl"], problem, p, Options{Tolerance: 1e-8})
	at := objective(t, registry["stl"], problem, got.W, got.B, got.cov, p).total
	near(t, "objective of W in all features", at, got.Objective, 1e-7)
}

// Coordinates have the inner products of the rows, whichever rows depend on others before
// them, in the same block of rows or in another.
func TestOrthonormal(t *testing.T) {
	const n, d = 100, 80
	random := data.Stream(5, "orthonormal")
	rows := mat.NewDense(n, d, normals(random, n*d))
	var want []int
	for a := range n {
		switch {
		case a == 7:
			rows.SetRow(a, make([]float64, d))
		case a%9 == 8: // a sum of two rows before it
			sum := make([]float64, d)
			for j := range sum {
				sum[j] = rows.At(a-1, j) - 2*rows.At(a/2, j)
			}
			rows.SetRow(a, sum)
		case len(want) < d:
			want = append(want, a)
		}
	}
	var gram mat.Dense
	gram.Mul(rows, rows.T())
	basis, coordinates, known := orthonormal(mat.DenseCopyOf(&gram))
	if !slices.Equal(basis, want) {
		t.Fatalf("the basis is %v, want %v", basis, want)
	}
	for a := range n {
		for b := range n {
			k := min(known[a], known[b])
			got := inner(coordinates.RawRowView(a)[:k], coordinates.RawRowView(b)[:k])
			near(t, fmt.Sprintf("product of rows %d and %d", a, b), 1+got, 1+gram.At(a, b), 1e-10)
		}
	}
}

// TestShortRowsProduct has the bits of adding the rows of B in turn, for every number of
// columns.
func TestShortRowsProduct(t *testing.T) {
	random := data.Stream(3, "columns")
	for k := 2; k < 10; k++ {
		x := &shortRows{d: 9}
		for j := range 5 {
			x.rows = append(x.rows, normals(random, 2*j+1))
		}
		b, dst := normals(random, 9*k), normals(random, 5*k)
		x.Mul(dst, b, k)
		for i, row := range x.rows {
			want := make([]float64, k)
			for j, v := range row {
				add(v, b[j*k:][:k], want)
			}
			if !slices.Equal(dst[i*k:][:k], want) {
				t.Errorf("%d columns, row %d: %v, not %v", k, i, dst[i*k:][:k], want)
			}
		}
	}
}
