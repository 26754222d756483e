package model

import (
	"fmt"
	"slices"

	"l2mt/layers"
)

// partRows are the rows of E that are embedded at a time.
const partRows = 4096

// parts embed a problem of many pairs of tasks in parts, whose memory does not grow
// with the tasks.
type parts struct {
	config Config
	graph  *layers.Graph
	e      *layers.Capture
}

// inParts says whether problems of so many tasks are embedded in parts.
func (c Config) inParts(tasks int) bool {
	return c.Embeds() == PerPair && PerPair.rows(tasks) > partRows
}

func newParts(c Config, memory *layers.Memory) (p *parts, err error) {
	p = &parts{config: c}
	p.graph, err = memory.Build(func(g *layers.Graph) {
		rows := func(Per) int { return partRows }
		in := BodyInputs{Config: c, Params: c.inputs(g).piece(c, "body")}
		p.e = g.Capture(c.embedding(g, rows, in))
	})
	return p, err
}

// width is the number of columns of E.
func (p *parts) width() int { return len(p.e.Value) / partRows }

// embed is E, row-major.
func (p *parts) embed(params Params, payload *Payload) ([]float64, error) {
	for _, t := range params {
		if err := p.graph.Set(t.Name, t.Value); err != nil {
			return nil, err
		}
	}
	body := bodies[p.config.Body]
	h := p.width()
	m := payload.Tasks()
	e := make([]float64, m*m*h)
	var pairs []int // rows of E, each pair once
	for i := range m {
		for j := range i + 1 {
			pairs = append(pairs, i*m+j)
		}
	}
	for part := range slices.Chunk(pairs, partRows) {
		for k, s := range body.Statistics {
			var values []float64
			for _, row := range part {
				values = payload.statistics[k](values, row, row+1)
			}
			err := s.check(values, len(part))
			if err == nil {
				err = p.graph.Set(statisticName(s), values)
			}
			if err != nil {
				return nil, fmt.Errorf("statistic %q: %w", s.Name, err)
			}
		}
		if err := p.graph.Run(); err != nil {
			return nil, err
		}
		for k, row := range part {
			v := p.e.Value[k*h:][:h]
			turned := row%m*m + row/m // the pair in the other order
			copy(e[row*h:], v)
			copy(e[turned*h:], v)
		}
	}
	return e, nil
}
