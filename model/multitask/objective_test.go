package multitask

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

// value is problem (1) at one point, in its parts: the losses,
// tr(W Omega^-1 W') and g(Omega).
type value struct{ total, loss, trace, g float64 }

// objective evaluates problem (1) from its definition.
func objective(t *testing.T, model Model, problem *TrainingSet, w *mat.Dense, b []float64, c *Covariance, p Params) value {
	t.Helper()
	p, err := Complete(model, p)
	if err != nil {
		t.Fatal(err)
	}
	v := value{g: model.G(c, problem.cols, p)}
	columns := rowsOf(w)
	if v.trace, err = traceTerm(gram(columns, len(b), problem.cols), c); err != nil {
		t.Fatal(err)
	}
	for i, task := range problem.tasks {
		score := make([]float64, len(task.y))
		task.x.Mul(score, columns[i*problem.cols:][:problem.cols], 1)
		v.loss += problem.loss.mean(score, task.y, b[i])
	}
	v.total = v.loss + p.Lambda1/2*v.trace
	if v.g != 0 {
		v.total += p.Lambda2 * v.g
	}
	return v
}
