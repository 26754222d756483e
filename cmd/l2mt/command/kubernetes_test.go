package command

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const clusterDir = "../../../testdata/cluster"

// What the manifests run are command lines of l2mt, and the number of shards is
// that of the pods.
func TestTheKubernetesManifestsCallL2MT(t *testing.T) {
	arguments := regexp.MustCompile(`(?m)^ +args: \[(.*)\]$`)
	for file, runs := range map[string][]string{
		"kubernetes-collect.yaml": {"collect"},
		"kubernetes-train.yaml":   {"train"},
	} {
		text := must(os.ReadFile(filepath.Join(clusterDir, file)))(t)
		var commands []string
		for _, found := range arguments.FindAllSubmatch(text, -1) {
			// The directories of the claim are anywhere here.
			line := strings.ReplaceAll(strings.ReplaceAll(string(found[1]), `"`, ""), "/l2mt/experience", t.TempDir())
			line = strings.ReplaceAll(line, "$(JOB_COMPLETION_INDEX)", "0")
			parser := must(newParser(new(cli), io.Discard, io.Discard))(t)
			parsed, err := parser.Parse(strings.Split(line, ", "))
			if err != nil {
				t.Errorf("%s: %s: %v", file, line, err)
				continue
			}
			commands = append(commands, parsed.Command())
		}
		if !slices.Equal(commands, runs) {
			t.Errorf("%s runs %q, want %q", file, commands, runs)
		}
		completions := regexp.MustCompile(`completions: (\d+)`).FindSubmatch(text)
		shards := regexp.MustCompile(`--shard, "\$\(JOB_COMPLETION_INDEX\)/(\d+)"`).FindSubmatch(text)
		if file == "kubernetes-collect.yaml" && (completions == nil || shards == nil || !bytes.Equal(completions[1], shards[1])) {
			t.Errorf("%s has %q completions and %q shards", file, completions, shards)
		}
	}
}
