package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

// The scripts run the command itself: the test binary is started again as l2mt.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"l2mt": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			formats, err := os.Getwd()
			e.Setenv("FORMATS", formats+"/../../testdata/formats")
			return err
		},
	})
}

// l2mt runs one command line in process.
func l2mt(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestEveryCommandExplainsItself(t *testing.T) {
	_, help, _ := l2mt(t, "--help")
	commands := 0
	for line := range strings.Lines(help) {
		// In the tree of commands a leaf is "name  explanation", indented.
		_, commandsPart, _ := strings.Cut(help, "Commands:")
		if !strings.Contains(commandsPart, line) || !strings.HasPrefix(line, "  ") {
			continue
		}
		commands++
		if fields := strings.Fields(line); len(fields) < 2 {
			t.Errorf("a command without an explanation: %q", line)
		}
	}
	if commands < 3 {
		t.Errorf("help lists %d commands:\n%s", commands, help)
	}
}
