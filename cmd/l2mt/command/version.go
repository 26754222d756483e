package command

import (
	"runtime"
	"runtime/debug"
	"strconv"

	"l2mt/layers/linalg"
	"l2mt/model/pretrained"
)

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	v, err := thisBuild()
	if err != nil {
		return err
	}
	return e.print(v, "version")
}

// versions of everything that decides results, which runs record beside these: of the program,
// of its modules by their paths, of the kernels that this machine and L2MT_BLAS choose, and of the
// network that commands take if they are given none, with its checksum.
func versions() map[string]string {
	v := map[string]string{
		"l2mt": "unknown", "go": runtime.Version(), "system": runtime.GOOS + "/" + runtime.GOARCH,
		"cpus":               strconv.Itoa(runtime.NumCPU()),
		"pretrained network": pretrained.Name + ", " + pretrained.Checksum(),
	}
	kernels, err := linalg.Select()
	if err == nil {
		v["kernels"] = kernels.Name()
	}
	info, ok := debug.ReadBuildInfo()
	if ok {
		v["l2mt"] = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				v["l2mt"] += " " + s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				v["l2mt"] += " with changes"
			}
		}
		v["program"] = info.Main.Path + " " + v["l2mt"]
		for _, m := range info.Deps {
			v[m.Path] = m.Version
		}
	}
	return v
}
