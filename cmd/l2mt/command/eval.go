package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/files"
	"l2mt/infer/compare"
	"l2mt/model"
	"l2mt/model/multitask"
	"l2mt/model/pretrained"
)

type evalCmd struct {
	Network    []string `sep:"none" default:"pretrained" placeholder:"DIR" help:"Directory of a trained network; by default \"pretrained\", which takes any features. Given again for further networks, all are compared with each other. DIR/start is the network before training."`
	Problems   string   `required:"" type:"path" help:"File of the test problems."`
	dataFlags  `embed:""`
	Models     models `default:"all" help:"Multitask models to compare with (${models}); \"all\" means the paper's ten."`
	Labelled   models `placeholder:"MODELS" help:"Models that are also tuned by leave-one-out and fitted on all labelled rows, as L2MT and STL always are; slow for models that are fitted by iterations."`
	Out        string `type:"path" help:"Directory for the table, the chart and all outcomes. An interrupted run resumes there."`
	Part       part   `name:"shard" placeholder:"I/N" help:"Work on part I of N of the problems, counted from 0, and keep its outcomes in --out. A run without --shard then makes the table of all parts."`
	buildFlags `embed:""`
	Workers    int `help:"Number of fits at the same time; 0 means one per CPU."`

	first int // so many problems only, if not 0
}

func (c *evalCmd) Validate() error {
	for i, dir := range c.Network {
		if slices.Contains(c.Network[:i], dir) {
			return fmt.Errorf("--network=%s: it is given twice; give each network once", dir)
		}
	}
	if c.Part.count > 0 && c.Out == "" {
		return errors.New("--shard goes with --out, where the parts come together")
	}
	return nil
}

// models are multitask models.
type models []multitask.Model

// UnmarshalText reads names; "all" means the paper's ten.
func (m *models) UnmarshalText(text []byte) error {
	for name := range strings.SplitSeq(string(text), ",") {
		if name == "all" {
			*m = append(*m, multitask.Baselines()...)
			continue
		}
		model, err := multitask.Lookup(name)
		if err != nil {
			return err
		}
		*m = append(*m, model)
	}
	return nil
}

// name is the name of a network in tables: its folder, unless another is called so.
func (c *evalCmd) name(dir string) string {
	base := filepath.Base(dir)
	for _, other := range c.Network {
		if other != dir && filepath.Base(other) == base {
			return dir
		}
	}
	return base
}

func (c *evalCmd) Run(e *env) (err error) {
	var networks []compare.Network
	for _, dir := range c.Network {
		n, err := loadNetwork(dir)
		if err != nil {
			return err
		}
		networks = append(networks, compare.Network{
			Name:   c.name(dir),
			Finder: n,
		})
	}
	file, err := c.problems(c.Problems)
	if err != nil {
		return err
	}
	problems, err := file.All()
	if err == nil {
		err = compare.Check(problems)
	}
	if err != nil {
		return err
	}
	if c.first > 0 {
		problems = problems[:c.first]
	}
	var portion []*data.ProblemData
	for i, p := range problems {
		if c.Part.has(i) {
			portion = append(portion, p)
		}
	}
	o := compare.EvaluateOptions{Models: c.Models, Labelled: c.Labelled,
		Workers: cmp.Or(c.Workers,
			runtime.GOMAXPROCS(0)), Progress: e.reporter()}
	if c.Out != "" {
		if err := c.pin(file.Reference().SHA256); err != nil {
			return err
		}
		o.Journal, err = c.journal(e)
		if err != nil {
			return err
		}
		defer func() {
			err = errors.Join(err, o.Journal.Close())
		}()
	}
	var table *compare.Table
	evaluate := func(begin func() error) error {
		o.Begin = begin
		outcomes, err := compare.Evaluate(e, networks, portion, o)
		if err == nil {
			table, err = compare.Summarise(outcomes)
		}
		return err
	}
	if err := c.goOn(e, c.Out, evaluate); err != nil {
		return err
	}
	if c.Part.count > 0 {
		e.remark("the outcomes of %d problems are in %s; eval without --shard makes the table of all parts", len(portion), c.Out)
		return nil
	}
	if c.Out != "" {
		err := saveTable(c.Out, table)
		if err != nil {
			return err
		}
	}
	return e.print(table, "eval")
}

// journal keeps every outcome as it comes, of a shard or of all, and knows the outcomes before. All
// know the outcomes of the shards.
func (c *evalCmd) journal(e *env) (*compare.Journal, error) {
	name := "outcomes.jsonl"
	var siblings []string
	if c.Part.count > 0 {
		name = "outcomes-" + experience.Shard(c.Part.index,
			c.Part.count) + ".jsonl"
	} else {
		found, _ := fs.Glob(os.DirFS(c.Out), "outcomes-shard-*.jsonl") // the pattern is right
		for _, sibling := range found {
			siblings = append(siblings, filepath.Join(c.Out, sibling))
		}
	}
	journal, err := compare.OpenJournal(
		filepath.Join(c.Out, name), siblings...)
	if err != nil {
		return nil, err
	}
	if journal.Torn {
		e.remark("warning: the last outcome was cut off while it was written; it is computed again")
	}
	if journal.Len() > 0 {
		e.remark("resuming after %d outcomes in %s", journal.Len(), c.Out)
	}
	return journal, nil
}

// pin writes down the files that the outcomes depend on, or checks that outcomes in the directory
// depend on the same ones. Models and networks may differ: more can be added.
func (c *evalCmd) pin(dataset string) error {
	sum, err := files.SHA256(c.Problems)
	if err != nil {
		return err
	}
	now := map[string]string{"problems": sum + " " + dataset} // checksums
	for _, dir := range c.Network {
		sum := pretrained.Checksum()
		if dir != pretrainedNetwork {
			weights := filepath.Join(dir, model.WeightsFile) // which have the configuration too
			sum, err = files.SHA256(weights)
		}
		if err != nil {
			return err
		}
		now["network "+c.name(dir)] = sum
	}
	had, err := loadUsed(c.Out)
	if err != nil {
		return err
	}
	for _, what := range slices.Sorted(maps.Keys(now)) {
		former, ok := had.Sums[what]
		if ok && now[what] != former {
			return fmt.Errorf("%s: %s: the outcomes there are of other %s (%v, now %v); give another directory with --out",
				filepath.Join(c.Out, usedFile),
				what, what, former, now[what])
		}
	}
	maps.Copy(now, had.Sums)
	had.Sums = now
	return had.save(c.Out)
}
