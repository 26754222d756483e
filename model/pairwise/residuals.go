package pairwise

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/safetensors"
	"l2mt/layers"
)

// residuals are E (n x d), the rows X of the tasks less their means and their parts along
// the signed means D of the tasks:
//
//	E = X - Q R,  row a of Q R, in task i, being q_a d_i + mean_i
//
// Of tasks with C > 2 classes the residual of a row is about the mean of its class, and D has C
// rows for a task: the means of its classes, less the mean of these, and zeros for classes that it
// lacks.
type residuals struct {
	classes int // C, or 1
	rows    []residualRow
	start   []int // of the rows of each task, and their end

	thin     bool                 // the rows are at most as many as the features
	gram     layers.View[float64] // E E' if thin, else E'E: the lower triangle
	right    layers.View[float64] // E D' if thin, else D'
	products layers.View[float64] // D D'
}

// residualRow is a row of E.
type residualRow struct {
	task, mean             int     // i, and the row of D
	share, q, c2, leverage float64 // weight in a mean, part of it, c_a^2, and h_a
	square                 float64 // ||e_a||^2
}

func newResiduals(p *data.ProblemData) *residuals {
	e := &residuals{
		classes: max(1, p.Several()),
		start:   []int{0},
	}
	points := make([]layers.Points, len(p.Tasks))
	for i, t := range p.Tasks {
		points[i] = layers.PointsOf(t.TrainSet.X)
		if e.classes > 1 {
			e.weighClasses(i, t)
		} else {
			e.weigh(i, t)
		}
		e.start = append(e.start, len(e.rows))
	}
	e.thin = len(e.rows) <= p.Cols()
	if e.thin {
		e.fillProducts(points, false)
	} else {
		e.fillRows(points, p.Cols())
	}
	return e
}

// weigh appends the rows of a task, as far as they depend on its targets alone. The
// weights in the signed mean are zero where all targets are equal.
func (e *residuals) weigh(i int, t data.TaskData) {
	n := float64(len(t.TrainSet.Y))
	average, deviation := stat.PopMeanStdDev(t.TrainSet.Y, nil)
	total := n * deviation * deviation
	scale := deviation // sum of y^2
	if t.Kind == data.Classification {
		scale = 2
	}
	for _, y := range t.TrainSet.Y {
		row := residualRow{
			task:     i,
			mean:     i,
			leverage: 1 / n,
		}
		y -= average
		if total > 0 {
			row.share = y / total * scale
			row.c2 = row.share * row.share
			row.q = y / scale
			row.leverage += y * y / total
		}
		e.rows = append(e.rows, row)
	}
}

// weighClasses is weigh. The squares of the weights are sums over the classes.
func (e *residuals) weighClasses(i int, t data.TaskData) {
	n, k := rowsOfClasses(e.classes, t)
	for _, y := range t.TrainSet.Y {
		rows := n[int(y)]
		e.rows = append(e.rows, residualRow{
			task:     i,
			mean:     i*e.classes + int(y),
			share:    1 / rows,
			q:        1,
			c2:       (1 - 1/k) / (rows * rows),
			leverage: 1 / rows,
		})
	}
}

// rowsOfClasses counts the rows of every class, the negative one first of two, and the
// classes that have some.
func rowsOfClasses(classes int, t data.TaskData) (n []float64, k float64) {
	n = make([]float64, classes)
	for _, y := range t.TrainSet.Y {
		class := max(0, int(y))
		n[class]++
		if n[class] == 1 {
			k++
		}
	}
	return n, k
}

// fillRows takes the rows of one task at a time.
func (e *residuals) fillRows(points []layers.Points, d int) {
	means := layers.NewView[float64](e.classes*len(points), d)
	e.gram = layers.NewView[float64](d, d)
	for i, p := range points {
		x := layers.DenseRows(p)
		e.split(e.start[i], x, means)
		rows := e.rows[e.start[i]:]
		for a := range x.Rows {
			rows[a].square = floats.Dot(x.Row(a), x.Row(a))
		}
		layers.AddGram(e.gram, x)
	}
	e.right = transposed(means)
	e.products = layers.InnerProducts(e.right)
}

// cancelled is the share of the squares of sparse rows below which their residuals
// have too few digits.
const cancelled = 1e-4

// fillProducts takes the inner products K = X X' of all rows. The residuals of the rows of
// K are E X', and the residuals of its columns E E'.
func (e *residuals) fillProducts(points []layers.Points, dense bool) {
	k, sparse := layers.RowProducts(dense, points...)
	squares := trace(k)
	left := 0.0
	x := transposed(e.splitAll(k)) // X D'
	e.products = e.splitAll(x)     // D D'
	k = transposed(k)              // X E'
	e.right = transposed(e.splitAll(k))
	e.gram = k
	for a := range k.Rows {
		e.rows[a].square = max(0, k.Row(a)[a])
		left += e.rows[a].square
	}
	if sparse && left <= cancelled*squares {
		e.fillProducts(points, true)
	}
}

// splitAll is split of the rows of all tasks.
func (e *residuals) splitAll(x layers.View[float64]) (means layers.View[float64]) {
	means = layers.NewView[float64](e.classes*(len(e.start)-1), x.Cols)
	for i, end := range e.start[1:] {
		first := e.start[i]
		part := layers.View[float64]{
			Rows: end - first,
			Cols: x.Cols,
			Data: x.Data[first*x.Cols : end*x.Cols],
		}
		e.split(first, part, means)
	}
	return means
}

// split turns the rows of a task, from the first on, into residuals, and puts the signed means
// where they belong.
func (e *residuals) split(first int, x, means layers.View[float64]) {
	if e.classes == 1 {
		layers.Center(x)
	}
	rows := e.rows[first:][:x.Rows]
	var classes []int // with rows
	for a, r := range rows {
		floats.AddScaled(means.Row(r.mean), r.share, x.Row(a))
		classes = append(classes, r.mean)
	}
	for a, r := range rows {
		floats.AddScaled(x.Row(a), -r.q, means.Row(r.mean))
	}
	if e.classes == 1 {
		return
	}
	classes = data.Distinct(classes)
	centre := make([]float64, x.Cols)
	for _, c := range classes {
		floats.AddScaled(centre, 1/float64(len(classes)), means.Row(c))
	}
	for _, c := range classes {
		floats.Sub(means.Row(c), centre)
	}
}

// acrossTasks are the inner products of signed means (m x m), given the inner products of
// the rows of D, or a bilinear form of them: summed over the classes.
func (e *residuals) acrossTasks(a layers.View[float64], m int) *mat.SymDense {
	k := e.classes
	s := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			sum := 0.0
			for c := range k {
				sum += a.Row(i*k + c)[j*k+c]
			}
			s.SetSym(i, j, sum)
		}
	}
	return s
}

func trace(a layers.View[float64]) (sum float64) {
	for i := range a.Rows {
		sum += a.Row(i)[i]
	}
	return sum
}

func transposed(a layers.View[float64]) layers.View[float64] {
	return layers.View[float64]{
		Rows: a.Cols,
		Cols: a.Rows,
		Data: safetensors.Transposed(a.Data, a.Rows, a.Cols),
	}
}
