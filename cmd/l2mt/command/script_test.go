package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/term"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
	"l2mt/data/safetensors"
	"l2mt/infer"
	"l2mt/model"
	"l2mt/model/multitask"
	"l2mt/model/saved"
	"l2mt/train"
	"l2mt/train/collect"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

// The scripts run the command itself: the test binary is started again as l2mt.
func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){"l2mt": plainMain})
}

// plainMain is Main, but a failure that names a package or a kind of errors passes for success,
// so that the script that expects it fails. A terminal is left to Main.
func plainMain() {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		Main()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	var errs bytes.Buffer
	code := Run(ctx, os.Args[1:], os.Stdout, unfilled{io.MultiWriter(os.Stderr, &errs)})
	if jargon().Match(errs.Bytes()) {
		fmt.Fprintln(os.Stderr, "the error names a package or a kind of errors")
		code = exitDone
	}
	os.Exit(code)
}

// jargon matches an error in which a package of this module, strconv, or the text of a kind of
// errors stands before a colon.
func jargon() *regexp.Regexp {
	var words []string
	for name := range arrows {
		word := path.Base(name)
		if !slices.Contains([]string{"collect", "digits", "infer", "report", "train"}, word) { // commands and a dataset
			words = append(words, word)
		}
	}
	for _, kind := range []error{
		data.ErrFormat, data.ErrInvalid, data.ErrMismatch, experience.ErrConflict, experience.ErrDuplicate, infer.ErrInvalid,
		model.ErrConfig, model.ErrMismatch, multitask.ErrInvalidData, multitask.ErrInvalidOmega, multitask.ErrInvalidParams,
		multitask.ErrUnknownModel, safetensors.ErrFormat, saved.ErrSaved, saved.ErrUnknownTask, train.ErrConfig, collect.ErrConfig, errUsage,
	} {
		words = append(words, kind.Error())
	}
	return regexp.MustCompile(`(?m)^l2mt: (.*[:;,(] )?((` + strings.Join(words, "|") + `): |strconv\.)`)
}

func TestJargonIsFound(t *testing.T) {
	for text, want := range map[string]bool{
		"l2mt: format: x.csv: line 5: no number":         true,
		"l2mt: x.csv: line 5: saved: unknown task":       true,
		"l2mt: --task: invalid data: there is no column": true,
		"l2mt: o.csv: strconv.ParseFloat: no":            true,
		"warning\nl2mt: conflict: the seed is 1":         true,
		"l2mt: x.csv: line 5: the model has no task":     false,
		`l2mt: field "train": there are no rows`:         false,
	} {
		datatest.Equal(t, jargon().MatchString(text), want, "%q is jargon", text)
	}
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

// parsers are idle ones: to make one takes longer than most commands do.
var parsers = make(chan *program, 16)

// program is a command line and its parser.
type program struct {
	cli
	parser *kong.Kong
}

// l2mt runs one command line in process.
func l2mt(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = runHere(context.Background(), args, &out, &errs)
	return code, out.String(), strings.ReplaceAll(errs.String(), "\n  ", " ")
}

// unfilled joins lines that were broken to fit a terminal, which come in one piece.
type unfilled struct{ io.Writer }

func (u unfilled) Write(text []byte) (int, error) {
	_, err := u.Writer.Write(bytes.ReplaceAll(text, []byte("\n  "), []byte(" ")))
	return len(text), err
}

// newProgram is a parser that others may have used, which remembers nothing of them.
func newProgram() *program {
	var p *program
	select {
	case p = <-parsers:
	default:
		p = new(program)
		p.parser = newParser(&p.cli)
	}
	p.cli = cli{}
	_ = kong.Visit(p.parser.Model, func(node kong.Visitable, next kong.Next) error {
		switch v := node.(type) {
		case *kong.Flag:
			v.Set = false
		case *kong.Value:
			v.Set = false
		}
		return next(nil)
	})
	return p
}

// leave gives a parser back.
func (p *program) leave() {
	select {
	case parsers <- p:
	default:
	}
}

// runHere is Run with a parser that others have used.
func runHere(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p := newProgram()
	defer p.leave()
	return p.run(ctx, p.parser, args, stdout, stderr)
}

func TestEveryCommandAndFlagExplainsItself(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	leaves := newParser(new(cli)).Model.Leaves(false)
	datatest.Holds(t, len(leaves) >= 8, "only %d commands", len(leaves))
	for _, leaf := range leaves {
		datatest.Holds(t, leaf.Help != "", "%s has no explanation", leaf.FullPath())
		for _, flag := range leaf.Flags {
			datatest.Holds(t, flag.Help != "", "%s: --%s has no explanation", leaf.FullPath(), flag.Name)
		}
		for _, arg := range leaf.Positional {
			datatest.Holds(t, arg.Help != "", "%s: %s has no explanation", leaf.FullPath(), arg.Name)
		}
		code, stdout, stderr := l2mt(t, append(strings.Fields(strings.TrimPrefix(leaf.FullPath(), "l2mt ")), "--help")...)
		datatest.Holds(t, code == exitDone && stderr == "" && strings.Contains(stdout, "Usage: "+leaf.FullPath()),
			"%s --help: exit code %d, stderr %q, stdout %q", leaf.FullPath(), code, stderr, stdout)
	}
}
