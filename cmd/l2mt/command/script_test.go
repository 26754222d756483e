package command

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"l2mt/data/datatest"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

// The scripts run the command itself: the test binary is started again as l2mt.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"l2mt": Main})
}

func TestScripts(t *testing.T) {
	p := testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			formats, err := os.Getwd()
			e.Setenv("FORMATS", formats+"/../../../testdata/formats")
			e.Setenv("PARKINSONS", formats+"/../../../examples/parkinsons")
			return err
		},
	}
	if testing.Short() { // where workers run side by side
		p.Dir, p.Files = "", []string{"testdata/script/collect.txtar"}
	}
	testscript.Run(t, p)
}

// l2mt runs one command line in process.
func l2mt(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// A full disk under a redirected stdout must not pass for success.
func TestResultsThatCannotBePrintedAreAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"version"}, {"data", "info"}, {"--json", "data", "info"}, {"sweep", "fig2", "--show"}} {
		var errs bytes.Buffer
		code := Run(context.Background(), args, full, &errs)
		if code != exitFailed || !strings.Contains(errs.String(), "write /dev/full: no space left on device") {
			t.Errorf("%v: exit code %d, stderr %q", args, code, &errs)
		}
	}
}

func TestEveryCommandAndFlagExplainsItself(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	parser := must(newParser(new(cli), io.Discard, io.Discard))(t)
	leaves := parser.Model.Leaves(false)
	if len(leaves) < 8 {
		t.Errorf("only %d commands", len(leaves))
	}
	for _, leaf := range leaves {
		if leaf.Help == "" {
			t.Errorf("%s has no explanation", leaf.FullPath())
		}
		for _, flag := range leaf.Flags {
			if flag.Help == "" {
				t.Errorf("%s: --%s has no explanation", leaf.FullPath(), flag.Name)
			}
		}
		for _, arg := range leaf.Positional {
			if arg.Help == "" {
				t.Errorf("%s: %s has no explanation", leaf.FullPath(), arg.Name)
			}
		}
		code, stdout, stderr := l2mt(t, append(strings.Fields(strings.TrimPrefix(leaf.FullPath(), "l2mt ")), "--help")...)
		if code != exitDone || stderr != "" || !strings.Contains(stdout, "Usage: "+leaf.FullPath()) {
			t.Errorf("%s --help: exit code %d, stderr %q, stdout %q", leaf.FullPath(), code, stderr, stdout)
		}
	}
}

// must is a value that is there unless its maker failed.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
