package data

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Families of generated problems, of which the truth is known: the weights of the
// tasks are drawn with a covariance of the family,
//
//	W = Z U,  U'U = Omega,  Z of independent normal entries, d x m,
//
// rows with an expected square of their length of 1, and labels
//
//	y = x'w_i + noise * e,  for classes its sign.
//
// So Omega is what the best covariance of such a problem has to be like.

// Family is a way in which tasks are related.
type Family struct {
	Name string
	// Omega draws the covariance of m tasks, with 1 on its diagonal.
	Omega func(r *rand.Rand, m int) *mat.SymDense
	// Noise is the standard deviation of what W does not say of labels, that of
	// what it says being 1.
	Noise float64
}

const (
	correlation = 0.9 // of tasks that are related
	noise       = 0.3
)

// Families are those that there are.
func Families() []Family {
	return []Family{
		{"alike", grouped(func(*rand.Rand, int, int) (int, float64) { return 0, 1 }), noise},
		{"clusters", grouped(clusters), noise},
		{"opposite signs", grouped(func(r *rand.Rand, _, _ int) (int, float64) { return 0, float64(2*r.IntN(2) - 1) }), noise},
		{"outliers", grouped(outliers), noise},
		{"low rank", lowRank, noise},
		{"heavy noise", grouped(clusters), 1},
		{"unrelated", grouped(func(_ *rand.Rand, i, _ int) (int, float64) { return i, 1 }), noise},
	}
}

// grouped has tasks in groups, each with a sign: those of one group are related.
func grouped(of func(r *rand.Rand, i, m int) (group int, sign float64)) func(*rand.Rand, int) *mat.SymDense {
	return func(r *rand.Rand, m int) *mat.SymDense {
		group, sign := make([]int, m), make([]float64, m)
		for i := range m {
			group[i], sign[i] = of(r, i, m)
		}
		return ones(m, func(i, j int) float64 {
			if group[i] != group[j] {
				return 0
			}
			return correlation * sign[i] * sign[j]
		})
	}
}

func clusters(r *rand.Rand, _, m int) (int, float64) { return r.IntN(max(2, m/3)), 1 }

// outliers are about one task in four, related to none.
func outliers(r *rand.Rand, i, _ int) (int, float64) {
	if r.IntN(4) == 0 {
		return 1 + i, 1
	}
	return 0, 1
}

// lowRank has tasks that are mixtures of two.
func lowRank(r *rand.Rand, m int) *mat.SymDense {
	angle := make([]float64, m)
	for i := range angle {
		angle[i] = 2 * math.Pi * r.Float64()
	}
	return ones(m, func(i, j int) float64 { return correlation * math.Cos(angle[i]-angle[j]) })
}

// ones is a covariance with 1 on its diagonal.
func ones(m int, off func(i, j int) float64) *mat.SymDense {
	omega := mat.NewSymDense(m, nil)
	for i := range m {
		omega.SetSym(i, i, 1)
		for j := range i {
			omega.SetSym(i, j, off(i, j))
		}
	}
	return omega
}

// GenerateConfig says which problems Generate draws.
type GenerateConfig struct {
	Kind               Kind
	Problems           int // of the families in turn
	MinTasks, MaxTasks int // of a problem
	// Rows are those of a task to learn from, and TestRows those to test on.
	Rows, TestRows, Features int
	// Words has sparse rows, with few frequent features.
	Words bool
	Seed  uint64
}

// entries is the number of words of a row.
const entries = 20

// Validate names what cannot be drawn.
func (c GenerateConfig) Validate() error {
	fault := func(format string, v ...any) error {
		return fmt.Errorf("data: generate: %w: "+format, append([]any{ErrInvalid}, v...)...)
	}
	switch {
	case c.Kind != Classification && c.Kind != Regression:
		return fault("the kind %q is neither %q nor %q", c.Kind, Classification, Regression)
	case c.Problems < 1:
		return fault("%d problems; there must be at least one", c.Problems)
	case c.MinTasks < 1 || c.MaxTasks < c.MinTasks:
		return fault("%d to %d tasks; there must be at least one", c.MinTasks, c.MaxTasks)
	case c.Rows < 2 || c.TestRows < 2:
		return fault("%d and %d rows of a task; there must be two", c.Rows, c.TestRows)
	case c.Features < 1:
		return fault("%d features; there must be at least one", c.Features)
	case c.Words && c.Features < 2*entries:
		return fault("%d features; rows have %d words, and there must be twice as many", c.Features, entries)
	}
	return nil
}

// Generate draws problems, all over one dataset, with the covariances of their tasks.
func Generate(c GenerateConfig) (*Dataset, *ProblemFile, []*mat.SymDense, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, nil, err
	}
	g := &generator{GenerateConfig: c, ptr: []int{0}}
	var truth []*mat.SymDense
	families := Families()
	for i := range c.Problems {
		omega, err := g.add(families[i%len(families)], i)
		if err != nil {
			return nil, nil, nil, err
		}
		truth = append(truth, omega)
	}
	d, err := g.dataset()
	if err != nil {
		return nil, nil, nil, err
	}
	g.file.Schema, g.file.Dataset = ProblemSchema, &DatasetRef{SHA256: d.Fingerprint()}
	return d, &g.file, truth, nil
}

// generator collects the rows of problems.
type generator struct {
	GenerateConfig
	file  ProblemFile
	ptr   []int
	index []int32 // of words
	value []float32
	y     []float64
}

// add draws a problem.
func (g *generator) add(f Family, number int) (*mat.SymDense, error) {
	r := Stream(g.Seed, "family "+f.Name, uint64(number))
	m := g.MinTasks + r.IntN(g.MaxTasks-g.MinTasks+1)
	omega := f.Omega(r, m)
	var l mat.Cholesky
	if !l.Factorize(omega) {
		return nil, fmt.Errorf("data: generate: family %q: %w: its covariance is not positive definite", f.Name, ErrInvalid)
	}
	w := mat.NewDense(g.Features, m, nil)
	w.Apply(func(_, _ int, _ float64) float64 { return r.NormFloat64() }, w)
	w.Mul(w, l.RawU())
	p := &Problem{Name: fmt.Sprintf("%s %d", f.Name, number+1)}
	for i := range m {
		t := &Task{Name: fmt.Sprintf("%s, task %d", p.Name, i+1), Kind: g.Kind}
		if g.Kind == Classification {
			t.Positive, t.Negative = "yes", "no"
		}
		wi := mat.Col(nil, i, w)
		t.Train, t.Test = g.rows(r, f, wi, g.Rows), g.rows(r, f, wi, g.TestRows)
		p.Tasks = append(p.Tasks, t)
	}
	g.file.Problems = append(g.file.Problems, p)
	return omega, nil
}

// rows draws rows of a task, which have both classes, and returns their numbers.
func (g *generator) rows(r *rand.Rand, f Family, w []float64, n int) (numbers []int) {
	first := len(g.y)
	for range n {
		numbers = append(numbers, len(g.y))
		y := f.Noise * r.NormFloat64()
		if g.Words {
			y += g.words(r, w)
		} else {
			y += g.dense(r, w)
		}
		if g.Kind == Classification {
			y = math.Copysign(1, y)
		}
		g.y = append(g.y, y)
	}
	if y := g.y[first:]; g.Kind == Classification && !slices.Contains(y, -y[0]) {
		y[0] = -y[0]
	}
	return numbers
}

// dense adds a row and returns x'w.
func (g *generator) dense(r *rand.Rand, w []float64) (product float64) {
	for _, v := range w {
		x := r.NormFloat64() / math.Sqrt(float64(len(w)))
		g.value, product = append(g.value, float32(x)), product+x*v
	}
	return product
}

// words adds a row of different words, the j-th in proportion to 1 / (j + 10), and
// returns x'w.
func (g *generator) words(r *rand.Rand, w []float64) (product float64) {
	d, row := len(w), map[int32]bool{}
	for len(row) < entries {
		// j + 10 = 10 (1 + d/10)^u has the density of 1 / (j + 10)
		row[min(int32(10*math.Pow(1+float64(d)/10, r.Float64())-10), int32(d-1))] = true
	}
	x := 1 / math.Sqrt(entries)
	for _, j := range slices.Sorted(maps.Keys(row)) {
		g.index, g.value, product = append(g.index, j), append(g.value, float32(x)), product+x*w[j]
	}
	g.ptr = append(g.ptr, len(g.index))
	return product
}

// dataset has all rows.
func (g *generator) dataset() (d *Dataset, err error) {
	d = &Dataset{Name: "generated"}
	if g.Words {
		d.X, err = NewCSR(g.Features, g.ptr, g.index, g.value)
	} else {
		d.X, err = NewDense(len(g.y), g.Features, g.value)
	}
	if g.Kind == Regression {
		d.Target = g.y
		return d, err
	}
	d.Classes = []string{"no", "yes"}
	for _, y := range g.y {
		d.Label = append(d.Label, int32((y+1)/2))
	}
	return d, err
}
