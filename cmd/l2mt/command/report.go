package command

import (
	"fmt"
	"io"

	"l2mt/cmd/l2mt/internal/report"
)

type reportCmd struct {
	Dir string `arg:"" type:"existingdir" help:"Directory with what the other commands wrote, itself or in folders: fitted models, evaluations, sweeps, networks."`
}

func (c *reportCmd) Run(e *env) error {
	path, err := report.Write(c.Dir)
	if err != nil {
		return err
	}
	return e.print(map[string]string{"report": path}, func(w io.Writer) { fmt.Fprintln(w, path) })
}
