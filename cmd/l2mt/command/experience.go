package command

import (
	"errors"
	"fmt"

	"l2mt/data"
	"l2mt/data/experience"
)

type experienceCmd struct {
	Check experienceCheckCmd `cmd:"" help:"Look for damage and contradictions, count tuples and average o by source, and say why tuples failed; --json lists all tuples."`
}

type experienceCheckCmd struct {
	Dir string `arg:"" type:"path" help:"Directory of the experience."`
}

func (c *experienceCheckCmd) Run(e *env) error {
	store, err := experience.Open(c.Dir)
	if err != nil {
		return err
	}
	sources, faults, err := store.Check()
	if err != nil {
		return err
	}
	result := struct {
		Records int                      `json:"records"`
		Faults  []string                 `json:"faults"`
		Sources []experience.SourceStats `json:"sources,omitempty"`
		Tuples  []*experience.Record     `json:"tuples,omitempty"` // of a store without faults
	}{0, []string{}, sources, nil}
	for _, s := range sources {
		result.Records += s.Tuples
	}
	for _, f := range faults {
		if errors.Is(f, experience.ErrTorn) {
			e.remark("warning: %v", f)
			continue
		}
		result.Faults = append(result.Faults, fmt.Sprint(f))
	}
	if len(result.Faults) == 0 {
		result.Tuples, err = store.Complete()
		if err != nil {
			result.Faults = append(result.Faults, err.Error())
		}
	}
	err = e.print(result, "experience")
	n := len(result.Faults)
	if n > 0 && err == nil {
		err = data.Invalid("%d faults in %d records; the first: %s", n,
			result.Records, result.Faults[0])
	}
	return err
}
