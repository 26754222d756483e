package solve

import (
	"math"
	"math/rand/v2"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/table"
)

// walks are tasks whose targets walk at random from year to year, with the year as a feature beside
// one of noise: the years up to one, and the years after it.
func walks(t *testing.T, seed uint64) (past, future *data.ProblemData, times [][]float64) {
	t.Helper()
	const from, years = 24, 32
	random := rand.New(rand.NewPCG(seed, 5))
	names := &data.Problem{Name: "walks"}
	past = &data.ProblemData{Problem: names, Features: []string{"year", "x"}}
	future = &data.ProblemData{Problem: names, Features: past.Features}
	for i := range 12 {
		level := 10 * random.NormFloat64()
		var values []float32
		var y, task []float64
		for year := range years {
			level += random.NormFloat64()
			y = append(y, level)
			values = append(values, float32(year), float32(random.NormFloat64()))
			if year < from {
				task = append(task, float64(year))
			}
		}
		times = append(times, task)
		x := values[:2*from]
		for _, p := range []*data.ProblemData{past, future} {
			rows := datatest.Must(data.NewDense(len(x)/2, 2, x))(t)
			none := data.Samples{X: rows.Take(nil)}
			p.Tasks = append(p.Tasks, data.TaskData{
				Task:     &data.Task{Name: string(rune('a' + i)), Kind: data.Regression},
				TrainSet: data.Samples{X: rows, Y: y[:rows.Rows()]}, ValidationSet: none, TestSet: none,
			})
			x = values[2*from:]
			y = y[rows.Rows():]
		}
	}
	return past, future, times
}

// Of random walks folds that hold out what comes later promise intervals that hold the future.
// Other folds, the control, do not.
func TestIntervalsOfTheFuture(t *testing.T) {
	datatest.Long(t)
	const walked = 3
	within := map[bool]float64{}
	for seed := range uint64(2 * walked) {
		p, future, times := walks(t, seed/2)
		byTime := seed%2 == 1
		if !byTime {
			times = nil
		}
		f := solved(t, nil, p, Options{Times: times, Workers: 2}, Parts{})
		s := datatest.Must(f.Saved(table.Numbers(p.Features, 2)))(t)
		held := 0.0
		rows := 0.0
		for i, task := range future.Tasks {
			made, _, err := s.Prepare(task.TrainSet.X)
			datatest.Check(t, err)
			scores := datatest.Must(s.Predict(task.Name, task.TrainSet.X))(t)
			for j, d := range s.Deviations(i, made) {
				rows++
				if math.Abs(scores[j]-task.TrainSet.Y[j]) <= d*s.Interval(0.9) {
					held++
				}
			}
		}
		within[byTime] += held / rows / walked
		t.Logf("seed %d, by time %t: %.2f", seed/2, byTime, held/rows)
	}
	datatest.Holds(t, within[true] >= 0.72 && within[false] <= 0.6,
		"intervals of 90 %% hold %.2f of the future by time, and %.2f by random folds", within[true], within[false])
}
