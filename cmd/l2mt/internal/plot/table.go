package plot

import (
	"math"

	"l2mt/infer/compare"
)

// Table draws the relative errors of an evaluation with their standard errors,
// in the order of the table. There is no picture where single-task learning makes no error.
func Table(table *compare.Table) (*Picture, error) {
	r := Relative{Title: "Test error relative to single-task learning", Label: "mean of the relative errors, with standard error"}
	var points []Point
	for _, row := range table.Rows {
		if !math.IsNaN(float64(row.PerProblem)) {
			r.Names = append(r.Names, row.Title)
			points = append(points, Point{Name: row.Title, Error: float64(row.PerProblem), Deviation: float64(row.StandardError)})
		}
	}
	if points != nil {
		r.Methods = []Method{{Points: points}}
	}
	return r.Draw()
}
