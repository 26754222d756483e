package report

import (
	"fmt"
	"html/template"
	"math"
	"path/filepath"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/model/saved"
)

// fit is a fitted model with the report of its fit.
type fit struct {
	Report map[string]any // as in its file
	Most   float64        // the largest error drawn
	Maps   []plot.Correlation
	// Columns are the features that count most, where two classes or numbers are predicted, and
	// Largest is the largest weight of a task for a standard deviation of any.
	Columns []run.Weight
	Largest float64
	// Curves are those of the columns that bend, Importance that of a kernel's columns.
	Curves     []plot.Curve
	Importance []run.Importance
}

// mostColumns bounds the columns that are shown, mostCurves those that are drawn, and mostDrawn
// the tasks of a heat map.
const (
	mostColumns = 15
	mostCurves  = 6
	mostDrawn   = 300
)

func readFit(dir string) (any, error) {
	f := &fit{}
	if err := run.LoadJSON(filepath.Join(dir, run.FitFile), &f.Report); err != nil {
		return nil, err
	}
	m, err := saved.Load(dir)
	if err != nil {
		return nil, err
	}
	tasks, _ := f.Report["tasks"].([]any)
	for _, t := range tasks {
		by, _ := t.(map[string]any)["by"].(map[string]any)
		for _, score := range by {
			v, _ := score.(map[string]any)["error"].(float64)
			f.Most = max(f.Most, v)
		}
	}
	if unclear, _ := f.Report["correlation_unclear"].(bool); !unclear && len(m.Tasks) > 1 && len(m.Tasks) <= mostDrawn {
		f.Maps = []plot.Correlation{{Title: "Task correlations", Tasks: m.TaskNames(), Correlation: run.Correlation(m.Omega)}}
	}
	if f.Curves, err = run.Curves(m); err == nil {
		f.Importance, err = run.Importances(m)
	}
	if err != nil {
		return nil, err
	}
	if m.Classes == nil && f.Curves == nil && f.Importance == nil {
		f.Columns = run.Weights(m, 0, saved.Average)
		for _, w := range f.Columns {
			for _, v := range w.Tasks {
				f.Largest = max(f.Largest, math.Abs(w.Scaled(v)))
			}
		}
	}
	f.Columns = f.Columns[:min(len(f.Columns), mostColumns)]
	f.Curves = f.Curves[:min(len(f.Curves), mostCurves)]
	f.Importance = f.Importance[:min(len(f.Importance), mostColumns)]
	return f, nil
}

// dot is a mark at a share of a track, or nothing where there is no number.
func dot(class string, v any, of float64) template.HTML {
	x, ok := v.(float64)
	if !ok || of == 0 {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<i class="%s" style="left:%.2f%%"></i>`, class, 100*x/of))
}

// number is a number of four digits, or a dash.
func number(v any) string {
	switch v := v.(type) {
	case float64:
		return run.Number(v)
	case string: // infinite
		return v
	}
	return "-"
}
