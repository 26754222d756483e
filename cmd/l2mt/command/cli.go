package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/alecthomas/kong"

	"l2mt/data"
	"l2mt/data/fault"
	"l2mt/data/progress"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/multitask"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// errUsage marks errors of the command line that the parser cannot see.
var errUsage = fault.New("wrong usage")

// cli is the command line. Each command is a struct of flags with a Run method.
type cli struct {
	JSON  bool `help:"Print results as JSON."`
	Quiet bool `short:"q" help:"Print neither progress nor remarks on stderr."`

	Fit     fitCmd     `cmd:"" group:"tables" help:"Fit a model to a table of related tasks, and say whether sharing between the tasks pays."`
	Predict predictCmd `cmd:"" group:"tables" help:"Predict the rows of a table with a saved model, and print its errors where rows have labels."`
	Report  reportCmd  `cmd:"" group:"tables" help:"Make an HTML page of saved models, evaluations, sweeps and networks."`
	Show    showCmd    `cmd:"" group:"tables" help:"Show the coefficients, curves and task correlations of a saved model."`
	Serve   serveCmd   `cmd:"" group:"tables" help:"Answer requests for predictions over HTTP with saved models."`
	Data    dataCmd    `cmd:"" group:"tables" help:"Describe, convert and prepare datasets."`

	Demo       demoCmd       `cmd:"" group:"experience" help:"Run the whole method on one dataset, from problems to a report."`
	Problems   problemsCmd   `cmd:"" group:"experience" help:"Draw and check multitask problems."`
	Collect    collectCmd    `cmd:"" group:"experience" help:"Make experience: try covariances on problems, and keep their errors."`
	Experience experienceCmd `cmd:"" group:"experience" help:"Check experience."`
	Train      trainCmd      `cmd:"" group:"experience" help:"Train a network on experience."`
	Runs       runsCmd       `cmd:"" group:"experience" help:"Compare training runs: their settings, best epochs, and errors on held-out problems."`
	Eval       evalCmd       `cmd:"" group:"experience" help:"Compare a network with the multitask models on test problems."`
	Sweep      sweepCmd      `cmd:"" group:"experience" help:"Run an experiment: vary settings, repeat over seeds, and draw the results."`
	Version    versionCmd    `cmd:"" group:"experience" help:"Print the versions of all parts that results depend on."`
}

// env is the environment of a command: results go to stdout, all else to stderr.
type env struct {
	context.Context
	stdout, stderr io.Writer
	json, quiet    bool
}

// Run executes one command line and returns the exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	// Garbage may gather before it is collected: small problems leave much of it, and to go
	// through a heap of some megabytes again and again takes a fifth of the time. Nothing is
	// written into the room, so that it takes no memory.
	room := make([]byte, 24<<20)
	defer runtime.KeepAlive(room)
	var c cli
	return c.run(ctx, newParser(&c), args, stdout, stderr)
}

// run executes a command line, which the parser reads into the cli.
func (c *cli) run(ctx context.Context, parser *kong.Kong, args []string,
	stdout, stderr io.Writer) int {
	helped := false
	parser.Stdout = stdout
	parser.Stderr = stderr
	parser.Exit = func(int) {
		helped = true
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if helped {
		return exitDone
	}
	if err != nil {
		fmt.Fprintf(stderr, "l2mt: %v\nRun \"l2mt --help\" or \"l2mt COMMAND --help\" to see what can be given.\n", err)
		return exitUsage
	}
	results := bufio.NewWriter(stdout)
	e := &env{
		Context: ctx,
		stdout:  results,
		stderr:  stderr,
		json:    c.JSON,
		quiet:   c.Quiet,
	}
	said := make(chan struct{})
	unless := context.AfterFunc(ctx, func() {
		defer close(said)
		consequence := "unfinished work is lost, and no file has changed"
		switch first, _, _ := strings.Cut(command.Command(), " "); first {
		case "collect", "train", "eval", "sweep", "demo":
			consequence = "the same command resumes there"
		}
		e.remark("interrupted: finishing the current step (interrupt again to stop at once); %s", consequence)
	})
	err = command.Run(e)
	if !unless() {
		<-said
	}
	unprinted := results.Flush()
	if err == nil && unprinted != nil {
		err = fmt.Errorf("the results could not be printed: %w", unprinted)
	}
	return e.finish(err)
}

func newParser(c *cli) *kong.Kong {
	return kong.Must(c,
		kong.Name("l2mt"),
		kong.Description("Learning to multitask: predict related tasks with few rows each, as far as they are alike."),
		flagVars(),
		kong.ExplicitGroups([]kong.Group{
			{Key: "tables", Title: "From a table to predictions:"},
			{Key: "experience", Title: "From experience with many problems:"},
		}),
		kong.ConfigureHelp(kong.HelpOptions{
			Compact:        true,
			WrapUpperBound: 100,
		}),
	)
}

// flagVars are the lists in the explanations of flags.
func flagVars() kong.Vars {
	vars := kong.Vars{}
	lists := model.Pieces()
	lists["models"] = multitask.Names()
	lists["views"] = solve.Views()
	lists["presets"] = model.Presets()
	lists["experiments"] = experimentNames()
	for name, list := range lists {
		vars[name] = strings.Join(list, ", ")
	}
	return vars
}

// finish reports how a command ended.
func (e *env) finish(err error) int {
	code := exitFailed
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, data.ErrOutside):
		err = fmt.Errorf("%w (--dataset gives another dataset; --allow-outside allows this one if you trust the file)", err)
	case errors.Is(err, context.Canceled):
		code = exitInterrupted
		err = errors.New("interrupted")
	case errors.Is(err, errUsage):
		code = exitUsage
	}
	fmt.Fprintf(e.stderr, "l2mt: %v\n", err)
	return code
}

// print prints a result: v as JSON with --json, and else its text by a template.
func (e *env) print(v any, name string) error {
	if !e.json {
		return tell(e.stdout, name, v)
	}
	enc := json.NewEncoder(e.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// remark tells the user something that is not a result.
func (e *env) remark(format string, args ...any) {
	if !e.quiet {
		fmt.Fprintln(e.stderr, fill(fmt.Sprintf(format, args...), "  "))
	}
}

// reporter is how long work shows its progress.
func (e *env) reporter() progress.Reporter {
	if e.quiet {
		return progress.Silent()
	}
	return newMeter(e.stderr)
}
