package data

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data/datatest"
	"l2mt/data/progress"
)

// randomClassification draws unrelated rows and classes.
func randomClassification(t testing.TB, rng *rand.Rand, n, d, classes int) *Dataset {
	t.Helper()
	data := &Dataset{Name: "made", X: randomCounts(t, rng, n, d)}
	for c := range classes {
		data.Classes = append(data.Classes, fmt.Sprint(c))
	}
	for i := range n {
		data.Label = append(data.Label, int32(i%classes))
	}
	return data
}

// choleskyScores solves the ridge problems in the primal, with everything dense.
func choleskyScores(t testing.TB, x Matrix, targets [][]float64, alpha float64) []float64 {
	t.Helper()
	n, d := x.Rows(), x.Cols()
	centred, variance := denseOf(x), make([]float64, d)
	for j := range d {
		column := mat.Col(nil, j, centred)
		floats.AddConst(-stat.Mean(column, nil), column)
		variance[j] = floats.Dot(column, column) / float64(n)
		centred.SetCol(j, column)
	}
	gram := mat.NewSymDense(d, nil)
	gram.SymOuterK(1, centred.T())
	for j := range d {
		gram.SetSym(j, j, gram.At(j, j)+alpha)
	}
	var chol mat.Cholesky
	if !chol.Factorize(gram) {
		t.Fatal("the normal equations are not positive definite")
	}
	score := make([]float64, d)
	for _, y := range targets {
		c := mat.NewVecDense(n, slices.Clone(y))
		floats.AddConst(-stat.Mean(y, nil), c.RawVector().Data)
		var right, w mat.VecDense
		right.MulVec(centred.T(), c)
		datatest.Check(t, chol.SolveVecTo(&w, &right))
		for j := range score {
			score[j] += w.AtVec(j) * w.AtVec(j) * variance[j]
		}
	}
	return score
}

func indicators(d *Dataset) [][]float64 {
	y := make([][]float64, len(d.Classes))
	for c := range y {
		y[c] = make([]float64, len(d.Label))
		for i, l := range d.Label {
			if int(l) == c {
				y[c][i] = 1
			}
		}
	}
	return y
}

func mustScore(t testing.TB, d *Dataset, alpha, tolerance float64) []float64 {
	t.Helper()
	return datatest.Must(ridgeScores(context.Background(), d, alpha, tolerance, progress.Silent()))(t)
}

func checkScores(t *testing.T, what string, got, want []float64, within float64) {
	t.Helper()
	largest := slices.Max(want)
	for j := range want {
		datatest.Near(t, got[j], want[j], within*largest, "%s: score of feature %d", what, j)
	}
}

// Conjugate gradients in the dual against Cholesky in the primal: more features than
// rows and fewer, two classes and almost as many as rows, dense and sparse.
func TestRidgeScoresAgreeWithCholesky(t *testing.T) {
	for seed := range uint64(40) {
		rng := Stream(seed, "ridge")
		n, d := 3+rng.IntN(60), 1+rng.IntN(60)
		classes := 2 + rng.IntN(min(n-1, 45))
		alpha := math.Exp(2 * rng.NormFloat64())
		data := randomClassification(t, rng, n, d, classes)
		if rng.IntN(2) == 0 {
			data.X = sparseCopy(t, data.X)
		}
		if v := data.X.Row(0).Value; len(v) > 0 {
			v[0] = 50 // some variances are far from others
		}
		targets := indicators(data)
		if rng.IntN(4) == 0 {
			for range n {
				data.Target = append(data.Target, 5+rng.NormFloat64())
			}
			data.Label, data.Classes, targets = nil, nil, [][]float64{data.Target}
		}
		want := choleskyScores(t, data.X, targets, alpha)
		if slices.Max(want) == 0 {
			continue
		}
		checkScores(t, fmt.Sprintf("seed %d, %d x %d, %d classes", seed, n, d, classes), mustScore(t, data, alpha, 1e-13), want, 1e-8)
	}
}

func TestRidgeScoresDoNotDependOnWorkers(t *testing.T) {
	data := randomClassification(t, Stream(6, "ridge workers"), 200, 150, 12)
	data.X = sparseCopy(t, data.X)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := mustScore(t, data, 1, ridgeTolerance)
	for _, workers := range []int{2, 3, 8} {
		runtime.GOMAXPROCS(workers)
		if !slices.Equal(mustScore(t, data, 1, ridgeTolerance), want) {
			t.Errorf("%d workers give other bits than one", workers)
		}
	}
}

func TestSelectionKeepsTheBestAndBreaksTiesByColumn(t *testing.T) {
	rng := Stream(7, "ridge ties")
	data := randomClassification(t, rng, 30, 6, 3)
	wide := make([]float32, 0, 30*12)
	for i := range 30 { // columns j and j + 6 are the same
		row := data.X.Row(i).Value
		wide = append(append(wide, row...), row...)
	}
	data.X = datatest.Must(NewDense(30, 12, wide))(t)
	score := mustScore(t, data, 1, ridgeTolerance)
	for k := 1; k <= 12; k++ {
		s := datatest.Must(SelectByRidge(context.Background(), data, k, 1, progress.Silent()))(t)
		if len(s.Columns) != k || s.Cols != 12 {
			t.Fatalf("%d of %d columns %v", k, s.Cols, s.Columns)
		}
		for _, in := range s.Columns {
			for out := range score {
				if !slices.Contains(s.Columns, out) && (score[out] > score[in] || score[out] == score[in] && out < in) {
					t.Errorf("k = %d keeps column %d (%v) and drops %d (%v)", k, in, score[in], out, score[out])
				}
			}
		}
	}
}

func TestSelectionStopsWhenAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	datatest.Refused(SelectByRidge(ctx, randomClassification(t, Stream(9, "ridge cancel"), 60, 40, 3), 1, 1, progress.Silent()))(t, context.Canceled)
}

func TestSelectionRefuses(t *testing.T) {
	data := randomClassification(t, Stream(10, "ridge refuse"), 60, 40, 3)
	single := madeClasses(t, 5)
	flat := madeGroups(t, 3)
	clear(flat.Target)
	for _, c := range []struct {
		name  string
		d     *Dataset
		k     int
		alpha float64
		want  string
	}{
		{"k missing", data, 0, 1, "0 features are to be kept of 40"},
		{"k too large", data, 41, 1, "41 features are to be kept of 40"},
		{"alpha", data, 1, -1, "the ridge is -1"},
		{"no alpha", data, 1, 0, "the ridge is 0"},
		{"alpha NaN", data, 1, math.NaN(), "the ridge is NaN"},
		{"one class", single, 1, 1, "one class"},
		{"one target", flat, 1, 1, "one target"},
	} {
		datatest.Refused(SelectByRidge(context.Background(), c.d, c.k, c.alpha, progress.Silent()))(t, ErrInvalid, c.want)
	}
	datatest.Refused(ridgeScores(context.Background(), data, 1, math.NaN(), progress.Silent()))(t, errNotConverged)
}

func TestSelectTerms(t *testing.T) {
	x := datatest.Must(NewDense(3, 5, []float32{1, 2, 0, 1, 0, 0, 1, 3, 1, 0, 0, 1, 1, 1, 0}))(t)
	words := []string{"boat", "the", "wind", "x", "reef"}
	for _, c := range []struct {
		names []string
		rows  int
		want  []int
	}{{words, 0, []int{0, 2}}, {words, 2, []int{2}}, {nil, 2, []int{1, 2, 3}}, {nil, 0, []int{0, 1, 2, 3}}} {
		if s := datatest.Must(SelectTerms(x, c.names, c.rows))(t); !slices.Equal(s.Columns, c.want) || s.Kind != StepSelect || s.Cols != 5 {
			t.Errorf("%q in %d rows: %+v, want %v", c.names, c.rows, s, c.want)
		}
	}
}

func TestStopWordsAreOrderedWords(t *testing.T) {
	if !slices.IsSorted(stopWordList) || len(slices.Compact(slices.Clone(stopWordList))) != len(stopWordList) {
		t.Error("the stop words are not in order, each once")
	}
	for _, w := range stopWordList {
		if isTerm(w) || w != strings.ToLower(w) {
			t.Errorf("%q can never be a stop word", w)
		}
	}
	for _, w := range []string{"boat", "god", "windows", "government"} {
		if !isTerm(w) {
			t.Errorf("%q is a stop word", w)
		}
	}
}

func TestTextRefuses(t *testing.T) {
	datatest.Refused(SelectTerms(randomCounts(t, Stream(1, "terms"), 3, 4), nil, 4))(t, ErrInvalid, "no word is in 4 rows")
}

func TestFilterKeepsWholeClassesOfTheRightSize(t *testing.T) {
	d := madeClasses(t, 3, 9, 1, 5, 2)
	d.Groups = []string{"the second class", "odd rows", "even rows"}
	for i, class := range d.Label {
		group := int32(1 + i%2)
		if class == 1 {
			group = 0
		}
		d.Group = append(d.Group, group)
	}
	for _, c := range []struct {
		least, most int
		kept        []string
	}{{2, 5, []string{"c0", "c3", "c4"}}, {3, 0, []string{"c0", "c1", "c3"}}, {0, 2, []string{"c2", "c4"}}} {
		got := datatest.Must(FilterClasses(d, c.least, c.most))(t)
		if err := got.Validate(); err != nil || !slices.Equal(got.Classes, c.kept) {
			t.Fatalf("from %d to %d: classes %q, want %q; %v", c.least, c.most, got.Classes, c.kept, err)
		}
		next := 0 // the rows that stay are all those of the kept classes, in order
		for i, class := range d.Label {
			if !slices.Contains(c.kept, d.Classes[class]) {
				continue
			}
			group := got.Groups[got.Group[next]]
			if name := got.Classes[got.Label[next]]; name != d.Classes[class] || group != d.Groups[d.Group[i]] || !slices.Equal(got.X.Row(next).Value, d.X.Row(i).Value) {
				t.Fatalf("from %d to %d: row %d is not row %d", c.least, c.most, next, i)
			}
			next++
		}
		if next != got.X.Rows() || slices.Contains(got.Groups, d.Groups[0]) != slices.Contains(c.kept, "c1") {
			t.Fatalf("from %d to %d: %d rows, want %d; groups %q", c.least, c.most, got.X.Rows(), next, got.Groups)
		}
	}
}

func TestFilterRefuses(t *testing.T) {
	for _, c := range []struct {
		name        string
		d           *Dataset
		least, most int
		want        string
	}{
		{"targets", madeGroups(t, 2, 2), 1, 0, "real targets"},
		{"crossed limits", madeClasses(t, 2, 2), 3, 2, "sizes from 3 to 2"},
		{"negative", madeClasses(t, 2, 2), -1, 2, "sizes from -1 to 2"},
		{"one left", madeClasses(t, 2, 5), 3, 0, "1 of 2 classes have from 3 to 0 rows; at least two must stay"},
	} {
		datatest.Refused(FilterClasses(c.d, c.least, c.most))(t, ErrInvalid, c.want)
	}
}
