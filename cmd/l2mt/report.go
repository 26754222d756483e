package main

import (
	"bytes"
	_ "embed"
	"encoding/base64"
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
	"l2mt/data/atomic"
	"l2mt/data/experience"
	"l2mt/infer"
	"l2mt/model"
)

// reportFile is the page that l2mt report writes into the directory.
const reportFile = "report.html"

//go:embed report.html.tmpl
var reportTemplate string

type reportCmd struct {
	Dir string `arg:"" type:"existingdir" help:"Directory with what the other commands wrote, itself or in folders: evaluations, inferences, networks, experience, problems."`
}

func (c *reportCmd) Run(e *env) error {
	r := &report{Title: filepath.Base(c.Dir), Versions: currentVersions()}
	err := filepath.WalkDir(c.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(c.Dir, path)
		if err != nil {
			return err
		}
		return r.add(path, name)
	})
	if err != nil {
		return err
	}
	if r.empty() {
		return fmt.Errorf("%s: there is nothing to report: no table.json, result.json, %s, manifest.json or problem file, here or in a folder", c.Dir, model.ConfigFile)
	}
	page, err := r.page()
	if err != nil {
		return err
	}
	path := filepath.Join(c.Dir, reportFile)
	if err := atomic.WriteFile(path, page); err != nil {
		return err
	}
	return e.print(map[string]string{"report": path}, func(w io.Writer) { fmt.Fprintln(w, path) })
}

// report is what the page shows.
type report struct {
	Title       string
	Evaluations []reportTable
	Inferences  []reportInference
	Networks    []reportNetwork
	Experiences []reportExperience
	Problems    []problemSummary
	Versions    versions
}

type reportTable struct {
	Name  string
	Table infer.Table
	Chart template.URL
}

type reportInference struct {
	Name   string
	Result inferred
	Map    template.URL
}

type reportNetwork struct {
	Name    string
	Network *model.Network
	Config  string
	Curves  template.URL
}

type reportExperience struct {
	Name     string
	Manifest experience.Manifest
	Stats    []experience.SourceStats
}

func (r *report) empty() bool {
	return len(r.Evaluations)+len(r.Inferences)+len(r.Networks)+len(r.Experiences)+len(r.Problems) == 0
}

// add takes in what one directory holds.
func (r *report) add(dir, name string) error {
	for _, part := range []struct {
		file string
		read func(dir, name string) error
	}{
		{"table.json", r.addTable},
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
	var err error
	t.Chart, err = picture(filepath.Join(dir, "table.png"))
	r.Evaluations = append(r.Evaluations, t)
	return err
}

func (r *report) addInference(dir, name string) error {
	i := reportInference{Name: name}
	if err := loadJSON(filepath.Join(dir, "result.json"), &i.Result); err != nil {
		return err
	}
	var err error
	i.Map, err = picture(filepath.Join(dir, "correlation.png"))
	r.Inferences = append(r.Inferences, i)
	return err
}

func (r *report) addNetwork(dir, name string) error {
	n := reportNetwork{Name: name}
	var err error
	if n.Network, err = model.Load(dir); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(n.Network.Config, "", "  ")
	if err != nil {
		return err
	}
	n.Config = string(raw)
	if n.Curves, err = picture(filepath.Join(dir, "training.png")); err != nil {
		return err
	}
	r.Networks = append(r.Networks, n)
	return nil
}

func (r *report) addExperience(dir, name string) error {
	store, err := experience.Open(dir)
	if err != nil {
		return err
	}
	stats, err := store.Stats()
	r.Experiences = append(r.Experiences, reportExperience{name, store.Manifest(), stats})
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

// picture is a PNG as a data URL, so that the page needs no other file; it is
// empty if there is none.
func picture(path string) (template.URL, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(raw)), err
}

func (r *report) page() ([]byte, error) {
	t, err := template.New("report").Funcs(template.FuncMap{
		"decimals": decimals,
		"percent":  func(f infer.Float) string { return percent(float64(f)) },
		"shade":    shade,
		"short":    func(v float64) string { return fmt.Sprintf("%.4f", v) },
		"p":        func(v float64) string { return fmt.Sprintf("%.2g", v) },
		"l2mt":     func(row infer.Row) bool { return row.Model == infer.L2MT },
		"join":     strings.Join,
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

// shade is the background of a correlation: red for 1, blue for -1.
func shade(v float64) template.CSS {
	hue := 215
	if v > 0 {
		hue = 10
	}
	return template.CSS(fmt.Sprintf("background: hsl(%d 75%% 50%% / %.2f)", hue, 0.75*math.Min(1, math.Abs(v))))
}
