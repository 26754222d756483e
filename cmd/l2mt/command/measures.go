package command

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"l2mt/data/files"
	"l2mt/infer/report"
)

// listing is how many tasks are printed.
type listing struct {
	Tasks bool `help:"List all tasks, not only the best and the worst."`
}

const (
	// fewTasks are listed whole, and of more as many as halfListed of each end.
	fewTasks   = 12
	halfListed = 4
	// enoughHeld is how many rows held out rank a task: a single one may be right by chance.
	enoughHeld = 5
)

// tasks are those to list, of many the best and the worst that enough rows rank, and behind them
// the numbers of all.
func (l listing) tasks(m report.Measured) []report.Task {
	listed := slices.Clone(m.Tasks)
	if !l.Tasks && len(listed) > fewTasks {
		ranked := slices.DeleteFunc(listed, func(t report.Task) bool {
			return t.By[report.ByModel].Held < enoughHeld
		})
		slices.SortStableFunc(ranked, func(a, b report.Task) int {
			return cmp.Compare(m.Error(a, report.ByModel), m.Error(b, report.ByModel))
		})
		if len(ranked) < 2*halfListed {
			ranked = m.Tasks[:2*halfListed]
		}
		gap := fmt.Sprintf("(%d more: --tasks)", len(m.Tasks)-2*halfListed)
		listed = slices.Concat(ranked[:halfListed],
			[]report.Task{{Task: gap}}, ranked[len(ranked)-halfListed:])
	}
	mean := m.Mean
	if len(m.Recipe.Targets) < 2 {
		listed = append(listed, m.All)
		mean.By = maps.Clone(mean.By)
		s := mean.By[report.ByModel]
		s.R2 = files.Float(math.NaN()) // which is no mean over tasks of one target
		mean.By[report.ByModel] = s
	}
	return append(listed, mean)
}
