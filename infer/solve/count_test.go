package solve

import (
	"math"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/table"
	"l2mt/model/saved"
)

// counted are counts, or amounts in whole numbers, whose expectation columns multiply.
func counted(t *testing.T, seed uint64, amounts bool) *data.ProblemData {
	p := priced(t, seed, true)
	r := data.Stream(seed, "counts")
	for i := range p.Tasks {
		s := p.Tasks[i].TrainSet
		for j := range s.Y {
			x := s.X.Row(j).Value
			log := float64(i)/5 + 0.8*float64(x[0]) + 0.4*float64(x[1])
			if amounts {
				s.Y[j] = math.Ceil(math.Exp(9 + log + 0.4*r.NormFloat64()))
				continue
			}
			s.Y[j] = -1
			for left := math.Exp(log); left > 0; left -= r.ExpFloat64() {
				s.Y[j]++
			}
		}
	}
	return p
}

// Skewed counts are fitted as counts, whole amounts on their logarithm. Predictions are nearer to
// what was expected than those of counts as they are, and intervals are whole numbers from 0 on.
func TestCounts(t *testing.T) {
	choose := func(b *Bench) (*Choice, error) { return b.Choose(t.Context(), Parts{View: Curves}) }
	ours, theirs := 0.0, 0.0
	for k := range 6 {
		seed := 3 + uint64(k/2)
		amounts := k%2 == 1
		scale := []string{Count, Log}[k%2]
		p := counted(t, seed, amounts)
		b := bench(t, nil, p, Options{})
		scaled, c, err := b.Scaled(t.Context(), "", choose)
		datatest.Check(t, err)
		f := datatest.Must(scaled.Fit(t.Context(), c))(t)
		datatest.Equal(t, f.Scale(), scale, "seed %d, whole amounts %t: the scale", seed, amounts)
		if amounts {
			continue
		}
		plain := datatest.Must(b.Fit(t.Context(), datatest.Must(choose(b))(t)))(t)
		s := datatest.Must(f.Saved(table.Numbers(p.Features, 2)))(t)
		dir := t.TempDir()
		datatest.Check(t, s.Save(dir))
		s = datatest.Must(saved.Load(dir))(t)
		for i, task := range p.Tasks {
			x := task.TrainSet.X
			straight := datatest.Must(plain.Scores(i, x))(t)
			for j, v := range datatest.Must(s.Predict(task.Name, x))(t) {
				row := x.Row(j).Value
				want := math.Exp(float64(i)/5 + 0.8*float64(row[0]) + 0.4*float64(row[1]))
				ours += (v - want) * (v - want)
				theirs += (straight[j] - want) * (straight[j] - want)
				low, high := s.Bounds(v, 1.7, math.Sqrt(v))
				if low < 0 || low != math.Trunc(low) || high != math.Trunc(high) || low > high {
					t.Errorf("seed %d: %v is between %v and %v", seed, v, low, high)
				}
			}
		}
		if _, _, err := b.Scaled(t.Context(), Count, func(b *Bench) (*Choice, error) { return b.Best(t.Context(), []Candidate{{}}) }); err == nil {
			t.Error("problem (1) takes counts")
		}
		p.Tasks[0].TrainSet.Y[0] = 0.5
		if _, _, err := b.Scaled(t.Context(), Count, choose); err == nil {
			t.Error("a half is a count")
		}
	}
	if ours > 0.8*theirs {
		t.Errorf("counts err by %.3f, as they are by %.3f", ours, theirs)
	}
}

// Counts of twice the variance over their expectation count half.
func TestCountsCountLess(t *testing.T) {
	once := countWeights([]float64{1, 3}, math.Log(4), 1)
	twice := countWeights([]float64{1, 3}, math.Log(4), 2)
	if once[0] != 4 || once[1] != 12 || twice[0] != 2 || twice[1] != 6 {
		t.Errorf("counts weigh %v and %v", once, twice)
	}
}
