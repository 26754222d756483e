package view

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// randomCounts draws a matrix of counts, mostly zeros.
func randomCounts(t testing.TB, rng *rand.Rand, n, d int) *data.Stored {
	t.Helper()
	values := make([]float32, n*d)
	for i := range values {
		if rng.IntN(3) == 0 {
			values[i] = float32(1 + rng.IntN(9))
		}
	}
	return datatest.Must(data.NewDense(n, d, values))(t)
}

// full returns the entries of x, stored or not.
func full(x data.Matrix) [][]float64 {
	return slices.Collect(slices.Chunk(denseOf(x).RawMatrix().Data, x.Cols()))
}

func TestRecordedStepsGiveTheSameBytesAgain(t *testing.T) {
	for seed := range uint64(30) {
		rng := data.Stream(seed, "replay")
		var x data.Matrix = randomCounts(t, rng, 3+rng.IntN(20), 2+rng.IntN(8))
		if rng.IntN(2) == 0 {
			x = sparseCopy(t, x)
		}
		y, made := x, Steps(nil)
		add := func(s Step) {
			y, made = datatest.Must(s.Apply(y))(t), append(made, s)
		}
		for _, kind := range [][]string{{TFIDF, Unit, Standardise}, {Standardise, Unit}, {Unit}}[rng.IntN(3)] {
			add(datatest.Must(Fit(kind, y.Take([]int{0, 2, 1, 2})))(t))
			if rng.IntN(2) == 0 {
				add(Step{Kind: Select, Cols: y.Cols(), Columns: []int{0, y.Cols() - 1}[:min(2, y.Cols())]})
			}
			if y.Cols() < 2 {
				break
			}
		}
		text := datatest.Must(json.Marshal(made))(t)
		var steps Steps
		datatest.Check(t, json.Unmarshal(text, &steps))
		if again := datatest.Must(steps.Apply(x))(t); !cmp.Equal(full(again), full(y)) || data.IsSparse(again) != data.IsSparse(y) {
			t.Fatalf("seed %d: the steps %s give other features the second time", seed, text)
		}
	}
}

// Each kind against its formula, entry by entry, dense and sparse, fitted on
// some of the rows.
func TestStepsAgreeWithTheirDefinition(t *testing.T) {
	for seed := range uint64(40) {
		rng := data.Stream(seed, "definition")
		n, d := 4+rng.IntN(10), 1+rng.IntN(6)
		dense := randomCounts(t, rng, n, d)
		for i := range n {
			dense.Row(i).Value[0] = 3 // a constant column
		}
		rows := rng.Perm(n)[:1+rng.IntN(n)]
		entry := full(dense)
		mean, deviation, having := make([]float64, d), make([]float64, d), make([]float64, d)
		for j := range d {
			var column []float64
			for _, i := range rows {
				column = append(column, entry[i][j])
				having[j] += min(1, entry[i][j])
			}
			mean[j], deviation[j] = stat.PopMeanStdDev(column, nil)
			if deviation[j] < 1e-6 { // counts differ by 1 or not at all
				deviation[j] = math.Inf(1)
			}
		}
		logOf := func(v float64) float64 {
			if v == 0 {
				return 0
			}
			return 1 + math.Log(v)
		}
		norm := func(i int) float64 { return math.Sqrt(dense.SquaredNorms()[i]) }
		for _, c := range []struct {
			kind          string
			dense, sparse func(i, j int, v float64) float64
		}{
			{kind: TFIDF, dense: func(_, j int, v float64) float64 {
				return logOf(v) * (math.Log((1+float64(len(rows)))/(1+having[j])) + 1)
			}},
			{kind: Unit, dense: func(i, _ int, v float64) float64 { return v / norm(i) }},
			{
				kind:   Standardise,
				dense:  func(_, j int, v float64) float64 { return (v - mean[j]) / deviation[j] },
				sparse: func(_, j int, v float64) float64 { return v / deviation[j] },
			},
		} {
			for _, x := range []data.Matrix{dense, sparseCopy(t, dense)} {
				sparse := data.IsSparse(x)
				want := c.dense
				if sparse && c.sparse != nil {
					want = c.sparse
				}
				y := datatest.Must(datatest.Must(Fit(c.kind, x.Take(rows)))(t).Apply(x))(t)
				datatest.Need(t, data.IsSparse(y) == sparse && y.NNZ() == x.NNZ(),
					"%s, seed %d: storage changed, %d entries became %d", c.kind, seed, x.NNZ(), y.NNZ())
				for i, row := range full(y) {
					for j, got := range row {
						w := want(i, j, entry[i][j])
						datatest.Need(t, math.Abs(got-w) <= 1e-6*(1+math.Abs(w)), "%s, seed %d, sparse %t: entry %d, %d is %v, want %v", c.kind, seed, sparse, i, j, got, w)
					}
				}
			}
			datatest.Equal(t, full(dense), entry, "%s changed its input", c.kind)
		}
	}
}

func TestZeroRowsStayZeroInUnitRows(t *testing.T) {
	x := datatest.Must(data.NewDense(3, 2, []float32{0, 0, 3, 4, 1e-30, 0}))(t)
	got := full(datatest.Must(datatest.Must(Fit(Unit, x))(t).Apply(x))(t))
	want := [][]float64{{0, 0}, {float64(float32(0.6)), float64(float32(0.8))}, {1, 0}}
	datatest.Holds(t, cmp.Equal(got, want), "rows %v, want %v", got, want)
}

func TestConstantColumnsBecomeZero(t *testing.T) {
	for seed := range uint64(50) {
		rng := data.Stream(seed, "constant")
		n := 1 + rng.IntN(3000)
		dense := datatest.Must(data.NewDense(n, 1, slices.Repeat([]float32{float32(rng.NormFloat64() * math.Exp(20*rng.NormFloat64()))}, n)))(t)
		for _, x := range []data.Matrix{dense, sparseCopy(t, dense)} {
			for i, row := range full(datatest.Must(datatest.Must(Fit(Standardise, x))(t).Apply(x))(t)) {
				datatest.Need(t, row[0] == 0, "%T, seed %d: row %d of %v is %v", x, seed, i, x.Row(i), row)
			}
		}
	}
}

func TestSelectKeepsColumnsAndTheirNames(t *testing.T) {
	dense := datatest.Must(data.NewDense(3, 4, []float32{1, 0, 2, 3, 0, 4, 0, 0, 5, 6, 0, 7}))(t)
	for _, x := range []data.Matrix{dense, sparseCopy(t, dense)} {
		step := Step{Kind: Select, Cols: 4, Columns: []int{1, 3}}
		got, names := datatest.Must(step.Apply(x.Take([]int{2, 0, 1})))(t), step.Names([]string{"a", "b", "c", "d"})
		if want := [][]float64{{6, 7}, {0, 3}, {4, 0}}; !cmp.Equal(full(got), want) || !slices.Equal(names, []string{"b", "d"}) || data.IsSparse(got) != data.IsSparse(x) {
			t.Errorf("%q: %v, want %v", names, full(got), want)
		}
	}
}

func TestStepsRefuseWhatDoesNotFit(t *testing.T) {
	x := datatest.Must(data.NewDense(2, 2, []float32{1, 0.5, 2, 3}))(t)
	wide := datatest.Must(Fit(Unit, randomCounts(t, data.Stream(1, "wide"), 3, 4)))(t)
	huge := datatest.Must(data.NewDense(1, 1, []float32{math.MaxFloat32}))(t)
	apply := func(s Step, x data.Matrix) error { _, err := s.Apply(x); return err }
	fit := func(kind string, rows []int) error { _, err := Fit(kind, x.Take(rows)); return err }
	for _, c := range []struct {
		err  error
		is   error
		want string
	}{
		{fit("whiten", []int{0}), data.ErrInvalid, `there is no step "whiten" to fit`},
		{fit(Select, []int{0}), data.ErrInvalid, `there is no step "select" to fit`},
		{fit(Unit, nil), data.ErrInvalid, "no rows"},
		{apply(wide, x), data.ErrMismatch, "fitted on 4 columns and the matrix has 2"},
		{apply(datatest.Must(Fit(TFIDF, x))(t), x), data.ErrInvalid, "row 0, column 1: the value 0.5"},
		{apply(Step{Kind: Standardise, Cols: 1, Mean: []float64{0}, Deviation: []float64{1e-5}}, huge), data.ErrInvalid, "row 0, column 0"},
		{apply(Step{Kind: Curves, Cols: 2, Curves: make([]Curve, 2), Low: []float32{0, 0}, High: []float32{1, 1}}, sparseCopy(t, x)), data.ErrInvalid, "sparse"},
	} {
		datatest.Says(t, c.err, c.is, c.want)
	}
}
