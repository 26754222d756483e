package command

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// arrows is the design: which packages of this module a package imports, no more
// and no fewer. The engines of the command line may use any library, so that only
// their arrows to each other are held; commands may use everything.
var arrows = map[string][]string{
	"data":             {"data/files", "data/progress", "layers/linalg"},
	"data/files":       {},
	"data/progress":    {},
	"data/datatest":    {},
	"data/safetensors": {"data/files"},
	"data/format":      {"data", "data/files"},
	"data/digits":      {"data", "data/format"},
	"data/table":       {"data", "data/format"},
	"data/images":      {"data", "data/files", "data/progress"},
	"data/experience":  {"data", "data/digits", "data/files"},

	"model/multitask": {"data", "layers/linalg"},
	"layers":          {"data", "layers/linalg"},
	"layers/linalg":   {},
	"layers/vgg":      {"data/safetensors", "layers/linalg"},
	"model":           {"data", "data/files", "data/safetensors", "infer", "layers", "model/settings"},
	"model/modeltest": {"data", "layers", "model"},
	"model/settings":  {},

	"model/pretrained": {"model"},
	"model/saved":      {"data", "data/files", "data/format", "data/safetensors", "data/table", "model/multitask", "model/settings"},
	"model/evidence":   {"data", "data/progress", "layers/linalg", "model/multitask", "model/saved"},

	"infer":                 {},
	"infer/solve":           {"data", "data/files", "data/progress", "data/table", "infer", "layers/linalg", "model", "model/evidence", "model/multitask", "model/saved"},
	"infer/solve/solvetest": {"data", "layers", "model"},
	"infer/compare":         {"data", "data/files", "data/progress", "infer", "infer/solve", "model/evidence", "model/multitask"},

	"train":         {"data", "data/experience", "data/files", "data/progress", "data/safetensors", "infer/solve", "layers/linalg", "model", "model/evidence", "model/multitask", "model/settings"},
	"train/collect": {"data", "data/experience", "data/progress", "infer/solve", "model", "model/evidence", "model/multitask"},

	"cmd/l2mt":                 {"cmd/l2mt/command"},
	"cmd/l2mt/internal/plot":   {},
	"cmd/l2mt/internal/run":    {"cmd/l2mt/internal/plot"},
	"cmd/l2mt/internal/report": {"cmd/l2mt/internal/plot", "cmd/l2mt/internal/run"},
}

// mayUseGorgonia are the packages that build graphs. The engine must stay
// replaceable, so no other package knows it.
var mayUseGorgonia = []string{"layers", "model"}

func TestImportsFollowTheDesign(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	found := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if _, err := os.Stat(filepath.Join(file, "go.mod")); (err == nil && file != root) || entry.Name() == "testdata" || entry.Name() == ".git" {
				return filepath.SkipDir // another module, or no code of ours
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if found[pkg] == nil {
			found[pkg] = map[string]bool{}
		}
		imports(t, file, pkg, found[pkg])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, to := range found {
		engine := strings.HasPrefix(pkg, "cmd/")
		if pkg == "cmd/l2mt/command" || strings.Contains(pkg, "/internal/") && !engine {
			continue
		}
		if engine {
			maps.DeleteFunc(to, func(library string, _ bool) bool { return !strings.HasPrefix(library, "cmd/") })
		}
		want, known := arrows[pkg]
		if got := slices.Sorted(maps.Keys(to)); !known || !slices.Equal(got, want) {
			t.Errorf("%s imports %v; the table says %v", pkg, got, want)
		}
	}
	for pkg := range arrows {
		if found[pkg] == nil {
			t.Errorf("the table has %s, which does not exist", pkg)
		}
	}
}

// imports adds the packages of this module that a file imports.
func imports(t *testing.T, file, pkg string, to map[string]bool) {
	f := must(parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly))(t)
	for _, spec := range f.Imports {
		name := must(strconv.Unquote(spec.Path.Value))(t)
		if strings.HasPrefix(name, "gorgonia.org/") && !slices.Contains(mayUseGorgonia, pkg) && !strings.HasPrefix(pkg, "layers") {
			t.Errorf("%s: %s may not import %s", file, pkg, name)
		}
		if inside, ours := strings.CutPrefix(name, "l2mt/"); ours {
			to[inside] = true
		}
	}
}
