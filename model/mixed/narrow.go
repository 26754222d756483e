package mixed

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"l2mt/layers/linalg"
)

// narrowing has for each component of more features than there are rows as many features as rows,
//
//	F = L Q',   L L' = F F'
//
// with the rows F in all tasks, of twins once. Its weights w have one variance, and so have the
// weights Q'w of the features L.
type narrowing struct {
	narrowed Problem
	wide     Problem
	search          // for its products
	turns    []turn // of the components
}

// turn is a component before and after.
type turn struct {
	features []int     // before
	first    int       // feature after
	q        []float64 // one row for each feature before; nil where features stay
}

// narrow narrows the components of a problem.
func narrow(p Problem, workers int) *narrowing {
	n := &narrowing{narrowed: p, wide: p}
	n.ker = linalg.Default()
	n.turns = make([]turn, len(p.Components))
	n.ker.Threads = workers
	for j, k := range p.Part {
		n.turns[k].features = append(n.turns[k].features, j)
	}
	rows := 0
	for i, t := range p.Tasks {
		if !p.Twin(i) {
			rows += len(t.Y)
		}
	}
	wide := func(t turn) bool { return len(t.features) > rows }
	if rows == 0 || !slices.ContainsFunc(n.turns, wide) {
		n.turns = nil
		return n
	}
	n.narrowed.Part = nil
	var parts [][]float64 // features after, of the rows of all tasks
	for k := range n.turns {
		t := &n.turns[k]
		t.first = len(n.narrowed.Part)
		parts = append(parts, n.turn(t, rows))
		for range len(parts[k]) / rows {
			n.narrowed.Part = append(n.narrowed.Part, k)
		}
	}
	n.narrowed.Tasks = slices.Clone(p.Tasks)
	row := 0
	for i := range n.narrowed.Tasks {
		t := &n.narrowed.Tasks[i]
		if p.Twin(i) {
			t.Features = n.narrowed.Tasks[i-1].Features
			continue
		}
		t.Features = nil
		for range t.Y {
			for _, part := range parts {
				wide := len(part) / rows
				t.Features = append(t.Features, part[row*wide:][:wide]...)
			}
			row++
		}
	}
	return n
}

// turn makes the features of a component.
func (n *narrowing) turn(t *turn, rows int) []float64 {
	d := len(t.features)
	f := make([]float64, 0, rows*d)
	for i, task := range n.wide.Tasks {
		if n.wide.Twin(i) {
			continue
		}
		for row := range slices.Chunk(task.Features, len(n.wide.Part)) {
			for _, j := range t.features {
				f = append(f, row[j])
			}
		}
	}
	if d <= rows {
		return f
	}
	gram := n.abt(nil, f, d, f, d)
	size := 0.0
	for i := range rows {
		size += gram[i*rows+i] / float64(rows)
	}
	for i := range rows {
		gram[i*rows+i] += jitter*size + tiny
	}
	linalg.Cholesky(n.ker, rows, gram, rows)
	part := lower(gram, rows)
	linalg.Invert(n.ker, rows, gram, rows)
	t.q = n.product(make([]float64, d*rows), linalg.Trans, linalg.Trans,
		d, rows, rows, f, d, gram, rows)
	return part
}

// lower is a matrix with zeros above its diagonal.
func lower(a []float64, n int) []float64 {
	l := slices.Clone(a)
	for i := range n {
		clear(l[i*n+i+1 : (i+1)*n])
	}
	return l
}

// widen turns a fit of the narrowed problem into one of the problem. The covariance of w is wider
// by the variance of the weights that no row has a say in, which is (I - Q Q') a.
func (n *narrowing) widen(f *Fit) *Fit {
	if n.turns == nil {
		return f
	}
	d := len(n.wide.Part)
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
		rows := len(t.q) / len(t.features)
		q := n.abt(nil, t.q, rows, t.q, rows)
		for i := range t.features {
			row := make([]float64, d)
			for j, to := range t.features {
				row[to] = -q[i*len(t.features)+j]
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
	wide := make([]float64, len(n.wide.Part))
	for _, t := range n.turns {
		rows := 1
		if t.q != nil {
			rows = len(t.q) / len(t.features)
		}
		for i, j := range t.features {
			if t.q == nil {
				wide[j] = w[t.first+i]
			} else {
				turned := w[t.first:][:rows]
				wide[j] = floats.Dot(t.q[i*rows:][:rows], turned)
			}
		}
	}
	return wide
}
