package run

import (
	"runtime"
	"runtime/debug"

	"l2mt/layers/linalg"
	"l2mt/model/pretrained"
)

// Versions is what l2mt version prints, and what runs record beside their results.
type Versions struct {
	L2MT   string `json:"l2mt"`
	Go     string `json:"go"`
	System string `json:"system"`
	CPUs   int    `json:"cpus"`
	// Kernels are those of products that this machine and L2MT_BLAS choose.
	Kernels string `json:"kernels"`
	// Pretrained is the network that commands take if they are given none, with its checksum.
	Pretrained string `json:"pretrained"`
	// Modules are the versions of the modules of the program, by their paths.
	Modules map[string]string `json:"modules"`
}

// CurrentVersions are those of this program.
func CurrentVersions() Versions {
	v := Versions{
		L2MT: "unknown", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Pretrained: pretrained.Name + ", " + pretrained.Checksum(), Modules: map[string]string{},
	}
	if kernels, err := linalg.Select(); err == nil {
		v.Kernels = kernels.Name()
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.L2MT = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.L2MT += " " + s.Value
			}
		}
		for _, m := range info.Deps {
			v.Modules[m.Path] = m.Version
		}
	}
	return v
}
