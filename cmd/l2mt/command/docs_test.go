package command

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"l2mt/data/datatest"
)

// Every package says what it is for and shows how it is used, and every exported
// name is explained.
func TestEverythingExportedIsExplained(t *testing.T) {
	datatest.Long(t)
	packages := 0
	datatest.Check(t, filepath.WalkDir(filepath.Join("..", "..", ".."), func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); name == "testdata" || name == ".git" || name == "runs" {
			return filepath.SkipDir
		}
		pkg, examples := readPackage(t, dir)
		if pkg == nil {
			return nil
		}
		packages++
		datatest.Holds(t, pkg.Doc != "", "%s: the package has no comment", dir)
		for _, name := range unexplained(pkg) {
			t.Errorf("%s: %s has no comment", dir, name)
		}
		internal := strings.Contains(dir, "internal") || strings.HasSuffix(dir, "test")
		datatest.Holds(t, examples > 0 || internal || pkg.Name == "main", "%s: there is no example", dir)
		return nil
	}))
	datatest.Holds(t, packages >= 15, "only %d packages seen", packages)
}

// readPackage reads what the package in a folder says of itself, if there is one, and counts its examples.
func readPackage(t *testing.T, dir string) (pkg *doc.Package, examples int) {
	t.Helper()
	files := token.NewFileSet()
	var code, tests []*ast.File
	for _, path := range datatest.Must(filepath.Glob(filepath.Join(dir, "*.go")))(t) {
		f := datatest.Must(parser.ParseFile(files, path, nil, parser.ParseComments))(t)
		if strings.HasSuffix(path, "_test.go") {
			tests = append(tests, f)
		} else {
			code = append(code, f)
		}
	}
	if code == nil {
		return nil, 0
	}
	return datatest.Must(doc.NewFromFiles(files, code, dir))(t), len(doc.Examples(tests...))
}

// unexplained lists the exported names of a package that have no comment of their own, of
// their line or of their group.
func unexplained(p *doc.Package) (names []string) {
	explain := func(name, text string) {
		if text == "" {
			names = append(names, name)
		}
	}
	functions, values := p.Funcs, slices.Concat(p.Consts, p.Vars)
	for _, t := range p.Types {
		explain(t.Name, t.Doc)
		functions = slices.Concat(functions, t.Funcs, t.Methods)
		values = slices.Concat(values, t.Consts, t.Vars)
	}
	for _, f := range functions {
		explain(f.Name, f.Doc)
	}
	for _, v := range values {
		for _, spec := range v.Decl.Specs {
			spec := spec.(*ast.ValueSpec)
			for _, name := range spec.Names {
				if name.IsExported() {
					explain(name.Name, v.Doc+spec.Doc.Text()+spec.Comment.Text())
				}
			}
		}
	}
	return names
}

// The files for clusters run commands of l2mt, in as many shards as there are pods.
func TestClusterFilesCallL2MT(t *testing.T) {
	call := regexp.MustCompile(`(?m)^(?:#.* )?l2mt (eval .*|train .*|"\$@" .*)$|^#? +args: \[(.*)\]$`)
	values := strings.NewReplacer("/l2mt/experience", ".", `"$@"`, "collect --problems p --out e", `"$1"`, "x", `"$2"`, "y", `"${@:3}"`, "", `"$shard"`, "0/4",
		`"${SLURM_CPUS_PER_TASK:-1}"`, "1", "$(JOB_COMPLETION_INDEX)", "0", `"`, "", ", ", " ")
	for file, want := range map[string][]string{
		"array.sbatch": {"eval", "collect"}, "train.sbatch": {"train"}, "kubernetes-array.yaml": {"eval", "sweep", "collect"}, "kubernetes-train.yaml": {"train"},
	} {
		text := string(datatest.Must(os.ReadFile(filepath.Join("..", "..", "..", "testdata", "cluster", file)))(t))
		var commands []string
		for _, line := range call.FindAllStringSubmatch(text, -1) {
			args := values.Replace(line[1] + line[2])
			parsed, err := newParser(new(cli)).Parse(strings.Fields(args))
			if err != nil {
				t.Errorf("%s: l2mt %s: %v", file, args, err)
				continue
			}
			name, _, _ := strings.Cut(parsed.Command(), " ")
			commands = append(commands, name)
		}
		datatest.Equal(t, commands, want, "%s runs", file)
		pods := regexp.MustCompile(`completions: (\d+)`).FindStringSubmatch(text)
		for _, shards := range regexp.MustCompile(`INDEX\)/(\d+)"`).FindAllStringSubmatch(text, -1) {
			datatest.Holds(t, pods != nil && pods[1] == shards[1],
				"%s has %q completions and %q shards", file, pods, shards)
		}
	}
}

// arrows is the design: which packages of this module a package imports, no more
// and no fewer. The engines of the command line may use any library, so that only
// their arrows to each other are held; commands may use everything.
var arrows = map[string][]string{
	"data":             {"data/fault", "data/files", "layers/linalg"},
	"data/fault":       {},
	"data/files":       {},
	"data/progress":    {},
	"data/datatest":    {},
	"data/safetensors": {"data/fault", "data/files"},
	"data/format":      {"data", "data/files"},
	"data/digits":      {"data", "data/table"},
	"data/table":       {"data", "data/format", "data/view"},
	"data/view":        {"data", "layers/linalg"},
	"data/experience":  {"data", "data/digits", "data/fault", "data/files", "data/table", "data/view"},

	"model/mixed":                   {"layers/linalg"},
	"model/multitask":               {"data", "data/fault", "data/view", "layers/linalg", "model/settings"},
	"model/multitask/multitasktest": {"data", "data/datatest", "model/multitask"},
	"layers":                        {"data", "data/fault", "layers/linalg"},
	"layers/linalg":                 {},
	"model":                         {"data", "data/fault", "data/files", "data/safetensors", "data/view", "infer", "layers", "layers/linalg", "model/settings"},
	"model/modeltest":               {"data", "data/datatest", "layers", "model"},
	"model/settings":                {},

	"model/pairwise":   {"data", "data/safetensors", "layers", "model"},
	"model/pretrained": {"model", "model/pairwise"},
	"model/saved":      {"data", "data/fault", "data/files", "data/format", "data/safetensors", "data/table", "data/view", "model/mixed", "model/multitask"},
	"model/evidence":   {"data", "data/files", "layers/linalg", "model/multitask", "model/saved"},

	"infer":                 {"data/fault"},
	"infer/solve":           {"data", "data/progress", "data/table", "data/view", "infer", "layers/linalg", "model", "model/evidence", "model/mixed", "model/multitask", "model/saved"},
	"infer/solve/solvetest": {"data", "data/datatest", "layers", "model", "model/modeltest"},
	"infer/compare":         {"data", "data/files", "data/progress", "infer", "infer/solve", "model/evidence", "model/multitask"},
	"infer/report":          {"data", "data/files", "data/format", "data/table", "data/view", "infer/solve", "model/evidence", "model/multitask", "model/saved"},
	"infer/serve":           {"data", "data/fault", "data/format", "data/table", "model/saved"},

	"train":         {"data", "data/experience", "data/fault", "data/files", "data/progress", "data/safetensors", "data/view", "infer", "infer/solve", "layers/linalg", "model", "model/evidence", "model/multitask", "model/settings"},
	"train/collect": {"data", "data/experience", "data/fault", "data/progress", "data/view", "infer/solve", "model", "model/evidence", "model/multitask", "model/pairwise", "train"},

	"cmd/l2mt":               {"cmd/l2mt/command"},
	"cmd/l2mt/internal/plot": {},
}

// mayUseGorgonia are the packages that build graphs. The engine must stay
// replaceable, so no other package knows it.
var mayUseGorgonia = []string{"layers", "model", "model/pairwise"}

func TestImportsFollowTheDesign(t *testing.T) {
	list := datatest.Must(exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "l2mt/...").Output())(t)
	found := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		imports := strings.Fields(line)
		pkg := strings.TrimPrefix(imports[0], "l2mt/")
		found[pkg] = true
		var to []string
		for _, name := range imports[1:] {
			datatest.Holds(t, !strings.HasPrefix(name, "gorgonia.org/") || slices.Contains(mayUseGorgonia, pkg) || strings.HasPrefix(pkg, "layers"),
				"%s may not import %s", pkg, name)
			inside, ours := strings.CutPrefix(name, "l2mt/")
			if library := !strings.HasPrefix(inside, "cmd/"); ours && !(library && strings.HasPrefix(pkg, "cmd/")) {
				to = append(to, inside)
			}
		}
		if want, known := arrows[pkg]; pkg != "cmd/l2mt/command" && (!known || !slices.Equal(to, want)) {
			t.Errorf("%s imports %v; the table says %v", pkg, to, want)
		}
	}
	house := string(datatest.Must(os.ReadFile(filepath.Join("..", "..", "..", "docs", "house.svg")))(t))
	for pkg := range arrows {
		datatest.Holds(t, found[pkg], "the table has %s, which does not exist", pkg)
		kit := strings.HasSuffix(pkg, "test")
		datatest.Holds(t, kit || strings.Contains(house, ">"+strings.TrimPrefix(pkg, "cmd/l2mt/")+"<"), "docs/house.svg has no room for %s", pkg)
	}
}

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
var longest = map[string]int{"README.md": 100, "method.md": 250, "results.md": 250}

// parses looks at a command line without running it. Files that it names need not
// exist, and prose may name a command without all that it takes.
func parses(line []string) error {
	p := newProgram()
	defer p.leave()
	exit, stdout := p.parser.Exit, p.parser.Stdout
	defer func() { p.parser.Exit, p.parser.Stdout = exit, stdout }()
	p.parser.Stdout = io.Discard
	for range 2*len(line) + 1 {
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
					line[i] = "docs_test.go"
				}
			}
		} else if i := slices.Index(line, "docs_test.go"); i >= 0 && strings.Contains(err.Error(), "is not a directory") {
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
