package files

import (
	"encoding/json"
	"math"
	"testing"
)

func TestFloatInJSON(t *testing.T) {
	for _, c := range []struct {
		value float64
		text  string
	}{{0.25, "0.25"}, {math.NaN(), "null"}, {math.Inf(1), `"+Inf"`}, {math.Inf(-1), `"-Inf"`}, {1e-300, "1e-300"}} {
		raw, err := json.Marshal(Float(c.value))
		if err != nil || string(raw) != c.text {
			t.Errorf("%v is written %s, %v", c.value, raw, err)
		}
		var back Float
		if err := json.Unmarshal(raw, &back); err != nil || math.Float64bits(float64(back)) != math.Float64bits(c.value) && !math.IsNaN(c.value) {
			t.Errorf("%s is read %v, %v", raw, back, err)
		}
		if math.IsNaN(c.value) && !math.IsNaN(float64(back)) {
			t.Errorf("null is read %v", back)
		}
	}
	if err := json.Unmarshal([]byte(`"much"`), new(Float)); err == nil {
		t.Error("a word is read as a number")
	}
}
