package data

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// countWords counts the words of documents that are all at hand.
func countWords(documents ...string) (*Stored, Step, error) {
	w := NewWordCounter()
	for _, text := range documents {
		w.Add([]byte(text))
	}
	return w.Finish()
}

// slowWords finds the words of a text in another way.
func slowWords(text string) []string {
	return strings.FieldsFunc(strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return ' '
		}
		return unicode.ToLower(r)
	}, text), func(r rune) bool { return r == ' ' })
}

func wordsOf(text string) []string {
	var words []string
	for w := range wordsIn([]byte(text)) {
		words = append(words, string(w))
	}
	return words
}

// randomText draws words, some of them often, between separators of all sorts.
func randomText(rng *rand.Rand) string {
	vocabulary := []string{"the", "Boat", "boat", "wind", "a", "é", "Ærø", "x", "don't", "C3PO", "naïve", "ß", "слово", "語", "\xff", "don", "of"}
	separators := []string{" ", "\n", ", ", "-", "42", "", "\x80", "_"}
	var b strings.Builder
	for range rng.IntN(20) {
		b.WriteString(vocabulary[min(rng.IntN(len(vocabulary)), rng.IntN(len(vocabulary)))])
		b.WriteString(separators[rng.IntN(len(separators))])
	}
	return b.String()
}

func TestWordsAreRunsOfLettersInLowerCase(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"Don't  re-use X2y, Ångström!", []string{"don", "t", "re", "use", "x", "y", "ångström"}},
		{"caf\xe9 \xff\xffau lait", []string{"caf", "au", "lait"}},
		{"ÉCOLE слово 語", []string{"école", "слово", "語"}},
	} {
		if got := wordsOf(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q has the words %q, want %q", c.text, got, c.want)
		}
	}
	for seed := range uint64(100) {
		text := randomText(Stream(seed, "words"))
		if got, want := wordsOf(text), slowWords(text); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q has the words %q, want %q", seed, text, got, want)
		}
	}
}

func TestCountsAgreeWithTheirDefinition(t *testing.T) {
	for seed := range uint64(60) {
		rng := Stream(seed, "counts")
		documents := make([]string, 1+rng.IntN(6))
		tf, df := make([]map[string]int, len(documents)), map[string]int{}
		for i := range documents {
			documents[i] = randomText(rng)
			tf[i] = map[string]int{}
			for _, w := range slowWords(documents[i]) {
				if tf[i][w]++; tf[i][w] == 1 {
					df[w]++
				}
			}
		}
		var vocabulary []string
		for w := range df {
			stop := slices.Contains([]string{"the", "a", "don", "t", "of"}, w)
			if utf8.RuneCountInString(w) >= 2 && !stop {
				vocabulary = append(vocabulary, w)
			}
		}
		slices.Sort(vocabulary)
		x, s, err := countWords(documents...)
		if len(vocabulary) == 0 {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("seed %d: error %v without words", seed, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(vocabulary, s.Words); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if _, err := NewCSR(x.cols, append([]int{0}, x.end...), x.index, x.value); err != nil || s.Validate() != nil || s.Documents != len(documents) {
			t.Fatalf("seed %d: %v, %v", seed, err, s.Validate())
		}
		for i, row := range full(x) {
			for j, got := range row {
				if w := vocabulary[j]; got != float64(tf[i][w]) || s.Frequency[j] != df[w] {
					t.Fatalf("seed %d: %q is %v times in document %d and in %d documents, want %d and %d", seed, w, got, i, s.Frequency[j], tf[i][w], df[w])
				}
			}
		}
	}
}

func TestSelectTerms(t *testing.T) {
	x := must(NewDense(3, 5, []float32{1, 2, 0, 1, 0, 0, 1, 3, 1, 0, 0, 1, 1, 1, 0}))(t)
	words := []string{"boat", "the", "wind", "x", "reef"}
	for _, c := range []struct {
		names []string
		rows  int
		want  []int
	}{{words, 0, []int{0, 2}}, {words, 2, []int{2}}, {nil, 2, []int{1, 2, 3}}, {nil, 0, []int{0, 1, 2, 3}}} {
		if s := must(SelectTerms(x, c.names, c.rows))(t); !slices.Equal(s.Columns, c.want) || s.Kind != StepSelect || s.Cols != 5 {
			t.Errorf("%q in %d rows: %+v, want %v", c.names, c.rows, s, c.want)
		}
	}
}

func TestStopWordsAreOrderedWords(t *testing.T) {
	if !slices.IsSorted(stopWordList) || len(slices.Compact(slices.Clone(stopWordList))) != len(stopWordList) {
		t.Error("the stop words are not in order, each once")
	}
	for _, w := range stopWordList {
		if isTerm(w) || !slices.Equal(wordsOf(w), []string{w}) {
			t.Errorf("%q can never be a stop word", w)
		}
	}
	for _, w := range []string{"boat", "god", "windows", "government"} {
		if !isTerm(w) {
			t.Errorf("%q is a stop word", w)
		}
	}
}

func TestTextRefuses(t *testing.T) {
	for want, documents := range map[string][]string{"not a single word to count in 2 documents": {"1 2 3", "of the"}, "in 0 documents": nil} {
		if _, _, err := countWords(documents...); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", documents, err, want)
		}
	}
	if _, err := SelectTerms(randomCounts(t, Stream(1, "terms"), 3, 4), nil, 4); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "no word is in 4 rows") {
		t.Errorf("rare terms: %v", err)
	}
}

func FuzzCountWords(f *testing.F) {
	f.Add("From: a\n\nThe boat's wind", "caf\xe9 boat\r\n\r\nBOAT")
	f.Add("", "\x00İstanbul ǅ")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, s, err := countWords(a, b)
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		for i, text := range []string{a, b} {
			sum := 0.0
			for _, v := range full(x)[i] {
				sum += v
			}
			words := slices.DeleteFunc(slowWords(text), func(w string) bool { return !isTerm(w) })
			if sum != float64(len(words)) {
				t.Fatalf("%q has %d words but %v were counted", text, len(words), sum)
			}
		}
	})
}
