package format

import (
	"cmp"
	"fmt"
	"l2mt/data"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Labels become classes here, in the same way for every file format, so that
// the same data has the same fingerprint whichever file it came from.

// maxFloatClasses is how many different whole numbers stored as floating-point
// numbers still count as class labels: NumPy users keep class labels as floats,
// but scores and ages too.
const maxFloatClasses = 50

// maxClassNumber bounds class numbers: above it neighbouring whole numbers are
// one float64.
const maxClassNumber = 1 << 53

// values are the labels, targets or groups of the rows as a file holds them:
// numbers, or words when word is not nil.
type values struct {
	number []float64
	word   []string
	// float says that the file stores the numbers as floating-point numbers,
	// which a text file cannot say.
	float bool
	// known keeps each word once, however many rows share it.
	known map[string]string
}

func (v *values) len() int { return max(len(v.number), len(v.word)) }

// add appends the text of one row. Numbers and words may only be mixed when
// they are asked to be classes.
func (v *values) add(text string, kind data.Kind) error {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return fmt.Errorf("%w: it is empty; every row needs one", data.ErrInvalid)
	case math.IsNaN(x) || math.IsInf(x, 0):
		return fmt.Errorf("%w: it is %s; it must be finite", data.ErrInvalid, text)
	case err == nil && v.word == nil:
		v.number = append(v.number, x)
		return nil
	case err != nil && kind == data.Regression:
		return fmt.Errorf("%w: %q is not a number; regression needs numbers", data.ErrFormat, text)
	case (err == nil || v.number != nil) && kind != data.Classification:
		return fmt.Errorf("%w: %q is among numbers and words; all must be numbers, or all words, unless classification is asked for", data.ErrFormat, text)
	}
	for _, x := range v.number {
		v.addWord(numberName(x))
	}
	v.number = nil
	if err == nil {
		text = numberName(x)
	}
	v.addWord(text)
	return nil
}

func (v *values) addWord(text string) {
	word, ok := v.known[text]
	if !ok {
		if v.known == nil {
			v.known = map[string]string{}
		}
		word = strings.Clone(text)
		v.known[word] = word
	}
	v.word = append(v.word, word)
}

// numberName writes a class number the shortest way, whole numbers without an
// exponent.
func numberName(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < maxClassNumber {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// kind decides between classes and targets when the user has not: words and
// named classes are classes, numbers with fractions are targets, whole numbers
// are classes, except more than maxFloatClasses of them stored as
// floating-point numbers.
func (v *values) kind(names []string) data.Kind {
	if v.word != nil || names != nil {
		return data.Classification
	}
	different := map[float64]bool{}
	for _, x := range v.number {
		if x != math.Trunc(x) {
			return data.Regression
		}
		if v.float {
			different[x] = true
		}
	}
	if len(different) > maxFloatClasses {
		return data.Regression
	}
	return data.Classification
}

// setLabels gives the rows their classes or targets; an empty kind leaves the
// choice to the labels.
func setLabels(d *data.Dataset, v *values, names []string, kind data.Kind) (err error) {
	if err := v.check(names); err != nil {
		return err
	}
	if cmp.Or(kind, v.kind(names)) == data.Classification {
		d.Label, d.Classes, err = v.classes(names)
		return err
	}
	if v.word != nil {
		return fmt.Errorf("row 0: %w: %q is not a number; regression needs numbers", data.ErrFormat, v.word[0])
	}
	d.Target = v.number
	return nil
}

// setGroups gives the rows their groups.
func setGroups(d *data.Dataset, v *values, names []string) (err error) {
	if err := v.check(names); err != nil {
		return err
	}
	d.Group, d.Groups, err = v.classes(names)
	return err
}

// check finds what add has not seen in formats that are not text, and names
// that are not one for each class.
func (v *values) check(names []string) error {
	for i, x := range v.number {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("row %d: %w: it is %v; it must be finite", i, data.ErrInvalid, x)
		}
	}
	if i := slices.Index(v.word, ""); i >= 0 {
		return fmt.Errorf("row %d: %w: it is empty; every row needs one", i, data.ErrInvalid)
	}
	different, _ := rank(names)
	if len(different) < len(names) {
		return fmt.Errorf("%w: the %d names are only %d different ones", data.ErrInvalid, len(names), len(different))
	}
	return nil
}

// classes returns the class of every row and the names of the classes, numbers
// by value and words alphabetically. Names, if there are any, give the classes
// their order and, when the rows hold numbers, their names.
func (v *values) classes(names []string) ([]int32, []string, error) {
	if v.word != nil {
		return wordClasses(v.word, names)
	}
	for i, x := range v.number {
		if math.Abs(x) >= maxClassNumber {
			return nil, nil, fmt.Errorf("row %d: %w: it is %v; class numbers must lie within ±2^53", i, data.ErrInvalid, x)
		}
	}
	different, index := rank(v.number)
	if names == nil {
		for _, x := range different {
			names = append(names, numberName(x))
		}
		return index, names, nil
	}
	base, err := firstNumber(different, len(names))
	if err != nil {
		return nil, nil, err
	}
	for i, c := range index {
		index[i] = int32(different[c] - base)
	}
	return index, names, nil
}

// firstNumber returns the number of the first of n named classes: 0 if some
// row has a 0, else 1.
func firstNumber(different []float64, n int) (float64, error) {
	base := 1.0
	if slices.Contains(different, 0) {
		base = 0
	}
	for _, x := range different {
		if x != math.Trunc(x) || x < base || x >= base+float64(n) {
			return 0, fmt.Errorf("%w: %s does not number one of the %d names; numbers must be 0..%d or 1..%d", data.ErrInvalid, numberName(x), n, n-1, n)
		}
	}
	return base, nil
}

func wordClasses(words, names []string) ([]int32, []string, error) {
	different, index := rank(words)
	if names == nil {
		return index, different, nil
	}
	class := make([]int32, len(different))
	for c, word := range different {
		class[c] = int32(slices.Index(names, word))
		if class[c] < 0 {
			return nil, nil, fmt.Errorf("row %d: %w: %q is not one of the %d names, which begin with %q", slices.Index(words, word), data.ErrInvalid, word, len(names), names[0])
		}
	}
	for i, c := range index {
		index[i] = class[c]
	}
	return index, names, nil
}

// rank returns the different values in ascending order, and for every value
// its index among them.
func rank[T cmp.Ordered](all []T) (different []T, index []int32) {
	order := make(map[T]int32)
	for _, v := range all {
		if _, ok := order[v]; !ok {
			order[v] = 0
			different = append(different, v)
		}
	}
	slices.Sort(different)
	for i, v := range different {
		order[v] = int32(i)
	}
	index = make([]int32, len(all))
	for i, v := range all {
		index[i] = order[v]
	}
	return different, index
}
