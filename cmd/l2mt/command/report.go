package command

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/files"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model"
)

// reportFile is the page that l2mt report writes into the directory.
const reportFile = "report.html"

//go:embed report.html.tmpl
var reportTemplate string

type reportCmd struct {
	Dir string `arg:"" type:"existingdir" help:"Directory with what the other commands wrote, itself or in folders: evaluations, sweeps, inferences, networks, experience, problems."`
}

func (c *reportCmd) Run(e *env) error {
	r := &report{Title: filepath.Base(c.Dir), Versions: currentVersions()}
	err := filepath.WalkDir(c.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(path, markFile)); err == nil && path != c.Dir {
			return fs.SkipDir // what sweeps share is told by their results
		}
		name, err := filepath.Rel(c.Dir, path)
		if err != nil {
			return err
		}
		return r.add(path, name)
	})
	if err == nil {
		err = r.drawMaps()
	}
	if err != nil {
		return err
	}
	if r.empty() {
		return fmt.Errorf("%s: there is nothing to report: no table.json, sweep.json, result.json, %s, manifest.json or problem file, here or in a folder", c.Dir, model.ConfigFile)
	}
	page, err := r.page()
	if err != nil {
		return err
	}
	path := filepath.Join(c.Dir, reportFile)
	if err := files.WriteFile(path, page); err != nil {
		return err
	}
	return e.print(map[string]string{"report": path}, func(w io.Writer) { fmt.Fprintln(w, path) })
}

// report is what the page shows.
type report struct {
	Title       string
	Evaluations []reportTable
	Sweeps      []reportSweep
	Inferences  []reportInference
	Networks    []reportNetwork
	Experiences []reportExperience
	Problems    []problemSummary
	Versions    versions
}

type reportTable struct {
	Name, Config string
	Table        compare.Table
	Chart        template.HTML
}

type reportSweep struct {
	Name, Config string
	*sweepResult
	Chart, Case template.HTML
}

type reportInference struct {
	Name   string
	Result inferred
	Place  *solve.Place // nil if it was not kept
	Map    template.HTML
}

type reportNetwork struct {
	Name, Config string
	Shape        string       // the network's own configuration
	Sum          string       // of its files
	Atlas        *solve.Atlas // nil if there is none
	Curves, Map  template.HTML
}

type reportExperience struct {
	Name, Config string
	Manifest     experience.Manifest
	Stats        []experience.SourceStats
}

func (r *report) empty() bool {
	return len(r.Evaluations)+len(r.Sweeps)+len(r.Inferences)+len(r.Networks)+len(r.Experiences)+len(r.Problems) == 0
}

// add takes in what one directory holds.
func (r *report) add(dir, name string) error {
	for _, part := range []struct {
		file string
		read func(dir, name string) error
	}{
		{"table.json", r.addTable},
		{sweepFile, r.addSweep},
		{"result.json", r.addInference},
		{model.WeightsFile, r.addNetwork},
		{"manifest.json", r.addExperience},
		{"train.json", r.addProblems},
	} {
		_, err := os.Stat(filepath.Join(dir, part.file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = part.read(dir, name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

func (r *report) addTable(dir, name string) error {
	t := reportTable{Name: name}
	if err := loadJSON(filepath.Join(dir, "table.json"), &t.Table); err != nil {
		return err
	}
	var seconds map[string]float64
	if err := optional(loadJSON(filepath.Join(dir, secondsFile), &seconds)); err != nil {
		return err
	}
	for i, row := range t.Table.Rows {
		t.Table.Rows[i].Seconds = seconds[row.Title]
	}
	var err error
	if t.Config, err = readText(dir, usedFile); err != nil {
		return err
	}
	t.Chart, err = inline(plotTable(&t.Table))
	r.Evaluations = append(r.Evaluations, t)
	return err
}

func (r *report) addSweep(dir, name string) error {
	s := reportSweep{Name: name, sweepResult: &sweepResult{}}
	if err := loadJSON(filepath.Join(dir, sweepFile), s.sweepResult); err != nil {
		return err
	}
	var err error
	if s.Config, err = readText(dir, "experiment.toml"); err != nil {
		return err
	}
	if s.Chart, err = inline(plotSweep(s.sweepResult)); err != nil {
		return err
	}
	if len(s.Correlations) > 0 {
		s.Case, err = inline(plotCase(s.sweepResult))
	}
	r.Sweeps = append(r.Sweeps, s)
	return err
}

func (r *report) addInference(dir, name string) error {
	i := reportInference{Name: name}
	if err := loadJSON(filepath.Join(dir, "result.json"), &i.Result); err != nil {
		return err
	}
	if err := optional(loadJSON(filepath.Join(dir, secondsFile), &i.Result.Seconds)); err != nil {
		return err
	}
	if err := optional(loadJSON(filepath.Join(dir, embeddingFile), &i.Place)); err != nil {
		return err
	}
	var err error
	i.Map, err = inline(plotCorrelations(i.Result.Tasks, i.Result.views()))
	r.Inferences = append(r.Inferences, i)
	return err
}

func (r *report) addNetwork(dir, name string) error {
	n := reportNetwork{Name: name}
	var err error
	if _, err = model.Load(dir); err != nil {
		return err
	}
	if n.Sum, err = networkSum(dir); err != nil {
		return err
	}
	if n.Config, err = readText(dir, usedFile); err != nil {
		return err
	}
	if n.Shape, err = readText(dir, model.ConfigFile); err != nil {
		return err
	}
	if n.Atlas, err = solve.LoadAtlas(dir); optional(err) != nil {
		return err
	}
	metrics, err := readMetrics(dir)
	if optional(err) != nil {
		return err
	}
	if metrics != nil {
		if n.Curves, err = inline(plotTraining(metrics)); err != nil {
			return err
		}
	}
	r.Networks = append(r.Networks, n)
	return nil
}

// drawMaps draws the tasks of the inferences among those that their networks
// were trained on.
func (r *report) drawMaps() error {
	for i := range r.Networks {
		n := &r.Networks[i]
		if n.Atlas == nil {
			continue
		}
		var places []solve.Place
		for _, x := range r.Inferences {
			if x.Place != nil && x.Result.Network == n.Sum {
				places = append(places, *x.Place)
			}
		}
		var err error
		n.Map, err = inline(plotEmbedding(n.Atlas, places...))
		if err != nil && !errors.Is(err, data.ErrInvalid) { // too few tasks for a map
			return fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	return nil
}

func (r *report) addExperience(dir, name string) error {
	store, err := experience.Open(dir)
	if err != nil {
		return err
	}
	text, err := readText(dir, "manifest.json")
	if err != nil {
		return err
	}
	stats, err := store.Stats()
	r.Experiences = append(r.Experiences, reportExperience{name, text, store.Manifest(), stats})
	return err
}

func (r *report) addProblems(dir, name string) error {
	for _, file := range []string{"train.json", "test.json"} {
		path := filepath.Join(dir, file)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f, err := data.LoadProblems(path)
		if err != nil {
			return err
		}
		r.Problems = append(r.Problems, summarise(filepath.Join(name, file), f))
	}
	return nil
}

// optional forgives that a file is not there.
func optional(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readText reads a file to be shown as it is; it is empty if there is none.
func readText(dir, name string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	return string(raw), optional(err)
}

// inline is what a function that plots returned, for the page.
func inline(p *picture, err error) (template.HTML, error) {
	if p == nil || err != nil {
		return "", err
	}
	return p.inline()
}

func loadJSON(path string, v any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := parseJSON(raw, v); err != nil {
		return fmt.Errorf("%s: %w: %w; remove it, and the command that wrote it makes it again", path, data.ErrFormat, err)
	}
	return nil
}

// parseJSON reads what a command wrote. Values that have a check must pass it,
// because the file may be damaged or made up.
func parseJSON(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return err
	}
	if c, ok := v.(interface{ check() error }); ok {
		return c.check()
	}
	return nil
}

func (r *report) page() ([]byte, error) {
	t, err := template.New("report").Funcs(template.FuncMap{
		"decimals": decimals,
		"percent":  func(f compare.Float) string { return percent(float64(f)) },
		"short":    func(v float64) string { return fmt.Sprintf("%.4f", v) },
		"p":        func(v float64) string { return fmt.Sprintf("%.2g", v) },
		"l2mt":     func(name string) bool { return name == compare.L2MT },
		"says": func(says string, p template.HTML) any {
			return struct {
				Says    string
				Picture template.HTML
			}{says, p}
		},
		"text": func(says, text string) any { return struct{ Says, Text string }{says, text} },
		"join": strings.Join,
	}).Parse(reportTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, r); err != nil {
		return nil, err
	}
	return slices.Clip(b.Bytes()), nil
}

func percent(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*v)
}
