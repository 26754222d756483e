package command

import (
	"bytes"
	"math"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/digits"
	"l2mt/infer/solve"
	"l2mt/model"
)

// A link with gamma 0 has no inverse: the network expects no relative error, and names none.
func TestANetworkWithoutAnEstimateNamesNone(t *testing.T) {
	d := datatest.Must(digits.Load())(t)
	_, file, err := data.SampleProblems(d, data.SampleConfig{Test: 1, MaxTasks: 4, TrainFraction: 0.03, ValidationFraction: 0.03})
	problem := datatest.Must(datatest.Must(file, err)(t).Bind(d))(t)[0]
	network := datatest.Must(model.NewNetwork(datatest.Must(model.Preset("default", 64))(t), 1))(t)
	clear(network.Params.Get("gamma"))
	var out bytes.Buffer
	e := &env{Context: t.Context(), stdout: &out}
	if err := printOmega(e, datatest.Must(solve.NewFinder(network))(t), problem); err != nil || out.Len() == 0 || undefined.MatchString(out.String()) {
		t.Errorf("%v: %s", err, &out)
	}
}

// What a forged fit.json says is drawn and written within bounds.
func TestSharesAndMarksAreNumbers(t *testing.T) {
	for _, v := range []float64{math.MaxFloat64, -math.MaxFloat64, math.Inf(1)} {
		if said := percent(v) + string(dot("x", v, 1e-9)); undefined.MatchString(said) {
			t.Errorf("%v is %s", v, said)
		}
	}
}
