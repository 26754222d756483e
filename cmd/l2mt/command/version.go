package command

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"l2mt/cmd/l2mt/internal/run"
)

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	v := run.CurrentVersions()
	return e.print(v, func(w io.Writer) {
		t := run.Fields(w)
		fmt.Fprintf(t, "l2mt\t%s\n", v.L2MT)
		fmt.Fprintf(t, "go\t%s\n", v.Go)
		fmt.Fprintf(t, "system\t%s, %d CPUs\n", v.System, v.CPUs)
		fmt.Fprintf(t, "kernels\t%s\n", v.Kernels)
		fmt.Fprintf(t, "pretrained network\t%s\n", v.Pretrained)
		for _, path := range slices.Sorted(maps.Keys(v.Modules)) {
			fmt.Fprintf(t, "%s\t%s\n", path, v.Modules[path])
		}
		t.Flush()
	})
}
