package command

import (
	"cmp"
	_ "embed"
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
	execution "text/template"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data/files"
	"l2mt/data/table"
	"l2mt/infer/report"
	"l2mt/model"
	"l2mt/model/saved"
)

type reportCmd struct {
	Dir string `arg:"" type:"path" help:"Directory that holds saved models, evaluations, sweeps or networks, directly or in folders."`
}

//go:embed report.html.tmpl
var reportText string

// page has the parts that report shows.
type page struct {
	Title    string
	Parts    map[string][]content // by the file that marks a folder with such a part
	Versions map[string]string
}

// content is what one folder holds.
type content struct {
	Name, Dir string
	Of        any
}

// Run gathers the results of commands in the directory and its folders, and writes the page there.
func (c *reportCmd) Run(e *env) error {
	p := page{filepath.Base(c.Dir), map[string][]content{}, versions()}
	err := filepath.WalkDir(c.Dir,
		func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			dir := filepath.Dir(path)
			if entry.IsDir() {
				if strings.HasPrefix(entry.Name(), ".") && path != c.Dir {
					return fs.SkipDir // a model that is not whole yet
				}
				err := files.Settle(path)
				if err != nil || entry.Name() != sweepRuns {
					return err
				}
				rows, err := trainings(path)
				if err != nil {
					return err
				}
				if len(rows) > 0 {
					p.Parts[sweepRuns] = append(p.Parts[sweepRuns], content{filepath.Base(dir), dir, rows})
				}
				if _, err := os.Stat(filepath.Join(dir, sweepFile)); err == nil {
					return fs.SkipDir // its points have the results
				}
				return nil
			}
			var value any
			switch entry.Name() {
			case saved.ReportFile:
				value, err = openFit(dir)
			case tableFile:
				value, err = loadTable(dir)
			case sweepFile:
				value = new(swept)
				err = loadJSON(path, value)
			case model.ConfigFile: // saved models have weights too
				value, err = model.Load(dir)
			default:
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", dir, err)
			}
			name, err := filepath.Rel(c.Dir, dir)
			p.Parts[entry.Name()] = append(p.Parts[entry.Name()],
				content{name, dir, value})
			return err
		})
	if err == nil && len(p.Parts) == 0 {
		err = fmt.Errorf("%s: there is nothing to report: no %s, %s, %s or %s, here or in a folder",
			c.Dir, tableFile, sweepFile, saved.ReportFile, model.ConfigFile)
	}
	if err != nil {
		return err
	}
	for _, parts := range p.Parts {
		slices.SortStableFunc(parts, func(a, b content) int {
			return table.CompareNames(a.Name, b.Name)
		})
	}
	path := filepath.Join(c.Dir, reportFile)
	if err := files.Write(path, p.write); err != nil {
		return err
	}
	return e.print(map[string]string{"report": path}, "page")
}

// fitPart is a fitted model with the report of its fit.
type fitPart struct {
	*report.Model
	Most float64 // the largest error drawn
	Maps []plot.Correlation
}

// mostCurves bounds the columns drawn, and mostDrawn the tasks of a heat map.
const (
	mostCurves = 6
	mostDrawn  = 300
)

func openFit(dir string) (*fitPart, error) {
	fit, err := saved.Load(dir)
	if err != nil {
		return nil, err
	}
	shown, err := report.Explain(fit, mostCurves)
	if err != nil {
		return nil, err
	}
	if fit.Report == nil {
		return nil, fmt.Errorf("%s was not written with the model in %s; fit again",
			saved.ReportFile, saved.File)
	}
	sets := len(shown.Outcome.Points)
	if sets > 1 && sets != len(shown.Classes) || sets > report.MostSets {
		return nil, fmt.Errorf("%s has points of %d classes, and the model has %d; fit again",
			saved.ReportFile, sets, len(shown.Classes))
	}
	f := &fitPart{Model: shown}
	r := &shown.Outcome
	r.Recipe = shown.Recipe
	gain := func(t report.Task) float64 {
		return r.Error(t, report.ByModel) - r.Error(t, report.BySTL)
	}
	slices.SortStableFunc(r.Tasks, func(a, b report.Task) int {
		return cmp.Compare(gain(a), gain(b))
	})
	for _, t := range r.Tasks {
		for _, by := range []string{report.ByModel,
			report.BySTL, report.ByPooled} {
			v := r.Error(t, by)
			if v > f.Most { // NaN is not
				f.Most = v
			}
		}
	}
	tasks := relatedOf(shown)
	if len(tasks.Tasks) <= mostDrawn && len(tasks.Pairs) > 0 && !tasks.Same {
		tasks.Title = "Task correlations"
		f.Maps = []plot.Correlation{tasks.Correlation}
	}
	return f, nil
}

// dot is a mark at a share of a track, within it, or nothing where there is no number.
func dot(class string, x, width float64) template.HTML {
	if math.IsNaN(x) || width == 0 {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<i class="%s" style="left:%.2f%%"></i>`, class,
		100*max(0, min(x/width, 1))))
}

// trainings reads the finished runs of a sweep, if there are several.
func trainings(dir string) ([]*seeds, error) {
	done, _ := fs.Glob(os.DirFS(dir), "*/network/"+secondsFile) // the pattern is right
	if len(done) < 2 {
		return nil, nil
	}
	for i, name := range done {
		done[i] = filepath.Join(dir, filepath.Dir(name))
	}
	return readRuns(done)
}

// curves draws the training of a network, if its metrics are there.
func curves(n content) (*plot.Picture, error) {
	metrics, err := loadMetrics(n.Dir)
	return plot.Training(metrics), optional(err)
}

func (p page) write(w io.Writer) error {
	t := template.Must(template.New("report").Funcs(words()).Funcs(template.FuncMap{
		"rows": rows,
		"said": said,
		"ours": func(title string) bool {
			return strings.HasPrefix(title, "L2MT") || strings.HasPrefix(title, "*")
		},
		"table":      plot.Table,
		"maps":       plot.Correlations,
		"curves":     curves,
		"courses":    drawRuns,
		"bend":       plot.Bend,
		"accuracy":   plot.Accuracy,
		"calibrated": plot.Calibration,
		"dot":        dot,
		"tied":       tied,
		"picture": func(title string, p *plot.Picture) (any, error) {
			svg, err := p.Inline()
			return map[string]any{
				"Title":   title,
				"Picture": svg,
			}, err
		},
		// A file is shown unchanged, if there is one.
		"file": func(title string, folder content, name string) (any, error) {
			text, err := os.ReadFile(filepath.Join(folder.Dir, name))
			return map[string]string{
				"Title": title,
				"Text":  string(text),
			}, optional(err)
		},
	}).Parse(reportText))
	err := t.Execute(w, p)
	var trace execution.ExecError
	if errors.As(err, &trace) { // people can mend its cause alone
		return cmp.Or(errors.Unwrap(trace.Err), err)
	}
	return err
}
