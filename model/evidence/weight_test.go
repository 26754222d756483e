package evidence

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/files"
)

// A row that counts k is k rows in every score, the temperature, the threshold, and the difference
// of losses.
func TestWeightsAreRowsRepeated(t *testing.T) {
	random := data.Stream(9, "weights")
	for _, kind := range []data.Kind{data.Regression, data.Classification} {
		f, y := normals(random, 60), normals(random, 60)
		var w, often, f2, y2 []float64
		for j := range y {
			if kind == data.Classification {
				y[j] = math.Copysign(1, f[j]+y[j])
			}
			count := 1 + random.IntN(3)
			w = append(w, float64(count))
			often = append(often, slices.Repeat([]float64{1}, count)...)
			f2 = append(f2, slices.Repeat(f[j:j+1], count)...)
			y2 = append(y2, slices.Repeat(y[j:j+1], count)...)
		}
		got := ScoreOf(kind, f, y, w, 1.5, 0.3)
		want := ScoreOf(kind, f2, y2, often, 1.5, 0.3)
		got.Held = want.Held
		got.StandardError = want.StandardError // rows that count more are no more rows
		a, b := reflect.ValueOf(got), reflect.ValueOf(want)
		for k := range a.NumField() {
			if v, is := b.Field(k).Interface().(files.Float); is && !math.IsNaN(float64(v)) {
				near(t, string(kind)+" "+a.Type().Field(k).Name, a.Field(k).Float(), float64(v), 1e-12)
			}
		}
		one := heldRows{kind: kind, scale: []float64{1}}
		zero := make([]float64, 60)
		h := one.heldOut([][]float64{f}, []data.Samples{{Y: y, Weight: w}})
		h2 := one.heldOut([][]float64{f2}, []data.Samples{{Y: y2}})
		near(t, "loss", h.Loss, h2.Loss, 1e-12)
		less := PairedLoss(h, one.heldOut([][]float64{zero}, []data.Samples{{Y: y, Weight: w}}))
		less2 := PairedLoss(h2, one.heldOut([][]float64{make([]float64, len(f2))}, []data.Samples{{Y: y2}}))
		near(t, "difference", less.Loss, less2.Loss, 1e-12)
		if kind == data.Classification {
			near(t, "threshold", h.Decide(3), h2.Decide(3), 1e-12)
		}
	}
	// By hand: weights 3 and 1 tell as much as 1.6 rows.
	s := ScoreOf(data.Classification, []float64{1, 1}, []float64{1, -1}, []float64{3, 1}, 1, 0)
	near(t, "standard error", float64(s.StandardError), math.Sqrt(3./16/1.6), 1e-12)
}
