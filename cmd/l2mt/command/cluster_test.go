package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

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
			parsed, err := datatest.Must(newParser(new(cli)))(t).Parse(strings.Fields(args))
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
			if pods == nil || pods[1] != shards[1] {
				t.Errorf("%s has %q completions and %q shards", file, pods, shards)
			}
		}
	}
}
