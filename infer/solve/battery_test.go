//go:build battery

package solve

import "testing"

// Four hundred tables, of which the test has eight.
func TestNothingIsSharedInFourHundredTables(t *testing.T) {
	noise, promised, unrelated := overNothing(t, 400)
	t.Logf("of the mean's loss noise has %.4f on test rows, and %.4f on rows held out; unrelated tasks have %.4f of the loss of each on its own", noise, promised, unrelated)
	if noise > 1.01 || promised > 1.01 || unrelated > 1.01 {
		t.Error("more than a hundredth is lost")
	}
}
