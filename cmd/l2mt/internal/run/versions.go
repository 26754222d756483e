package run

import (
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/cpu"

	"l2mt/model"
	"l2mt/model/pretrained"
)

// Versions is what l2mt version prints, and what runs record beside their results.
type Versions struct {
	L2MT    string   `json:"l2mt"`
	Go      string   `json:"go"`
	System  string   `json:"system"`
	CPUs    int      `json:"cpus"`
	CPU     []string `json:"cpu_features"`
	Modules []Module `json:"modules"`
	// Pretrained is the network in this program.
	Pretrained Pretrained `json:"pretrained"`
	// Pieces are those registered by packages that are not of this module.
	Pieces []Piece `json:"pieces,omitempty"`
}

// Piece is a part of networks, with the package that registered it.
type Piece struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Package string `json:"package"`
}

// Pretrained is the network that commands take if they are given none.
type Pretrained struct {
	Name     string `json:"name"`
	Checksum string `json:"checksum"`
	// Problems is how many it was trained on, and Datasets are those that they came from.
	Problems int      `json:"problems"`
	Datasets []string `json:"datasets"`
}

// Module is a module of the program.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// CurrentVersions are those of this program.
func CurrentVersions() Versions {
	v := Versions{
		L2MT:   "unknown",
		Go:     runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs:   runtime.NumCPU(),
		CPU:    cpuFeatures(),

		Pretrained: Pretrained{Name: pretrained.Name, Checksum: pretrained.Checksum()},
	}
	if seen, err := pretrained.Seen(); err == nil { // it is embedded
		v.Pretrained.Problems, v.Pretrained.Datasets = seen.Problems, seen.Datasets
	}
	for _, p := range model.Pieces() {
		if !strings.HasPrefix(p.Package, "l2mt/") {
			v.Pieces = append(v.Pieces, Piece(p))
		}
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
		v.Modules = append(v.Modules, Module{m.Path, m.Version})
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
