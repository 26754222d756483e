package model

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"l2mt/data"
	"l2mt/layers"
)

// residuals are E (n x d), what the means and the signed means of the tasks leave
// of their rows:
//
//	E = X - Q R,  row a of Q R, in task i, being q_a d_i + mean_i
//
// Dense rows become E. Sparse ones stay X, and with V = X R' inner products are
//
//	E'E = X'X - R' Q'Q R,  E E' = X X' - V Q' - Q V' + Q R R' Q'
type residuals struct {
	rows    *layers.Rows
	classes int                  // C, or 1
	means   int                  // the first column of R' with a mean: m, or C m
	span    layers.View[float64] // R' (d x 2m): signed means, then means
	gram    layers.View[float64] // R R' (2m x 2m)
	v       layers.View[float64] // V (n x 2m), where X is sparse and more than own is asked for
	squares []float64            // ||e_a||^2

	task, of       []int     // of the rows: i, and the column of R' with their signed mean
	c, q, leverage []float64 // of the rows: weight in d_i, part of d_i, and h_a
}

// cancelled is the share of the squares of sparse rows below which their residuals
// have too few digits.
const cancelled = 1e-4

// mostProducts is the size of V, whose rows serve more than their own task, beyond which
// it is only made where all of it is needed.
const mostProducts = 1 << 22

func newResiduals(p *data.ProblemData) (*residuals, error) {
	e, sparse, err := residualsOf(p, false)
	if err == nil && sparse && floats.Sum(e.squares) <= cancelled*squaresOf(p) {
		e, _, err = residualsOf(p, true)
	}
	return e, err
}

func squaresOf(p *data.ProblemData) (sum float64) {
	for _, t := range p.Tasks {
		sum += floats.Sum(t.TrainSet.X.SquaredNorms())
	}
	return sum
}

func residualsOf(p *data.ProblemData, dense bool) (e *residuals, sparse bool, err error) {
	m := len(p.Tasks)
	e = &residuals{classes: max(1, p.Several())}
	e.means = e.classes * m
	e.span = view(p.Cols(), e.means+m)
	points := make([]layers.Points, m)
	for i, t := range p.Tasks {
		points[i] = layers.PointsOf(t.TrainSet.X)
		if e.classes > 1 {
			e.weighClasses(i, t)
		} else {
			e.weigh(i, t)
		}
	}
	if e.rows, err = layers.NewRows(dense, points...); err != nil {
		return nil, false, err
	}
	x, dense := e.rows.Dense()
	first := 0
	for i, t := range p.Tasks {
		n := len(t.TrainSet.Y)
		part := layers.View[float64]{Rows: n, Cols: x.Cols}
		if dense {
			part.Data = x.Data[first*x.Cols:][:n*x.Cols]
		}
		switch {
		case e.classes > 1:
			e.sumClasses(i, first, t)
			if dense {
				e.centerClasses(first, part)
			}
		case dense:
			e.center(i, first, part)
		default:
			e.sum(i, first, t.TrainSet.X)
		}
		first += n
	}
	if e.gram, err = layers.InnerProducts(e.span); err != nil {
		return nil, false, err
	}
	if !dense {
		if n := len(e.task); e.thin() || n*e.span.Cols <= mostProducts {
			e.v = e.rows.Times(e.span)
		}
		e.measure(p)
	}
	return e, !dense, nil
}

// weigh fills in what depends on the targets of a task alone. The weights in the
// signed mean are zero where all targets are equal.
func (e *residuals) weigh(i int, t data.TaskData) {
	n := float64(len(t.TrainSet.Y))
	average, deviation := meanDeviation(t.TrainSet.Y)
	total, scale := n*deviation*deviation, deviation // sum of y^2
	if t.Kind == data.Classification {
		scale = 2
	}
	for _, y := range t.TrainSet.Y {
		c, q, leverage := 0.0, 0.0, 1/n
		if y -= average; total > 0 {
			c, q = y/total*scale, y/scale
			leverage += y * y / total
		}
		e.task, e.of, e.c, e.q, e.leverage = append(e.task, i), append(e.of, i), append(e.c, c), append(e.q, q), append(e.leverage, leverage)
	}
}

// center turns the rows of a task into their residuals.
func (e *residuals) center(i, first int, x layers.View[float64]) {
	mean, signed := make([]float64, x.Cols), make([]float64, x.Cols)
	for a := range x.Rows {
		floats.AddScaled(mean, 1/float64(x.Rows), x.Row(a))
	}
	for a := range x.Rows {
		floats.Sub(x.Row(a), mean)
		floats.AddScaled(signed, e.c[first+a], x.Row(a))
	}
	for a := range x.Rows {
		row := x.Row(a)
		floats.AddScaled(row, -e.q[first+a], signed)
		e.squares = append(e.squares, floats.Dot(row, row))
	}
	e.put(i, signed, mean)
}

// sum finds the mean and the signed mean of the sparse rows of a task.
func (e *residuals) sum(i, first int, x data.Matrix) {
	n := x.Rows()
	mean, signed, each := make([]float64, x.Cols()), make([]float64, x.Cols()), make([]float64, n)
	for a := range each {
		each[a] = 1 / float64(n)
	}
	x.AddMulT(mean, each, 1)
	x.AddMulT(signed, e.c[first:][:n], 1)
	e.put(i, signed, mean)
}

func (e *residuals) put(i int, signed, mean []float64) {
	for j := range mean {
		row := e.span.Row(j)
		row[i], row[e.means+i] = signed[j], mean[j]
	}
}

// measure finds the squares of the residuals of sparse rows.
func (e *residuals) measure(p *data.ProblemData) {
	for i, t := range p.Tasks {
		own := e.own(i, t.TrainSet.X)
		for k, square := range t.TrainSet.X.SquaredNorms() {
			a, j := len(e.squares), e.means+i
			of := e.of[a]
			q, signed, mean := e.q[a], e.gram.Row(of), e.gram.Row(j)
			v := own.Row(k)
			square += q*(q*signed[of]+2*mean[of]-2*v[of-i*e.classes]) + mean[j] - 2*v[e.classes]
			e.squares = append(e.squares, max(0, square))
		}
	}
}

// own are the rows of V of task i in the columns of R' that are its own: the signed mean,
// of every class, and the mean.
func (e *residuals) own(i int, x data.Matrix) layers.View[float64] {
	k, first := e.classes+1, i*e.classes
	own := view(x.Rows(), k)
	if e.v.Data != nil {
		for a := range own.Rows {
			row := e.v.Row(len(e.squares) + a)
			copy(own.Row(a), row[first:first+e.classes])
			own.Row(a)[e.classes] = row[e.means+i]
		}
		return own
	}
	columns := view(e.span.Rows, k)
	for j := range columns.Rows {
		copy(columns.Row(j), e.span.Row(j)[first:first+e.classes])
		columns.Row(j)[e.classes] = e.span.Row(j)[e.means+i]
	}
	x.Mul(own.Data, columns.Data, k)
	return own
}

// thin says that the rows are at most as many as the features.
func (e *residuals) thin() bool { return len(e.task) <= e.span.Rows }

// short is the lower triangle of the smaller one of E E' and E'E, and E D' or D'
// with the signed means in the rows of D.
func (e *residuals) short() (a, right layers.View[float64], err error) {
	d := e.span.Rows
	signed := view(d, e.means) // D'
	for j := range d {
		copy(signed.Row(j), e.span.Row(j))
	}
	_, dense := e.rows.Dense()
	k := min(len(e.task), d)
	a = view(k, k)
	e.rows.AddGram(a)
	switch {
	case e.thin() && dense:
		return a, e.rows.Times(signed), nil
	case e.thin():
		return a, e.reduce(a), nil
	case !dense:
		err = layers.AddOuter(a, -1, e.weighted())
	}
	return a, signed, err
}

// weighted is R' (Q'Q)^1/2, as Q'Q is diagonal.
func (e *residuals) weighted() layers.View[float64] {
	d := e.span.Rows
	weight := make([]float64, e.span.Cols)
	for a, i := range e.task {
		weight[e.of[a]] += e.q[a] * e.q[a]
		weight[e.means+i]++
	}
	for i, w := range weight {
		weight[i] = math.Sqrt(w)
	}
	r := view(d, len(weight))
	for j := range d {
		floats.MulTo(r.Row(j), e.span.Row(j), weight)
	}
	return r
}

// reduce turns the lower triangle of X X' into that of E E', and returns E D'.
func (e *residuals) reduce(a layers.View[float64]) layers.View[float64] {
	n := a.Rows
	right := view(n, e.means)
	rest := make([]float64, e.span.Cols) // of row b: e_b R'
	for b := range n {
		j, mean, q := e.of[b], e.means+e.task[b], e.q[b]
		copy(rest, e.v.Row(b))
		floats.AddScaled(rest, -q, e.gram.Row(j))
		floats.AddScaled(rest, -1, e.gram.Row(mean))
		copy(right.Row(b), rest)
		for c := range b + 1 { // <e_b, e_c> = <x_b, x_c> - (Q R)_b x_c' - e_b (Q R)_c'
			v := e.v.Row(c)
			a.Row(b)[c] -= q*v[j] + v[mean] + e.q[c]*rest[e.of[c]] + rest[e.means+e.task[c]]
		}
	}
	return right
}

func view(rows, cols int) layers.View[float64] {
	return layers.View[float64]{Rows: rows, Cols: cols, Data: make([]float64, rows*cols)}
}
