package view

import (
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

// sparseCopy returns the nonzero entries of x as a CSR.
func sparseCopy(t testing.TB, x data.Matrix) *data.Stored {
	t.Helper()
	ptr := []int{0}
	var index []int32
	var value []float32
	for i := range x.Rows() {
		r := x.Row(i)
		for p, v := range r.Value {
			if v != 0 {
				index, value = append(index, int32(r.Column(p))), append(value, v)
			}
		}
		ptr = append(ptr, len(index))
	}
	return datatest.Must(data.NewCSR(x.Cols(), ptr, index, value))(t)
}

// The steps of a problem are fitted to its training rows alone.
func TestPreparedRows(t *testing.T) {
	p := scattered(3, data.Classification, 3, 20, 2)
	p.Prepare = []string{Standardise}
	q := datatest.Must(Prepared(p))(t)
	_, deviation := moments(p.TrainingRows())
	mean, unit := moments(q.TrainingRows())
	for j := range mean {
		datatest.Near(t, mean[j], 0, 1e-6, "the mean of column %d", j)
		datatest.Near(t, unit[j], 1, 1e-6, "the deviation of column %d", j)
	}
	for i, task := range p.Tasks[:2] {
		was, is := task.TestSet.X, q.Tasks[i].TestSet.X
		for j := range deviation {
			datatest.Near(t, float64(is.Row(1).Value[j]-is.Row(0).Value[j]), float64(was.Row(1).Value[j]-was.Row(0).Value[j])/deviation[j], 1e-6, "test rows differ in column %d", j)
		}
	}
	p.Prepare = []string{"whiten"}
	datatest.Refused(Prepared(p))(t, data.ErrInvalid, `problem "p": field "prepare": there is no step "whiten"`)
}
