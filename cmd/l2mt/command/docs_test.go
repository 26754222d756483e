package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		code, tests := parseDir(t, dir)
		if len(code) == 0 {
			return nil
		}
		packages++
		explained, shown := false, false
		for _, f := range code {
			explained = explained || f.Doc != nil
			for _, d := range f.Decls {
				for _, name := range unexplained(d) {
					t.Errorf("%s: %s has no comment", dir, name)
				}
			}
		}
		for _, f := range tests {
			for _, d := range f.Decls {
				d, ok := d.(*ast.FuncDecl)
				shown = shown || ok && strings.HasPrefix(d.Name.Name, "Example")
			}
		}
		if !explained {
			t.Errorf("%s: the package has no comment", dir)
		}
		program := code[0].Name.Name == "main"
		if internal := strings.Contains(dir, "internal") || strings.HasSuffix(dir, "test"); !shown && !internal && !program {
			t.Errorf("%s: there is no example", dir)
		}
		return nil
	}))
	if packages < 15 {
		t.Errorf("only %d packages seen", packages)
	}
}

func parseDir(t *testing.T, dir string) (code, tests []*ast.File) {
	t.Helper()
	entries := datatest.Must(os.ReadDir(dir))(t)
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".go" {
			continue
		}
		f := datatest.Must(parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.ParseComments))(t)
		if strings.HasSuffix(e.Name(), "_test.go") {
			tests = append(tests, f)
		} else {
			code = append(code, f)
		}
	}
	return code, tests
}

// unexplained lists the exported names of a declaration that have no comment of
// their own, of their line or of their group.
func unexplained(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// exportedReceiver reports whether a function belongs to no type or to an
// exported one.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	name, ok := of.(*ast.Ident)
	return !ok || name.IsExported()
}
