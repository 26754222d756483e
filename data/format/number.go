package format

import (
	"math"
	"strconv"
)

// ParseFloat32 is strconv.ParseFloat with 32 bits, faster for numbers of a few
// digits without an exponent, which tables are full of.
func ParseFloat32(text string) (float32, error) {
	if v, ok := parseShort(text); ok {
		return v, nil
	}
	v, err := strconv.ParseFloat(text, 32)
	return float32(v), err
}

// parseShort reads numbers whose digits and power of ten are exact in double
// precision, so that one division rounds the quotient correctly.
func parseShort(text string) (float32, bool) {
	digits := text
	if text != "" && text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) == 0 || len(digits) > len(powers) {
		return 0, false
	}
	whole, point := uint64(0), -1
	for i := range len(digits) {
		switch c := digits[i]; {
		case '0' <= c && c <= '9':
			whole = whole*10 + uint64(c-'0')
		case c == '.' && point < 0 && len(digits) > 1:
			point = i
		default:
			return 0, false
		}
	}
	v := float64(whole)
	if point >= 0 {
		v /= powers[len(digits)-1-point]
	}
	// Rounding twice is wrong where the first ends halfway between two float32.
	if math.Float64bits(v)&(1<<29-1) == 1<<28 {
		return 0, false
	}
	if len(digits) < len(text) {
		v = -v
	}
	return float32(v), true
}

// powers are those of ten, as many as there may be digits.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14}
