package table

import (
	"math"

	"l2mt/data"
	"l2mt/data/format"
)

// date finds out when the rows are from.
func (r *reader) date() {
	if r.time == nil {
		return
	}
	var problem fault
	layout := layoutOf(r.time.Texts, layouts)
	for i := range r.places {
		var moment float64
		if k := r.time.Text(i); k < 0 {
			moment = r.time.Numbers[i]
		} else if parts := dateParts(layout, r.time.Texts[k]); parts != nil {
			moment = parts["day"]
		} else {
			text := r.time.Texts[k]
			problem.add(i, data.Malformed("column %q, the time: %q is no number, nor are all rows dates of one form; write them as 2006-01-31", r.time.Name, text))
		}
		r.times = append(r.times, moment)
	}
	r.faults = append(r.faults, problem)
}

// suggestTime notes columns that may tell the time of rows: dates, years, and columns that ascend
// within tasks.
func (r *reader) suggestTime() {
	asked := r.time != nil || r.groups != nil || len(r.Validation) > 0
	if asked || data.IsSparse(r.x) {
		return
	}
	var names []string
	offsets := r.Recipe.Offsets()
	j := 0
	for _, c := range r.Recipe.Columns {
		if c.Date != "" || len(c.Levels) == 0 && r.passes(j, offsets[j]) {
			names = append(names, c.Name)
		}
		j += c.width()
	}
	if names != nil {
		r.note("column %s may be a time: if new rows come later than these, say --time %s, so that errors are those of the future", format.Abridge(names), names[0])
	}
}

// passes says that a feature counts years, or that it ascends within tasks.
func (r *reader) passes(feature int, offset float64) bool {
	years := true
	steps := 0
	rises := 0
	falls := 0
	for _, t := range r.tasks {
		last := math.NaN()
		for _, row := range t.rows {
			v := float64(r.x.Row(row).Value[feature]) + offset
			years = years && v > 1899.5 && v < 2100.5 && math.Abs(v-math.Round(v)) < 1e-3
			switch steps++; {
			case v > last:
				rises++
			case v < last:
				falls++
			}
			last = v
			if falls > 0 && !years {
				return false
			}
		}
	}
	return falls > 0 || rises >= enoughToTell && 2*rises >= steps
}
