package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/table"
	"l2mt/infer/report"
)

// awkward is a table that people might bring: rows of a problem of four related
// tasks, changed.
type awkward struct {
	name   string
	rows   []int // of the tasks; of classes, half of each
	row    func(r *rand.Rand, x []float64) []float64
	target func(j int, y float64) float64 // of row j of its task, to learn from
}

func ten(n int) []int { return []int{n, n, n, n} }

var awkwardTables = []awkward{
	{name: "constant features", rows: ten(10), row: func(_ *rand.Rand, x []float64) []float64 { return append(x, 7, 1e6, 0) }},
	{name: "only constant features", rows: ten(10), row: func(*rand.Rand, []float64) []float64 { return []float64{3, 1e6} }},
	{name: "duplicate rows", rows: ten(10), row: each(func(v float64) float64 { return math.Round(v / 3) })},
	{name: "all-zero rows", rows: ten(10), row: each(func(float64) float64 { return 0 })},
	{name: "some all-zero rows", rows: ten(10), row: func(r *rand.Rand, x []float64) []float64 {
		if r.IntN(3) == 0 {
			clear(x)
		}
		return x
	}},
	{name: "400 features and 10 rows", rows: []int{5, 5}, row: func(r *rand.Rand, x []float64) []float64 {
		return append(x, datatest.Normals[float64](r, 400-len(x))...)
	}},
	{name: "a feature of 1e6", rows: ten(10), row: func(_ *rand.Rand, x []float64) []float64 { x[0] *= 1e6; return x }},
	{name: "features of 1e6", rows: ten(10), row: each(func(v float64) float64 { return 1e6 * v })},
	{name: "features of 1e-30", rows: ten(10), row: each(func(v float64) float64 { return 1e-30 * v })},
	{name: "features far from zero", rows: ten(10), row: each(func(v float64) float64 { return v + 1e4 })},
	{name: "two rows in one task of many", rows: []int{2, 16, 16, 16}},
	{name: "tasks of five rows", rows: ten(5)},
	{name: "one task", rows: []int{12}},
	{name: "equal targets in a fold", rows: ten(10), target: func(j int, y float64) float64 {
		if j < 8 {
			return 1
		}
		return y
	}},
	{name: "targets of 1e9", rows: ten(10), target: func(_ int, y float64) float64 { return 1e9 * y }},
	{name: "a column twice, and its opposite", rows: ten(10), row: func(_ *rand.Rand, x []float64) []float64 {
		return append(x, x[0], -x[0])
	}},
	{name: "rows far off", rows: ten(10), row: func(r *rand.Rand, x []float64) []float64 {
		x[1] += 1e6 * float64(btoi(r.IntN(20) == 0))
		return x
	}},
	{name: "a column of 0 and 1", rows: ten(10), row: func(_ *rand.Rand, x []float64) []float64 {
		return append(x, float64(btoi(x[0] > 0)))
	}},
	{name: "tasks of three rows", rows: ten(3)},
	{name: "one row a class", rows: ten(2)},
}

// each changes every feature alike.
func each(change func(v float64) float64) func(*rand.Rand, []float64) []float64 {
	return func(_ *rand.Rand, x []float64) []float64 {
		for j := range x {
			x[j] = change(x[j])
		}
		return x
	}
}

// text is the table, or more rows like it of which no target is changed except by its
// scale.
func (a awkward) text(seed uint64, kind data.Kind, more bool) string {
	const features = 8
	truth := data.Stream(seed, "truth")
	common := datatest.Normals[float64](truth, features)
	r := data.Stream(seed, "awkward", uint64(len(a.name)))
	if more {
		r = data.Stream(seed, "awkward, more")
	}
	var b strings.Builder
	for i, n := range a.rows {
		w := datatest.Normals[float64](truth, features)
		for k := range w {
			w[k] = 0.9*common[k] + 0.4*w[k]
		}
		if more {
			n = 200
		}
		for j := range n {
			x, y := datatest.Normals[float64](r, features), 0.3*r.NormFloat64()
			for k, v := range x {
				y += v * w[k]
			}
			if kind == data.Classification {
				if sign := float64(2*(j%2) - 1); y*sign < 0 { // both classes have rows
					y = -y
					for k := range x {
						x[k] = -x[k]
					}
				}
				y = math.Copysign(1, y)
			} else if a.target != nil && (!more || a.target(0, 2) != a.target(0, 1)) {
				y = a.target(j, y)
			}
			if a.row != nil {
				x = a.row(r, x)
			}
			if b.Len() == 0 {
				b.WriteString("task")
				for k := range x {
					fmt.Fprintf(&b, ",x%d", k)
				}
				b.WriteString(",target\n")
			}
			fmt.Fprintf(&b, "t%d", i)
			for _, v := range x {
				fmt.Fprintf(&b, ",%v", float32(v))
			}
			fmt.Fprintf(&b, ",%v\n", y)
		}
	}
	return b.String()
}

// What people bring is fitted with finite numbers. On new rows it is not worse than
// by single-task learning, on average, and in no table three times as bad: with ten rows a
// task the evidence may take noise for what columns say.
func TestAwkwardTables(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	const seed = 7
	network := datatest.Must(loadNetwork(""))(t)
	for _, kind := range []data.Kind{data.Classification, data.Regression} {
		var ratios []float64 // logarithms
		for _, a := range awkwardTables {
			t.Run(fmt.Sprintf("%s, %s", a.name, kind), func(t *testing.T) {
				train, more := write(t, "train.csv", a.text(seed, kind, false)), write(t, "more.csv", a.text(seed, kind, true))
				tab := datatest.Must(table.Read([]string{train}, table.Options{Task: "task", Kind: kind}))(t)
				omega := datatest.Must(network.Omega(tab.Problem))(t).RawSymmetric().Data
				datatest.Holds(t, !floats.HasNaN(omega) && floats.Norm(omega, 2) < 2, "seed %d: the network's covariance is %v", seed, omega)
				out := filepath.Join(t.TempDir(), "model")
				report := mustL2mt(t, "-q", "fit", train, "--task", "task", "--target", "target", "--kind", string(kind), "--out", out)
				datatest.Holds(t, !undefined.MatchString(report), "seed %d: a number is none: %s", seed, report)
				loss, alone := losses(t, out, more, kind)
				datatest.Holds(t, loss <= 3*alone, "seed %d: on new rows it loses %v, single-task learning %v", seed, loss, alone)
				ratios = append(ratios, math.Log(loss/alone))
			})
		}
		if mean := stat.Mean(ratios, nil); !(mean < 0) {
			t.Errorf("seed %d: %s: logarithms of the losses over those of single-task learning: %.2f, of mean %.3f", seed, kind, ratios, mean)
		}
	}
}

// losses are a saved model's and single-task learning's on more rows, the mean of zero or one for
// classes and of squares for a regression.
func losses(t *testing.T, model, more string, kind data.Kind) (ours, alone float64) {
	t.Helper()
	var s report.Scores
	datatest.Check(t, json.Unmarshal([]byte(mustL2mt(t, "-q", "--json", "predict", "--model", model, more, "--out", filepath.Join(t.TempDir(), "predicted.csv"))), &s))
	ours, alone = float64(s.All.By[report.ByModel].Error), float64(s.All.By[report.BySTL].Error)
	if kind == data.Regression {
		return ours * ours, alone * alone
	}
	return ours, alone
}

// csvRows are those of a CSV file below its header.
func csvRows(t *testing.T, r interface{ Read([]byte) (int, error) }) [][]string {
	t.Helper()
	all := datatest.Must(csv.NewReader(r).ReadAll())(t)
	return all[1:]
}
