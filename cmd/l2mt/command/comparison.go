package command

import (
	"cmp"
	"path/filepath"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/infer/compare"
)

// tableFile has the table of an evaluation.
const tableFile = "table.json"

// saveTable writes a table as JSON, with the errors problem by problem, and its picture.
func saveTable(dir string, table *compare.Table) error {
	return cmp.Or(saveJSON(filepath.Join(dir, tableFile), table),
		plot.Table(table).Save(filepath.Join(dir, "table.png")))
}

// loadTable reads the files of saveTable.
func loadTable(dir string) (*compare.Table, error) {
	table := new(compare.Table)
	return table, loadJSON(filepath.Join(dir, tableFile), table)
}

// swept is the result of a sweep.
type swept struct {
	Title string `json:"title"`
	// Axis names the varied setting, and Points are its values with the methods to show.
	Axis   string       `json:"axis"`
	Points []plot.Point `json:"points"`
	// Pairs compare L2MT at every point with L2MT at the others, on the same problems.
	Pairs []compare.Pair `json:"pairs,omitempty"`
	// Correlations of the tasks are there for a single problem.
	Correlations []plot.Correlation `json:"correlations,omitempty"`

	tables []*compare.Table // of the points
}

// Picture draws the points.
func (s *swept) Picture() *plot.Picture {
	return plot.Errors(s.Title, s.Axis, s.Points)
}
