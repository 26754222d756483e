package data

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"l2mt/data/datatest"
)

// randomCounts draws a matrix of counts, mostly zeros.
func randomCounts(t testing.TB, rng *rand.Rand, n, d int) *Stored {
	t.Helper()
	values := make([]float32, n*d)
	for i := range values {
		if rng.IntN(3) == 0 {
			values[i] = float32(1 + rng.IntN(9))
		}
	}
	return datatest.Must(NewDense(n, d, values))(t)
}

// full returns the entries of x, stored or not.
func full(x Matrix) [][]float64 {
	m := make([][]float64, x.Rows())
	for i := range m {
		m[i] = make([]float64, x.Cols())
		r := x.Row(i)
		for p, v := range r.Value {
			m[i][r.Column(p)] = float64(v)
		}
	}
	return m
}

func mustFit(t testing.TB, kind string, x Matrix, rows []int) Step {
	t.Helper()
	if rows != nil {
		x = x.Take(rows)
	}
	return datatest.Must(FitStep(kind, x))(t)
}

func TestRecordedStepsGiveTheSameBytesAgain(t *testing.T) {
	for seed := range uint64(30) {
		rng := Stream(seed, "replay")
		var x Matrix = randomCounts(t, rng, 3+rng.IntN(20), 2+rng.IntN(8))
		if rng.IntN(2) == 0 {
			x = sparseCopy(t, x)
		}
		raw := &Dataset{Name: "made", X: x, Target: make([]float64, x.Rows())}
		d, made := raw, []Step(nil)
		add := func(s Step) {
			d, made = datatest.Must(d.With(s))(t), append(made, s)
		}
		for _, kind := range [][]string{{StepTFIDF, StepUnit, StepStandardise}, {StepStandardise, StepUnit}, {StepUnit}}[rng.IntN(3)] {
			add(mustFit(t, kind, d.X, []int{0, 2, 1, 2}))
			if rng.IntN(2) == 0 {
				add(Step{Kind: StepSelect, Cols: d.X.Cols(), Columns: []int{0, d.X.Cols() - 1}[:min(2, d.X.Cols())]})
			}
			if d.X.Cols() < 2 {
				break
			}
		}
		text := datatest.Must(json.Marshal(made))(t)
		var steps []Step
		datatest.Check(t, json.Unmarshal(text, &steps))
		again := raw
		for _, s := range steps {
			again = datatest.Must(again.With(s))(t)
		}
		datatest.Need(t, cmp.Equal(full(again.X), full(d.X)) && again.Fingerprint() == d.Fingerprint(),
			"seed %d: the steps %s give other features the second time", seed, text)
		datatest.Equal(t, again.Steps, d.Steps, "seed %d", seed)
	}
}

// Each kind against its formula, entry by entry, dense and sparse, fitted on
// some of the rows.
func TestStepsAgreeWithTheirDefinition(t *testing.T) {
	for seed := range uint64(40) {
		rng := Stream(seed, "definition")
		n, d := 4+rng.IntN(10), 1+rng.IntN(6)
		dense := randomCounts(t, rng, n, d)
		for i := range n {
			dense.Row(i).Value[0] = 3 // a constant column
		}
		rows := rng.Perm(n)[:1+rng.IntN(n)]
		entry := full(dense)
		mean, deviation, having := make([]float64, d), make([]float64, d), make([]float64, d)
		for j := range d {
			for _, i := range rows {
				mean[j] += entry[i][j] / float64(len(rows))
				if entry[i][j] != 0 {
					having[j]++
				}
			}
			for _, i := range rows {
				deviation[j] += math.Pow(entry[i][j]-mean[j], 2) / float64(len(rows))
			}
			deviation[j] = math.Sqrt(deviation[j])
			if math.Abs(deviation[j]) < 1e-6 { // counts differ by 1 or not at all
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
			{kind: StepTFIDF, dense: func(_, j int, v float64) float64 {
				return logOf(v) * (math.Log((1+float64(len(rows)))/(1+having[j])) + 1)
			}},
			{kind: StepUnit, dense: func(i, _ int, v float64) float64 { return v / norm(i) }},
			{
				kind:   StepStandardise,
				dense:  func(_, j int, v float64) float64 { return (v - mean[j]) / deviation[j] },
				sparse: func(_, j int, v float64) float64 { return v / deviation[j] },
			},
		} {
			for _, x := range []Matrix{dense, sparseCopy(t, dense)} {
				sparse := IsSparse(x)
				want := c.dense
				if sparse && c.sparse != nil {
					want = c.sparse
				}
				y := datatest.Must(mustFit(t, c.kind, x, rows).Apply(x))(t)
				if s := IsSparse(y); s != sparse || y.NNZ() != x.NNZ() {
					t.Fatalf("%s, seed %d: storage changed, %d entries became %d", c.kind, seed, x.NNZ(), y.NNZ())
				}
				for i, row := range full(y) {
					for j, got := range row {
						if w := want(i, j, entry[i][j]); math.Abs(got-w) > 1e-6*(1+math.Abs(w)) {
							t.Fatalf("%s, seed %d, sparse %t: entry %d, %d is %v, want %v", c.kind, seed, sparse, i, j, got, w)
						}
					}
				}
			}
			datatest.Equal(t, full(dense), entry, "%s changed its input", c.kind)
		}
	}
}

func TestZeroRowsStayZeroInUnitRows(t *testing.T) {
	x := datatest.Must(NewDense(3, 2, []float32{0, 0, 3, 4, 1e-30, 0}))(t)
	got := full(datatest.Must(mustFit(t, StepUnit, x, nil).Apply(x))(t))
	want := [][]float64{{0, 0}, {float64(float32(0.6)), float64(float32(0.8))}, {1, 0}}
	datatest.Holds(t, cmp.Equal(got, want), "rows %v, want %v", got, want)
}

func TestConstantColumnsBecomeZero(t *testing.T) {
	for seed := range uint64(50) {
		rng := Stream(seed, "constant")
		n := 1 + rng.IntN(3000)
		dense := datatest.Must(NewDense(n, 1, slices.Repeat([]float32{float32(rng.NormFloat64() * math.Exp(20*rng.NormFloat64()))}, n)))(t)
		for _, x := range []Matrix{dense, sparseCopy(t, dense)} {
			for i, row := range full(datatest.Must(mustFit(t, StepStandardise, x, nil).Apply(x))(t)) {
				datatest.Need(t, row[0] == 0, "%T, seed %d: row %d of %v is %v", x, seed, i, x.Row(i), row)
			}
		}
	}
}

func TestSelectKeepsColumnsAndTheirNames(t *testing.T) {
	dense := datatest.Must(NewDense(3, 4, []float32{1, 0, 2, 3, 0, 4, 0, 0, 5, 6, 0, 7}))(t)
	for _, x := range []Matrix{dense, sparseCopy(t, dense)} {
		source := &Dataset{X: x.Take([]int{2, 0, 1}), Target: make([]float64, 3), Features: []string{"a", "b", "c", "d"}}
		got := datatest.Must(source.With(Step{Kind: StepSelect, Cols: 4, Columns: []int{1, 3}}))(t)
		if want := [][]float64{{6, 7}, {0, 3}, {4, 0}}; !cmp.Equal(full(got.X), want) || !slices.Equal(got.Features, []string{"b", "d"}) || IsSparse(got.X) != IsSparse(x) {
			t.Errorf("%q: %v, want %v", got.Features, full(got.X), want)
		}
		datatest.Holds(t, source.Steps == nil && len(got.Steps) == 1 && got.Validate() == nil,
			"steps %v and %v, %v", source.Steps, got.Steps, got.Validate())
	}
}

func TestStepsRefuseWhatDoesNotFit(t *testing.T) {
	x := datatest.Must(NewDense(2, 2, []float32{1, 0.5, 2, 3}))(t)
	wide := mustFit(t, StepUnit, randomCounts(t, Stream(1, "wide"), 3, 4), nil)
	huge := datatest.Must(NewDense(1, 1, []float32{math.MaxFloat32}))(t)
	apply := func(s Step, x Matrix) error { _, err := s.Apply(x); return err }
	fit := func(kind string, rows []int) error { _, err := FitStep(kind, x.Take(rows)); return err }
	for _, c := range []struct {
		name string
		err  error
		is   error
		want string
	}{
		{"unknown kind to fit", fit("whiten", []int{0}), ErrInvalid, `fit "whiten"`},
		{"select is not fitted", fit(StepSelect, []int{0}), ErrInvalid, `fit "select"`},
		{"no rows", fit(StepUnit, nil), ErrInvalid, "no rows"},
		{"other width", apply(wide, x), ErrMismatch, "fitted on 4 columns and the matrix has 2"},
		{"half a count", apply(mustFit(t, StepTFIDF, x, nil), x), ErrInvalid, "row 0, column 1: the value 0.5"},
		{"overflow", apply(Step{Kind: StepStandardise, Cols: 1, Mean: []float64{0}, Deviation: []float64{1e-5}}, huge), ErrInvalid, "row 0, column 0"},
		{"curves of sparse rows", apply(Step{Kind: StepCurves, Cols: 2, Curves: make([]Curve, 2), Low: []float32{0, 0}, High: []float32{1, 1}}, sparseCopy(t, x)), ErrInvalid, "sparse"},
	} {
		datatest.Holds(t, errors.Is(c.err, c.is) && strings.Contains(c.err.Error(), c.want),
			"%s: error %v, want %q", c.name, c.err, c.want)
	}
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
		datatest.Holds(t, !isTerm(w) && w == strings.ToLower(w), "%q can never be a stop word", w)
	}
	for _, w := range []string{"boat", "god", "windows", "government"} {
		datatest.Holds(t, isTerm(w), "%q is a stop word", w)
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
