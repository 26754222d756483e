package modeltest_test

import (
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	op "gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// Pieces with a mistake, and what Check says of them.
var wrong = map[string]string{
	"wrong-first-row":  "the order of a task's rows changes nothing",
	"wrong-first-task": "of the tasks permutes E and Phi",
	"wrong-memory":     "problems of other shapes before change nothing",
	"wrong-size":       "the loss is not finite; the first such numbers come from operation exp",
	"wrong-objective":  "the order of the tuples changes nothing",
}

func init() {
	model.RegisterReadout("wrong-first-row", func(_ data.Kind, y []float64) ([]float64, error) {
		w := make([]float64, len(y))
		w[0] = 1
		return w, nil
	})
	model.RegisterEstimator("wrong-first-task", model.Estimator{
		Build: func(_ model.Inputs, e *layers.Node) (phi, c *layers.Node) {
			k := op.Must(op.Mul(e, op.Must(op.Transpose(e))))
			return k, op.Must(op.Sum(op.Must(op.Slice(k, op.S(0)))))
		},
	})
	// It remembers how often it was built.
	model.RegisterEstimator("wrong-memory", model.Estimator{
		Build: func(_ model.Inputs, e *layers.Node) (phi, c *layers.Node) {
			k := op.Must(op.Mul(e, op.Must(op.Transpose(e))))
			return op.Must(op.Mul(layers.Constant(e, float64(built.Add(1))), k)), op.Must(op.Sum(k))
		},
	})
	model.RegisterBody("wrong-size", model.Body{
		Params: weight,
		Build: func(in model.BodyInputs) *layers.Node {
			h := in.Product(in.Params.Get("L"))
			return layers.Readout(in.Slot, op.Must(op.Exp(op.Must(op.Square(h)))))
		},
	})
	model.RegisterObjective("wrong-objective", model.Loss{
		Build: func(in model.LossInputs) *layers.Node { return op.Must(op.Slice(in.F, op.S(0))) },
	})
	// Tuples of a problem are to be ordered as they came out.
	model.RegisterObjective("ranking", model.Loss{Build: func(in model.LossInputs) *layers.Node {
		q := in.F.Shape()[0]
		differences := func(v *layers.Node) *layers.Node {
			column := op.Must(op.Reshape(v, []int{q, 1}))
			row := op.Must(op.Reshape(v, []int{1, q}))
			return op.Must(op.BroadcastSub(column, row, []byte{1}, []byte{0})) // q x q
		}
		wrong := op.Must(op.HadamardProd(differences(in.F), differences(in.V)))
		return op.Must(op.Mean(op.Must(op.Softplus(op.Must(op.Neg(wrong))))))
	}})
	// Attention between tasks with a parameter "L" as the body's, and a mean over the tasks.
	model.RegisterEstimator("attention", model.Estimator{
		Params: func(c model.Config) []model.Spec {
			return []model.Spec{{Name: "L", Shape: []int{c.Hidden, c.Hidden}, Deviation: 1}}
		},
		Build: func(p model.Inputs, e *layers.Node) (phi, c *layers.Node) {
			keys := op.Must(op.Mul(e, p.Get("L")))
			scores := op.Must(op.SoftMax(op.Must(op.Mul(keys, op.Must(op.Transpose(e))))))
			seen := op.Must(op.Mul(scores, e)) // m x h
			phi = op.Must(op.Mul(seen, op.Must(op.Transpose(seen))))
			return phi, op.Must(op.Mean(op.Must(op.Max(scores, 1))))
		},
	})
	// Attention of the rows of a task to each other.
	model.RegisterBody("attention", model.Body{
		Params: weight,
		Build: func(in model.BodyInputs) *layers.Node {
			h := in.Product(in.Params.Get("L"))
			var seen layers.Nodes
			for j := range in.Slot.Tasks() {
				rows := layers.Rows(in.Slot, h, j)
				scores := op.Must(op.SoftMax(op.Must(op.Mul(rows, op.Must(op.Transpose(rows))))))
				seen = append(seen, op.Must(op.Mul(scores, rows)))
			}
			return in.Readout(layers.Stack(seen...))
		},
	})
}

func weight(c model.Config) []model.Spec {
	return []model.Spec{{Name: "L", Shape: []int{c.Features, c.Hidden}, Deviation: 1, Embedding: true}}
}

// built counts how often "wrong-memory" is built.
var built atomic.Int64

func TestCheckPassesAttention(t *testing.T) { modeltest.Check(t, "attention") }
func TestCheckPassesRanking(t *testing.T)   { modeltest.Check(t, "ranking") }

func TestCheckFindsWhatIsWrong(t *testing.T) {
	const variable = "L2MT_WRONG_PIECE"
	if name := os.Getenv(variable); name != "" {
		modeltest.Check(t, name)
		return
	}
	for name, want := range wrong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestCheckFindsWhatIsWrong$")
			cmd.Env = append(os.Environ(), variable+"="+name)
			said, err := cmd.CombinedOutput()
			datatest.Holds(t, err != nil && strings.Contains(strings.ReplaceAll(string(said), "_", " "), want),
				"it says %s, want %q", said, want)
		})
	}
}
