package command

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/data/format"
	"l2mt/data/table"
	"l2mt/data/view"
	"l2mt/model/multitask"
)

type dataCmd struct {
	Info   dataInfoCmd   `cmd:"" help:"Describe a dataset: its rows, features, labels and groups."`
	Import dataImportCmd `cmd:"" help:"Convert a dataset into an .npz file, which other commands read without options."`
}

// readFlags say how to read a dataset where the file itself does not.
type readFlags struct {
	format.Options `embed:""`
	Kind           data.Kind `enum:",classification,regression" default:"" help:"Kind of the labels: classification or regression; by default from the labels."`
	Label          string    `help:"Column or array of the labels: a name, or a number from 0."`
	Target         string    `help:"Target to take of several: a name, or a number from 0."`
	Group          string    `help:"Column or array of the groups (tasks)."`
	Ignore         []string  `help:"Columns of a table to leave out, by name or pattern."`
	Categorical    []string  `help:"Columns whose values are categories, by name or pattern; * means all columns with words."`
	NA             []string  `name:"na" help:"Words that mark a missing value, besides empty cells."`
	SkipUnlabelled bool      `help:"Leave out rows without a label."`
}

func (f *readFlags) read(e *env, path string) (*data.Dataset, error) {
	path, remove, err := e.keep(path)
	if err != nil {
		return nil, err
	}
	defer remove()
	o := table.Options{Kind: f.Kind, Task: f.Group, Ignore: f.Ignore, Format: f.Options,
		Categorical: f.Categorical, NA: f.NA, SkipUnlabelled: f.SkipUnlabelled}
	o.Format.Label = f.Label
	if f.Target != "" {
		o.Targets = []string{f.Target}
	}
	return digits.Open(path, o)
}

type dataInfoCmd struct {
	File      string `arg:"" optional:"" default:"digits" help:"File of the dataset, or the embedded \"digits\"."`
	readFlags `embed:""`
}

func (c *dataInfoCmd) Run(e *env) error {
	d, err := c.read(e, c.File)
	if err != nil {
		return err
	}
	return e.print(describe(d), "dataset")
}

// datasetInfo describes a dataset.
type datasetInfo struct {
	Name     string     `json:"name"`
	Rows     int        `json:"rows"`
	Features int        `json:"features"`
	Stored   int        `json:"stored"`
	Sparse   bool       `json:"sparse"`
	Classes  *sizesInfo `json:"classes,omitempty"`
	Groups   *sizesInfo `json:"groups,omitempty"`
	Targets  *rangeInfo `json:"targets,omitempty"`
	LabelOf  string     `json:"label,omitempty"`
	Steps    []string   `json:"steps,omitempty"`
	SHA256   string     `json:"sha256"`
	Notes    []string   `json:"notes,omitempty"`
}

// sizesInfo are numbers of rows, of classes or groups.
type sizesInfo struct {
	Count int `json:"count"`
	Min   int `json:"min"`
	Max   int `json:"max"`
}

// sizesOf counts the rows with each name, which index has of every row.
func sizesOf(index []int32, names []string) *sizesInfo {
	n := make([]int, len(names))
	for _, k := range index {
		n[k]++
	}
	return &sizesInfo{len(n), slices.Min(n), slices.Max(n)}
}

type rangeInfo struct {
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

func describe(d *data.Dataset) datasetInfo {
	info := datasetInfo{
		Name: d.Name, Rows: d.X.Rows(), Features: d.X.Cols(),
		Stored: d.X.NNZ(), Sparse: data.IsSparse(d.X),
		LabelOf: d.LabelOf, Steps: d.Steps, SHA256: d.Fingerprint(),
		Notes: d.Notes,
	}
	if d.Label != nil {
		info.Classes = sizesOf(d.Label, d.Classes)
	}
	if d.Group != nil {
		info.Groups = sizesOf(d.Group, d.Groups)
	}
	if d.Regression() {
		info.Targets = &rangeInfo{slices.Min(d.Target),
			slices.Max(d.Target), stat.Mean(d.Target, nil)}
	}
	return info
}

type dataImportCmd struct {
	File      string   `arg:"" help:"File of the dataset."`
	Out       string   `required:"" type:"path" help:"File to write, whose name ends in .npz, or - for stdout."`
	Step      []string `help:"Steps to apply, in this order: tfidf, unit, standardise, or ridgeN, such as ridge1000, which keeps the N features most important to ridge regression. Steps are fitted on all rows; l2mt problems sample --prepare fits them on training rows alone."`
	readFlags `embed:""`
}

func (c *dataImportCmd) Run(e *env) error {
	d, err := c.read(e, c.File)
	if err != nil {
		return err
	}
	for _, kind := range c.Step {
		step, err := fitStep(e, kind, d)
		if err != nil {
			return err
		}
		d.X, err = step.Apply(d.X)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		d.Steps = append(d.Steps, step.Kind)
		if d.Features != nil {
			d.Features = step.Names(d.Features)
		}
	}
	if c.Out == "-" {
		return format.WriteNPZ(e.stdout, d)
	}
	if err := apart(c.Out, false, c.File); err != nil {
		return err
	}
	if err := format.Write(c.Out, d); err != nil {
		return err
	}
	d.Name = c.Out
	return e.print(describe(d), "dataset")
}

// fitStep fits a step that has a name to a dataset.
func fitStep(e *env, kind string, d *data.Dataset) (view.Step, error) {
	number, ridge := strings.CutPrefix(kind, "ridge")
	if !ridge {
		return view.Fit(kind, d.X)
	}
	k, err := strconv.Atoi(number)
	if err != nil {
		return view.Step{}, errUsage.Errorf("--step=%s: ridge needs the number of features to keep, as in ridge1000", kind)
	}
	return multitask.SelectByRidge(e, d, k, runtime.GOMAXPROCS(0))
}
