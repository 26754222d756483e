package command

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/files"
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
	records, faults, err := store.Check()
	if err != nil {
		return err
	}
	sentences := []string{}
	for _, f := range faults {
		if errors.Is(f, experience.ErrTorn) {
			e.remark("warning: %v", f)
			continue
		}
		sentences = append(sentences, fmt.Sprint(f))
	}
	var tuples []*experience.Record // of a store without faults
	if len(sentences) == 0 {
		tuples, err = store.Complete()
		if err != nil {
			sentences = append(sentences, err.Error())
		}
	}
	err = e.print(struct {
		Records int                  `json:"records"`
		Faults  []string             `json:"faults"`
		Sources []sourceInfo         `json:"sources,omitempty"`
		Tuples  []*experience.Record `json:"tuples,omitempty"`
	}{records, sentences, sourcesOf(tuples), tuples}, "experience")
	n := len(sentences)
	if n > 0 && err == nil {
		err = data.Invalid("%d faults in %d records; the first: %s", n,
			records, sentences[0])
	}
	return err
}

// sourceInfo describes the tuples of one source.
type sourceInfo struct {
	Source string      `json:"source"`
	Tuples int         `json:"tuples"`
	Failed int         `json:"failed"`
	Mean   files.Float `json:"mean_o"` // NaN if all failed
}

// sourcesOf describes the sources of tuples, in alphabetical order.
func sourcesOf(tuples []*experience.Record) (sources []sourceInfo) {
	bySource := map[string][]*experience.Record{}
	for _, r := range tuples {
		bySource[r.Source] = append(bySource[r.Source], r)
	}
	for _, name := range slices.Sorted(maps.Keys(bySource)) {
		var o []float64
		for _, r := range bySource[name] {
			if r.Result != nil {
				o = append(o, r.Result.O)
			}
		}
		slices.Sort(o) // so that the sum does not depend on the order of the tuples
		n := len(bySource[name])
		sources = append(sources, sourceInfo{name, n, n - len(o),
			files.Float(stat.Mean(o, nil))})
	}
	return sources
}
