package command

import (
	"cmp"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"l2mt/train"
)

// build is a program as it was built: the versions of everything that decides results, and
// the checksum of the executable.
type build map[string]string

// thisBuild is the build of this process. It is read once, before the file of a running program
// may be replaced.
var thisBuild = sync.OnceValues(func() (build, error) {
	path, _ := os.Executable() // no path is no file
	program, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	sum := crc64.New(crc64.MakeTable(crc64.ECMA)) // many megabytes in every command: SHA-256 takes seven times as long
	_, err = io.Copy(sum, program)
	this := versions()
	this["executable"] = fmt.Sprintf("%016x", sum.Sum64())
	return this, err
})

func (b build) String() string {
	return fmt.Sprintf("%s (executable %.12s)", b["program"], b["executable"])
}

// usedRun has the inputs of the results in a directory.
type usedRun struct {
	// Builds made the results, the first one first.
	Builds []build `json:"builds"`
	// Sums are checksums of the files that an evaluation reads.
	Sums map[string]string `json:"of,omitempty"`

	// The rest is of a training run.

	Experience string       `json:"experience,omitempty"`
	HeldOut    string       `json:"held_out,omitempty"` // a checksum
	First      int          `json:"first,omitempty"`
	Training   train.Config `json:"training,omitzero"`
}

// settings are all but the seed.
func (u usedRun) settings() []string {
	settings := []string{"experience=" + u.Experience,
		fmt.Sprint("first=", u.First)}
	for _, s := range u.Training.Settings() {
		if s.Name != "train.seed" {
			settings = append(settings, s.Name+"="+s.Value())
		}
	}
	return settings
}

// makers names the builds.
func (u usedRun) makers() string {
	var names []string
	for _, b := range u.Builds {
		names = append(names, b.String())
	}
	return strings.Join(names, " and by ")
}

// loadUsed reads the inputs of the results in a directory, if there are any.
func loadUsed(dir string) (used usedRun, err error) {
	err = optional(loadJSON(filepath.Join(dir, usedFile), &used))
	return used, err
}

func (u usedRun) save(dir string) error {
	return cmp.Or(os.MkdirAll(dir, 0o755),
		saveJSON(filepath.Join(dir, usedFile), u))
}

// buildFlags guard the directory of a command that resumes its work there.
type buildFlags struct {
	AnyBuild bool `help:"Continue a run that another build of the program began in --out, and record both builds."`

	// outer begins the command that this one is a stage of.
	outer func() error
}

// goOn does a command's work in its directory. The work calls begin before it makes the first
// thing that is missing there, which only the build that made the others may do.
func (b *buildFlags) goOn(e *env, dir string, work func(begin func() error) error) error {
	if dir == "" {
		return work(nil)
	}
	this, err := thisBuild()
	if err != nil {
		return err
	}
	begun := b.outer != nil
	err = work(func() error {
		begun = true
		return b.begin(dir, this)
	})
	if err != nil || begun {
		return err
	}
	used, err := loadUsed(dir)
	e.remark("there is nothing left to do in %s, which was made by %s",
		dir, cmp.Or(used.makers(), "an unknown build"))
	return err
}

// begin writes down the build that works in a directory.
func (b *buildFlags) begin(dir string, this build) error {
	used, err := loadUsed(dir)
	if err == nil && b.outer != nil {
		err = b.outer()
	}
	if err != nil {
		return err
	}
	same := func(maker build) bool {
		return maker["executable"] == this["executable"]
	}
	if slices.ContainsFunc(used.Builds, same) {
		return nil
	}
	if len(used.Builds) > 0 && !b.AnyBuild {
		return fmt.Errorf("%s was made by %s, but this is %s; give another --out, or continue with --any-build",
			dir, used.makers(), this)
	}
	used.Builds = append(used.Builds, this)
	return used.save(dir)
}
