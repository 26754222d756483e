package model

import (
	"fmt"

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
	body := bodies.get(p.config.Body)
	h := p.width()
	m := payload.Tasks()
	e := make([]float64, m*m*h)
	var where []int // the rows of E that are next
	values := make([][]float64, len(body.Statistics))
	run := func() error {
		for i, s := range body.Statistics {
			err := s.check(values[i], len(where))
			if err == nil {
				err = p.graph.Set(statisticName(s), values[i])
			}
			if err != nil {
				return fmt.Errorf("statistic %q: %w", s.Name, err)
			}
			values[i] = values[i][:0]
		}
		if err := p.graph.Run(); err != nil {
			return err
		}
		for k, row := range where {
			copy(e[row*h:][:h], p.e.Value[k*h:])
		}
		where = where[:0]
		return nil
	}
	for i := range m {
		from := i * m
		for to := from + i + 1; from < to; { // pairs (i, 0) to (i, i)
			next := min(to, from+partRows-len(where))
			for k := range body.Statistics {
				values[k] = payload.statistics[k](values[k], from, next)
			}
			for ; from < next; from++ {
				where = append(where, from)
			}
			if len(where) == partRows {
				if err := run(); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := run(); err != nil {
		return nil, err
	}
	for i := range m {
		for j := range i {
			row := e[(i*m+j)*h:]
			copy(e[(j*m+i)*h:][:h], row)
		}
	}
	return e, nil
}
