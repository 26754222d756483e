package table

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/format"
)

const (
	// enoughToTell is how many equal values are no coincidence.
	enoughToTell = 20
	// farOff is how many robust deviations from a median are no accident.
	farOff = 20
	// robust times the median distance from the median is the deviation of normal values.
	robust = 1.4826
	// sameOrder is the rank correlation with a target that a feature has in other units.
	sameOrder = 0.9999
	// screened is about how many rows are looked at for the order of a column.
	screened = 1000
)

// remark notes data that are likely to be wrong, and refuses a feature that is a target itself.
func (r *reader) remark() error {
	together := len(r.tasks)
	if len(r.targets) > 1 { // each is a task
		together = 1
	}
	var columns []string
	for tasks := range slices.Chunk(r.tasks, together) {
		r.outliers(tasks)
		err := r.ordered(tasks, &columns)
		if err != nil {
			return err
		}
	}
	if columns != nil {
		r.note("columns that sort the rows as the target does: %s; leave such a column out with --ignore if it is the target in other units, or not known of new rows", format.Abridge(columns))
	}
	asked := r.time != nil || r.groups != nil || len(r.Validation) > 0
	if !asked && !data.IsSparse(r.x) {
		r.suggestFlags()
	}
	return nil
}

// outliers notes targets that are far from the others of their task, and of all tasks.
func (r *reader) outliers(tasks []*task) {
	var y []float64
	for _, t := range tasks {
		y = append(y, t.y...)
	}
	median, deviation := middle(y)
	if deviation == 0 || tasks[0].task.Kind == data.Classification {
		return
	}
	var outliers []string
	for _, t := range tasks {
		centre, around := middle(t.y)
		for j, v := range t.y {
			if min(math.Abs(v-median)/deviation,
				math.Abs(v-centre)/around) > farOff {
				outliers = append(outliers,
					r.fault(t.rows[j], fmt.Errorf("%v", v)).Error())
			}
		}
	}
	if outliers != nil {
		r.note("target %q: %d values are more than %d robust deviations from the median of their task and of all tasks; correct the wrong ones, as they decide the fit: %s",
			tasks[0].target.Name,
			len(outliers), farOff, format.Abridge(outliers))
	}
}

// middle is the median of values, and how far they deviate from it where few are wrong.
func middle(values []float64) (median, deviation float64) {
	half := len(values) / 2
	distances := slices.Sorted(slices.Values(values))
	median = distances[half]
	for i, v := range distances {
		distances[i] = math.Abs(v - median)
	}
	slices.Sort(distances)
	return median, robust * distances[half]
}

// ordered names the features that put the rows of tasks into the order of their target, or the
// reverse, and notes one that only counts the rows: it knows nothing of other rows.
func (r *reader) ordered(tasks []*task, columns *[]string) error {
	n := 0
	for _, t := range tasks {
		n += len(t.rows)
	}
	if data.IsSparse(r.x) || n < enoughToTell {
		return nil
	}
	target := tasks[0].target
	offsets := r.Recipe.Offsets()
	for j, name := range r.Recipe.Features() {
		first := float64(r.x.Row(0).Value[j])
		var values, order []float64
		equals := true
		counts := true
		for _, t := range tasks {
			for k := 0; k < len(t.rows); k += 1 + n/screened {
				row := t.rows[k]
				v := float64(r.x.Row(row).Value[j])
				counts = counts && v == first+float64(row)
				label := float32(target.Label(row).Number - offsets[j])
				equals = equals && target.Text(row) < 0 && v == float64(label)
				values = append(values, v)
				order = append(order, t.y[k])
			}
		}
		switch {
		case equals:
			return data.Invalid("column %q: it equals the target %q; leave it out with --ignore", name, target.Name)
		case counts:
			r.note("column %q only counts the rows; if it is their number, leave it out with --ignore", name)
		case math.Abs(
			stat.Correlation(data.Ranks(values), data.Ranks(order), nil)) > sameOrder:
			*columns = append(*columns,
				fmt.Sprintf("%q (target %q)", name, target.Name))
		}
	}
	return nil
}
