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
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	commands := 0
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		pages = append(pages, filepath.Join(root, name))
	}
	for _, page := range pages {
		p := readMarkdown(t, page)
		if n, most := len(p.lines), longest[filepath.Base(page)]; most > 0 && n > most {
			t.Errorf("%s has %d lines; it is to have at most %d", page, n, most)
		}
		for i, line := range p.lines {
			if n := utf8.RuneCountInString(line); n > 100 && !p.code[i] && !strings.HasPrefix(line, "|") {
				t.Errorf("%s:%d: %d characters; prose wraps at 100", page, i+1, n)
			}
		}
		for _, link := range p.links() {
			if err := follow(t, page, link); err != "" {
				t.Errorf("%s: link to %s: %s", page, link, err)
			}
		}
		for _, line := range p.commands() {
			commands++
			if err := parses(line); err != nil {
				t.Errorf("%s: l2mt %s: %v", page, strings.Join(line, " "), err)
			}
		}
	}
	if commands < 30 {
		t.Errorf("only %d command lines seen", commands)
	}
}

// longest is how many lines a page may have.
var longest = map[string]int{"README.md": 110, "method.md": 250, "results.md": 250}

// parses looks at a command line without running it. Files that it names need not
// exist, and prose may name a command without all that it takes.
func parses(line []string) (err error) {
	defer func() {
		if fault, ok := recover().(exit); ok && fault != exitDone {
			err = fmt.Errorf("it exits with %d", fault)
		}
	}()
	for range len(line) + 1 {
		parser, err := newParser(new(cli), io.Discard, io.Discard)
		if err != nil {
			return err
		}
		_, err = parser.Parse(line)
		if err == nil || incomplete.MatchString(err.Error()) {
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
	return err
}

// markdown is a page, with the lines that are code.
type markdown struct {
	lines []string
	code  []bool
}

func readMarkdown(t *testing.T, path string) (m markdown) {
	t.Helper()
	b := must(os.ReadFile(path))(t)
	inside := false
	m.lines = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for _, line := range m.lines {
		fence := strings.HasPrefix(line, "```")
		m.code = append(m.code, inside || fence)
		inside = inside != fence
	}
	if inside {
		t.Errorf("%s: a block of code does not end", path)
	}
	return m
}

var (
	// incomplete are the errors of a command line that lacks something.
	incomplete = regexp.MustCompile(`missing flags|^expected one of|give tables to fit|expected "<`)
	linked     = regexp.MustCompile(`\]\(([^)]+)\)`)
	heading    = regexp.MustCompile(`^#+ (.*)`)
	unlinked   = regexp.MustCompile("[^a-z0-9 _-]")
	noFile     = regexp.MustCompile(`stat (.*): no such file`)
	ticked     = regexp.MustCompile("`(l2mt [^`]+)`")
)

// links are where the prose links to.
func (m markdown) links() (to []string) {
	for _, found := range linked.FindAllStringSubmatch(m.prose(), -1) {
		to = append(to, found[1])
	}
	return to
}

// prose is the page without blocks of code.
func (m markdown) prose() string {
	var b strings.Builder
	for i, line := range m.lines {
		if !m.code[i] {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// anchors are the names that headings have in links.
func (m markdown) anchors() map[string]bool {
	names := map[string]bool{}
	for _, line := range strings.Split(m.prose(), "\n") {
		if h := heading.FindStringSubmatch(line); h != nil {
			names[strings.ReplaceAll(unlinked.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
		}
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
	for i, line := range m.lines {
		line = strings.TrimPrefix(line, "go run ./cmd/")
		if m.code[i] && strings.HasPrefix(line, "l2mt ") {
			add(line)
		}
	}
	for _, found := range ticked.FindAllStringSubmatch(m.prose(), -1) {
		add(strings.ReplaceAll(found[1], "\n", " "))
	}
	return lines
}
