package command

import (
	"fmt"
	"slices"

	"l2mt/data"
)

// caseStudy is a problem whose tasks tell some classes from a shared one.
type caseStudy struct {
	Shared  string   `toml:"shared"`
	Classes []string `toml:"classes"`
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

// problem is the problem of the case study, with splits as c says.
func (s *caseStudy) problem(d *data.Dataset, c data.SampleConfig) (*data.Problem, error) {
	pairs := len(d.Classes) * (len(d.Classes) - 1) / 2
	c.Train, c.Test, c.MinTasks, c.MaxTasks, c.DisjointRows = -1, 1, pairs, pairs, false
	_, all, err := data.SampleProblems(d, c)
	if err != nil {
		return nil, fmt.Errorf("[case] %w", err)
	}
	p := &data.Problem{Name: caseProblem, Prepare: c.Prepare}
	for k, name := range s.tasks() {
		class, tasks := s.Classes[k], all.Problems[0].Tasks
		i := slices.IndexFunc(tasks, func(t *data.Task) bool { return isPair(t, class, s.Shared) })
		if i < 0 {
			return nil, fmt.Errorf("[case] %w: %s has no pair of classes %q and %q; its classes are %q", data.ErrInvalid, d.Name, class, s.Shared, d.Classes)
		}
		t := tasks[i]
		t.Name, t.Positive, t.Negative = name, class, s.Shared
		p.Tasks = append(p.Tasks, t)
	}
	return p, nil
}

func isPair(t *data.Task, a, b string) bool {
	return t.Positive == a && t.Negative == b || t.Positive == b && t.Negative == a
}

// without removes the tasks of the case study from training problems, and
// problems of which less than two tasks remain.
func (s *caseStudy) without(problems []*data.Problem) []*data.Problem {
	for _, p := range problems {
		p.Tasks = slices.DeleteFunc(p.Tasks, func(t *data.Task) bool {
			return slices.ContainsFunc(s.Classes, func(class string) bool { return isPair(t, class, s.Shared) })
		})
	}
	return slices.DeleteFunc(problems, func(p *data.Problem) bool { return len(p.Tasks) < 2 })
}
