package modeltest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	op "gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// Pieces with a mistake, and what Check says of them.
var wrong = map[string]string{
	"wrong-first-row":  "the order of a task's rows changes nothing",
	"wrong-count":      "in a graph with room for more rows and tasks",
	"wrong-stale-rows": "in a graph with room for more rows and tasks",
}

func init() {
	model.RegisterReadout("wrong-first-row", func(_ data.Kind, y []float64) ([]float64, error) {
		w := make([]float64, len(y))
		w[0] = 1
		return w, nil
	})
	// The sum over tasks of exp, which is 1 for tasks that there are not.
	model.RegisterEstimator("wrong-count", model.Estimator{
		Build: func(_ model.Inputs, e *layers.Node) (phi, c *layers.Node) {
			k := op.Must(op.Mul(e, op.Must(op.Transpose(e))))
			sum := op.Must(op.Sum(op.Must(op.Exp(k))))
			return op.Must(op.Mul(sum, k)), sum
		},
	})
	// The sum over all rows, with those that a larger problem has left.
	model.RegisterBody("wrong-stale-rows", model.Body{
		Params: func(c model.Config) []model.Spec {
			return []model.Spec{{Name: "L", Shape: []int{c.Features, c.Hidden}, Deviation: 1, Embedding: true}}
		},
		Build: func(in model.BodyInputs) *layers.Node {
			h := in.Product(in.Params.Get("L"))
			return op.Must(op.BroadcastAdd(in.Readout(h), op.Must(op.Sum(h, 0)), nil, []byte{0}))
		},
	})
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	const variable = "L2MT_WRONG_PIECE"
	if name := os.Getenv(variable); name != "" {
		modeltest.Check(t, name)
		return
	}
	for name, want := range wrong {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestCheckFindsWhatIsWrong$")
			cmd.Env = append(os.Environ(), variable+"="+name)
			said, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(strings.ReplaceAll(string(said), "_", " "), want) {
				t.Errorf("it says %s, want %q", said, want)
			}
		})
	}
}
