package command

import (
	"fmt"
	"math"
	"slices"

	"l2mt/data"
)

// caseStudy is a problem whose tasks tell some classes from a shared one.
type caseStudy struct {
	Shared  string   `toml:"shared" json:"shared"`
	Classes []string `toml:"classes" json:"classes"`
}

// caseProblem is the name of the case study's problem.
const caseProblem = "case study"

// tasks are the names of its tasks.
func (s *caseStudy) tasks() (names []string) {
	for _, class := range s.Classes {
		names = append(names, class+" vs "+s.Shared)
	}
	return names
}

// problem makes the problem of the case study with splits as c says.
func (s *caseStudy) problem(d *data.Dataset, c data.SampleConfig) (*data.Problem, error) {
	c = c.Defaults()
	p := &data.Problem{Name: caseProblem, Prepare: c.Prepare}
	for i, name := range s.tasks() {
		class := s.Classes[i]
		t := &data.Task{Name: name, Kind: data.Classification, Positive: class, Negative: s.Shared}
		r := data.Stream(c.Seed, caseProblem, uint64(i))
		for _, name := range []string{class, s.Shared} {
			label := slices.Index(d.Classes, name)
			if label < 0 {
				return nil, fmt.Errorf("[case] %w: %s has no class %q; its classes are %q", data.ErrInvalid, d.Name, name, d.Classes)
			}
			var rows []int
			for row, l := range d.Label {
				if int(l) == label {
					rows = append(rows, row)
				}
			}
			r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			training := max(1, int(math.Round(c.TrainFraction*float64(len(rows)))))
			validation := max(1, int(math.Round(c.ValidationFraction*float64(len(rows)))))
			if training+validation >= len(rows) {
				return nil, fmt.Errorf("[case] %w: %d rows of class %q are too few to split", data.ErrInvalid, len(rows), name)
			}
			t.Train = append(t.Train, rows[:training]...)
			t.Validation = append(t.Validation, rows[training:training+validation]...)
			t.Test = append(t.Test, rows[training+validation:]...)
		}
		for _, rows := range [][]int{t.Train, t.Validation, t.Test} {
			slices.Sort(rows)
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p, nil
}

// without removes the tasks of the case study from training problems, and
// problems of which less than two tasks remain.
func (s *caseStudy) without(problems []*data.Problem) []*data.Problem {
	ours := func(t *data.Task) bool {
		return t.Negative == s.Shared && slices.Contains(s.Classes, t.Positive) ||
			t.Positive == s.Shared && slices.Contains(s.Classes, t.Negative)
	}
	var rest []*data.Problem
	for _, p := range problems {
		p.Tasks = slices.DeleteFunc(p.Tasks, ours)
		if len(p.Tasks) > 1 {
			rest = append(rest, p)
		}
	}
	return rest
}
