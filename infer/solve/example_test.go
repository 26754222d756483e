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
	"l2mt/model/pretrained"
)

// A table is fitted with the whole search: shops, and what a day's temperature and
// discount sell there. A prediction and a score follow.
func Example() {
	path, remove := shops()
	defer remove()

	t, err := table.Read([]string{path}, table.Options{Task: "shop", Targets: []string{"sold"}})
	check(err)
	network, err := pretrained.Load()
	check(err)
	finder, err := solve.NewFinder(network)
	check(err)
	fitted, err := solve.Fit(context.Background(), finder, t.Problem, solve.Options{Together: t.Together, Held: t.Held})
	check(err)
	model, err := fitted.Saved(t.Recipe)
	check(err)
	day, err := data.NewDense(1, 2, []float32{18, 3}) // 18 degrees, a discount of 3
	check(err)
	sold, err := model.Predict("shop 2", day)
	fmt.Printf("%.0f sold (%v); errors in shop 2 are about %.0f\n", sold, err, fitted.Scores()[2].Error)
	// Output: [68] sold (<nil>); errors in shop 2 are about 1
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
	network, err := pretrained.Load()
	check(err)
	finder, err := solve.NewFinder(network)
	check(err)
	fitted, err := solve.Fit(context.Background(), finder, p, solve.Options{})
	check(err)
	fmt.Printf("nMSE %.1f on rows held out, %.1f on test rows\n", fitted.Validation.Mean, fitted.Test.Mean)
	fmt.Printf("%.0f is predicted, %.0f was measured\n", fitted.Result.Scores(2, p.Tasks[2].TestSet.X)[0], p.Tasks[2].TestSet.Y[0])
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
	rows, err := data.NewDense(n, len(w), x)
	check(err)
	return data.Samples{X: rows, Y: y}
}

// shops writes a table of four shops, ten days each, to a file.
func shops() (path string, remove func()) {
	var text strings.Builder
	text.WriteString("shop,temperature,discount,sold\n")
	r := data.Stream(1, "shops")
	for shop := range 4 {
		for range 10 {
			temperature, discount := 10+20*r.Float64(), 5*r.Float64()
			fmt.Fprintf(&text, "shop %d,%.1f,%.1f,%.0f\n", shop, temperature, discount, 10*float64(shop)+2*temperature+4*discount+r.NormFloat64())
		}
	}
	dir, err := os.MkdirTemp("", "shops")
	check(err)
	path = filepath.Join(dir, "shops.csv")
	check(os.WriteFile(path, []byte(text.String()), 0o644))
	return path, func() { os.RemoveAll(dir) }
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
