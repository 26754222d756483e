package solve

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"l2mt/data/datatest"
)

// Targets of which some are far off on both sides are fitted by Huber's loss, and predicted nearer
// to what they were without noise. Those of normal noise are not, nor those that are far off on
// one side, of which half are not as many as the mean.
func TestHeavyTails(t *testing.T) {
	const seed = 2
	for name, noise := range map[string]func(r *rand.Rand) float64{
		Huber:      func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) }, // Student, 2 degrees
		"normal":   (*rand.Rand).NormFloat64,
		"one side": func(r *rand.Rand) float64 { return math.Exp(1.5 * r.NormFloat64()) },
	} {
		random := rand.New(rand.NewPCG(seed, 7))
		p := priced(t, seed, true)
		var truth [][]float64
		for i, task := range p.Tasks {
			var f []float64
			for j := range task.TrainSet.Y {
				x := task.TrainSet.X.Row(j).Value
				f = append(f, float64(i)/4+float64(x[0])-float64(x[1])/2)
				task.TrainSet.Y[j] = f[j] + noise(random)
			}
			truth = append(truth, f)
		}
		b := bench(t, nil, p, Options{})
		errors := map[string]float64{}
		for _, asked := range []string{"", Identity} {
			scaled, c, err := b.Scaled(t.Context(), asked, func(b *Bench) (*Choice, error) { return b.Choose(t.Context(), Parts{View: Straight}) })
			datatest.Check(t, err)
			fitted := datatest.Must(scaled.Fit(t.Context(), c))(t)
			if scale := fitted.Scale(); asked == "" && (scale == Huber) != (name == Huber) {
				t.Errorf("seed %d, noise %s: the scale is %s", seed, name, scale)
			}
			for i, task := range p.Tasks {
				errors[asked] += floats.Distance(datatest.Must(fitted.Scores(i, task.TrainSet.X))(t), truth[i], 2)
			}
		}
		if name == Huber && errors[""] > 0.85*errors[Identity] {
			t.Errorf("seed %d: by Huber's loss predictions are off by %v, by the squared one by %v", seed, errors[""], errors[Identity])
		}
	}
}
