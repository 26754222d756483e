package view

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
)

// kernelOf is the kernel of two rows, of the width g over what columns vary by.
func kernelOf(g float64, x *mat.Dense, a, b int) float64 {
	_, d := x.Dims()
	far, size := 0.0, 0.0
	for j := range d {
		_, variance := stat.PopMeanVariance(mat.Col(nil, j, x), nil)
		far += math.Abs(x.At(a, j) - x.At(b, j))
		size += math.Sqrt(variance)
	}
	return math.Exp(-g * far / size)
}

// Coordinates of rows have the kernel for inner products: exactly where one of the two rows is a
// landmark, and otherwise but for the share of a row that landmarks do not explain.
func TestKernelsAreInnerProducts(t *testing.T) {
	for _, c := range []struct {
		n, d, most int
		width      float64
	}{
		{20, 3, 100, 1},
		{300, 1, 100, 0.01}, // few landmarks explain all rows
		{100, 4, 30, 1},     // landmarks explain a part
	} {
		name := fmt.Sprintf("%d rows, %d landmarks at most", c.n, c.most)
		x := scattered(1, data.Regression, 1, c.n, c.d).Tasks[0].TrainSet.X
		step := FitKernel(c.width, x, c.most)
		a := step.Coordinates()
		made := datatest.Must(step.Apply(x))(t)
		n := step.Makes()
		if n > min(c.most, x.Rows()) || n != len(step.Landmarks) || len(a) != n*n || made.Cols() != n {
			t.Fatalf("%s: %d landmarks, %d columns, %d numbers of A", name, n, made.Cols(), len(a))
		}
		var coordinates mat.Dense
		coordinates.Mul(denseOf(made), mat.NewDense(n, n, a))
		rows := denseOf(x)
		var landmarks []int
		for i := range x.Rows() {
			if slices.ContainsFunc(step.Landmarks, func(z []float32) bool { return slices.Equal(z, x.Row(i).Value) }) {
				landmarks = append(landmarks, i)
			}
		}
		datatest.Equal(t, len(landmarks), n, "%s: landmarks among the rows", name)
		for i := range x.Rows() {
			own := mat.Dot(coordinates.RowView(i), coordinates.RowView(i))
			datatest.Holds(t, own <= 1+1e-4 && (n >= c.most || own >= 1-2*explained),
				"%s: row %d has the length %g, and should have 1", name, i, own)
			for _, l := range landmarks {
				got := mat.Dot(coordinates.RowView(i), coordinates.RowView(l))
				datatest.Near(t, got, kernelOf(c.width, rows, i, l), 1e-4, "%s: row %d and landmark %d have the product", name, i, l)
			}
		}
		checkRoundTrip(t, step)
	}
}

// checkRoundTrip wants a step that is the same from JSON.
func checkRoundTrip(t *testing.T, step Step) {
	t.Helper()
	var again Step
	text, err := json.Marshal(step)
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	datatest.Holds(t, err == nil && cmp.Equal(step, again),
		"the step %s is another after a round trip: %v", step.Kind, err)
}

// A kernel of rows that are all alike has one landmark, with a coordinate of 1.
func TestKernelOfEqualRows(t *testing.T) {
	x := datatest.Must(data.NewDense(3, 2, []float32{4, 5, 4, 5, 4, 5}))(t)
	step := FitKernel(0.5, x, 10)
	a := step.Coordinates()
	made := datatest.Must(step.Apply(x))(t)
	datatest.Holds(t, step.Makes() == 1 && a[0] == 1 && made.Row(2).Value[0] == 1,
		"%d landmarks, A %v, row %v", step.Makes(), a, made.Row(2))
}

// Views have the columns of their parts side by side.
func TestViewsPutPartsSideBySide(t *testing.T) {
	x := scattered(2, data.Regression, 1, 20, 3).Tasks[0].TrainSet.X
	kernel := FitKernel(1, x, 7)
	parts := []Step{Straight(x), kernel, FitCurves(x)}
	views := Beside(parts...)
	names := []string{"a", "b", "c"}
	made := datatest.Must(views.Apply(x))(t)
	first := 0
	var called []string
	for _, part := range parts {
		alone := datatest.Must(part.Apply(x))(t)
		for i := range x.Rows() {
			datatest.Equal(t, made.Row(i).Value[first:][:alone.Cols()], alone.Row(i).Value, "%s: row %d", part.Kind, i)
		}
		first += alone.Cols()
		called = append(called, part.Names(names)...)
	}
	datatest.Holds(t, views.Makes() == first && made.Cols() == first && slices.Equal(views.Names(names), called),
		"%d and %d columns, want %d; names %v, want %v", views.Makes(), made.Cols(), first, views.Names(names), called)
	far := datatest.Must(data.NewDense(1, 3, []float32{1e6, -1e6, 0}))(t)
	datatest.Equal(t, views.Outside(far), []int{1, 1, 0}, "far values are outside")
	datatest.Refused(views.Apply(sparseCopy(t, x)))(t, data.ErrInvalid)
	datatest.Refused(views.Apply(datatest.Must(data.NewDense(1, 2, []float32{1, 2}))(t)))(t, data.ErrMismatch)
	checkRoundTrip(t, views)
}

// Views of a file are checked with all their parts.
func TestViewsAreValidated(t *testing.T) {
	x := scattered(2, data.Regression, 1, 20, 3).Tasks[0].TrainSet.X
	for want, forge := range map[string]func(s *Step){
		"":                   func(*Step) {},
		"for 0 columns":      func(s *Step) { s.Parts[1].Landmarks[2] = nil },
		"there are 3":        func(s *Step) { s.Parts[1].Landmarks = [][]float32{{1}} },
		"no step \"bogus\"":  func(s *Step) { s.Parts[0].Kind = "bogus" },
		"has 1 numbers for":  func(s *Step) { s.Parts[0].Curves[1].Bends = [][]float64{{1}} },
		"for 2 columns; the": func(s *Step) { s.Low = s.Low[:2] },
	} {
		kernel := FitKernel(1, x, 7)
		views := Beside(FitCurves(x), kernel)
		forge(&views)
		err := views.Validate(3)
		datatest.Holds(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)),
			"%v, want words about %q", err, want)
	}
}
