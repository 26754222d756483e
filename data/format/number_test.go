package format

import (
	"fmt"
	"l2mt/data"
	"math"
	"strconv"
	"testing"
)

func sameAsStrconv(t *testing.T, text string) {
	t.Helper()
	want, wantErr := strconv.ParseFloat(text, 64)
	got, err := ParseFloat(text)
	if math.Float64bits(got) != math.Float64bits(want) && want == want || (err == nil) != (wantErr == nil) {
		t.Errorf("%q: %v, %v; strconv says %v, %v", text, got, err, want, wantErr)
	}
}

func TestParseFloat(t *testing.T) {
	for _, text := range []string{
		"", "-", ".", "-.", "5.", ".5", "-0", "0.0", "1.2.3", "1e5", "nan", "-inf", "+1", "123456789012345", "12345678901234.5",
		"16777217", "16777219.0", "1.00000005960464", "0.000000000000001", "99999999999999", "1_0", "0x1p3",
	} {
		sameAsStrconv(t, text)
	}
	random := data.Stream(1, "numbers")
	for range 200_000 {
		sameAsStrconv(t, fmt.Sprintf("%.*f", random.IntN(9), random.NormFloat64()*math.Pow(10, float64(random.IntN(6)))))
	}
}

func FuzzParseFloat(f *testing.F) {
	f.Add("-1.25")
	f.Add("16777217.00001")
	f.Fuzz(sameAsStrconv)
}
