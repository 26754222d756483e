package format

import (
	"math"
	"strconv"
)

// ParseFloat is strconv.ParseFloat with 64 bits, faster for numbers of a few digits
// without an exponent, which tables are full of.
func ParseFloat(text string) (float64, error) {
	if v, ok := parseShort(text); ok {
		return v, nil
	}
	return strconv.ParseFloat(text, 64)
}

// IsNumber reports whether a text is a number.
func IsNumber(text string) bool {
	_, err := ParseFloat(text)
	return err == nil
}

// parseShort reads the numbers that ParseFloat is fast for, which are finite, and
// reports whether the text is one: its digits and power of ten are exact in double
// precision, so that one division rounds the quotient correctly.
func parseShort(text string) (float64, bool) {
	sign, n := 0, len(text) // no branch on the sign, which is anybody's guess
	if n > 0 && text[0] == '-' {
		sign = 1
	}
	if n == sign || n-sign > len(powers) {
		return 0, false
	}
	whole, decimals := uint64(0), n
	for i := sign; i < n; i++ {
		c := text[i] - '0'
		if c > 9 {
			if text[i] != '.' || decimals < n || n-sign < 2 {
				return 0, false
			}
			decimals = i + 1
			continue
		}
		whole = whole*10 + uint64(c)
	}
	v := math.Float64bits(float64(whole) / powers[n-decimals])
	return math.Float64frombits(v | uint64(sign)<<63), true
}

// powers are those of ten, as many as there may be digits.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14}
