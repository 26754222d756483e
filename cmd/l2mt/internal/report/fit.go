package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"path/filepath"

	"gonum.org/v1/gonum/floats"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/cmd/l2mt/internal/run"
	"l2mt/model/saved"
)

// fit is a fitted model with the report of its fit.
type fit struct {
	Report map[string]any // as in its file
	Most   float64        // the largest error drawn
	Maps   []plot.Correlation
	// Columns are the features that count most, where two classes or numbers are predicted.
	Columns []column
	// Curves are those of the columns that bend, Importance that of a kernel's columns.
	Curves     []plot.Curve
	Importance []run.Importance
}

// column has the mean of the weights of a feature, of a standard deviation of it where the
// fit was standardised. At and Tasks are that mean and the weights of the tasks as shares of
// the largest that there is.
type column struct {
	Name       string
	Shared, At float64
	Tasks      []float64
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
		var names []string
		for _, t := range m.Tasks {
			names = append(names, t.Name)
		}
		f.Maps = []plot.Correlation{{Title: "Task correlations", Tasks: names, Correlation: run.Correlation(m.Omega)}}
	}
	if f.Curves, err = run.Curves(m); err == nil {
		f.Importance, err = run.Importances(m)
	}
	if err != nil {
		return nil, err
	}
	if m.Classes == nil && f.Curves == nil && f.Importance == nil {
		f.Columns = columns(m)
	}
	f.Curves = f.Curves[:min(len(f.Curves), mostCurves)]
	f.Importance = f.Importance[:min(len(f.Importance), mostColumns)]
	return f, nil
}

// columns are the features that count most.
func columns(m *saved.Fit) (all []column) {
	weights, largest := run.Weights(m, 0, saved.Average), 0.0
	for _, w := range weights {
		for _, v := range w.Tasks {
			largest = max(largest, math.Abs(v*w.Deviation))
		}
	}
	for _, w := range weights[:min(len(weights), mostColumns)] {
		floats.Scale(w.Deviation/cmp.Or(largest, 1), w.Tasks)
		shared := w.Shared * w.Deviation
		all = append(all, column{w.Feature, shared, shared / cmp.Or(largest, 1), w.Tasks})
	}
	return all
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
