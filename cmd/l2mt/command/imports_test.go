package command

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

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
	"data/table":       {"data", "data/format"},
	"data/images":      {"data", "data/files", "data/progress", "data/safetensors"},
	"data/experience":  {"data", "data/digits", "data/fault", "data/files", "data/table"},

	"model/mixed":                   {"layers/linalg"},
	"model/multitask":               {"data", "data/fault", "layers/linalg"},
	"model/multitask/multitasktest": {"data", "data/datatest", "model/multitask"},
	"layers":                        {"data", "data/fault", "layers/linalg"},
	"layers/linalg":                 {},
	"layers/vgg":                    {"data", "data/fault", "data/safetensors", "layers", "layers/linalg"},
	"model":                         {"data", "data/fault", "data/files", "data/safetensors", "infer", "layers", "model/settings"},
	"model/modeltest":               {"data", "data/datatest", "layers", "model"},
	"model/settings":                {},

	"model/pairwise":   {"data", "data/safetensors", "layers", "model"},
	"model/pretrained": {"model", "model/pairwise"},
	"model/saved":      {"data", "data/fault", "data/files", "data/format", "data/safetensors", "data/table", "layers/linalg", "model/mixed", "model/multitask"},
	"model/evidence":   {"data", "data/files", "layers/linalg", "model/multitask", "model/saved"},

	"infer":                 {"data/fault"},
	"infer/solve":           {"data", "data/progress", "data/table", "infer", "layers/linalg", "model", "model/evidence", "model/mixed", "model/multitask", "model/saved"},
	"infer/solve/solvetest": {"data", "layers", "model"},
	"infer/compare":         {"data", "data/files", "data/progress", "infer", "infer/solve", "model/evidence", "model/multitask"},
	"infer/report":          {"data", "data/files", "data/format", "data/table", "infer/solve", "model/evidence", "model/multitask", "model/saved"},
	"infer/serve":           {"data", "data/fault", "data/format", "data/table", "model/saved"},

	"train":         {"data", "data/experience", "data/fault", "data/files", "data/progress", "data/safetensors", "infer/solve", "layers/linalg", "model", "model/evidence", "model/multitask", "model/settings"},
	"train/collect": {"data", "data/experience", "data/fault", "data/progress", "infer/solve", "model", "model/evidence", "model/multitask", "model/pairwise", "train"},

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
			if strings.HasPrefix(name, "gorgonia.org/") && !slices.Contains(mayUseGorgonia, pkg) && !strings.HasPrefix(pkg, "layers") {
				t.Errorf("%s may not import %s", pkg, name)
			}
			inside, ours := strings.CutPrefix(name, "l2mt/")
			if library := !strings.HasPrefix(inside, "cmd/"); ours && !(library && strings.HasPrefix(pkg, "cmd/")) {
				to = append(to, inside)
			}
		}
		if want, known := arrows[pkg]; pkg != "cmd/l2mt/command" && (!known || !slices.Equal(to, want)) {
			t.Errorf("%s imports %v; the table says %v", pkg, to, want)
		}
	}
	for pkg := range arrows {
		if !found[pkg] {
			t.Errorf("the table has %s, which does not exist", pkg)
		}
	}
}
