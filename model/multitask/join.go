package multitask

import (
	"fmt"
	"slices"

	"l2mt/data"

	"gonum.org/v1/gonum/mat"
)

// Join returns the union of several problems over the same features as one
// problem, and where the tasks of each begin in it. The tasks keep their own
// rows, which are shared, not copied.
func Join(problems ...*data.ProblemData) (*data.ProblemData, []int, error) {
	joint := &data.ProblemData{Problem: &data.Problem{Name: "joint"}}
	var first []int
	for i, p := range problems {
		switch several := p.Several() > 0; {
		case several && i == 0:
			joint.Classes = p.Classes
		case several && !slices.Equal(p.Classes, joint.Classes) || !several && joint.Classes != nil:
			return nil, nil, fmt.Errorf("multitask: join: problem %q: %w: its classes are not those of the first problem", p.Name, ErrInvalidData)
		}
		first = append(first, len(joint.Tasks))
		for _, t := range p.Tasks {
			if d := problems[0].Cols(); t.TrainSet.X.Cols() != d {
				return nil, nil, fmt.Errorf("multitask: join: problem %q, task %q: %w: it has %d features but the first problem has %d", p.Name, t.Name, ErrInvalidData, t.TrainSet.X.Cols(), d)
			}
			joint.Tasks = append(joint.Tasks, t)
			joint.Problem.Tasks = append(joint.Problem.Tasks, t.Task)
		}
	}
	if len(joint.Tasks) == 0 {
		return nil, nil, fmt.Errorf("multitask: join: %w: there are no tasks", ErrInvalidData)
	}
	return joint, first, nil
}

// Share returns the part of a joint fit that belongs to n tasks from the
// given one on.
func (r *Result) Share(first, n int) *Result {
	share := *r
	d, _ := r.W.Dims()
	share.W = mat.DenseCopyOf(r.W.Slice(0, d, first, first+n))
	k := len(r.B) / r.Omega.SymmetricDim()
	share.B = slices.Clone(r.B[first*k : (first+n)*k])
	share.Omega = mat.NewSymDense(n, nil)
	share.Omega.CopySym(r.Omega.SliceSym(first, first+n))
	share.A = nil
	return &share
}
