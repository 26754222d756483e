package mixed

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/layers/linalg"
)

// narrowing has for each component of more features than there are rows as many features as rows,
//
//	F = L Q,   L L' = F F'
//
// with the rows F in all tasks, of twins once. Its weights w have one variance, and so have the
// weights Q w of the features L.
type narrowing struct {
	narrowed Problem
	wide     int    // features
	search          // for its products
	turns    []turn // of the components
}

// turn is a component before and after.
type turn struct {
	features []int     // before
	first    int       // feature after
	q        []float64 // one column for each feature before; nil where features stay
}

// narrow narrows the components of a problem.
func narrow(p Problem, workers int) *narrowing {
	n := &narrowing{narrowed: p, wide: len(p.Part)}
	n.ker = linalg.Default()
	n.ker.Threads = workers
	turns := make([]turn, len(p.Components))
	for j, k := range p.Part {
		turns[k].features = append(turns[k].features, j)
	}
	var rows [][]float64 // of all tasks
	for i, t := range p.Tasks {
		if !p.Twin(i) {
			rows = slices.AppendSeq(rows,
				slices.Chunk(t.Features, max(1, len(p.Part))))
		}
	}
	wide := func(t turn) bool {
		return len(t.features) > len(rows)
	}
	if len(rows) == 0 || !slices.ContainsFunc(turns, wide) {
		return n
	}
	n.turns = turns
	n.narrowed.Part = nil
	turned := make([][]float64, len(rows))
	for k := range turns {
		turns[k].first = len(n.narrowed.Part)
		part := n.turn(&turns[k], rows)
		wide := len(part) / len(rows)
		n.narrowed.Part = append(n.narrowed.Part,
			slices.Repeat([]int{k}, wide)...)
		for i := range turned {
			turned[i] = append(turned[i], part[i*wide:][:wide]...)
		}
	}
	n.narrowed.Tasks = slices.Clone(p.Tasks)
	for i := range n.narrowed.Tasks {
		t := &n.narrowed.Tasks[i]
		if p.Twin(i) {
			t.Features = n.narrowed.Tasks[i-1].Features
			continue
		}
		t.Features = slices.Concat(turned[:len(t.Y)]...)
		turned = turned[len(t.Y):]
	}
	return n
}

// turn makes the features of a component.
func (n *narrowing) turn(t *turn, rows [][]float64) []float64 {
	var f []float64
	for _, row := range rows {
		for _, j := range t.features {
			f = append(f, row[j])
		}
	}
	d := len(t.features)
	if d <= len(rows) {
		return f
	}
	gram := n.abt(nil, f, d, f, d)
	root := n.rooted(gram, len(rows))
	if root == nil {
		return f
	}
	t.q = n.ab(nil, gram, len(rows), f, d)
	return root.RawMatrix().Data
}

// widen turns a fit of the narrowed problem into one of the problem. The covariance of w is wider
// by the variance of the weights that no row has a say in, which is (I - Q'Q) a.
func (n *narrowing) widen(f *Fit) *Fit {
	if n.turns == nil {
		return f
	}
	f.Common = n.back(f.Common)
	for i := range f.Own {
		f.Own[i] = n.back(f.Own[i])
	}
	var root []float64
	for row := range slices.Chunk(f.Root, len(n.narrowed.Part)) {
		root = append(root, n.back(row)...)
	}
	for k, t := range n.turns {
		if t.q == nil || f.Components[k].Common == 0 {
			continue
		}
		wide := len(t.features)
		q := n.atb(nil, t.q, wide, t.q, wide)
		for i := range t.features {
			row := make([]float64, n.wide)
			for j, to := range t.features {
				row[to] = -q[i*wide+j]
			}
			row[t.features[i]]++
			floats.Scale(math.Sqrt(f.Components[k].Common), row)
			root = append(root, row...)
		}
	}
	f.Root = root
	return f
}

// back turns weights of the features after into weights of the features before.
func (n *narrowing) back(w []float64) []float64 {
	wide := make([]float64, n.wide)
	for _, t := range n.turns {
		part := w[t.first:]
		if t.q != nil {
			d := len(t.features)
			rows := len(t.q) / d
			part = n.ab(nil, part[:rows], rows, t.q, d)
		}
		for i, j := range t.features {
			wide[j] = part[i]
		}
	}
	return wide
}
