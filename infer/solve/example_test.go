package solve_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/infer/solve"
	"l2mt/model/evidence"
	"l2mt/model/pretrained"
	"l2mt/model/saved"
)

// A table is fitted with the whole search: shops, and what a day's temperature and
// discount sell there. The days of another table are predicted, and scored.
func Example() {
	dir := must(os.MkdirTemp("", "shops"))
	defer os.RemoveAll(dir)
	days, later, ctx := shops(dir, 10), shops(dir, 5), context.Background()

	t := must(table.Read([]string{days}, table.Options{Task: "shop", Targets: []string{"sold"}}))
	finder := solve.NewFinder(must(pretrained.Load()))
	fitted := must(solve.Fit(ctx, finder, t.Problem, solve.Options{Together: t.Together, Held: t.Held}))
	model := must(fitted.Saved(t.Recipe))
	rows := must(model.OpenRows(later, saved.RowOptions{}))
	defer rows.Close()
	var predicted, sold []float64
	check(rows.Each(ctx, nil, func(b *saved.Block) error {
		for _, a := range b.Answers {
			predicted, sold = append(predicted, a.Scores...), append(sold, a.Label)
		}
		return nil
	}))
	fmt.Printf("%.0f sold, %.0f predicted\n", sold[:3], predicted[:3])
	fmt.Printf("errors are about %.0f\n", evidence.ScoreOf(model.Kind, predicted, sold, nil, 1, 0).Error)
	// Output:
	// [53 60 48] sold, [53 61 48] predicted
	// errors are about 1
}

// A problem of one's own is fitted in memory, and its test rows say what came of it.
func ExampleFit() {
	p := &data.ProblemData{Problem: &data.Problem{Name: "machines"}}
	for i := range 4 {
		w := []float64{1 + 0.1*float64(i), -1, 0.5}
		task := data.TaskData{Task: &data.Task{Name: fmt.Sprint("machine ", i), Kind: data.Regression}}
		task.TrainSet, task.TestSet = measured(uint64(i), w, 8), measured(uint64(100+i), w, 50)
		p.Tasks = append(p.Tasks, task)
	}
	finder := solve.NewFinder(must(pretrained.Load()))
	fitted := must(solve.Fit(context.Background(), finder, p, solve.Options{}))
	fmt.Printf("nMSE %.1f on rows held out, %.1f on test rows\n", fitted.Validation.Mean, fitted.Test.Mean)
	fmt.Printf("%.0f is predicted, %.0f was measured\n", must(fitted.Scores(2, p.Tasks[2].TestSet.X))[0], p.Tasks[2].TestSet.Y[0])
	// Output:
	// nMSE 0.1 on rows held out, 0.1 on test rows
	// 2 is predicted, 2 was measured
}

// measured are rows of three features with targets x'w and noise.
func measured(seed uint64, w []float64, n int) data.Samples {
	r, x, y := data.Stream(seed, "measured"), []float32(nil), make([]float64, n)
	for i := range y {
		for _, v := range w {
			x = append(x, float32(r.NormFloat64()))
			y[i] += v * float64(x[len(x)-1])
		}
		y[i] += 0.5 * r.NormFloat64()
	}
	return data.Samples{X: must(data.NewDense(n, len(w), x)), Y: y}
}

// shops writes a table of four shops, so many days each, to a file.
func shops(dir string, days int) (path string) {
	var text strings.Builder
	text.WriteString("shop,temperature,discount,sold\n")
	r := data.Stream(uint64(days), "shops")
	for shop := range 4 {
		for range days {
			temperature, discount := 10+20*r.Float64(), 5*r.Float64()
			fmt.Fprintf(&text, "shop %d,%.1f,%.1f,%.0f\n", shop, temperature, discount, 10*float64(shop)+2*temperature+4*discount+r.NormFloat64())
		}
	}
	path = filepath.Join(dir, fmt.Sprintf("%d days.csv", days))
	check(os.WriteFile(path, []byte(text.String()), 0o644))
	return path
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}
