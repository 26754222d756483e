package model

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/safetensors"
	"l2mt/layers"
)

// residuals are E (n x d), what the means and the signed means D of the tasks leave of
// their rows X:
//
//	E = X - Q R,  row a of Q R, in task i, being q_a d_i + mean_i
//
// Of tasks with C > 2 classes D has the class means, C for a task with zeros for classes
// that it lacks, q is 1, and there is no mean. The signed mean of a class is its mean
// less that of all, which is taken into account where inner products are summed.
type residuals struct {
	classes int // C, or 1
	rows    []residualRow

	thin     bool                 // the rows are at most as many as the features
	gram     layers.View[float64] // E E' if thin, else E'E: the lower triangle
	right    layers.View[float64] // E D' if thin, else D'
	products layers.View[float64] // D D'
}

// residualRow is a row of E.
type residualRow struct {
	task, of               int     // i, and the row of D
	share, q, c2, leverage float64 // weight in D, part of D, c_a^2, and h_a
	square                 float64 // ||e_a||^2
}

func newResiduals(p *data.ProblemData) *residuals {
	e := &residuals{classes: max(1, p.Several())}
	points := make([]layers.Points, len(p.Tasks))
	for i, t := range p.Tasks {
		points[i] = layers.PointsOf(t.TrainSet.X)
		if e.classes > 1 {
			e.weighClasses(i, t)
		} else {
			e.weigh(i, t)
		}
	}
	if e.thin = len(e.rows) <= p.Cols(); e.thin {
		e.ofProducts(points, false)
	} else {
		e.ofRows(points, p.Cols())
	}
	return e
}

// weigh fills in what depends on the targets of a task alone. The weights in the
// signed mean are zero where all targets are equal.
func (e *residuals) weigh(i int, t data.TaskData) {
	n := float64(len(t.TrainSet.Y))
	average, deviation := meanDeviation(t.TrainSet.Y)
	total := n * deviation * deviation
	scale := deviation // sum of y^2
	if t.Kind == data.Classification {
		scale = 2
	}
	for _, y := range t.TrainSet.Y {
		c := 0.0
		q := 0.0
		leverage := 1 / n
		if y -= average; total > 0 {
			c = y / total * scale
			q = y / scale
			leverage += y * y / total
		}
		e.rows = append(e.rows, residualRow{task: i, of: i, share: c, q: q, c2: c * c, leverage: leverage})
	}
}

// weighClasses is weigh. The squares of the weights are sums over the classes.
func (e *residuals) weighClasses(i int, t data.TaskData) {
	n, k := rowsOfClasses(e.classes, t)
	for _, y := range t.TrainSet.Y {
		rows := n[int(y)]
		e.rows = append(e.rows, residualRow{task: i, of: i*e.classes + int(y), share: 1 / rows, q: 1, c2: (1 - 1/k) / (rows * rows), leverage: 1 / rows})
	}
}

// rowsOfClasses counts the rows of every class, the negative one first of two, and the
// classes that have some.
func rowsOfClasses(classes int, t data.TaskData) (n []float64, k float64) {
	n = make([]float64, classes)
	for _, y := range t.TrainSet.Y {
		of := max(0, int(y))
		if n[of]++; n[of] == 1 {
			k++
		}
	}
	return n, k
}

// ofRows takes the rows of one task at a time.
func (e *residuals) ofRows(points []layers.Points, d int) {
	means := view(e.classes*len(points), d)
	e.gram = view(d, d)
	first := 0
	for _, of := range points {
		x := layers.DenseRows(of)
		e.split(first, x, means)
		for a := range x.Rows {
			e.rows[first+a].square = floats.Dot(x.Row(a), x.Row(a))
		}
		layers.AddGram(e.gram, x)
		first += x.Rows
	}
	e.right = transposed(means)
	e.products = layers.InnerProducts(e.right)
}

// cancelled is the share of the squares of sparse rows below which their residuals
// have too few digits.
const cancelled = 1e-4

// ofProducts takes the inner products K = X X' of all rows. What is left of the rows of K
// is E X', and what is left of the columns of that is E E'.
func (e *residuals) ofProducts(points []layers.Points, dense bool) {
	k, sparse := layers.RowProducts(dense, points...)
	squares := 0.0
	left := 0.0
	for a := range k.Rows {
		squares += k.Row(a)[a]
	}
	ofX := transposed(e.splitAll(k)) // X D'
	e.products = e.splitAll(ofX)     // D D'
	k = transposed(k)                // X E'
	e.right = transposed(e.splitAll(k))
	e.gram = k
	for a := range k.Rows {
		e.rows[a].square = max(0, k.Row(a)[a])
		left += e.rows[a].square
	}
	if sparse && left <= cancelled*squares {
		e.ofProducts(points, true)
	}
}

// splitAll is split of the rows of all tasks.
func (e *residuals) splitAll(x layers.View[float64]) (means layers.View[float64]) {
	tasks := e.rows[len(e.rows)-1].task + 1
	means = view(e.classes*tasks, x.Cols)
	for first := 0; first < x.Rows; {
		i := e.rows[first].task
		end := first + 1
		for end < x.Rows && e.rows[end].task == i {
			end++
		}
		e.split(first, layers.View[float64]{Rows: end - first, Cols: x.Cols, Data: x.Data[first*x.Cols : end*x.Cols]}, means)
		first = end
	}
	return means
}

// split turns the rows of a task, of which there is a first, into what the means leave of
// them, and puts the signed means or the class means where they belong.
func (e *residuals) split(first int, x, means layers.View[float64]) {
	if e.classes == 1 {
		mean := make([]float64, x.Cols)
		for a := range x.Rows {
			floats.AddScaled(mean, 1/float64(x.Rows), x.Row(a))
		}
		for a := range x.Rows {
			floats.Sub(x.Row(a), mean)
		}
	}
	rows := e.rows[first:][:x.Rows]
	for a, r := range rows {
		floats.AddScaled(means.Row(r.of), r.share, x.Row(a))
	}
	for a, r := range rows {
		floats.AddScaled(x.Row(a), -r.q, means.Row(r.of))
	}
}

// acrossTasks are the inner products of signed means (m x m), given those of the
// rows of D, or a bilinear form of them: summed over the classes, of the
// class means less their mean in each task.
func (e *residuals) acrossTasks(a layers.View[float64], m int) *mat.SymDense {
	if e.classes == 1 {
		return mat.NewSymDense(m, slices.Clone(a.Data))
	}
	has := make([]bool, a.Rows)
	for _, r := range e.rows {
		has[r.of] = true
	}
	s := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			s.SetSym(i, j, overClasses(a, has, i*e.classes, j*e.classes, e.classes))
		}
	}
	return s
}

// overClasses is tr(H A H' J') for the block A at (i, j): H and J take the means of
// the classes of either task out, and a class counts where both have it.
func overClasses(a layers.View[float64], has []bool, i, j, classes int) float64 {
	ki := 0.0
	kj := 0.0
	all := 0.0
	rows := make([]float64, classes)
	cols := make([]float64, classes)
	for c := range classes {
		if has[i+c] {
			ki++
		}
		if has[j+c] {
			kj++
		}
		for d := range classes {
			v := (a.Row(i + c)[j+d] + a.Row(j + d)[i+c]) / 2
			rows[c] += v
			cols[d] += v
			all += v
		}
	}
	sum := 0.0
	for c := range classes {
		if has[i+c] && has[j+c] {
			sum += a.Row(i + c)[j+c] - rows[c]/kj - cols[c]/ki + all/(ki*kj)
		}
	}
	return sum
}

func view(rows, cols int) layers.View[float64] {
	return layers.View[float64]{Rows: rows, Cols: cols, Data: make([]float64, rows*cols)}
}

func transposed(a layers.View[float64]) layers.View[float64] {
	return layers.View[float64]{Rows: a.Cols, Cols: a.Rows, Data: safetensors.Transposed(a.Data, a.Rows, a.Cols)}
}
