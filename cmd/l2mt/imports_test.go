package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is the design: which packages of this module a package may
// import. A package's own sub-packages under internal/ are always allowed.
var mayImport = map[string][]string{
	"data":            {"data/atomic", "data/progress"},
	"data/atomic":     {},
	"data/progress":   {},
	"data/datatest":   {},
	"data/digits":     {"data"},
	"data/images":     {"data", "data/progress"},
	"data/experience": {"data", "data/progress"},

	"data/experience/experiencetest": {"data", "data/experience"},

	"model/multitask": {"data", "data/progress"},
	"layers":          {"data"},
	"layers/vgg":      {"data", "model/safetensors"},
	"model":           {"layers", "data", "data/atomic", "model/safetensors"},
	"train":           {"model", "model/multitask", "model/safetensors", "infer", "data", "data/experience", "data/progress"},
	"train/collect":   {"model", "model/multitask", "infer", "data", "data/experience", "data/progress"},
	"infer":           {"model", "model/multitask", "data", "data/atomic", "data/progress"},

	"model/safetensors": {"data/atomic"},
	"model/modeltest":   {"model", "layers", "data", "infer"},
}

// mayUseGorgonia are the packages that build graphs. The engine must stay
// replaceable, so no other package knows it.
var mayUseGorgonia = []string{"layers", "model"}

func TestImportsFollowTheDesign(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
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
		files++
		checkImports(t, file, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d files seen", files)
	}
}

func checkImports(t *testing.T, file, pkg string) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	owner, _, _ := strings.Cut(pkg, "/internal/")
	allowed, known := mayImport[owner]
	if !known && !strings.HasPrefix(owner, "cmd/") {
		t.Errorf("%s: package %s is not in the table of packages", file, owner)
	}
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "gorgonia.org/") && !slices.Contains(mayUseGorgonia, owner) && !strings.HasPrefix(owner, "layers") {
			t.Errorf("%s: %s may not import %s", file, pkg, name)
		}
		inside, ours := strings.CutPrefix(name, "l2mt/")
		if !ours || strings.HasPrefix(owner, "cmd/") {
			continue
		}
		if target, _, internal := strings.Cut(inside, "/internal/"); internal && (target == owner || strings.HasPrefix(owner, target)) {
			continue
		}
		if !slices.Contains(allowed, path.Clean(inside)) {
			t.Errorf("%s: %s may not import %s; it may import %v", file, pkg, inside, allowed)
		}
	}
}
