package data

import (
	gocmp "cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"l2mt/data/datatest"
)

// full writes G out as n x n.
func (g *LabelGraph) full() [][]int {
	out := make([][]int, len(g.Class))
	for i := range out {
		out[i] = make([]int, len(g.Class))
		for j := range out[i] {
			if g.Class[i] == g.Class[j] {
				out[i][j] = 1
			}
		}
		for _, j := range g.Index[g.Ptr[i]:g.Ptr[i+1]] {
			out[i][j]--
		}
	}
	return out
}

func TestLabelGraphGolden(t *testing.T) {
	raw := datatest.Must(os.ReadFile("../testdata/golden/label_graph.json"))(t)
	var file struct {
		Cases []struct {
			Name   string
			Config struct{ K int }
			Inputs struct {
				X [][]float64
				Y []float64
			}
			Expected struct {
				G          [][]int
				Neighbours [][]int32
			}
		}
	}
	datatest.Check(t, json.Unmarshal(raw, &file))
	datatest.Need(t, len(file.Cases) == 28, "%d cases, want 28", len(file.Cases))
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			class := make([]int32, len(c.Inputs.Y))
			for i, y := range c.Inputs.Y {
				class[i] = int32(y) + 1
			}
			// The golden rows are float64; a dataset's are float32, which can tell
			// rows far from the origin apart once the first is there.
			var values []float32
			for _, row := range c.Inputs.X {
				for j, v := range row {
					values = append(values, float32(v-c.Inputs.X[0][j]))
				}
			}
			x := datatest.Must(NewDense(len(c.Inputs.X), len(c.Inputs.X[0]), values))(t)
			near := make([][]int32, x.Rows())
			if k := min(c.Config.K, x.Rows()-1); k > 0 {
				near = nearest(x, x.SquaredNorms(), k)
			}
			for i, want := range c.Expected.Neighbours {
				datatest.Holds(t, slices.Equal(near[i], want), "row %d has the neighbours %v, want %v", i, near[i], want)
			}
			datatest.Equal(t, connect(near, class).full(), c.Expected.G, "G")
		})
	}
}

// bruteNearest sorts all others by the sum of their squared differences, then by
// index.
func bruteNearest(x *Stored, k int) [][]int32 {
	near := make([][]int32, x.Rows())
	for i := range near {
		distance := make([]float64, x.Rows())
		for j := range distance {
			for c, v := range x.Row(j).Value {
				d := float64(x.Row(i).Value[c]) - float64(v)
				distance[j] += float64(d * d)
			}
			if j != i {
				near[i] = append(near[i], int32(j))
			}
		}
		slices.SortStableFunc(near[i], func(a, b int32) int { return gocmp.Compare(distance[a], distance[b]) })
		near[i] = near[i][:k]
	}
	return near
}

// kinds of rows that defeat an approximate search.
var rowKinds = map[string]func(r *rand.Rand) float32{
	"normal":       func(r *rand.Rand) float32 { return float32(r.NormFloat64()) },
	"small counts": func(r *rand.Rand) float32 { return float32(r.IntN(3)) },
	"tenths":       func(r *rand.Rand) float32 { return float32(r.IntN(3)) / 10 },
	"far away":     func(r *rand.Rand) float32 { return 4096 + float32(r.IntN(5))/2048 },
	"huge and tiny": func(r *rand.Rand) float32 {
		return []float32{1e30, 1e30, -1e30, 1e-30, 3e-30}[r.IntN(5)]
	},
	"steep":       func(r *rand.Rand) float32 { return []float32{1000, 1 + float32(r.IntN(128))/(1<<23)}[r.IntN(2)] },
	"mostly zero": func(r *rand.Rand) float32 { return float32(r.NormFloat64()) * float32(r.IntN(8)/7) },
}

func TestNeighboursAreTheNearestInFloat64(t *testing.T) {
	t.Parallel()
	for name, draw := range rowKinds {
		for seed := range uint64(12) {
			r := rand.New(rand.NewPCG(seed, 1))
			n, d := 2+r.IntN(80), 1+r.IntN(6)
			values := make([]float32, n*d)
			for i := range values {
				values[i] = draw(r)
			}
			dense := datatest.Must(NewDense(n, d, values))(t)
			k := 1 + r.IntN(n-1)
			want := bruteNearest(dense, k)
			for storage, x := range map[string]Matrix{"dense": dense, "sparse": sparseCopy(t, dense)} {
				datatest.Equal(t, nearest(x, x.SquaredNorms(), k), want, "%s %s rows, seed %d, n %d, d %d, k %d", storage, name, seed, n, d, k)
			}
		}
	}
}

func TestLabelGraphRefusesBadInput(t *testing.T) {
	x, _ := NewDense(3, 1, []float32{0, 1, 2})
	unknown, _ := NewDense(3, 1, []float32{0, float32(math.NaN()), 2})
	class := []int32{0, 1, 0}
	datatest.Refused(NewLabelGraph(x, class, 3))(t, ErrInvalid, "k = 3")
	datatest.Refused(NewLabelGraph(x, class, 0))(t, ErrInvalid, "k = 0")
	datatest.Refused(NewLabelGraph(unknown, class, 1))(t, ErrInvalid, "finite")
}

func TestQuantileClassesFillBinsEquallyAndKeepTiesTogether(t *testing.T) {
	datatest.Equal(t, QuantileClasses([]float64{8, 1, 3, 2, 5, 4, 7, 6}, 4), []int32{3, 0, 1, 0, 2, 1, 3, 2}, "distinct targets: classes")
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		y := make([]float64, 1+r.IntN(50))
		for i := range y {
			y[i] = float64(r.IntN(6))
		}
		class := QuantileClasses(y, 4)
		for i := range y {
			for j := range y {
				if (y[i] == y[j] && class[i] != class[j]) || (y[i] < y[j] && class[i] > class[j]) || class[i] > 3 {
					t.Fatalf("seed %d: targets %v and %v have classes %d and %d", seed, y[i], y[j], class[i], class[j])
				}
			}
		}
	}
}
