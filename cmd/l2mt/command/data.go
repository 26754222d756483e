package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/data/format"
)

type dataCmd struct {
	Info     dataInfoCmd     `cmd:"" help:"Describe datasets."`
	Import   dataImportCmd   `cmd:"" help:"Convert a dataset, with every option of its format, into a file that needs none."`
	Features dataFeaturesCmd `cmd:"" help:"Make a dataset of the features that a network finds in pictures."`
	Select   dataSelectCmd   `cmd:"" help:"Keep the features that ridge regression finds most important. Weigh counts first (data import --step tfidf --step unit): it is faster and better."`
}

// readFlags say how to read a dataset where the file itself does not.
type readFlags struct {
	Format       format.Format `help:"svmlight, csv, tsv, npz or folder, if the name does not say."`
	Kind         data.Kind     `help:"classification or regression, if the labels do not say."`
	Header       format.Header `help:"Whether a table has a header: yes or no."`
	Label        string        `help:"Column or array of the labels: a name, or a number from 0."`
	Target       string        `help:"Which of several targets: a name, or a number from 0."`
	Group        string        `help:"Column or array of the groups (tasks)."`
	Ignore       []string      `help:"Columns of a table to leave out."`
	ClassNames   string        `type:"existingfile" help:"File with the names of the classes, one a line."`
	FeatureNames string        `type:"existingfile" help:"File with the names of the features, one a line."`
	SkipHeaders  bool          `help:"Texts: pass over everything up to the first empty line (mail, news)."`
	StopWords    bool          `help:"Texts: keep the words that texts of any subject are full of (the, of, and, ...)."`
}

func (f *readFlags) options() format.Options {
	return format.Options{
		Format: f.Format, Kind: f.Kind, Header: f.Header, Label: f.Label, Target: f.Target, Group: f.Group,
		Ignore: f.Ignore, ClassNames: f.ClassNames, FeatureNames: f.FeatureNames,
		Text: data.TextOptions{SkipHeaders: f.SkipHeaders, KeepStopWords: f.StopWords},
	}
}

func (f *readFlags) read(path string) (*data.Dataset, error) {
	if path == digits.Name {
		return digits.Load()
	}
	return format.Read(path, f.options())
}

type dataInfoCmd struct {
	Files     []string `arg:"" optional:"" name:"file" help:"Files or folders, or the embedded \"digits\" (the default)."`
	readFlags `embed:""`
}

func (c *dataInfoCmd) Run(e *env) error {
	if len(c.Files) == 0 {
		c.Files = []string{digits.Name}
	}
	var all []datasetInfo
	for _, path := range c.Files {
		d, err := c.read(path)
		if err != nil {
			return err
		}
		all = append(all, describe(d))
	}
	return e.print(all, func(w io.Writer) {
		for i, info := range all {
			if i > 0 {
				fmt.Fprintln(w)
			}
			info.write(w)
		}
	})
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
}

type sizesInfo struct {
	Count int `json:"count"`
	Min   int `json:"min"`
	Max   int `json:"max"`
}

type rangeInfo struct {
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

func describe(d *data.Dataset) datasetInfo {
	sparse := data.IsSparse(d.X)
	info := datasetInfo{
		Name: d.Name, Rows: d.X.Rows(), Features: d.X.Cols(), Stored: d.X.NNZ(), Sparse: sparse, LabelOf: d.LabelOf, SHA256: d.Fingerprint(),
	}
	if d.Label != nil {
		info.Classes = sizes(d.ClassSizes())
	}
	if d.Group != nil {
		info.Groups = sizes(d.GroupSizes())
	}
	if d.Regression() {
		info.Targets = &rangeInfo{Min: slices.Min(d.Target), Max: slices.Max(d.Target)}
		for _, t := range d.Target {
			info.Targets.Mean += t / float64(len(d.Target))
		}
	}
	for _, s := range d.Steps {
		info.Steps = append(info.Steps, s.Kind)
	}
	return info
}

func sizes(size []int) *sizesInfo {
	return &sizesInfo{Count: len(size), Min: slices.Min(size), Max: slices.Max(size)}
}

func (info datasetInfo) write(w io.Writer) {
	t := run.Fields(w)
	defer t.Flush()
	storage := "dense"
	if info.Sparse {
		storage = fmt.Sprintf("%d nonzeros, %.3g %%", info.Stored, 100*float64(info.Stored)/(float64(info.Rows)*float64(info.Features)))
	}
	fmt.Fprintf(t, "name\t%s\n", info.Name)
	fmt.Fprintf(t, "rows\t%d\n", info.Rows)
	fmt.Fprintf(t, "features\t%d (%s)\n", info.Features, storage)
	info.Classes.write(t, "classes")
	if r := info.Targets; r != nil {
		fmt.Fprintf(t, "targets\t%.6g..%.6g, mean %.6g\n", r.Min, r.Max, r.Mean)
	}
	if info.LabelOf != "" {
		fmt.Fprintf(t, "label\t%s\n", info.LabelOf)
	}
	info.Groups.write(t, "groups")
	if len(info.Steps) > 0 {
		fmt.Fprintf(t, "steps\t%s\n", strings.Join(info.Steps, ", "))
	}
	fmt.Fprintf(t, "sha256\t%s\n", info.SHA256)
}

func (s *sizesInfo) write(w io.Writer, what string) {
	if s == nil {
		return
	}
	fmt.Fprintf(w, "%s\t%d, of %d..%d rows\n", what, s.Count, s.Min, s.Max)
}

// stepFlags are transformations of the features, in order.
type stepFlags struct {
	Step []string `help:"Steps to apply, in order: tfidf, unit, standardise. They are fitted on all rows; problems have --prepare for training rows alone."`
}

func (f *stepFlags) apply(d *data.Dataset) (*data.Dataset, error) {
	for _, kind := range f.Step {
		step, err := data.FitStep(kind, d.X)
		if err != nil {
			return nil, err
		}
		if d, err = d.With(step); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// keep applies steps to a dataset, writes and describes it.
func (e *env) keep(path string, d *data.Dataset, steps stepFlags) error {
	d, err := steps.apply(d)
	if err != nil {
		return err
	}
	if err := format.Write(path, d); err != nil {
		return err
	}
	d.Name = path
	info := describe(d)
	return e.print(info, info.write)
}

type dataImportCmd struct {
	File      string `arg:"" help:"File or folder."`
	Out       string `required:"" type:"path" help:"File to write, .npz."`
	MinClass  int    `help:"Drop classes with fewer rows."`
	MaxClass  int    `help:"Drop classes with more rows."`
	Words     bool   `help:"Drop features that are stop words or shorter than two letters by their names."`
	MinRows   int    `help:"Drop features that fewer rows have."`
	stepFlags `embed:""`
	readFlags `embed:""`
}

func (c *dataImportCmd) Run(e *env) error {
	d, err := c.read(c.File)
	if err != nil {
		return err
	}
	if c.MinClass > 0 || c.MaxClass > 0 {
		if d, err = data.FilterClasses(d, c.MinClass, c.MaxClass); err != nil {
			return err
		}
	}
	if c.Words && d.Features == nil {
		return fmt.Errorf("%w: --words looks at the names of the features, and %s has none; give them with --feature-names", errUsage, d.Name)
	}
	if c.Words || c.MinRows > 0 {
		var words []string
		if c.Words {
			words = d.Features
		}
		step, err := data.SelectTerms(d.X, words, c.MinRows)
		if err != nil {
			return err
		}
		if d, err = d.With(step); err != nil {
			return err
		}
	}
	return e.keep(c.Out, d, c.stepFlags)
}

type dataSelectCmd struct {
	File      string  `arg:"" help:"File or folder."`
	K         int     `default:"1000" help:"Number of features to keep."`
	Alpha     float64 `default:"1" help:"Strength of the ridge."`
	Out       string  `required:"" type:"path" help:"File to write, .npz."`
	stepFlags `embed:""`
}

func (c *dataSelectCmd) Run(e *env) error {
	d, err := digits.Open(c.File)
	if err != nil {
		return err
	}
	step, err := data.SelectByRidge(e, d, c.K, c.Alpha, e.reporter())
	if err != nil {
		return err
	}
	if d, err = d.With(step); err != nil {
		return err
	}
	return e.keep(c.Out, d, c.stepFlags)
}
