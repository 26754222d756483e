// L2mt learns which multitask model suits a problem. See README.md.
//
// A program with pieces of your own (an estimator, a body, a link) is this file
// with one more import, of the package that registers them.
package main

import "l2mt/cmd/l2mt/command"

func main() { command.Main() }
