package train

import (
	"crypto/sha256"
	"errors"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
)

func names(examples []prepared) (n []string) {
	for _, e := range examples {
		n = append(n, e.Problem.Name)
	}
	return n
}

func TestEveryProblemIsEitherTrainedOnOrHeldOut(t *testing.T) {
	examples := ready(t, made(1, 13, 1, 2, 6, 3))
	drawn := map[string]bool{}
	for seed := range uint64(20) {
		for n, out := range map[int]int{2: 6, 6: 2, 13: 1, 50: 1} {
			training, heldOut, err := divide(examples, n, seed)
			if err != nil {
				t.Fatal(err)
			}
			all := append(names(training), names(heldOut)...)
			slices.Sort(all)
			if want := slices.Sorted(slices.Values(names(examples))); len(heldOut) != out || !slices.Equal(all, want) {
				t.Errorf("seed %d, one in %d: trained on %v, held out %v", seed, n, names(training), names(heldOut))
			}
			again, _, _ := divide(examples, n, seed)
			datatest.Holds(t, slices.Equal(names(training), names(again)),
				"seed %d: the same seed divides differently", seed)
			drawn[names(heldOut)[0]] = true
		}
	}
	datatest.Holds(t, len(drawn) >= 5, "20 seeds hold out %v only", drawn)
	_, _, err := divide(examples[:1], 6, 1)
	datatest.Holds(t, errors.Is(err, ErrConfig), "dividing one problem: the error is %v", err)
}

func TestProblemsWithoutTuplesAreLeftOut(t *testing.T) {
	examples := made(1, 3, 2, 2, 6, 3)
	examples[1].Tuples = nil
	datatest.Equal(t, names(ready(t, examples)), []string{"made 0", "made 2"}, "ready")
}

func TestAStepTakesOneTupleOrAllOfAProblem(t *testing.T) {
	examples := ready(t, made(1, 3, 4, 2, 6, 3))
	examples[1].Tuples = examples[1].Tuples[:1]
	for update, want := range map[Update][]int{ByProblem: {4, 1, 4}, ByTuple: {1, 1, 1, 1, 1, 1, 1, 1, 1}} {
		s := steps(examples, update)
		var sizes []int
		for _, step := range s {
			sizes = append(sizes, len(step.Tuples))
		}
		datatest.Holds(t, slices.Equal(sizes, want) && slices.Equal(outcomes(s...), outcomes(examples...)),
			"update %s: steps of %v tuples, want %v, of the same outcomes", update, sizes, want)
	}
}

// The digest pins what a run learns from, and nothing else.
func TestTheDigestSeesTrainingRowsAndTuplesOnly(t *testing.T) {
	sum := func(change func(e []Example)) string {
		examples := made(1, 3, 2, 2, 6, 3)
		change(examples)
		h := sha256.New()
		for _, e := range examples {
			digest(h, e)
		}
		return string(h.Sum(nil))
	}
	plain := sum(func([]Example) {})
	for name, change := range map[string]func(e []Example){
		"a test label":       func(e []Example) { e[1].Problem.Tasks[0].TestSet.Y = []float64{1} },
		"a validation label": func(e []Example) { e[1].Problem.Tasks[0].ValidationSet.Y = []float64{1} },
	} {
		datatest.Holds(t, sum(change) == plain, "%s changes the digest", name)
	}
	for name, change := range map[string]func(e []Example){
		"a training label": func(e []Example) { e[1].Problem.Tasks[1].TrainSet.Y[5] *= -1 },
		"a training entry": func(e []Example) { e[2].Problem.Tasks[0].TrainSet.X.Row(3).Value[1]++ },
		"an outcome":       func(e []Example) { e[0].Tuples[1].O += 1e-9 },
		"a covariance":     func(e []Example) { e[0].Tuples[1].Omega[3] += 1e-9 },
		"a missing tuple":  func(e []Example) { e[2].Tuples = e[2].Tuples[:1] },
		"the order":        func(e []Example) { e[0], e[1] = e[1], e[0] },
		"a kind":           func(e []Example) { e[0].Problem.Tasks[0].Task.Kind = data.Regression },
	} {
		datatest.Holds(t, sum(change) != plain, "%s does not change the digest", name)
	}
}
