package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the files for clusters run are command lines of l2mt, and the number of shards is that of
// the pods.
func TestClusterFilesCallL2MT(t *testing.T) {
	call := regexp.MustCompile(`(?m)^l2mt (.*)$|^ +args: \[(.*)\]$`)
	values := strings.NewReplacer(`"$1"`, "x", `"$2"`, "y", `"${@:3}"`, "", `"$3"`, "z", `"${@:4}"`, "", `"$shard"`, "0/4", `"${SLURM_CPUS_PER_TASK:-1}"`, "1",
		"$(JOB_COMPLETION_INDEX)", "0", `"`, "", ",", "")
	for file, want := range map[string]string{
		"collect.sbatch": "collect", "eval.sbatch": "eval", "train.sbatch": "train", "kubernetes-collect.yaml": "collect", "kubernetes-train.yaml": "train",
	} {
		text := string(must(os.ReadFile(filepath.Join("..", "..", "..", "testdata", "cluster", file)))(t))
		calls := call.FindAllStringSubmatch(text, -1)
		if len(calls) != 1 {
			t.Fatalf("%s has %d command lines", file, len(calls))
		}
		line := values.Replace(calls[0][1] + calls[0][2])
		parser := must(newParser(new(cli)))(t)
		parsed, err := parser.Parse(strings.Fields(line))
		if err != nil || parsed.Command() != want {
			t.Errorf("%s: l2mt %s: %v", file, line, err)
		}
		pods := regexp.MustCompile(`completions: (\d+)`).FindStringSubmatch(text)
		shards := regexp.MustCompile(`INDEX\)/(\d+)"`).FindStringSubmatch(text)
		if file == "kubernetes-collect.yaml" && (pods == nil || shards == nil || pods[1] != shards[1]) {
			t.Errorf("%s has %q completions and %q shards", file, pods, shards)
		}
	}
}
