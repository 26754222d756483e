package data

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A kernel sees a row x by how near it is to landmarks z, rows among those of training:
//
//	gauss    k(x, z) = exp(-g ||x - z||^2 / v)      v the variance of a row
//	laplace  k(x, z) = exp(-g ||x - z||_1 / s)      s the standard deviations' sum
//
// Up to mostLandmarks rows all are landmarks. Of more some are, each the row that those
// before it explain least (pivoted Cholesky). In the coordinates A = L^-T of the metric
// that Kernel returns, LL' = K + tiny I, rows have the inner products of the kernel.
const (
	mostLandmarks = 2000
	someLandmarks = 500
	// tiny keeps K, of rows that are nearly alike, from being singular.
	tiny = 1e-5
)

// Distances are those between the training rows of a problem, up to mostLandmarks of them.
// Kernels of any width, on parts of these rows, are made of the same ones.
type Distances struct {
	number         map[string]int // of a row with these values
	gauss, laplace *mat.Dense
}

// NewDistances takes the time of one kernel.
func NewDistances(p *ProblemData) *Distances {
	x := stacked(p, true)
	n := x.Rows()
	if n > mostLandmarks {
		return &Distances{}
	}
	d := &Distances{map[string]int{}, mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)}
	for i := range n {
		r := x.Row(i).Value
		d.number[key(r)] = i
		for j := range i {
			square, sum := apart(r, x.Row(j).Value)
			d.gauss.Set(i, j, square)
			d.gauss.Set(j, i, square)
			d.laplace.Set(i, j, sum)
			d.laplace.Set(j, i, sum)
		}
	}
	return d
}

// Kernel fits the step of a kernel of width g to the training rows of a problem, and applies
// it. In the metric rows have the inner products of the kernel.
func (d *Distances) Kernel(kind string, g float64, p *ProblemData) (*Step, *ProblemData, *Metric, error) {
	s, metric := d.fit(kind, g, p)
	q, err := s.problem(p, d.rows(s))
	return &s, q, metric, err
}

// rows is Step.kernelRow for rows that are known.
func (d *Distances) rows(s Step) func(dst []float32, r Row) {
	var landmarks []int
	for _, z := range s.Landmarks {
		landmarks = append(landmarks, d.number[key(z)])
	}
	distances := d.laplace
	if s.Kind == StepGauss {
		distances = d.gauss
	}
	return func(dst []float32, r Row) {
		i, known := d.number[key(r.Value)]
		if !known {
			s.kernelRow(dst, r)
			return
		}
		row := distances.RawRowView(i)
		for k, j := range landmarks {
			dst[k] = float32(math.Exp(-s.Width * row[j]))
		}
	}
}

// fit is the step without the rows that it makes.
func (d *Distances) fit(kind string, g float64, p *ProblemData) (Step, *Metric) {
	x := stacked(p, true)
	_, deviation := moments(x)
	size := floats.Sum(deviation)
	if kind == StepGauss {
		size = floats.Dot(deviation, deviation)
	}
	s := Step{Kind: kind, Cols: x.Cols(), Width: g / cmp.Or(size, 1)} // 0 where all rows are alike
	s.Low, s.High = extremes(x)
	for _, i := range s.landmarks(x) {
		s.Landmarks = append(s.Landmarks, slices.Clone(x.Row(i).Value))
	}
	n := len(s.Landmarks)
	k, row, rows := mat.NewDense(n, n, nil), make([]float32, n), d.rows(s)
	for i, z := range s.Landmarks {
		rows(row, Row{Value: z})
		for j, v := range row {
			k.Set(i, j, float64(v))
		}
		k.Set(i, i, 1)
	}
	return s, &Metric{scale: 1, a: mat.DenseCopyOf(inverted(cholesky(k, tiny), 0).T())}
}

// stacked are the training rows of all tasks, or each that differs once.
func stacked(p *ProblemData, once bool) Matrix {
	seen, d, n := map[string]bool{}, p.Cols(), 0
	var values []float32
	for _, t := range p.Tasks {
		for i := range t.TrainSet.X.Rows() {
			v := t.TrainSet.X.Row(i).Value
			if k := key(v); !once || !seen[k] {
				seen[k], values, n = true, append(values, v...), n+1
			}
		}
	}
	x, err := NewDense(n, d, values)
	if err != nil {
		panic(err) // the sizes are right
	}
	return x
}

// key is that of a row in a map.
func key(values []float32) string {
	b, _ := binary.Append(nil, binary.LittleEndian, values)
	return string(b)
}

// landmarks are the numbers of the rows that are chosen.
func (s Step) landmarks(x Matrix) (chosen []int) {
	n := x.Rows()
	if n <= mostLandmarks {
		for i := range n {
			chosen = append(chosen, i)
		}
		return chosen
	}
	left, l := make([]float64, n), mat.NewDense(n, someLandmarks, nil)
	floats.AddConst(1, left)
	for r := range someLandmarks {
		p := floats.MaxIdx(left)
		if left[p] < tiny {
			break
		}
		chosen = append(chosen, p)
		one := Step{Kind: s.Kind, Width: s.Width, Landmarks: [][]float32{x.Row(p).Value}}
		root, pivot, value := math.Sqrt(left[p]), l.RawRowView(p)[:r], make([]float32, 1)
		for i := range n {
			row := l.RawRowView(i)
			one.kernelRow(value, x.Row(i))
			row[r] = (float64(value[0]) - floats.Dot(row[:r], pivot)) / root
			left[i] -= row[r] * row[r]
		}
		left[p] = 0
	}
	return chosen
}

// kernelRow makes the kernel of a row with every landmark.
func (s Step) kernelRow(dst []float32, r Row) {
	for i, z := range s.Landmarks {
		square, sum := apart(r.Value, z)
		if s.Kind == StepGauss {
			sum = square
		}
		dst[i] = float32(math.Exp(-s.Width * sum))
	}
}

// apart returns ||x - z||^2 and ||x - z||_1.
func apart(x, z []float32) (square, sum float64) {
	for j, v := range x {
		d := float64(v - z[j])
		square += d * d
		sum += math.Abs(d)
	}
	return square, sum
}

// IsDense says that no rows are sparse.
func IsDense(p *ProblemData) bool {
	return !slices.ContainsFunc(p.Tasks, func(t TaskData) bool { return IsSparse(t.TrainSet.X) })
}
