package command

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

// budgets are Go tokens a package, comments, tests and generated files apart. A number
// may only be lowered, but where an issue says otherwise, and then its line names the
// issue: who adds tokens takes some out. Tokens come from a mechanism, a duplicate or an
// unused path that goes, not from code that moved into generated files, testdata or
// another module.
var budgets = map[string]int{
	"data/view":                     6294,
	"cmd/l2mt":                      15,
	"cmd/l2mt/command":              19647, // 46: builds are told apart, streams; 49: the answer first, in 80 columns; 50: shards, curves of sweeps
	"cmd/l2mt/internal/plot":        4565,  // 49: predictions against what came true
	"data":                          12073, // 48: the metric of the experience; 49: time, groups, weights
	"data/datatest":                 713,   // 52: one Must, Check, Holds, Need, Refused, Says and Equal for all tests
	"data/digits":                   159,
	"data/experience":               4293,  // 46: what is missing is named
	"data/fault":                    113,   // 46: kinds of errors
	"data/files":                    2664,  // 46: folders are replaced whole
	"data/format":                   12598, // issue 46: bounds, and names of arrays; 49: Parquet
	"data/progress":                 75,
	"data/safetensors":              1801,
	"data/table":                    13875, // 46: columns are centred, and wrong data named; 48: columns of older models; 52: datasets; 49: time, groups, weights
	"examples/own-estimator":        212,
	"infer":                         1387,
	"infer/compare":                 4053,  // 46: outcomes are checked
	"infer/report":                  5884,  // 52: what the command computed; 49: numbers of its texts
	"infer/serve":                   4666,  // 51: models over HTTP
	"infer/solve":                   18185, // 48: the metric of the experience; 49: time, groups, weights; 47: fifty rows of a task are sampled
	"infer/solve/solvetest":         745,
	"layers":                        10576, // 50: Gorgonia's other operations, one memory
	"layers/linalg":                 5042,
	"layers/linalg/gen":             3312,
	"model":                         11581, // 50: graphs by shape
	"model/evidence":                9329,  // 49: time, groups, weights; 47: temperatures of few rows
	"model/mixed":                   7659,  // 47: the mixed model
	"model/modeltest":               2860,
	"model/multitask":               18920, // 46: gaps below zero; 49: ridge selection, which data had
	"model/multitask/multitasktest": 1950,  // 50: proof for models of one's own
	"model/pairwise":                4036,  // 50: out of model
	"model/pretrained":              113,
	"model/saved":                   9967, // 46: a model is one thing, and is checked; 48: what it knows of new tasks; 51: lines of predictions; 49: time, groups, weights
	"model/settings":                549,
	"testdata/learned":              1667, // 48: controls, old tasks in the table
	"train":                         9940, // 50: optimisers by name; 48: ridges of pairs
	"train/collect":                 3379,
}

const (
	// whole bounds the sum of all packages, which issues 46 to 51 have brought from 207,895 to here.
	// They might add 29,000: the rest is to be taken out again, and issue 52 goes to 210,000.
	whole = 214989
	// testLines bounds the lines of all tests. Each fault of issue 46 has a test, and the models of
	// issues 47 and 48 have some 2,300 lines; serve (51) has 600.
	testLines = 25702
	// spare is what a package may take before its own number is raised.
	spare = 100
	// slack is how far a package may fall below its budget, so that gains are kept.
	slack = 300
	// lineTokens is the number of tokens that a line may have.
	lineTokens = 30
)

func TestBudgetsOnlyFall(t *testing.T) {
	code := countCode(t, filepath.Join("..", "..", ".."))
	total := 0
	for _, name := range slices.Sorted(maps.Keys(code.tokens)) {
		n := code.tokens[name]
		total += n
		budget, ok := budgets[name]
		switch {
		case !ok:
			t.Errorf("%s has %d tokens and no budget: give it one, and take the tokens from others", name, n)
		case n > budget+spare:
			t.Errorf("%s has %d tokens, %d over its budget of %d + %d. The budget may only be lowered, but where an issue says otherwise: take tokens out", name, n, n-budget-spare, budget, spare)
		case n < budget-slack:
			t.Errorf("%s has %d tokens, %d under its budget of %d: lower that to %d, so that the gain is kept", name, n, budget-n, budget, n)
		}
	}
	for name := range budgets {
		datatest.Holds(t, code.tokens[name] != 0, "there is a budget for %s, which does not exist", name)
	}
	datatest.Holds(t, total <= whole,
		"all packages have %d tokens, %d over their budget of %d", total, total-whole, whole)
	datatest.Holds(t, code.testLines <= testLines,
		"the tests have %d lines, %d over their budget of %d", code.testLines, code.testLines-testLines, testLines)
}

func TestNoLineIsWide(t *testing.T) {
	wide := countCode(t, filepath.Join("..", "..", "..")).wide
	for _, name := range slices.Sorted(maps.Keys(wide)) {
		t.Errorf("%s has lines of more than %d tokens: split the lines %v", name, lineTokens, wide[name])
	}
}

// code is the size of the Go code below a folder.
type code struct {
	tokens    map[string]int   // of a package
	wide      map[string][]int // lines of a file that have more tokens than lineTokens
	testLines int
}

// countCode measures all packages below a folder, examples and testdata too.
func countCode(t *testing.T, root string) code {
	datatest.Long(t)
	sum := code{tokens: map[string]int{}, wide: map[string][]int{}}
	datatest.Check(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		switch {
		case strings.HasSuffix(name, "_test.go"):
			sum.testLines += bytes.Count(text, []byte("\n"))
		case !generated.Match(text):
			lines := tokensPerLine(text)
			for _, line := range slices.Sorted(maps.Keys(lines)) {
				sum.tokens[path.Dir(name)] += lines[line]
				if lines[line] > lineTokens {
					sum.wide[name] = append(sum.wide[name], line)
				}
			}
		}
		return err
	}))
	return sum
}

// tokensPerLine counts the tokens that begin on each line of Go code. Comments and
// semicolons that the scanner inserts are none.
func tokensPerLine(text []byte) map[int]int {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	var scan scanner.Scanner
	scan.Init(file, text, nil, 0)
	lines := map[int]int{}
	for {
		position, kind, literal := scan.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind != token.SEMICOLON || literal == ";" {
			lines[file.Line(position)]++
		}
	}
}

func TestTokensPerLine(t *testing.T) {
	text := "package p // none of these\n\nfunc f() int { return 1; }\n\nvar s = `a\nb`\n"
	want := map[int]int{1: 2, 3: 10, 5: 4}
	datatest.Equal(t, tokensPerLine([]byte(text)), want, "tokens per line")
}

// generated is the line by which Go knows files that a program wrote.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
