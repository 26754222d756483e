package run

import (
	"runtime"
	"runtime/debug"
	"strings"

	"l2mt/layers/linalg"
	"l2mt/model"
	"l2mt/model/pretrained"
)

// Versions is what l2mt version prints, and what runs record beside their results.
type Versions struct {
	L2MT   string `json:"l2mt"`
	Go     string `json:"go"`
	System string `json:"system"`
	CPUs   int    `json:"cpus"`
	// Kernels are those of products that this machine and L2MT_BLAS choose.
	Kernels string   `json:"kernels"`
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

		Pretrained: Pretrained{Name: pretrained.Name, Checksum: pretrained.Checksum()},
	}
	if kernels, err := linalg.Select(); err == nil {
		v.Kernels = kernels.Name()
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
