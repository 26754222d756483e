//go:build battery

package solve

import (
	"testing"

	"l2mt/data/datatest"
)

// Four hundred tables, of which the test has eight.
func TestNothingIsSharedInFourHundredTables(t *testing.T) {
	noise, promised, unrelated := overNothing(t, 400)
	t.Logf("of the mean's loss noise has %.4f on test rows, and %.4f on rows held out; unrelated tasks have %.4f of the loss of each on its own", noise, promised, unrelated)
	datatest.Holds(t, noise <= 1.01 && promised <= 1.01 && unrelated <= 1.01, "more than a hundredth is lost")
}
