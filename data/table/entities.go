package table

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/format"
)

const (
	// fewestRepeats and mostRepeats are the mean numbers of rows of things that rows repeat.
	fewestRepeats = 2
	mostRepeats   = 12
	// agreeing is how many columns of numbers tell one thing from another.
	agreeing = 3
	// alike is the variance of things, over that within them, from which on their rows are alike.
	alike = 0.5
)

// suggestFlags notes columns that may tell the time of rows: dates, years, and columns that ascend within
// tasks. And it finds columns that name things which rows repeat, such as the visits of a patient: a
// category, a whole number, or three columns of numbers together.
func (r *reader) suggestFlags() {
	var times []string
	var numbers []agreed
	warned := len(r.targets) > 1
	offsets := r.Recipe.Offsets()
	first := 0
	for _, c := range r.Recipe.Columns {
		values := make([]float64,
			r.x.Rows()) // each tells the parts of the column apart
		for i := range values {
			for k, v := range r.x.Row(i).Value[first:][:c.parts()] {
				values[i] += float64(k+1) * float64(v)
			}
			values[i] += offsets[first]
		}
		first += c.width()
		if c.Date != "" || len(c.Levels) == 0 && r.passes(values) {
			times = append(times, c.Name)
		}
		bound := (len(values) + 1) / fewestRepeats
		switch {
		case warned || c.Date != "":
		case !slices.ContainsFunc(values, broken):
			warned = r.suspect(values, c.Name)
		case !r.tells(values):
			levels := differ(values, bound)
			if levels <= bound {
				numbers = append(numbers, agreed{c.Name, values, levels})
			}
		}
	}
	if times != nil {
		r.note("column %s may be a time: if new rows come later than these, say --time %s, so that errors hold for the future",
			format.Abridge(times), times[0])
	}
	if !warned && len(numbers) >= agreeing {
		r.agree(numbers)
	}
}

// agreed is a column of numbers that rows may agree in.
type agreed struct {
	name   string
	values []float64
	levels int
}

// agree suspects things that the columns of most numbers tell apart together.
func (r *reader) agree(numbers []agreed) {
	slices.SortStableFunc(numbers, func(a, b agreed) int {
		return cmp.Compare(b.levels, a.levels)
	})
	together := make([]float64, r.x.Rows())
	var names []string
	for _, c := range numbers[:agreeing] {
		for i, rank := range data.Ranks(c.values) {
			together[i] = together[i]*float64(len(together)) + rank
		}
		names = append(names, c.name)
	}
	r.suspect(together, names...)
}

// broken says that a number is not whole.
func broken(v float64) bool {
	return !(math.Abs(v-math.Round(v)) < 1e-3)
}

// suspect keeps what rows may repeat, and reports whether they may.
func (r *reader) suspect(values []float64, names ...string) bool {
	ranks := data.Ranks(values)
	if !r.repeats(ranks) {
		return false
	}
	r.Suspects = names
	for _, t := range r.tasks {
		var numbers []int
		for _, row := range t.rows {
			numbers = append(numbers, int(ranks[row]))
		}
		r.Suspected = append(r.Suspected, numbers)
	}
	return true
}

// tells says that the task of a row tells its rank.
func (r *reader) tells(ranks []float64) bool {
	for _, t := range r.tasks {
		if differ(data.Picked(ranks, t.rows), 1) > 1 {
			return false
		}
	}
	return true
}

// repeats says whether things of these ranks are repeated by rows that are alike in the target,
// more than tasks are, and more than neighbours in rank are: rows of one age are alike too.
func (r *reader) repeats(ranks []float64) bool {
	levels := int(slices.Max(ranks)) + 1
	rows := make([]float64, levels)
	sums := make([]float64, levels)
	var squares, total float64
	for _, t := range r.tasks {
		mean := stat.Mean(t.y, nil)
		for j, row := range t.rows {
			k := int(ranks[row])
			rows[k]++
			v := t.y[j] - mean
			sums[k] += v
			squares += v * v
			total++
		}
	}
	size := total / float64(levels)
	if levels < enoughToTell || size < fewestRepeats ||
		size > mostRepeats || r.tells(ranks) {
		return false
	}
	var between, last, chance float64
	for k, n := range rows {
		mean := sums[k] / max(1, n)
		squares -= n * mean * mean
		if k > 0 {
			between += (mean - last) * (mean - last) / 2
		}
		last = mean
		chance += 1 / max(1, n)
	}
	noise := squares / (total - float64(levels))
	return between-chance*noise > alike*noise*float64(levels)
}
