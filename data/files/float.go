package files

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Float is a number that may be undefined. JSON has no such numbers: it is
// null there if it is NaN, and the text "+Inf" or "-Inf" if it is infinite.
type Float float64

// MarshalJSON writes the number.
func (f Float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsNaN(v):
		return []byte("null"), nil
	case math.IsInf(v, 0):
		return json.Marshal(fmt.Sprint(v))
	default:
		return json.Marshal(v)
	}
}

// UnmarshalJSON reads the number.
func (f *Float) UnmarshalJSON(raw []byte) error {
	switch text := string(raw); text {
	case "null":
		*f = Float(math.NaN())
	case `"+Inf"`, `"-Inf"`:
		v, _ := strconv.ParseFloat(text[1:5], 64)
		*f = Float(v)
	default:
		return json.Unmarshal(raw, (*float64)(f))
	}
	return nil
}
