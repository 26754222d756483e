package table

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"l2mt/data/format"
)

// layouts are ways to write dates. A column takes the first that all of its dates have.
var layouts = []string{
	"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339,
	"2006/1/2", "2006/1/2 15:04", "2.1.2006", "2.1.2006 15:04", "1/2/2006",
	"1/2/2006 15:04", "2/1/2006", "2/1/2006 15:04", "Jan 2, 2006", "2 Jan 2006",
	"2.1.06", "1/2/06", "2/1/06",
	"2006-01", "2006/1", "1/2006", "1.2006", "Jan 2006", "January 2006", "Jan-06",
}

const (
	// fewestAlike is how often a word among numbers comes that is no mistake, in the mean, if the
	// numbers are codes: mostCodes different ones at most.
	fewestAlike = 10
	mostCodes   = 10
)

// differ counts the different numbers of a column, until they are more than a bound.
func differ(numbers []float64, bound int) int {
	different := map[float64]bool{}
	for _, v := range numbers {
		if !math.IsNaN(v) {
			different[v] = true
		}
		if len(different) > bound {
			break
		}
	}
	return len(different)
}

// findWords takes columns of dates, of more words than numbers, and of codes for texts.
// It reports whether there are any.
func (r *reader) findWords() (any bool) {
	for _, c := range r.features {
		var words []string
		rows := 0
		filled := len(r.places)
		for k, n := range c.Counts() {
			if r.Recipe.IsMissing(c.Texts[k]) {
				filled -= n
			} else {
				words = append(words, c.Texts[k])
				rows += n
			}
		}
		if words == nil || c.AsText || r.After != nil ||
			r.Strict && !r.wordsAreCategories() {
			continue
		}
		layout := layoutOf(words, layouts)
		switch {
		case layout != "":
			r.dates[c.Name] = layout
			dayFirst := strings.Replace(layout, "1/2/", "2/1/", 1)
			if dayFirst != layout &&
				layoutOf(words, []string{dayFirst}) != "" {
				r.note("column %q: dates are read with the month first; write them as 2006-01-31 if it is the day", c.Name)
			}
		case r.wordsAreCategories() || 2*rows > filled:
		case rows < fewestAlike*len(words) ||
			differ(c.Numbers, mostCodes) > mostCodes: // numbers with a mistake
			continue
		}
		r.found[c.Name] = r.dates[c.Name] == ""
		c.AsText = true
		any = true
	}
	return any
}

// layoutOf is the first of some ways to write dates that all words have, or empty.
func layoutOf(words, layouts []string) string {
	for _, layout := range layouts {
		if !slices.ContainsFunc(words, func(word string) bool {
			return dateParts(layout, word) == nil
		}) {
			return layout
		}
	}
	return ""
}

// dateParts are the numbers that make up a date, nil where a text is none. One of them is its day
// of the week.
func dateParts(layout, text string) map[string]float64 {
	moment, err := time.Parse(layout, text)
	if layout == "" || err != nil {
		return nil
	}
	return map[string]float64{
		"day":  float64(moment.Unix()) / (24 * 60 * 60),
		"year": float64(moment.Year()),
		"hour": float64(moment.Hour()) +
			float64(moment.Minute())/60,
		moment.Weekday().String(): 1,
	}
}

// datesVary are the parts of dates that are not the same in all.
func datesVary(dates []string, layout string) []string {
	vary := map[string]bool{"day": true}
	first := dateParts(layout, dates[0])
	for _, text := range dates {
		parts := dateParts(layout, text)
		for _, date := range []map[string]float64{parts, first} { // each has a day of the week
			for part := range date {
				if parts[part] != first[part] {
					vary[part] = true
				}
			}
		}
	}
	return slices.Collect(maps.Keys(vary))
}

// join notes names that are spelt in several ways, and are taken for one.
func (r *reader) join() {
	var joined []string
	for _, c := range r.columns {
		for _, name := range c.Joined {
			k := format.FindName(c.Texts, name)
			if !r.Recipe.IsMissing(name) {
				joined = append(joined,
					fmt.Sprintf("%q as %q in column %q", name,
						c.Texts[k], c.Name))
			}
		}
	}
	if joined != nil {
		r.note("names are taken for one that differ in case, composed accents or a zero behind the point: %s", format.Abridge(joined))
	}
}

// suggest notes a column of words that may name the tasks.
func (r *reader) suggest() {
	best := ""
	limit := 1
	for _, c := range r.features {
		n := len(c.Texts)
		if r.found[c.Name] &&
			n > limit && 5*n <= len(r.places) {
			best = c.Name
			limit = n
		}
	}
	if r.task == nil && !r.perFile && len(r.targets) == 1 && best != "" {
		r.note("column %q has %d words that repeat; if they name tasks, say --task %s", best, limit, best)
	}
}
