package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

// The example of a program with an estimator of its own is built as its author
// would, and does what its README says: the estimator has a name in --help, on
// the command line.
func TestAProgramWithAnEstimatorOfItsOwn(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "own-estimator")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../../../examples/own-estimator"
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	network := filepath.Join(t.TempDir(), "n")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"train", "--help"}, " cosine,"},
		{[]string{"train", "--experience", tinyExperience(t), "--out", network, "--model.estimator=cosine", "--train.epochs=1"}, network},
	} {
		out, err := exec.Command(program, c.args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.says) {
			t.Errorf("%v: %v\n%s\nwant %q", c.args, err, out, c.says)
		}
	}
	config, err := os.ReadFile(filepath.Join(network, "config.json"))
	if err != nil || !strings.Contains(string(config), `"estimator": "cosine"`) {
		t.Errorf("the network is %s (%v)", config, err)
	}
	// The program without the estimator says what is missing.
	code, _, stderr := l2mt(t, "infer", "--network", network, "--problems", filepath.Join(network, "config.json"))
	if code != exitFailed || !strings.Contains(stderr, `estimator "cosine" is not in this binary`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
