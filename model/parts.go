package model

import (
	"cmp"
	"slices"

	"l2mt/layers"
)

// partRows are the rows of E that are embedded at a time.
const partRows = 4096

// parts embed a problem of many pairs of tasks in parts, whose memory does not grow
// with the tasks.
type parts struct {
	graph *layers.Graph
	e     *layers.Capture
}

// inParts says whether problems of so many tasks are embedded in parts, as long as nothing is learned.
func (ps *programs) inParts(tasks int) bool {
	return ps.objective == nil && ps.config.FeatureFree() &&
		ps.config.rows(tasks) > partRows
}

func newParts(c Config, memory *layers.Memory) (p *parts, err error) {
	p = &parts{}
	p.graph, err = memory.Build(func(g *layers.Graph) {
		in := BodyInputs{
			Config: c,
			Params: c.inputs(g).piece(c, "body"),
		}
		p.e = g.Capture(c.embedding(g, partRows, in))
	})
	return p, err
}

// width is the number of columns of E.
func (p *parts) width() int {
	return len(p.e.Value) / partRows
}

// embed is E, row-major.
func (p *parts) embed(params Params, payload *Payload) ([]float64, error) {
	inputs := params.inputs()
	h := p.width()
	m := payload.tasks
	e := make([]float64, m*m*h)
	var pairs []int // rows of E, each pair once
	for i := range m {
		for j := range i + 1 {
			pairs = append(pairs, i*m+j)
		}
	}
	for part := range slices.Chunk(pairs, partRows) {
		err := payload.addStatistics(inputs, part)
		err = cmp.Or(err, set(p.graph, inputs), p.graph.Run())
		if err != nil {
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
