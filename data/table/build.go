package table

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/format"
	"l2mt/data/view"
)

// build makes the problem of the rows read.
func (r *reader) build(paths []string) error {
	r.suggest()
	for _, step := range []func() error{r.expand, r.values,
		r.split, r.faulty, r.finishTasks, r.remark, r.steps} {
		err := step()
		if err != nil {
			return err
		}
	}
	r.Problem = &data.ProblemData{Problem: &data.Problem{Name: baseName(paths[0]),
		Classes: r.classes}}
	r.Problem.OwnUnits = len(r.Recipe.Targets) > 1
	if !r.Recipe.ByPosition {
		r.Problem.Features = r.Recipe.Features()
	}
	together := r.together()
	empty := data.Samples{X: r.x.Take(nil)}
	for _, t := range r.tasks {
		r.Problem.Problem.Tasks = append(r.Problem.Problem.Tasks, t.task)
		samples := data.Samples{
			X: r.x.Take(t.rows),
			Y: t.y,
		}
		if r.weight != nil {
			samples.Weight = data.Picked(r.weights, t.rows)
		}
		task := data.TaskData{
			Task:          t.task,
			TrainSet:      samples,
			ValidationSet: empty,
			TestSet:       empty,
		}
		r.Problem.Tasks = append(r.Problem.Tasks, task)
		if together != nil {
			r.Together = append(r.Together, data.Picked(together, t.rows))
		}
		if r.times != nil {
			r.Times = append(r.Times, data.Picked(r.times, t.rows))
		}
		if len(r.Validation) > 0 {
			var held []int
			for j, p := range data.Picked(r.places, t.rows) {
				if p.sheet >= len(paths) {
					held = append(held, j)
				}
			}
			r.Held = append(r.Held, held)
		}
	}
	return nil
}

// together is a number for every row, which rows that belong together have in common, or
// nil: their group, else the row that they are copies of, else of several targets the row
// itself, since rows held out of one task must not be known from another.
func (r *reader) together() []int {
	if r.groups == nil {
		copies := r.copies()
		if copies != nil || len(r.Recipe.Targets) == 1 {
			return copies
		}
	}
	numbers := make([]int, len(r.places))
	first := map[string]int{}
	for i := range numbers {
		key := ""
		for _, c := range r.groups {
			if r.gap(c, i) {
				key = ""
				break
			}
			key += fmt.Sprintln(c.Text(i))
		}
		_, known := first[key]
		if !known || key == "" {
			first[key] = i
		}
		numbers[i] = first[key]
	}
	return numbers
}

// copies returns, for every row, the first that is equal to it in all features and
// targets. Rows are copies if a column is continuous; else they are equal by chance, and
// copies returns nil.
func (r *reader) copies() []int {
	var hash maphash.Hash
	var different []int
	first := make([]int, r.x.Rows())
	firsts := map[uint64]int{}
	for i := range first {
		hash.Reset()
		x := r.x.Row(i)
		_ = binary.Write(&hash,
			binary.LittleEndian, x.Value) // a hash has no errors
		_ = binary.Write(&hash, binary.LittleEndian, x.Index)
		for _, t := range r.targets {
			if !r.gap(t.Column, i) { // no number equals itself if it is none
				maphash.WriteComparable(&hash, t.Label(i))
			}
		}
		sum := hash.Sum64()
		_, known := firsts[sum]
		if !known {
			firsts[sum] = i
			different = append(different, i)
		}
		first[i] = firsts[sum]
	}
	n := len(first) - len(different)
	if n == 0 || !r.continuous(different) {
		return nil
	}
	r.note("rows that equal another one in all features and targets: %d; folds hold copies out together", n)
	return first
}

// continuous reports whether the values of a column mostly differ.
func (r *reader) continuous(rows []int) bool {
	enough := max(enoughToTell, len(rows)/2)
	for _, t := range r.targets {
		different, _ := t.Classes(rows)
		if len(different) >= enough {
			return true
		}
	}
	if data.IsSparse(r.x) {
		return false
	}
	for j := range r.x.Cols() {
		different := map[float32]bool{}
		for _, i := range rows {
			different[r.x.Row(i).Value[j]] = true
		}
		if len(different) >= enough {
			return true
		}
	}
	return false
}

// finishTasks gives the tasks their order, kind and classes, and leaves out
// tasks that cannot be learned if the user asks for it.
func (r *reader) finishTasks() error {
	if r.task != nil {
		slices.SortFunc(r.tasks, func(a, b *task) int {
			return CompareNames(a.name, b.name)
		})
	}
	kind, err := r.kind()
	if err != nil {
		return err
	}
	if r.skipped > 0 {
		why := "without a label"
		if r.weight != nil {
			why += " or of weight 0"
		}
		r.note("rows %s, which are left out: %d", why, r.skipped)
	}
	var labels []format.Label
	if kind == data.Classification {
		labels, err = r.findClasses()
		if err != nil {
			return err
		}
	}
	var kept []*task
	var fault error
	var y []float64
	for _, t := range r.tasks {
		err := t.learn(kind, r.Positive, labels, r.classes != nil)
		samples := (data.Samples{Y: t.y})
		if err == nil &&
			r.SkipTasks && samples.Borrows(kind == data.Classification) {
			err = data.Invalid("task %q: it has a single row, or one class", t.name)
		}
		if err == nil {
			kept = append(kept, t)
			y = append(y, t.y...)
		} else if fault = cmp.Or(fault, err); !r.SkipTasks {
			return fmt.Errorf("%w (--skip-tasks leaves such tasks out)", err)
		}
	}
	if len(kept) == 0 {
		return fmt.Errorf("%w (and no other task can be learned)", fault)
	}
	if differ(y, 1) == 1 {
		return data.Invalid("target %q: all %d rows are the same; they must differ",
			kept[0].target.Name, len(y))
	}
	if fault != nil {
		r.note("%d of %d tasks are left out, the first because: %v",
			len(r.tasks)-len(kept),
			len(r.tasks), fault)
	}
	r.tasks = kept
	return nil
}

var digits = regexp.MustCompile("[0-9]+")

// CompareNames orders numbers by value, before words, and numbers in words too: t2 before t10.
func CompareNames(a, b string) int {
	label := func(name string) format.Label {
		v, err := strconv.ParseFloat(name, 64)
		if err == nil {
			return format.Label{Number: v}
		}
		return format.Label{Text: digits.ReplaceAllStringFunc(name, func(number string) string {
			return fmt.Sprintf("%20s", number)
		})}
	}
	return cmp.Or(label(a).Compare(label(b)), cmp.Compare(a, b))
}

// mostLevels bounds the levels of a category.
const mostLevels = 1000

// Features (a level is one) may be so many numbers in any table, and so many for a cell: a thousand
// words in two columns would fill the memory.
const (
	freeFeatures    = 16 << 20
	featuresPerCell = 32
)

// expand makes features of the columns, and the columns of the recipe.
func (r *reader) expand() (err error) {
	if r.x != nil { // of a file that has features
		return nil
	}
	err = r.makeColumns()
	if err != nil {
		return err
	}
	width := r.Recipe.Width()
	rows := len(r.places)
	if rows*width > max(freeFeatures, featuresPerCell*rows*len(r.features)) {
		return data.Invalid("%s: words make %d features; leave out columns of many words with --ignore",
			r.sheets[0].path, width)
	}
	notes := map[string]int{}
	value, faults := r.Recipe.Make(r.features, rows, notes)
	r.faults = append(r.faults, faults...)
	for _, note := range slices.Sorted(maps.Keys(notes)) {
		r.note("%s: %d", note, notes[note])
	}
	for _, c := range r.features {
		*c = format.Column{} // its memory
	}
	r.tell()
	if r.blurred != nil {
		r.note("values of %s differ by too little for single precision, in which features are kept: subtract their mean first, or leave --step out, which does", format.Abridge(r.blurred))
	}
	r.x, err = data.NewDense(rows, width, value)
	return err
}

// makeColumns makes the columns of the recipe, or takes the columns of an older one.
func (r *reader) makeColumns() error {
	if r.After != nil {
		return r.recall()
	}
	var whole []*format.Column
	for _, c := range r.features {
		column, err := r.makes(c)
		if err != nil {
			r.faults = append(r.faults, Fault{
				Row:  -1,
				Err:  err,
				rows: 1,
			})
			continue
		}
		whole = append(whole, c)
		r.Recipe.Columns = append(r.Recipe.Columns, column)
	}
	r.features = whole
	return nil
}

// recall finds the columns of an older recipe, and leaves others out.
func (r *reader) recall() error {
	var names []string
	for _, c := range r.features {
		names = append(names, c.Name)
	}
	places, err := r.After.Bind(names,
		r.Recipe.ByPosition, r.MissingColumns == Mean)
	if err != nil {
		return fmt.Errorf("%s: %w", r.sheets[0].path, err)
	}
	columns := r.After.ColumnsAt(places)
	for i, j := range places {
		if j >= 0 {
			columns[i] = r.features[j]
			names[j] = ""
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return name == ""
	})
	if len(names) > 0 {
		r.note("the older model has no column %s: left out", format.Abridge(names))
	}
	r.features = columns
	r.Recipe.Columns = r.After.Columns
	return nil
}

// tell notes in a line what became of words, dates and blanks.
func (r *reader) tell() {
	words := []string{"words are categories"}
	dates := []string{"dates are numbers"}
	blanks := []string{"blanks become means, and a further column marks them"}
	var notes []string
	for _, c := range r.Recipe.Columns {
		if c.Date != "" {
			dates = append(dates, c.Name)
		} else if r.found[c.Name] {
			words = append(words,
				fmt.Sprintf("%s (%d)", c.Name, len(c.Levels)))
		}
		if c.Gaps {
			blanks = append(blanks, c.Name)
		}
	}
	for _, names := range [][]string{words, dates, blanks} {
		if len(names) > 1 {
			notes = append(notes, names[0]+": "+format.Abridge(names[1:]))
		}
	}
	if notes != nil {
		r.note("%s (--strict refuses them)", strings.Join(notes, "; "))
	}
}

// makes says what features come of a column.
func (r *reader) makes(c *format.Column) (Column, error) {
	column := Column{
		Name: c.Name,
		Date: r.dates[c.Name],
	}
	// NaN is a text, or of a file without the column.
	numbers := slices.DeleteFunc(slices.Clone(c.Numbers), math.IsNaN)
	count := len(numbers)
	var texts []string
	var weights []float64
	for k, n := range c.Counts() {
		switch {
		case n == 0:
		case r.Recipe.IsMissing(c.Texts[k]):
			column.Gaps = !r.Strict
		default:
			texts = append(texts, c.Texts[k])
			weights = append(weights, float64(n))
			count += n
		}
	}
	if count == 0 {
		return column, data.Invalid("column %q: all its values are missing; leave it out with --ignore", c.Name)
	}
	if !c.AsText {
		r.centre(&column, [][]float64{numbers}, nil)
		return column, nil
	}
	column.Levels = slices.Clone(texts)
	if column.Date != "" {
		column.Levels = datesVary(texts, column.Date)
	}
	slices.SortFunc(column.Levels, CompareNames)
	n := len(column.Levels)
	if n > mostLevels ||
		r.found[c.Name] && n >= enoughToTell && 2*n > count {
		return column, data.Invalid("column %q: %d of its %d values are different words; leave it out with --ignore if it is an identifier, or else say --categorical",
			c.Name, n, count)
	}
	values := make([][]float64, column.parts())
	for _, text := range texts {
		for j, v := range column.values(text) {
			values[j] = append(values[j], v)
		}
	}
	r.centre(&column, values, weights)
	return column, nil
}

// blurred is the share of a column's range that single precision may move a value by.
const blurred = 0.01

// centre gives a column the means of its features, and offsets to features further from zero than
// unlike times their deviation, if they are standardised anyway. It notes the columns of
// which single precision loses what tells values apart.
func (r *reader) centre(c *Column, features [][]float64, weights []float64) {
	c.Mean = make([]float64, len(features))
	offset := make([]float64, len(features))
	centres := len(r.Steps) == 0 || r.Steps[0] == view.Standardise
	for k, values := range features {
		if len(values) == 0 {
			continue
		}
		mean, variance := stat.PopMeanVariance(values, weights)
		c.Mean[k] = mean
		counts := func(v float64) bool {
			return v != 0 && v != 1
		}
		shifted := variance > 0 && math.Abs(mean) > unlike*math.Sqrt(variance)
		if shifted && centres && slices.ContainsFunc(values, counts) {
			offset[k] = mean
			c.Offset = offset
		}
		lost := 0.0
		for _, v := range values {
			v -= offset[k]
			lost = max(lost, math.Abs(v-float64(float32(v))))
		}
		spread := floats.Max(values) - floats.Min(values)
		if spread > 0 && lost > blurred*spread {
			r.blurred = append(r.blurred, c.Name)
		}
	}
}

// steps fits the steps, or the one that is needed, and applies them.
func (r *reader) steps() error {
	kinds := r.Steps
	if r.After != nil {
		return r.apply(r.After.Steps)
	}
	if slices.Equal(kinds, []string{None}) {
		return nil
	}
	if len(kinds) == 0 && !data.IsSparse(r.x) {
		step, err := r.fit(view.Standardise)
		if err != nil || !r.unlikeScales(step) {
			return err
		}
		r.note("features are standardised, as their scales differ; --step none keeps them")
		return r.apply(view.Steps{step})
	}
	for _, kind := range kinds {
		step, err := r.fit(kind)
		if err != nil {
			return err
		}
		if err := r.apply(view.Steps{step}); err != nil {
			return err
		}
	}
	return nil
}

// apply applies steps, which the recipe keeps.
func (r *reader) apply(steps view.Steps) (err error) {
	r.Recipe.Steps = append(r.Recipe.Steps, steps...)
	r.x, err = steps.Apply(r.x)
	return err
}

// fit fits a step. Sparse features are not centred, and dense ones of zeros and ones,
// which are on a scale of their own however rare the ones, stay as they are.
func (r *reader) fit(kind string) (view.Step, error) {
	step, err := view.Fit(kind, r.x)
	if data.IsSparse(r.x) {
		clear(step.Mean)
		return step, err
	}
	for j := range step.Mean {
		i := 0
		for i < r.x.Rows() && (r.x.Row(i).Value[j] == 0 ||
			r.x.Row(i).Value[j] == 1) {
			i++
		}
		if i == r.x.Rows() {
			step.Mean[j] = 0
			step.Deviation[j] = 1
		}
	}
	return step, err
}

// unlike is how many times as large the values of one feature must be for its
// scale to differ from the scale of another, or their mean than their deviation.
const unlike = 10

// unlikeScales says that features are of different scales, or one of values that are close to
// each other, but not to zero, such as years: next to their size what distinguishes rows
// is nothing.
func (r *reader) unlikeScales(step view.Step) bool {
	size := make([]float64, r.x.Cols()) // the largest absolute values
	offsets := r.Recipe.Offsets()
	for i := range r.x.Rows() {
		for j, v := range r.x.Row(i).Value {
			size[j] = max(size[j], math.Abs(float64(v)+offsets[j]))
		}
	}
	size = slices.DeleteFunc(size, func(v float64) bool {
		return v == 0
	})
	if len(size) > 0 && slices.Max(size) > unlike*slices.Min(size) {
		return true
	}
	for j, mean := range step.Mean {
		s := step.Deviation[j]
		if s > 0 && math.Abs(mean+offsets[j]) > unlike*s {
			return true
		}
	}
	return false
}
