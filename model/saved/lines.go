package saved

import (
	"math"
	"slices"
	"strconv"

	"l2mt/data"
)

// Lines writes predictions as cells of text.
type Lines struct {
	// Heads name the cells of a row.
	Heads []string
	// Words say which cells are texts. Others are numbers, or empty where there is none.
	Words []bool

	rows  *Rows
	level float64 // of intervals, 0 for none
}

// Lines writes the predictions of the rows, behind the columns that are carried along. A level
// above 0 adds intervals, in which the target of a fresh row lies with this probability.
func (r *Rows) Lines(level float64) (*Lines, error) {
	held := len(r.fit.Residuals)
	switch {
	case level == 0:
	case !(level > 0 && level < 1):
		return nil, data.Invalid("--interval=%v: it must be between 0 and 1", level)
	case held == 0:
		return nil, data.Invalid("--interval: the model has no errors of rows held out to make intervals of; for classes there are probabilities instead")
	case math.IsInf(r.fit.Interval(level), 1):
		highest := 1 - 1/float64(held+1)
		return nil, data.Invalid("--interval=%v: %d rows were held out, enough for an interval of %.2f at most", level, held, highest)
	}
	l := &Lines{rows: r, level: level}
	for _, j := range r.carried {
		l.head(!r.in.HasNumbers(j), r.in.Names[j])
	}
	for _, a := range r.Asked {
		l.heads(a)
	}
	return l, nil
}

func (l *Lines) head(words bool, names ...string) {
	for _, name := range names {
		l.Heads = append(l.Heads, name)
		l.Words = append(l.Words, words)
	}
}

// heads adds the heads of an answer. Where rows have several they name the task.
func (l *Lines) heads(a Answer) {
	s := l.rows.fit
	task := ""
	positive := s.ClassesOf(a.Task)
	classify := s.Kind == data.Classification
	if len(l.rows.Asked) > 1 {
		task = a.Name + " "
		l.head(classify, a.Name)
	} else {
		l.head(true, "task")
		l.head(classify, "prediction")
		differs := func(t Task) bool {
			return t.Positive != s.Tasks[0].Positive
		}
		if slices.ContainsFunc(s.Tasks, differs) {
			positive = []string{"", "the positive class"}
		}
	}
	switch {
	case classify:
		if s.Classes == nil {
			positive = positive[1:]
		}
		for _, class := range positive {
			l.head(false, "probability of "+task+class)
		}
	case l.level > 0:
		l.head(false, task+"low", task+"high", task+"standard_error")
	default:
		l.head(false, task+"standard_error")
	}
}

// Row returns the cells of row j of a block.
func (l *Lines) Row(b *Block, j int) (cells []string) {
	for _, c := range b.Carried {
		cells = append(cells, c.Texts[c.Text(j)])
	}
	width := len(l.rows.Asked)
	for _, a := range b.Answers[j*width:][:width] {
		if width == 1 {
			cells = append(cells, a.Name)
		}
		cells = append(cells, l.cells(a)...)
	}
	return cells
}

// cells are a prediction and how sure it is, empty where there is no value.
func (l *Lines) cells(a Answer) (cells []string) {
	s := l.rows.fit
	score := a.Scores[:max(1, len(s.Classes))]
	if s.Kind == data.Classification {
		p := make([]float64, max(2, len(s.Classes)))
		data.Probabilities(p, score, s.Temperature)
		class := data.ClassOf(score)
		if s.Classes == nil {
			p = p[1:]
			class = data.ClassOf([]float64{score[0] - s.Cut()})
		}
		cells = append(cells, s.ClassesOf(a.Task)[class])
		for _, v := range p {
			cells = append(cells, rounded(v, -1))
		}
		return cells
	}
	cells = append(cells, rounded(score[0], -1))
	if l.level > 0 {
		low, high := s.Bounds(score[0], s.Interval(l.level), a.Error)
		cells = append(cells, rounded(low, 8), rounded(high, 8))
	}
	if s.Log && s.Counts == 0 {
		a.Error *= score[0]
	}
	if a.Error == 0 {
		return append(cells, "")
	}
	return append(cells, rounded(a.Error, 4))
}

// rounded is a number of so many digits, or empty where it is undefined.
func rounded(v float64, digits int) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}
