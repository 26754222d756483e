package table

import (
	"math"

	"l2mt/data"
)

// date finds out when the rows are from.
func (r *reader) date() {
	if r.time == nil {
		return
	}
	var problem Fault
	layout := layoutOf(r.time.Texts, layouts)
	for i := range r.places {
		moment := r.time.Numbers[i]
		k := r.time.Text(i)
		if k >= 0 {
			parts := dateParts(layout, r.time.Texts[k])
			if parts == nil {
				problem.add(i,
					data.Malformed("column %q, the time: %q is not a number, and not all rows are dates of one form; write dates as 2006-01-31",
						r.time.Name, r.time.Texts[k]))
			}
			moment = parts["day"]
		}
		r.times = append(r.times, moment)
	}
	r.faults = append(r.faults, problem)
}

// passes says that values count years, or that they ascend within tasks.
func (r *reader) passes(values []float64) bool {
	years := true
	fall := false
	var steps, rises int
	for _, t := range r.tasks {
		last := math.NaN()
		for _, v := range data.Picked(values, t.rows) {
			years = years && v > 1899.5 && v < 2100.5 && !broken(v)
			fall = fall || v < last
			if v > last {
				rises++
			}
			last = v
			steps++
			if fall && !years {
				return false
			}
		}
	}
	if fall {
		return years
	}
	return rises >= enoughToTell && 2*rises >= steps
}
