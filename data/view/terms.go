package view

import (
	"slices"
	"strings"
	"unicode/utf8"

	"l2mt/data"
)

// Of counts of words some columns are chosen here. What weighs the counts (tf-idf,
// unit rows) are steps.

// Terms returns the step that keeps the columns that at least so many rows have.
// If columns have names, stop words and words of fewer than two letters go too.
func Terms(x data.Matrix, names []string, rows int) (Step, error) {
	s := Step{
		Kind: Select,
		Cols: x.Cols(),
	}
	for j, n := range frequency(x) {
		if n >= max(1, rows) && (names == nil || isTerm(names[j])) {
			s.Columns = append(s.Columns, j)
		}
	}
	if s.Columns == nil {
		return Step{}, data.Invalid("select terms: no word is in %d rows and passes the other options",
			max(1, rows))
	}
	return s, nil
}

// isTerm reports whether a word has two or more letters and is not a stop word.
func isTerm(word string) bool {
	_, stop := slices.BinarySearch(stopWordList, word)
	return !stop && utf8.RuneCountInString(word) > 1
}

// stopWordList is in order.
var stopWordList = strings.Fields(stopWords)

// stopWords are some 350 English function words (articles, pronouns, prepositions,
// conjunctions, auxiliary verbs, common adverbs, numerals), including what
// contractions leave when only letters count (don't gives don and t). The list
// was written for this project from grammar, not copied from another.
const stopWords = `
a about above across after afterwards again against ago ain all almost alone along alongside already also
although altogether always am amid among amongst an and another any anybody anyhow anyone anything anyway
anywhere are aren around as at away back be became because become becomes becoming been before beforehand
behind being below beneath beside besides between beyond both but by can cannot could couldn d despite did
didn do does doesn doing don done down during each eight either eleven else enough etc even ever every
everybody everyone everything everywhere except far few fewer fifteen fifty first five for forty four from
further furthermore gave get gets getting give given gives go goes going gone got had hadn hardly has hasn
have haven having he hence her here hereafter hereby herein hers herself him himself his how however i if in
indeed inside instead into is isn it its itself just keep last later latter latterly least less lest let like
ll m made make makes many may maybe me meanwhile merely might mightn mine more moreover most mostly much must
mustn my myself namely near nearly needn neither never nevertheless next nine no nobody none nonetheless noone
nor not nothing now nowhere of off often on once one ones only onto or other others otherwise ought our ours
ourselves out outside over own past per perhaps probably provided put quite rather re really regarding s same
seem seemed seeming seems seven several shall she should shouldn since six sixty so some somebody somehow
someone something sometime sometimes somewhere soon still such t take taken takes ten than that the their
theirs them themselves then thence there thereafter thereby therefore therein thereof thereupon these they
this those though three through throughout thus till to together too took toward towards twelve twenty two
under underneath unless unlike until up upon us usually ve versus very via vs was wasn we well were weren what
whatever when whence whenever where whereafter whereas whereby wherein whereupon wherever whether which
whichever while whilst who whoever whom whose why will with within without won would wouldn yet you your yours
yourself yourselves
`
