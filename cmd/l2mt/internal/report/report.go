// Package report gathers what commands wrote into one page.
package report

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data/files"
	"l2mt/infer/compare"
	"l2mt/model"
)

// File is the page that Write writes into the directory.
const File = "report.html"

//go:embed report.html.tmpl
var text string

// Write gathers what commands wrote into a directory and the folders in it, and
// writes the page there. It returns the path.
func Write(dir string) (string, error) {
	r := &report{Title: filepath.Base(dir), Parts: map[string][]entry{}, Versions: run.CurrentVersions()}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), run.SweepFile)); err == nil && entry.Name() == run.SweepRuns {
			return fs.SkipDir // its points have what came of them
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return r.add(path, name)
	})
	if err != nil {
		return "", err
	}
	if len(r.Parts) == 0 {
		return "", fmt.Errorf("%s: there is nothing to report: no table.json, %s, %s or %s, here or in a folder", dir, run.SweepFile, run.FitFile, model.ConfigFile)
	}
	page, err := r.page()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, File)
	return path, files.WriteFile(path, page)
}

// report is what the page shows: what folders have, by what that is.
type report struct {
	Title    string
	Parts    map[string][]entry
	Versions run.Versions
}

// entry is what one folder has.
type entry struct {
	Name, Dir string
	Of        any
}

// add takes in what one directory holds.
func (r *report) add(dir, name string) error {
	for _, part := range []struct {
		what, file string
		read       func(dir string) (any, error)
	}{
		{"fits", run.FitFile, readFit},
		{"evaluations", "table.json", func(dir string) (any, error) { return run.LoadTable(dir) }},
		{"sweeps", run.SweepFile, readSweep},
		{"networks", model.ConfigFile, func(dir string) (any, error) { return model.Load(dir) }}, // saved models have weights too
	} {
		if _, err := os.Stat(filepath.Join(dir, part.file)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		of, err := part.read(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		r.Parts[part.what] = append(r.Parts[part.what], entry{name, dir, of})
	}
	return nil
}

func readSweep(dir string) (any, error) {
	s := new(run.Sweep)
	return s, run.LoadJSON(filepath.Join(dir, run.SweepFile), s)
}

// curves are those of the training of a network, if they are there.
func curves(n entry) (template.HTML, error) {
	var metrics run.Metrics
	if err := run.LoadJSON(filepath.Join(n.Dir, run.MetricsFile), &metrics); err != nil {
		return "", run.Optional(err)
	}
	return inline(plot.Training(metrics))
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
		"comparison": run.Comparison,
		"pairs":      run.Pairs,
		"last":       func(row []string) string { return row[len(row)-1] },
		"others":     func(row []string) []string { return row[:len(row)-1] },
		"ours":       func(title string) bool { return strings.HasPrefix(title, "L2MT") },
		"table":      func(t *compare.Table) (template.HTML, error) { return inline(plot.Table(t)) },
		"sweep":      func(s *run.Sweep) (template.HTML, error) { return inline(plot.Errors(s.Title, s.Axis, s.Points)) },
		"maps":       func(all []plot.Correlation) (template.HTML, error) { return inline(plot.Correlations(all)) },
		"curves":     curves,
		"bend":       func(c plot.Curve) (template.HTML, error) { return inline(c.Draw()) },
		"dot":        dot,
		"weight":     func(class string, v, largest float64) template.HTML { return dot(class, v+largest, 2*largest) },
		"number":     number,
		"picture": func(title string, p template.HTML) any {
			return struct {
				Title   string
				Picture template.HTML
			}{title, p}
		},
		// A file is shown unchanged, if there is one.
		"file": func(title string, of entry, name string) (any, error) {
			text, err := os.ReadFile(filepath.Join(of.Dir, name))
			return struct{ Title, Text string }{title, string(text)}, run.Optional(err)
		},
	}).Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, r)
	return b.Bytes(), err
}
