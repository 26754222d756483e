package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"l2mt/data/files"
	"l2mt/infer"
	"l2mt/model/multitask"
)

// Float is a number that may be undefined.
type Float = files.Float

// Table compares methods over problems.
type Table struct {
	// Problems names the problems.
	Problems []string `json:"problems"`
	// Best is the title of the model with the least mean test error, the rival to beat.
	Best string `json:"best_model"`
	// Rows has the methods, least relative error first.
	Rows []Row `json:"rows"`
	// Pairs compare every network with every other.
	Pairs []Pair `json:"pairs,omitempty"`
}

// Pair compares one method with another.
type Pair struct {
	A string `json:"a"`
	B string `json:"b"`
	Paired
}

// Row is one method in a table. Errors are relative to single-task learning.
type Row struct {
	// Title names the method for people.
	Title string `json:"title"`
	Method
	// Error is the mean test error. Relative is this mean over the mean test error of
	// single-task learning, as in the paper's tables, and StandardError belongs to this
	// ratio of two means.
	Error         float64 `json:"error"`
	Relative      Float   `json:"relative"`
	StandardError Float   `json:"standard_error"`
	// AgainstSTL and AgainstBest compare with single-task learning and with the
	// best model.
	AgainstSTL  Paired `json:"against_stl"`
	AgainstBest Paired `json:"against_best"`
	// Published says that the method learns from the training rows alone, tuned on the
	// validation rows, as in the paper. All others learn from both.
	Published bool `json:"as_in_the_paper,omitempty"`
	// Validation and Test are the mean errors problem by problem.
	Validation []float64 `json:"validation"`
	Test       []float64 `json:"test"`
	// Omega is the covariance, where there is one problem.
	Omega [][]float64 `json:"omega,omitempty"`
}

// Paired compares a method with another, problem by problem.
type Paired struct {
	// Difference is the mean difference of the test errors over the mean error
	// of single-task learning, the difference of the two Relatives;
	// StandardError is its standard error. Negative is better.
	Difference    Float `json:"difference"`
	StandardError Float `json:"standard_error"`
	// P is the two-sided p value of Wilcoxon's signed-rank test.
	P float64 `json:"p"`
	// Wins, Ties and Losses count problems.
	Wins   int `json:"wins"`
	Ties   int `json:"ties"`
	Losses int `json:"losses"`
}

// Summarise makes the table of outcomes. Every method must have an outcome on every problem, in the
// order of Evaluate, and single-task learning must be among them.
//
// Errors are relative to the errors of single-task learning on all labelled rows. Methods come
// first, the best on top, then the controls, and then methods that learn from the training rows
// alone. One more row of each kind chooses, on each problem, the model with the lowest validation
// error: the strongest rival that does not look at test rows.
func Summarise(outcomes []Outcome) (*Table, error) {
	problems, methods := collate(outcomes)
	i := slices.IndexFunc(methods, func(m *Row) bool {
		return m.Method == Method{
			Model:   STL,
			Variant: Labelled,
		}
	})
	if i < 0 {
		return nil, infer.ErrInvalid.Errorf("there are no outcomes of %q on all labelled rows, to which errors are relative", STL)
	}
	stl := methods[i]
	var fair, published, networks []*Row
	for _, m := range methods {
		switch {
		case m.Model == L2MT:
			networks = append(networks, m)
		case m.Variant == Plain:
			published = append(published, m)
		default:
			fair = append(fair, m)
		}
	}
	best := slices.MinFunc(fair, func(a, b *Row) int {
		return cmp.Compare(a.Error, b.Error)
	})
	rows := slices.Concat(fair, published, networks)
	if len(published) > 1 {
		rows = append(rows,
			choose(fmt.Sprintf("best of %d by validation", len(fair)), Method{
				Model:   Best,
				Variant: Refitted,
			}, fair...),
			choose(fmt.Sprintf("best of %d by validation, as in the paper", len(published)),
				Method{Model: Best}, published...))
	}
	table := &Table{
		Problems: problems,
		Best:     best.Title,
	}
	for _, m := range rows {
		m.Published = m.Variant == Paper ||
			m.Variant == Plain && m.Model != L2MT
		m.compare(stl, best)
		table.Rows = append(table.Rows, *m)
	}
	slices.SortStableFunc(table.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(slices.Index(headings, a.Heading()),
			slices.Index(headings, b.Heading())), cmp.Compare(a.Error, b.Error))
	})
	plain := slices.DeleteFunc(networks, func(m *Row) bool {
		return m.Variant != Plain
	})
	for i, a := range plain {
		for _, b := range plain[i+1:] {
			table.Pairs = append(table.Pairs,
				Pair{a.Title, b.Title, Against(a.Test, b.Test, stl.Error)})
		}
	}
	return table, nil
}

// headings are the headings of the kinds of rows, in this order; methods have none.
var headings = []string{"", "controls, parts of L2MT:", "as in the paper: on the training rows alone, tuned on the validation rows:"}

// Heading is the heading above a row in a table.
func (r Row) Heading() string {
	switch {
	case r.Published:
		return headings[2]
	case r.Variant == Alone || r.Variant == Without:
		return headings[1]
	}
	return headings[0]
}

// collate brings the outcomes of every method together, problems and methods
// in the order of their first outcomes.
func collate(outcomes []Outcome) (problems []string, methods []*Row) {
	names := map[string]bool{}
	for _, o := range outcomes {
		if !slices.Contains(problems, o.Problem) {
			problems = append(problems, o.Problem)
		}
		i := slices.IndexFunc(methods, func(m *Row) bool {
			return m.Method == o.Method
		})
		if i < 0 {
			i = len(methods)
			names[o.Network] = true
			methods = append(methods, &Row{
				Title:  title(o.Model, o.Variant),
				Method: o.Method,
			})
		}
		m := methods[i]
		m.Validation = append(m.Validation, o.Validation.Mean)
		m.Test = append(m.Test, o.Test.Mean)
		m.Omega = o.Omega
	}
	delete(names, "")
	for _, m := range methods {
		if len(names) > 1 && m.Network != "" {
			m.Title += " (" + m.Network + ")"
		}
		if len(problems) > 1 {
			m.Omega = nil
		}
		m.Error = stat.Mean(m.Test, nil)
	}
	return problems, methods
}

func title(model string, v Variant) string {
	if model == L2MT {
		return map[Variant]string{
			Plain:   "L2MT",
			Alone:   "L2MT, the network alone",
			Without: "L2MT without the network",
			Paper:   "L2MT, as in the paper",
		}[v]
	}
	name := model
	m, err := multitask.Lookup(model)
	if err == nil {
		name = m.Info().Title
	}
	switch {
	case v == Plain:
		return name + ", as in the paper"
	case v == Labelled && model != STL:
		return name + ", tuned on all labelled rows"
	}
	return name
}

// choose takes on each problem the method with the lowest validation error, the
// first of equals.
func choose(title string, method Method, from ...*Row) *Row {
	m := &Row{Title: title, Method: method}
	for i := range from[0].Test {
		taken := slices.MinFunc(from, func(a, b *Row) int {
			return cmp.Compare(a.Validation[i], b.Validation[i])
		})
		m.Validation = append(m.Validation, taken.Validation[i])
		m.Test = append(m.Test, taken.Test[i])
	}
	m.Error = stat.Mean(m.Test, nil)
	return m
}

// compare fills in the numbers that are relative to other methods.
func (m *Row) compare(stl, best *Row) {
	m.Relative = Float(m.Error / stl.Error)
	var residuals []float64
	for i, e := range m.Test {
		residuals = append(residuals,
			(e-float64(m.Relative)*stl.Test[i])/stl.Error)
	}
	_, m.StandardError = meanOf(residuals)
	m.AgainstSTL = Against(m.Test, stl.Test, stl.Error)
	m.AgainstBest = Against(m.Test, best.Test, stl.Error)
}

// rounding is the step that errors are rounded to before they are compared, so that
// means that differ only in the order of their sums tie.
const rounding = 1e-12

// Against compares test errors with others on the same problems, in a unit.
func Against(errors, reference []float64, unit float64) (p Paired) {
	var relative, rounded []float64
	for i, e := range errors {
		relative = append(relative, (e-reference[i])/unit)
		d := math.Round((e - reference[i]) / rounding)
		switch {
		case d < 0:
			p.Wins++
		case d == 0:
			p.Ties++
		default:
			p.Losses++
		}
		rounded = append(rounded, d)
	}
	p.Difference, p.StandardError = meanOf(relative)
	p.P = Wilcoxon(rounded)
	return p
}

// meanOf returns the mean and its standard error, each NaN if there are too few
// values for it.
func meanOf(values []float64) (mean, deviation Float) {
	m, sd := stat.MeanStdDev(values, nil)
	return Float(m), Float(sd / math.Sqrt(float64(len(values))))
}
