package command

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data/files"
	"l2mt/train"
)

type runsCmd struct {
	Dirs []string `arg:"" name:"dir" type:"existingdir" help:"Directories of networks that l2mt train wrote. Runs that differ in their seed alone make one row."`
}

// seeds are the runs that differ in their seed alone, a number for each.
type seeds struct {
	Settings []string      `json:"settings"`
	Dirs     []string      `json:"dirs"`
	Epochs   []int         `json:"best_epochs"`
	Found    []files.Float `json:"found"`
	Seconds  []files.Float `json:"seconds"`

	heldOut []string // checksums
	metrics [][]train.Metrics
}

// Name has the settings that tell the runs from others beside them.
func (s *seeds) Name() string {
	return strings.Join(s.Settings, ", ")
}

// readRuns reads trainings, and keeps the settings in which they differ.
func readRuns(dirs []string) (rows []*seeds, err error) {
	for _, dir := range dirs {
		var used usedRun
		var seconds map[string]files.Float
		metrics, err := loadMetrics(dir)
		err = errors.Join(err, loadJSON(filepath.Join(dir, usedFile), &used),
			optional(loadJSON(filepath.Join(dir, secondsFile), &seconds)))
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(rows, func(s *seeds) bool {
			return slices.Equal(s.Settings, used.settings())
		})
		if i < 0 {
			i = len(rows)
			rows = append(rows, &seeds{Settings: used.settings()})
		}
		best := metrics[train.Best(metrics)]
		s := rows[i]
		s.Dirs = append(s.Dirs, dir)
		s.Epochs = append(s.Epochs, best.Epoch)
		s.metrics = append(s.metrics, metrics)
		s.Found = append(s.Found, metrics[len(metrics)-1].Found)
		s.Seconds = append(s.Seconds, seconds["training"])
		s.heldOut = append(s.heldOut, used.HeldOut)
	}
	shared := map[string]int{} // by so many rows
	for _, s := range rows {
		for _, setting := range s.Settings {
			shared[setting]++
		}
	}
	for _, s := range rows {
		s.Settings = slices.DeleteFunc(s.Settings, func(setting string) bool {
			return shared[setting] == len(rows)
		})
	}
	return rows, nil
}

// drawRuns lays the curves of trainings over each other, for the page.
func drawRuns(rows []*seeds) *plot.Picture {
	var names []string
	var curves [][][]train.Metrics
	for _, s := range rows {
		names = append(names, s.Name())
		curves = append(curves, s.metrics)
	}
	return plot.Runs(names, curves)
}

func (c *runsCmd) Run(e *env) error {
	rows, err := readRuns(c.Dirs)
	if err != nil {
		return err
	}
	for _, s := range rows {
		if slices.Sort(s.heldOut); !slices.Equal(s.heldOut, rows[0].heldOut) {
			e.remark("warning: %s and %s were measured on different held-out problems, or with different seeds",
				rows[0].Dirs, s.Dirs)
		}
	}
	return e.print(rows, "runs")
}

// spread is a mean over seeds, with half the interval of 95 % where there are some.
func spread(numbers []files.Float) string {
	var x []float64
	for _, v := range numbers {
		x = append(x, float64(v))
	}
	mean, deviation := stat.MeanStdDev(x, nil)
	if len(x) < 2 || math.IsNaN(mean) {
		return decimals(mean)
	}
	return fmt.Sprintf("%.4f +- %.4f", mean,
		interval(deviation/math.Sqrt(float64(len(x))), len(x)))
}

// interval is half the interval of 95 % around a mean of n numbers with a standard error.
func interval(standardError any, n int) float64 {
	return float(standardError) * distuv.StudentsT{
		Sigma: 1,
		Nu:    float64(n - 1),
	}.Quantile(0.975)
}
