// Package report gathers what commands wrote into one page.
package report

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/cmd/l2mt/internal/sweep"
	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/files"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model"
)

// File is the page that Write writes into the directory.
const File = "report.html"

//go:embed report.html.tmpl
var text string

// Write gathers what commands wrote into a directory and the folders in it, and
// writes the page there. It returns the path.
func Write(dir string) (string, error) {
	r := &report{Title: filepath.Base(dir), Versions: run.CurrentVersions()}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(path, sweep.MarkFile)); err == nil && path != dir {
			return fs.SkipDir // what sweeps share is told by their results
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return r.add(path, name)
	})
	if err == nil {
		err = r.drawMaps()
	}
	if err != nil {
		return "", err
	}
	if r.empty() {
		return "", fmt.Errorf("%s: there is nothing to report: no table.json, sweep.json, result.json, %s, manifest.json or problem file, here or in a folder", dir, model.ConfigFile)
	}
	page, err := r.page()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, File)
	return path, files.WriteFile(path, page)
}

// report is what the page shows.
type report struct {
	Title       string
	Evaluations []table
	Sweeps      []swept
	Inferences  []inference
	Networks    []trained
	Experiences []collected
	Problems    []run.Summary
	Versions    run.Versions
}

type table struct {
	Name, Config string
	Table        *compare.Table
	Chart        template.HTML
}

type swept struct {
	Name, Config string
	*sweep.Result
	Chart, Case template.HTML
}

type inference struct {
	Name     string
	Result   *run.Inference
	Embedded *solve.Embedded // nil if it was not kept
	Map      template.HTML
}

type trained struct {
	Name, Config string
	Shape        string       // the network's own configuration
	Sum          string       // of its files
	Atlas        *solve.Atlas // nil if there is none
	Curves, Map  template.HTML
}

type collected struct {
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
		{sweep.File, r.addSweep},
		{"result.json", r.addInference},
		{model.ConfigFile, r.addNetwork}, // saved models have weights too
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

func (r *report) addTable(dir, name string) (err error) {
	t := table{Name: name}
	if t.Table, err = run.LoadTable(dir); err != nil {
		return err
	}
	if t.Config, err = readText(dir, run.UsedFile); err != nil {
		return err
	}
	t.Chart, err = inline(plot.Table(t.Table))
	r.Evaluations = append(r.Evaluations, t)
	return err
}

func (r *report) addSweep(dir, name string) (err error) {
	s := swept{Name: name}
	if s.Result, err = sweep.Load(dir); err != nil {
		return err
	}
	if s.Config, err = readText(dir, "experiment.toml"); err != nil {
		return err
	}
	if s.Chart, err = inline(s.Picture()); err != nil {
		return err
	}
	s.Case, err = inline(plot.Correlations(s.Correlations))
	r.Sweeps = append(r.Sweeps, s)
	return err
}

func (r *report) addInference(dir, name string) (err error) {
	i := inference{Name: name}
	if i.Result, i.Embedded, err = run.LoadInference(dir); err != nil {
		return err
	}
	i.Map, err = inline(plot.Correlations(i.Result.Correlations()))
	r.Inferences = append(r.Inferences, i)
	return err
}

func (r *report) addNetwork(dir, name string) error {
	n := trained{Name: name}
	var err error
	if _, err = model.Load(dir); err != nil {
		return err
	}
	if n.Sum, err = run.NetworkSum(dir); err != nil {
		return err
	}
	if n.Config, err = readText(dir, run.UsedFile); err != nil {
		return err
	}
	if n.Shape, err = readText(dir, model.ConfigFile); err != nil {
		return err
	}
	if n.Atlas, err = solve.LoadAtlas(dir); run.Optional(err) != nil {
		return err
	}
	metrics, err := run.LoadMetrics(dir)
	if run.Optional(err) != nil {
		return err
	}
	if metrics != nil {
		if n.Curves, err = inline(plot.Training(metrics)); err != nil {
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
		var embedded []solve.Embedded
		for _, x := range r.Inferences {
			if x.Embedded != nil && x.Result.Network == n.Sum {
				embedded = append(embedded, *x.Embedded)
			}
		}
		var err error
		n.Map, err = inline(plot.Embedding(n.Atlas, embedded...))
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
	r.Experiences = append(r.Experiences, collected{name, text, store.Manifest, stats})
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
		r.Problems = append(r.Problems, run.Summarise(filepath.Join(name, file), f))
	}
	return nil
}

// readText reads a file to be shown as it is; it is empty if there is none.
func readText(dir, name string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	return string(raw), run.Optional(err)
}

// inline is what a function that plots returned, for the page.
func inline(p *plot.Picture, err error) (template.HTML, error) {
	if err != nil {
		return "", err
	}
	return p.Inline()
}

func (r *report) page() ([]byte, error) {
	t, err := template.New("report").Funcs(template.FuncMap{
		"decimals": run.Decimals,
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
	}).Parse(text)
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
