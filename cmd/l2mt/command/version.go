package command

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"golang.org/x/sys/cpu"
)

type versionCmd struct{}

// versions is what l2mt version prints, and what runs record beside their results.
type versions struct {
	L2MT    string   `json:"l2mt"`
	Go      string   `json:"go"`
	System  string   `json:"system"`
	CPUs    int      `json:"cpus"`
	CPU     []string `json:"cpu_features"`
	Modules []module `json:"modules"`
}

type module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

func (versionCmd) Run(e *env) error {
	v := currentVersions()
	return e.print(v, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "l2mt\t%s\n", v.L2MT)
		fmt.Fprintf(t, "go\t%s\n", v.Go)
		fmt.Fprintf(t, "system\t%s, %d CPUs\n", v.System, v.CPUs)
		fmt.Fprintf(t, "cpu features\t%v\n", v.CPU)
		for _, m := range v.Modules {
			fmt.Fprintf(t, "%s\t%s\n", m.Path, m.Version)
		}
		t.Flush()
	})
}

func currentVersions() versions {
	v := versions{
		L2MT:   "unknown",
		Go:     runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs:   runtime.NumCPU(),
		CPU:    cpuFeatures(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.L2MT = info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.L2MT += " " + s.Value
		}
	}
	for _, m := range info.Deps {
		v.Modules = append(v.Modules, module{m.Path, m.Version})
	}
	return v
}

// cpuFeatures lists what the numeric kernels can use.
func cpuFeatures() []string {
	features := []string{}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"sse4.1", cpu.X86.HasSSE41},
		{"avx", cpu.X86.HasAVX},
		{"avx2", cpu.X86.HasAVX2},
		{"fma", cpu.X86.HasFMA},
		{"avx512f", cpu.X86.HasAVX512F},
		{"avx512bw", cpu.X86.HasAVX512BW},
		{"avx512dq", cpu.X86.HasAVX512DQ},
		{"asimd", cpu.ARM64.HasASIMD},
		{"sve", cpu.ARM64.HasSVE},
	} {
		if f.has {
			features = append(features, f.name)
		}
	}
	return features
}
