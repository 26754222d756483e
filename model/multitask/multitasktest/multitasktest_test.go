package multitasktest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/datatest"
	"l2mt/model/multitask"
	"l2mt/model/multitask/multitasktest"
)

func TestEveryModel(t *testing.T) {
	for _, name := range multitask.Names() {
		multitasktest.Check(t, name)
	}
}

// wrong is a model with a mistake.
type wrong struct {
	multitask.Convex
	name          string
	step, support float64 // factors of them
}

func (w wrong) Info() multitask.Info {
	info := w.Convex.Info()
	info.Name = w.name
	return info
}

func (w wrong) Step(s *mat.SymDense, d int, p multitask.Params, h multitask.Hint) (*multitask.Covariance, error) {
	c, err := w.Convex.Step(s, d, p, h)
	if err == nil {
		c.Omega.ScaleSym(w.step, c.Omega)
	}
	return c, err
}

func (w wrong) Support(t *mat.SymDense, c *multitask.Covariance, p multitask.Params) float64 {
	return w.support * w.Convex.Support(t, c, p)
}

// Models with a mistake, and what Check says of them.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	convex := must(multitask.Lookup("snr2")).(multitask.Convex)
	says := map[string]string{
		"wrong-step":    "no covariance is better than the step",
		"wrong-support": "the dual (Support) of the model contradict each other",
	}
	multitask.Register(wrong{convex, "wrong-step", 1.1, 1})
	multitask.Register(wrong{convex, "wrong-support", 1, 0.9})
	const variable = "L2MT_WRONG_MODEL"
	if name := os.Getenv(variable); name != "" {
		multitasktest.Check(t, name)
		return
	}
	for name, want := range says {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCheckFindsWhatIsWrong$")
		cmd.Env = append(os.Environ(), variable+"="+name)
		said, err := cmd.CombinedOutput()
		datatest.Holds(t, err != nil && strings.Contains(strings.ReplaceAll(string(said), "_", " "), want),
			"of %s it says %s, want %q", name, said, want)
	}
}

func must(m multitask.Model, err error) multitask.Model {
	if err != nil {
		panic(err)
	}
	return m
}
