// Package command is the command line of l2mt, for programs that link pieces of
// their own beside the pieces of this module:
//
//	package main
//
//	import (
//		"l2mt/cmd/l2mt/command"
//
//		_ "example.org/my/estimator" // its init registers it
//	)
//
//	func main() { command.Main() }
//
// Whatever is registered then has a name on the command line and in --help.
package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Main runs the command line of the process, and ends it.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
