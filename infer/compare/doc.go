// Package compare compares a network with the multitask models on many problems:
// Evaluate solves every problem with every method and keeps the outcomes in a
// Journal to go on from, and Summarise makes a table of them, with Wilcoxon's
// signed-rank test.
package compare
