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
// that FitKernel returns, LL' = K + tiny I of the landmarks, rows have the inner products of the
// kernel.
const (
	mostLandmarks = 2000
	someLandmarks = 500
	// tiny keeps K, of rows that are nearly alike, from being singular.
	tiny = 1e-5
)

// FitKernel fits the step of a kernel of width g to the training rows of a problem. It returns the
// problem in the coordinates in which rows have the inner products of the kernel, and the metric
// that brings the rows of the step there.
func FitKernel(kind string, g float64, p *ProblemData) (*Step, *ProblemData, *Metric, error) {
	x := distinct(p.matrices(false), map[string][]float32{})
	_, deviation := moments(x)
	size := floats.Sum(deviation)
	if kind == StepGauss {
		size = floats.Dot(deviation, deviation)
	}
	s := Step{Kind: kind, Cols: x.Cols(), Width: g / cmp.Or(size, 1)} // 0 where all rows are alike
	s.Low, s.High = extremes(x)
	s.Landmarks = s.landmarks(x)
	n := len(s.Landmarks)
	l, row := mat.NewDense(n, n, nil), make([]float32, n)
	for i, z := range s.Landmarks {
		s.kernelRow(row[:i+1], Row{Value: z})
		for j, v := range row[:i+1] {
			l.Set(i, j, float64(v))
		}
	}
	m := &Metric{scale: 1, a: mat.DenseCopyOf(inverted(cholesky(l, tiny), 0).T())}

	at := map[string][]float32{} // the coordinates of a row
	for i, z := range s.Landmarks {
		row := make([]float32, n)
		for j, v := range m.a.RawRowView(i) { // K A = L - tiny A
			if v *= -tiny; j <= i {
				v += l.At(i, j)
			}
			row[j] = float32(v)
		}
		at[key(z)] = row
	}
	others := distinct(p.matrices(true), at)
	near, err := mapRows(others, n, s.kernelRow)
	if err != nil {
		return nil, nil, nil, err
	}
	made := m.rows(near)
	for i := range others.Rows() {
		at[key(others.Row(i).Value)] = made.Row(i).Value
	}
	q, err := p.mapped(func(x Matrix) (Matrix, error) {
		return mapRows(x, n, func(dst []float32, r Row) { copy(dst, at[key(r.Value)]) })
	})
	return &s, q, m, err
}

// distinct are the rows that differ and are not in a map, which has them afterwards.
func distinct(parts []Matrix, seen map[string][]float32) Matrix {
	all := stack(parts)
	var rows []int
	for i := range all.Rows() {
		k := key(all.Row(i).Value)
		if _, is := seen[k]; !is {
			seen[k], rows = nil, append(rows, i)
		}
	}
	return all.Take(rows)
}

// key is that of a row in a map.
func key(values []float32) string {
	b, _ := binary.Append(nil, binary.LittleEndian, values)
	return string(b)
}

// landmarks are the rows that are chosen.
func (s Step) landmarks(x Matrix) (chosen [][]float32) {
	n := x.Rows()
	if n <= mostLandmarks {
		for i := range n {
			chosen = append(chosen, x.Row(i).Value)
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
		z := slices.Clone(x.Row(p).Value)
		chosen = append(chosen, z)
		root, pivot := math.Sqrt(left[p]), l.RawRowView(p)[:r]
		for i := range n {
			row := l.RawRowView(i)
			row[r] = (math.Exp(-s.Width*distance(s.Kind, x.Row(i).Value, z)) - floats.Dot(row[:r], pivot)) / root
			left[i] -= row[r] * row[r]
		}
		left[p] = 0
	}
	return chosen
}

// kernelRow makes the kernel of a row with as many landmarks as dst holds.
func (s Step) kernelRow(dst []float32, r Row) {
	for i := range dst {
		dst[i] = float32(math.Exp(-s.Width * distance(s.Kind, r.Value, s.Landmarks[i])))
	}
}

// distance is ||x - z||^2 or ||x - z||_1.
func distance(kind string, x, z []float32) (sum float64) {
	square := kind == StepGauss
	for j, v := range x {
		d := math.Abs(float64(v - z[j]))
		if square {
			d *= d
		}
		sum += d
	}
	return sum
}
