package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"l2mt/data/datatest"
)

// TestDocs holds what a machine can tell of README and docs: they are short
// enough to read, their links lead somewhere, and their command lines parse.
func TestDocs(t *testing.T) {
	datatest.Long(t)
	root := filepath.Join("..", "..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	datatest.Need(t, err == nil && len(pages) != 0, "there are no pages: %v", err)
	commands := 0
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		pages = append(pages, filepath.Join(root, name))
	}
	for _, page := range pages {
		p := readMarkdown(t, page)
		if n, most := len(p.lines), longest[filepath.Base(page)]; most > 0 && n > most {
			t.Errorf("%s has %d lines; it is to have at most %d", page, n, most)
		}
		for line := range strings.Lines(p.prose) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 && !strings.HasPrefix(line, "|") {
				t.Errorf("%s: %d characters in %q; prose wraps at 100", page, n, line)
			}
		}
		for _, link := range linked.FindAllStringSubmatch(p.prose, -1) {
			datatest.Equal(t, follow(t, page, link[1]), "", "%s: link to %s", page, link[1])
		}
		for _, line := range p.commands() {
			commands++
			err = parses(line)
			datatest.Holds(t, err == nil, "%s: l2mt %s: %v", page, strings.Join(line, " "), err)
		}
	}
	datatest.Holds(t, commands >= 30, "only %d command lines seen", commands)
}

// longest is how many lines a page may have.
var longest = map[string]int{"README.md": 110, "method.md": 250, "results.md": 250}

// parses looks at a command line without running it. Files that it names need not
// exist, and prose may name a command without all that it takes.
func parses(line []string) error {
	p := newProgram()
	defer parsers.Put(p)
	exit, stdout := p.parser.Exit, p.parser.Stdout
	defer func() { p.parser.Exit, p.parser.Stdout = exit, stdout }()
	p.parser.Stdout = io.Discard
	for range len(line) + 1 {
		helped := false
		p.parser.Exit = func(int) { helped = true }
		_, err := p.parser.Parse(line)
		if helped || err == nil || incomplete.MatchString(err.Error()) {
			return nil
		}
		if missing := noFile.FindStringSubmatch(err.Error()); missing != nil {
			line = slices.Clone(line)
			for i, word := range line {
				if strings.HasSuffix(missing[1], "/"+word) {
					line[i] = "markdown_test.go"
				}
			}
		} else if i := slices.Index(line, "markdown_test.go"); i >= 0 && strings.Contains(err.Error(), "is not a directory") {
			line[i] = "."
		} else {
			return err
		}
	}
	return fmt.Errorf("%q has files of other kinds", line)
}

// markdown is a page: its lines, and apart from each other prose and blocks of code.
type markdown struct {
	lines       []string
	prose, code string
}

func readMarkdown(t *testing.T, path string) (m markdown) {
	t.Helper()
	inside := false
	for line := range strings.Lines(string(datatest.Must(os.ReadFile(path))(t))) {
		m.lines = append(m.lines, strings.TrimSuffix(line, "\n"))
		switch fence := strings.HasPrefix(line, "```"); {
		case fence:
			inside = !inside
		case inside:
			m.code += line
		default:
			m.prose += line
		}
	}
	datatest.Holds(t, !inside, "%s: a block of code does not end", path)
	return m
}

var (
	// incomplete are the errors of a command line that lacks something.
	incomplete = regexp.MustCompile(`missing flags|^expected one of|give tables to fit|expected "<`)
	linked     = regexp.MustCompile(`\]\(([^)]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unlinked   = regexp.MustCompile("[^a-z0-9 _-]")
	noFile     = regexp.MustCompile(`stat (.*): no such file`)
	ticked     = regexp.MustCompile("`(l2mt [^`]+)`")
)

// anchors are the names that headings have in links.
func (m markdown) anchors() map[string]bool {
	names := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(m.prose, -1) {
		names[strings.ReplaceAll(unlinked.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return names
}

// follow says what is wrong with a link of a page.
func follow(t *testing.T, page, link string) string {
	if strings.Contains(link, "://") {
		return "" // others' pages
	}
	file, anchor, _ := strings.Cut(link, "#")
	path := page
	if file != "" {
		path = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	if _, err := os.Stat(path); err != nil {
		return "it does not exist"
	}
	if anchor != "" && !readMarkdown(t, path).anchors()[anchor] {
		return "there is no such heading"
	}
	return ""
}

// commands are the command lines of l2mt on a page, in blocks of code and in
// backticks. A word in capitals stands for a file.
func (m markdown) commands() (lines [][]string) {
	add := func(line string) {
		line, _, _ = strings.Cut(line, " # ")
		words := strings.Fields(strings.ReplaceAll(line, "'", ""))
		if len(words) > 1 {
			lines = append(lines, words[1:])
		}
	}
	for line := range strings.Lines(m.code) {
		if line = strings.TrimPrefix(line, "go run ./cmd/"); strings.HasPrefix(line, "l2mt ") {
			add(line)
		}
	}
	for _, found := range ticked.FindAllStringSubmatch(m.prose, -1) {
		add(strings.ReplaceAll(found[1], "\n", " "))
	}
	return lines
}
