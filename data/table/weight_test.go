package table

import (
	"fmt"
	"slices"
	"testing"

	"l2mt/data/datatest"
)

// Weights are no features, count 1 in the mean, and leave rows of 0 out, labelled or not; others
// than numbers of 0 or more are refused with their line.
func TestWeights(t *testing.T) {
	rows := "t,w,x,y\na,2,1,2.5\na,0,2,\nb,6,3,4.5\nb,4,4,1.5\nb,%s,5,9.5\n"
	tab := datatest.Must(Read(inFiles(t, "a.csv", fmt.Sprintf(rows, "0")), Options{Task: "t", Weight: "w"}))(t)
	datatest.Equal(t, fmt.Sprint(tab.Problem.Tasks[0].TrainSet.Weight, tab.Problem.Tasks[1].TrainSet.Weight), "[0.5] [1.5 1]", "weights")
	if got := tab.Recipe.Features(); !slices.Equal(got, []string{"x"}) || tab.Recipe.Weight != "w" {
		t.Errorf("features %q, weight %q", got, tab.Recipe.Weight)
	}
	for _, wrong := range []string{"-1", "", "much", "NaN", "1e+300"} {
		datatest.Refused(Read(inFiles(t, "a.csv", fmt.Sprintf(rows, wrong)), Options{Task: "t", Weight: "w"}))(t, nil, "line 6: column \"w\", the weight: it is \""+wrong)
	}
}
