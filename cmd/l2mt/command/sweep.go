package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/cmd/l2mt/internal/sweep"
)

type sweepCmd struct {
	Experiment string   `arg:"" optional:"" help:"TOML file, or the name of a shipped experiment (see --list)."`
	List       bool     `help:"List the shipped experiments."`
	Dataset    string   `help:"Dataset to use instead of the one that the experiment names."`
	Head       string   `placeholder:"FILE" help:"Head to use instead of the one that the experiment names (see l2mt train --head)."`
	Network    string   `placeholder:"DIR" help:"Trained network to use instead of the one that the experiment names or trains."`
	Out        string   `type:"path" placeholder:"runs/sweep/NAME" help:"Directory for tables and pictures."`
	Store      string   `default:"runs/sweep/store" type:"path" help:"Directory of what runs and experiments share: problems, experience, networks and outcomes. What is there is not made again."`
	Seeds      []uint64 `help:"Seeds to use instead of those of the experiment."`
	Workers    int      `help:"Fits at a time; 0 means one per CPU."`
}

func (c *sweepCmd) Validate() error {
	switch {
	case c.List && c.Experiment != "":
		return errors.New("--list goes with no experiment")
	case !c.List && c.Experiment == "":
		return errors.New("give an experiment: a TOML file, or a name from --list")
	case c.Workers < 0:
		return fmt.Errorf("--workers=%d: it must not be negative", c.Workers)
	}
	return nil
}

func (c *sweepCmd) Run(e *env) error {
	if c.List {
		return listExperiments(e)
	}
	x, err := sweep.Read(c.Experiment)
	if err != nil {
		return err
	}
	if len(c.Seeds) > 0 {
		x.Seeds = c.Seeds
	}
	if c.Dataset != "" {
		x.Dataset = c.Dataset
	}
	if c.Network != "" {
		x.Network = c.Network
	}
	if c.Head != "" {
		x.Head = c.Head
	}
	result, err := sweep.Run(e, x, sweep.Options{
		Store: c.Store, Workers: cmp.Or(c.Workers, runtime.GOMAXPROCS(0)), Progress: e.reporter(), Remark: e.remark,
	})
	if errors.Is(err, context.Canceled) {
		e.remark("%s has what is done; the same command goes on from there", c.Store)
	}
	if err != nil {
		return err
	}
	if err := result.Save(cmp.Or(c.Out, filepath.Join("runs", "sweep", x.Name()))); err != nil {
		return err
	}
	return e.print(result, result.Write)
}

func listExperiments(e *env) error {
	type entry struct {
		Name  string `json:"name"`
		About string `json:"about"`
	}
	var list []entry
	for _, name := range sweep.Names() {
		x, err := sweep.Read(name)
		if err != nil {
			return err
		}
		list = append(list, entry{name, x.About})
	}
	return e.print(list, func(w io.Writer) {
		t := run.Fields(w)
		for _, x := range list {
			fmt.Fprintf(t, "%s\t%s\n", x.Name, x.About)
		}
		t.Flush()
	})
}
